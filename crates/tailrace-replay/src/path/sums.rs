//! What a thread did while questions about it were open, summed up.

use hashbrown::HashMap;

use crate::accounts::timeline::State;
use crate::graph::moment::{REPLAYS, Replay};
use crate::graph::vertex::Site;
use crate::steps::Step;
use crate::toggles::{Moments, Toggles};

/// A bit for each path: see [`crate::graph::moment::Replay`].
pub(crate) type Paths = u8;

/// A question is opened, or closed; one may be open several times at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Change {
    /// Nanoseconds since the window's begin.
    pub at: i64,
    pub question: u32,
    pub opens: bool,
}

/// What is asked about a thread.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    /// By [`crate::graph::moment::Replay`]: when its path comes and leaves.
    pub paths: [Toggles; REPLAYS],
    pub changes: Vec<Change>,
}

impl Asked {
    pub(crate) fn is_nothing(&self) -> bool {
        self.changes.is_empty() && self.paths.iter().all(Toggles::is_empty)
    }
}

/// What a thread does at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Doing {
    pub state: State,
    pub site: Site,
    pub file: u32,
}

impl Doing {
    pub(crate) const USEFUL: Self = Self::without_call(State::Useful);
    /// Before all others.
    pub(crate) const FIRST: Self =
        Self { state: State::Useful, site: Site { place: 0, function: 0 }, file: 0 };

    pub(crate) const fn without_call(state: State) -> Self {
        Self { state, site: Site { place: 0, function: u16::MAX }, file: Step::NO_FILE }
    }
}

/// What was done on paths, by the paths that led over it, and while questions were open.
#[derive(Debug, Default)]
pub(crate) struct Times {
    doings: Vec<Doing>,
    /// By [`Paths`], then by number of what was done.
    on_paths: [Vec<i64>; 1 << REPLAYS],
    /// By question and number of what was done.
    asked: HashMap<(u32, DoingId), i64>,
}

/// Index into [`Times::doings`].
pub(crate) type DoingId = u32;

impl Times {
    /// By question; those about the path of a replay are `about_path`.
    pub(crate) fn answers(
        &self,
        about_path: impl Fn(Replay) -> u32,
    ) -> impl Iterator<Item = (u32, Doing, i64)> {
        let on_path = move |(number, doing): (usize, &Doing)| {
            let of = |replay| {
                let leads_over = |(paths, _): &(usize, _)| paths >> replay as u8 & 1 > 0;
                let leads_over = self.on_paths.iter().enumerate().filter(leads_over);
                leads_over.map(|(_, times)| times[number]).sum::<i64>()
            };
            Replay::ALL.map(|replay| (about_path(replay), *doing, of(replay)))
        };
        let on_paths = self.doings.iter().enumerate().flat_map(on_path);
        let asked = self.asked.iter();
        let asked =
            asked.map(|((about, doing), time)| (*about, self.doings[*doing as usize], *time));
        on_paths.filter(|(_, _, time)| *time != 0).chain(asked)
    }
}

/// The questions about one thread, and the answers.
pub(crate) struct Sums<'a> {
    paths: [Moments<'a>; REPLAYS],
    /// When each path comes or leaves next.
    next: [i64; REPLAYS],
    changes: &'a [Change],
    /// When the next path, or question, begins or ends.
    until: i64,
    /// The paths that lead over it now, and the questions that are open, and how often.
    now: Paths,
    open: Vec<(u32, i64)>,
    numbers: HashMap<Doing, DoingId>,
    times: Times,
}

impl<'a> Sums<'a> {
    /// `asked`: in order.
    pub(crate) fn new(asked: &'a Asked) -> Self {
        let Asked { paths, changes } = asked;
        let mut paths = paths.each_ref().map(Toggles::iter);
        let next = paths.each_mut().map(|path| path.next().unwrap_or(i64::MAX));
        let mut sums = Self {
            paths,
            next,
            changes,
            until: 0,
            now: 0,
            open: Vec::new(),
            numbers: HashMap::new(),
            times: Times::default(),
        };
        sums.change_until(i64::MIN);
        sums
    }

    /// Nothing is open, and nothing will be.
    pub(crate) fn is_over(&self) -> bool {
        self.until == i64::MAX && self.now == 0 && self.open.is_empty()
    }

    /// The number of what a thread does.
    pub(crate) fn number(&mut self, doing: Doing) -> DoingId {
        *self.numbers.entry(doing).or_insert_with(|| {
            self.times.doings.push(doing);
            self.times.on_paths.iter_mut().for_each(|times| times.push(0));
            self.times.doings.len() as DoingId - 1
        })
    }

