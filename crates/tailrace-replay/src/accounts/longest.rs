//! The longest calls of the run, exactly, in bounded memory.

use std::cmp::Reverse;

use crate::accounts::timeline::State;
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

    fn order(&self) -> impl Ord + use<> {
        let length = Reverse(self.end - self.begin);
        (length, self.begin, self.rank, self.function, self.file, self.bytes)
    }
}

/// Keeps the `most` longest of all spans offered: twice as many are gathered, then the lesser half
/// is dropped.
#[derive(Debug)]
pub(crate) struct Longest {
    most: usize,
    spans: Vec<Span>,
    threshold: i64,
}

impl Longest {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, spans: Vec::new(), threshold: if most == 0 { i64::MAX } else { 1 } }
    }

    /// Shorter spans are certain not to be among the longest.
    pub(crate) fn threshold(&self) -> i64 {
        self.threshold
    }

    /// Takes what may be among the longest, and leaves nothing.
    pub(crate) fn offer(&mut self, spans: &mut Vec<Span>) {
        let threshold = self.threshold;
        self.spans.extend(spans.drain(..).filter(|span| span.end - span.begin >= threshold));
        if self.spans.len() >= 2 * self.most.max(1) {
            self.drop_lesser_half();
        }
    }

    /// The longest, in order of begin.
    pub(crate) fn finish(mut self) -> Vec<Span> {
        self.spans.sort_unstable_by_key(Span::order);
        self.spans.truncate(self.most);
        self.spans.sort_unstable_by_key(|s| (s.begin, s.rank, Reverse(s.end), s.function, s.bytes));
        self.spans
    }

    #[cold]
    fn drop_lesser_half(&mut self) {
        let (_, last, _) = self.spans.select_nth_unstable_by_key(self.most - 1, Span::order);
        self.threshold = last.end - last.begin;
        self.spans.truncate(self.most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn none_are_kept_where_none_are_asked_for() {
        let mut longest = Longest::new(0);
        longest.offer(&mut Vec::new());
        assert_eq!(longest.finish(), []);
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
