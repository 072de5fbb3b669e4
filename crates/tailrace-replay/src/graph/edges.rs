//! Begins and ends of file calls as numbers that order like their times, and merging them.
//!
//! A key is the time (nanoseconds since the window's begin), then what happens ([`Turn`]), then the
//! rank.

use std::hint::select_unpredictable;

use crate::stamp::Stamps;

/// What happens first of what happens at the same nanosecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Turn {
    Begin = 0,
    /// ∫k dt is asked for in a file call.
    Sample = 1,
    End = 2,
    /// ∫k dt over all of the run is asked for.
    Total = 3,
}

/// Makes keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keys {
    stamps: Stamps,
    runtime: i64,
}

impl Keys {
    /// `None` if the window is too long for so many ranks. ∫k dt fits into 64 bits wherever keys
    /// do.
    pub(crate) fn new(runtime: i64, ranks: usize) -> Option<Self> {
        Some(Self { stamps: Stamps::new(runtime, ranks)?, runtime })
    }

    #[inline]
    pub(crate) fn key(self, time: i64, turn: Turn, rank: u32) -> u64 {
        self.stamps.stamp(time, turn as u8, rank)
    }

    /// Above all keys until `time`.
    pub(crate) fn after(self, time: i64) -> u64 {
        self.stamps.stamp(time.clamp(-1, self.runtime) + 1, 0, 0)
    }

    #[inline]
    pub(crate) fn parts(self, key: u64) -> (i64, Turn, u32) {
        let turn = match self.stamps.turn(key) {
            0 => Turn::Begin,
            1 => Turn::Sample,
            2 => Turn::End,
            _ => Turn::Total,
        };
        (self.stamps.time(key), turn, self.stamps.who(key))
    }
}

/// Merges sorted runs, two by two; buffers are kept from call to call.
#[derive(Default)]
pub(crate) struct Merger {
    runs: Vec<Vec<u64>>,
    next: Vec<Vec<u64>>,
    spare: Vec<Vec<u64>>,
}

impl Merger {
    /// All keys of the runs in order.
    pub(crate) fn merge<'a>(&'a mut self, runs: &[&[u64]]) -> &'a [u64] {
        self.spare.append(&mut self.runs);
        for pair in runs.chunks(2) {
            let mut merged = self.spare.pop().unwrap_or_default();
            merge_two(pair[0], pair.get(1).copied().unwrap_or_default(), &mut merged);
            self.runs.push(merged);
        }
        while self.runs.len() > 1 {
            for pair in self.runs.chunks(2) {
                let mut merged = self.spare.pop().unwrap_or_default();
                let second = pair.get(1).map(Vec::as_slice).unwrap_or_default();
                merge_two(&pair[0], second, &mut merged);
                self.next.push(merged);
            }
            self.spare.append(&mut self.runs);
            std::mem::swap(&mut self.runs, &mut self.next);
        }
        self.runs.first().map(Vec::as_slice).unwrap_or_default()
    }
}

/// Which key comes next is as good as random: as a branch it would be mispredicted half of the
/// time.
fn merge_two(left: &[u64], right: &[u64], merged: &mut Vec<u64>) {
    merged.clear();
    merged.reserve(left.len() + right.len());
    let (mut i, mut j) = (0, 0);
    while i < left.len() && j < right.len() {
        let (a, b) = (left[i], right[j]);
        let takes_left = a <= b;
        merged.push(select_unpredictable(takes_left, a, b));
        i += usize::from(takes_left);
        j += usize::from(!takes_left);
    }
    merged.extend_from_slice(&left[i..]);
    merged.extend_from_slice(&right[j..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_until_a_time_are_told_apart() {
        let keys = Keys::new(1000, 5).unwrap();
        let order = [
            keys.key(5, Turn::Begin, 4),
            keys.key(5, Turn::Sample, 0),
            keys.key(5, Turn::End, 3),
            keys.key(5, Turn::Total, 0),
            keys.key(1000, Turn::End, 4),
        ];
        assert_eq!(keys.parts(order[2]), (5, Turn::End, 3));
        let until = |time| order.partition_point(|key| *key < keys.after(time));
        assert_eq!([-7, 4, 5, 999, 1000, i64::MAX].map(until), [0, 0, 4, 4, 5, 5]);
    }

    #[test]
    fn any_number_of_runs_is_merged() {
        let mut merger = Merger::default();
        for number in 0..9 {
            let runs: Vec<Vec<u64>> = (0..number)
                .map(|run| (0..10).map(|i| i * (run + 1) % 97 + i * 97).collect())
                .collect();
            let slices: Vec<&[u64]> = runs.iter().map(Vec::as_slice).collect();
            let mut expected: Vec<u64> = runs.concat();
            expected.sort_unstable();
            assert_eq!(merger.merge(&slices), expected);
        }
    }
}