    /// The thread did that from `begin` to `end`. Stretches come in order.
    #[inline]
    pub(crate) fn pass(&mut self, doing: DoingId, mut begin: i64, end: i64) {
        while self.until < end {
            let until = self.until.max(begin);
            self.add(doing, until - begin);
            begin = until;
            self.change_until(begin);
        }
        self.add(doing, end - begin);
    }

    /// … then something else until `end`.
    #[inline]
    pub(crate) fn pass_call(
        &mut self,
        (before, at): (DoingId, i64),
        (inside, begin): (DoingId, i64),
        end: i64,
    ) {
        if end <= self.still_until() {
            let times = self.still();
            times[before as usize] += begin - at;
            times[inside as usize] += end - begin;
        } else {
            self.pass(before, at, begin);
            self.pass(inside, begin, end);
        }
    }

    /// Until then nothing changes.
    pub(crate) fn same_until(&self) -> i64 {
        self.until
    }

    /// … and no question is open.
    #[inline]
    pub(crate) fn still_until(&self) -> i64 {
        if self.open.is_empty() { self.until } else { i64::MIN }
    }

    /// … the times until then, by number of what is done.
    #[inline]
    pub(crate) fn still(&mut self) -> &mut [i64] {
        &mut self.times.on_paths[usize::from(self.now)]
    }

    /// … for so long while nothing changed.
    #[inline]
    pub(crate) fn add(&mut self, doing: DoingId, time: i64) {
        self.times.on_paths[usize::from(self.now)][doing as usize] += time;
        if !self.open.is_empty() && time != 0 {
            self.add_to_open(doing, time);
        }
    }

    #[inline(never)] // what is around it is a loop over all events
    fn add_to_open(&mut self, doing: DoingId, time: i64) {
        for (question, times) in &self.open {
            *self.times.asked.entry((*question, doing)).or_default() += times * time;
        }
    }

    fn change_until(&mut self, now: i64) {
        for path in 0..REPLAYS {
            while self.next[path] <= now {
                self.now ^= 1 << path;
                self.next[path] = self.paths[path].next().unwrap_or(i64::MAX);
            }
        }
        while let Some((change, rest)) = self.changes.split_first()
            && change.at <= now
        {
            self.changes = rest;
            self.change(*change);
        }
        let next = self.next.iter().copied().chain(self.changes.first().map(|change| change.at));
        self.until = next.min().expect("there is more than one replay");
    }

    fn change(&mut self, change: Change) {
        let by = if change.opens { 1 } else { -1 };
        match self.open.iter().position(|(question, _)| *question == change.question) {
            Some(place) => {
                self.open[place].1 += by;
                if self.open[place].1 == 0 {
                    self.open.swap_remove(place);
                }
            }
            None => self.open.push((change.question, by)),
        }
    }

    pub(crate) fn times(self) -> Times {
        self.times
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_to_what_is_open_as_often_as_it_is() {
        let change = |at, question, opens| Change { at, question, opens };
        let mut changes = [
            change(10, 0, true),
            change(30, 0, false),
            change(15, 1, true),
            change(20, 1, true),
            change(25, 1, false),
            change(40, 1, false),
        ];
        changes.sort_unstable();
        let paths = [&[24, 50][..], &[20, 26], &[24, 26, 26, 50], &[]].map(|moments| {
            let mut toggles = Toggles::default();
            for at in moments {
                toggles.push(*at);
            }
            toggles
        });
        let asked = Asked { paths, changes: changes.to_vec() };
        let mut sums = Sums::new(&asked);
        let mpi = Doing::without_call(State::Mpi);
        let [useful, in_mpi] = [Doing::USEFUL, mpi].map(|doing| sums.number(doing));
        sums.pass(useful, 0, 22);
        sums.pass(in_mpi, 22, 50);
        let of = |question, doing| sums.times.asked.get(&(question, doing)).copied();
        let on = |paths: usize, doing: DoingId| sums.times.on_paths[paths][doing as usize];
        assert_eq!(of(0, useful), Some(12)); // 10 to 22
        assert_eq!(of(0, in_mpi), Some(8)); // 22 to 30
        assert_eq!(of(1, useful), Some(5 + 2 * 2)); // 15 to 20 once, to 22 twice
        assert_eq!(of(1, in_mpi), Some(2 * 3 + 15)); // to 25 twice, to 40 once
        // path 1 alone from 20 to 24, with 0 and 2 until 26, from then on 0 and 2 to the end
        assert_eq!(on(0b010, useful), 2);
        assert_eq!([0b010, 0b111, 0b101].map(|paths| on(paths, in_mpi)), [2, 2, 24]);
        let answers: Vec<_> = sums.times().answers(|replay| 10 + replay as u32).collect();
        assert!(answers.contains(&(10, mpi, 26)) && answers.contains(&(11, mpi, 4)));
    }
}
