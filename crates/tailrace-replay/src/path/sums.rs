//! What a thread did while questions about it were open, summed up.

use hashbrown::HashMap;

use crate::accounts::timeline::State;
use crate::graph::moment::REPLAYS;
use crate::graph::vertex::Site;
use crate::steps::Step;

/// When which paths begin, or end, to lead over a thread: nanoseconds since the window's begin, and
/// below these a bit for each path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Toggle(u64);

impl Toggle {
    const BITS: u32 = REPLAYS as u32;

    pub(crate) fn new(at: i64, path: usize) -> Self {
        Self((at as u64) << Self::BITS | 1 << path)
    }

    fn at(self) -> i64 {
        (self.0 >> Self::BITS) as i64
    }

    fn paths(self) -> Paths {
        (self.0 & ((1 << Self::BITS) - 1)) as Paths
    }

    /// In order, with one for each moment: a path that begins where it ends goes on.
    pub(crate) fn merge(toggles: &mut Vec<Self>) {
        toggles.sort_unstable();
        let mut kept: usize = 0;
        for place in 0..toggles.len() {
            let toggle = toggles[place];
            match kept.checked_sub(1).map(|last| &mut toggles[last]) {
                Some(last) if last.at() == toggle.at() => last.0 ^= u64::from(toggle.paths()),
                _ => {
                    toggles[kept] = toggle;
                    kept += 1;
                }
            }
        }
        toggles.truncate(kept);
        toggles.retain(|toggle| toggle.paths() != 0);
        toggles.shrink_to_fit();
    }
}

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
#[derive(Default)]
pub(crate) struct Asked {
    pub toggles: Vec<Toggle>,
    pub changes: Vec<Change>,
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
    pub on_paths: HashMap<(Paths, Doing), i64>,
    pub asked: HashMap<(u32, Doing), i64>,
}

/// The questions about one thread, and the answers.
pub(crate) struct Sums<'a> {
    toggles: &'a [Toggle],
    changes: &'a [Change],
    /// The paths that lead over it now, and the questions that are open, and how often.
    paths: Paths,
    open: Vec<(u32, i64)>,
    times: Times,
}

impl<'a> Sums<'a> {
    /// `asked`: in order.
    pub(crate) fn new(asked: &'a Asked) -> Self {
        let Asked { toggles, changes } = asked;
        Self { toggles, changes, paths: 0, open: Vec::new(), times: Times::default() }
    }

    /// When the next path, or question, begins or ends.
    #[inline]
    pub(crate) fn until(&self) -> i64 {
        let toggle = self.toggles.first().map_or(i64::MAX, |toggle| toggle.at());
        self.changes.first().map_or(toggle, |change| change.at.min(toggle))
    }

    /// Nothing is open, and nothing will be.
    pub(crate) fn is_over(&self) -> bool {
        self.until() == i64::MAX && self.paths == 0 && self.open.is_empty()
    }

    /// The thread did that from `begin` to `end`. Stretches come in order.
    pub(crate) fn pass(&mut self, doing: Doing, mut begin: i64, end: i64) {
        self.change_until(begin);
        while self.until() < end {
            let until = self.until();
            self.add(doing, until - begin);
            begin = until;
            self.change_until(begin);
        }
        self.add(doing, end - begin);
    }

    /// … for so long while nothing changed.
    pub(crate) fn add(&mut self, doing: Doing, time: i64) {
        if time == 0 {
            return;
        }
        if self.paths != 0 {
            *self.times.on_paths.entry((self.paths, doing)).or_default() += time;
        }
        for (question, times) in &self.open {
            *self.times.asked.entry((*question, doing)).or_default() += times * time;
        }
    }

    fn change_until(&mut self, now: i64) {
        while let Some((toggle, rest)) = self.toggles.split_first()
            && toggle.at() <= now
        {
            self.toggles = rest;
            self.paths ^= toggle.paths();
        }
        while let Some((change, rest)) = self.changes.split_first()
            && change.at <= now
        {
            self.changes = rest;
            self.change(*change);
        }
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
        let toggles = vec![
            Toggle::new(20, 1),
            Toggle::new(24, 0),
            Toggle::new(24, 2),
            Toggle::new(26, 1),
            Toggle::new(26, 2),
            Toggle::new(26, 2),
        ];
        let mut asked = Asked { toggles, changes: changes.to_vec() };
        Toggle::merge(&mut asked.toggles);
        let mut sums = Sums::new(&asked);
        let mpi = Doing::without_call(State::Mpi);
        sums.pass(Doing::USEFUL, 0, 22);
        sums.pass(mpi, 22, 50);
        let of = |question, doing| sums.times.asked.get(&(question, doing)).copied();
        let on = |paths, doing| sums.times.on_paths.get(&(paths, doing)).copied();
        assert_eq!(of(0, Doing::USEFUL), Some(12)); // 10 to 22
        assert_eq!(of(0, mpi), Some(8)); // 22 to 30
        assert_eq!(of(1, Doing::USEFUL), Some(5 + 2 * 2)); // 15 to 20 once, to 22 twice
        assert_eq!(of(1, mpi), Some(2 * 3 + 15)); // to 25 twice, to 40 once
        // path 1 alone from 20 to 24, with 0 and 2 until 26, from then on 0 and 2 to the end
        assert_eq!(on(0b010, Doing::USEFUL), Some(2));
        assert_eq!(on(0b010, mpi), Some(2));
        assert_eq!(on(0b111, mpi), Some(2));
        assert_eq!(on(0b101, mpi), Some(24));
    }
}
