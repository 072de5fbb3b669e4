//! The longest calls of the run.

use std::cmp::Reverse;

use crate::accounts::timeline::State;
use crate::longest::{Bar, Lasting};
use crate::steps::Step;

/// A call of a rank's main thread; nanoseconds since the window's begin, cut to the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub begin: i64,
    pub end: i64,
    pub rank: u32,
    /// Index into the trace's functions.
    pub function: u16,
    pub state: State,
    /// Index into the trace's files, or [`Span::NO_FILE`].
    pub file: u32,
    pub bytes: u64,
}

impl Span {
    pub const NO_FILE: u32 = Step::NO_FILE;
}

impl Lasting for Span {
    type Order = (u32, Reverse<i64>, u16, u32, u64);

    fn span(&self) -> (i64, i64) {
        (self.begin, self.end)
    }

    fn order(&self) -> Self::Order {
        (self.rank, Reverse(self.end), self.function, self.file, self.bytes)
    }
}

/// A call that may be among the longest.
#[cold]
pub(crate) fn offer(
    longest: &mut Vec<Span>,
    bar: Bar,
    rank: u32,
    step: &Step,
    (begin, end): (i64, i64),
) {
    if !bar.is_met_by(begin, end) {
        return;
    }
    let Step { function, file, bytes, io, .. } = *step;
    let state = if io { State::Io } else { State::Mpi };
    longest.push(Span { begin, end, rank, function, state, file, bytes });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::longest::Longest;

    #[test]
    fn none_are_kept_where_none_are_asked_for() {
        let mut longest = Longest::<Span>::new(0);
        longest.offer(&mut Vec::new());
        assert_eq!(longest.finish(), []);
    }

    #[test]
    fn of_those_that_last_as_long_the_first_are_kept() {
        let span = |begin| Span {
            begin,
            end: begin + 5,
            rank: 0,
            function: 0,
            state: State::Io,
            file: 0,
            bytes: 0,
        };
        let mut longest = Longest::new(10);
        for begin in [0..100, 500..600, 50..150, -20..5].into_iter().flatten() {
            longest.offer(&mut vec![span(begin)]);
        }
        let begins: Vec<i64> = longest.finish().iter().map(|span| span.begin).collect();
        assert_eq!(begins, (-20..-10).collect::<Vec<i64>>());
    }

    #[test]
    fn keeps_exactly_the_longest_whatever_the_order() {
        let duration = |i: i64| (i * 7919) % 10_007 + 1; // all different below 10,007
        let mut longest = Longest::new(10);
        for i in 0..5000 {
            let (begin, end) = (20_000 * i, 20_000 * i + duration(i));
            let (state, file) = (State::Io, 0);
            longest.offer(&mut vec![Span {
                begin,
                end,
                rank: 0,
                function: 0,
                state,
                file,
                bytes: 0,
            }]);
        }
        let mut expected: Vec<i64> = (0..5000).map(duration).collect();
        expected.sort_unstable_by_key(|d| Reverse(*d));
        let mut kept: Vec<i64> = longest.finish().iter().map(|s| s.end - s.begin).collect();
        kept.sort_unstable_by_key(|d| Reverse(*d));
        assert_eq!(kept, expected[..10]);
    }
}
