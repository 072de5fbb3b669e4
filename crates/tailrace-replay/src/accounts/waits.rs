//! How long a rank waited for a processor, by what it was doing.
//!
//! The trace says of stretches of time how long the rank waited in each, not when: the wait is
//! spread evenly over its stretch, and so over the states in proportion to their time there.

use tailrace_trace::tables::{Wait, Window};

use crate::accounts::timeline::State;

/// By [`State`], nanoseconds.
pub type ByState = [i64; 3];

/// The stretches of one rank, and its time by state in each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waits {
    /// Begin of the stretch that comes next; nothing is to be done before.
    next: i64,
    at: usize,
    stretches: Vec<Stretch>,
}

/// Nanoseconds since the window's begin.
#[derive(Clone, Debug)]
struct Stretch {
    begin: i64,
    end: i64,
    waited: i64,
    spent: ByState,
}

impl Stretch {
    fn overlap(&self, begin: i64, end: i64) -> i64 {
        (end.min(self.end) - begin.max(self.begin)).max(0)
    }

    /// What was waited in each state, as far as the stretch lies in the window.
    fn waited(&self) -> ByState {
        let length = i128::from((self.end - self.begin).max(1));
        self.spent.map(|spent| (i128::from(self.waited) * i128::from(spent) / length) as i64)
    }
}

impl Waits {
    pub(crate) fn new(waits: &[Wait], window: Window) -> Self {
        let inside = |wait: &&Wait| {
            let within = wait.end_ns > window.begin_ns && wait.begin_ns < window.end_ns;
            within && wait.end_ns > wait.begin_ns
        };
        let stretches: Vec<Stretch> = waits
            .iter()
            .filter(inside)
            .map(|wait| Stretch {
                begin: wait.begin_ns - window.begin_ns,
                end: wait.end_ns - window.begin_ns,
                waited: wait.waited_ns,
                spent: [0; 3],
            })
            .collect();
        let next = stretches.first().map_or(i64::MAX, |stretch| stretch.begin);
        Self { next, at: 0, stretches }
    }

    /// Until then, from `at` on, time is only to be [`Waits::put`].
    pub(crate) fn edge(&self, at: i64) -> i64 {
        match self.stretches.get(self.at) {
            Some(stretch) if at < stretch.begin => stretch.begin,
            Some(stretch) => stretch.end,
            None => i64::MAX,
        }
    }

    /// Time by [`State`] from `at` on until some time before the edge.
    #[inline]
    pub(crate) fn put(&mut self, at: i64, time: ByState) {
        if let Some(stretch) = self.stretches.get_mut(self.at)
            && at >= stretch.begin
        {
            (0..3).for_each(|state| stretch.spent[state] += time[state]);
        }
    }

    /// Time in `state` from `begin`, where the last such time ended, to `end`.
    #[inline]
    pub(crate) fn pass(&mut self, state: State, begin: i64, end: i64) {
        if end > self.next {
            self.pass_in_stretches(state, begin, end);
        }
    }

    #[cold]
    fn pass_in_stretches(&mut self, state: State, begin: i64, end: i64) {
        while let Some(stretch) = self.stretches.get_mut(self.at) {
            stretch.spent[state as usize] += stretch.overlap(begin, end);
            if stretch.end > end {
                break;
            }
            self.at += 1;
        }
        self.next = self.stretches.get(self.at).map_or(i64::MAX, |stretch| stretch.begin);
    }

    /// Over all stretches.
    pub(crate) fn totals(&self) -> ByState {
        let mut totals = [0; 3];
        for stretch in &self.stretches {
            let waited = stretch.waited();
            (0..3).for_each(|state| totals[state] += waited[state]);
        }
        totals
    }
}

/// One: a rank that waits all the time.
const WHOLE: i64 = 1 << 24;

/// How much of the run some rank waited in each state, at most: at every moment the shares of all
/// ranks together, but no more than one. Whoever waits for that rank loses no more than this.
pub(crate) fn by_any<'a>(ranks: impl Iterator<Item = &'a Waits>, runtime: i64) -> ByState {
    let mut changes: Vec<(i64, ByState)> = Vec::new();
    for stretch in ranks.flat_map(|waits| &waits.stretches) {
        let (begin, end) = (stretch.begin.max(0), stretch.end.min(runtime));
        let length = i128::from((end - begin).max(1));
        let share = stretch.waited().map(|ns| (i128::from(ns) * i128::from(WHOLE) / length) as i64);
        changes.extend([(begin, share), (end, share.map(|share| -share))]);
    }
    changes.sort_unstable();
    let (mut shares, mut reached, mut sums) = ([0i64; 3], 0, [0i128; 3]);
    for (moment, change) in changes {
        for state in 0..3 {
            let share = shares[state].clamp(0, WHOLE);
            sums[state] += i128::from(share) * i128::from(moment - reached);
            shares[state] += change[state];
        }
        reached = moment;
    }
    sums.map(|sum| ((sum + i128::from(WHOLE) / 2) / i128::from(WHOLE)) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Window = Window { begin_ns: 1000, end_ns: 2000 };

    fn waits(stretches: &[(i64, i64, i64)]) -> Waits {
        let stretches: Vec<Wait> = stretches
            .iter()
            .map(|&(begin_ns, end_ns, waited_ns)| Wait { begin_ns, end_ns, waited_ns })
            .collect();
        Waits::new(&stretches, WINDOW)
    }

    #[test]
    fn a_wait_is_shared_by_the_states_of_its_stretch() {
        let mut waits = waits(&[(1000, 1100, 50), (1100, 1200, 30), (1500, 1600, 100)]);
        waits.pass(State::Useful, 0, 100); // 50: exact
        waits.pass(State::Useful, 100, 140); // 12 of 30
        waits.pass(State::Mpi, 140, 190); // 15
        waits.pass(State::Io, 190, 520); // 3, and 20 of 100
        waits.pass(State::Mpi, 520, 1000); // 80
        assert_eq!(waits.totals(), [62, 23, 95]);
    }

    #[test]
    fn what_lies_outside_the_window_does_not_count() {
        let mut waits = waits(&[(0, 900, 900), (900, 1100, 100), (1950, 2050, 100)]);
        waits.pass(State::Useful, 0, 1000);
        assert_eq!(waits.totals(), [50 + 50, 0, 0]);
    }

    #[test]
    fn ranks_that_wait_at_once_count_once() {
        let mut ranks = [
            waits(&[(1000, 1100, 60)]),
            waits(&[(1050, 1150, 60)]), // together 1.2 for 50 ns
            waits(&[(1900, 1950, 10)]),
        ];
        for waits in &mut ranks {
            waits.pass(State::Mpi, 0, 1000);
        }
        assert_eq!(by_any(ranks.iter(), 1000), [0, 0, 120]);
        assert_eq!(by_any([].iter(), 1000), [0; 3]);
    }
}
