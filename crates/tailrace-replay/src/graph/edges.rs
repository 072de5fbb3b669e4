//! Begins and ends of file calls as numbers that order like their times, and merging them.
//!
//! A key is the time (nanoseconds since the window's begin), then what happens ([`Turn`]), then the
//! rank.

use std::hint::select_unpredictable;

use crate::graph::radix::Sorter;
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

    /// The keys of a rank's calls, as such of instants that are added to.
    #[inline]
    pub(crate) fn call(self, rank: u32, (begin, end): (i64, i64)) -> [u64; 2] {
        [self.key(begin, Turn::Begin, rank), self.key(end, Turn::End, rank)]
    }

    /// Above all keys until `time`.
    pub(crate) fn after(self, time: i64) -> u64 {
        self.stamps.stamp(time.clamp(-1, self.runtime) + 1, 0, 0)
    }

    /// No later than any key of the same time.
    pub(crate) fn at_time_of(self, key: u64) -> u64 {
        self.stamps.stamp(self.stamps.time(key), 0, 0)
    }

    /// Time, number of the [`Turn`] (the upper bit is set of an end), and rank.
    #[inline]
    pub(crate) fn words(self, key: u64) -> (i64, u8, u32) {
        (self.stamps.time(key), self.stamps.turn(key), self.stamps.who(key))
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

/// The begins and ends of a rank's file calls, in order of time.
#[derive(Default)]
pub(crate) struct Edges {
    pub keys: Vec<u64>,
    /// What each call moved that ended, by end: twice the bytes, and 1 more where they were
    /// written.
    pub moved: Vec<u64>,
}

impl Edges {
    /// Takes over what comes after; leaves nothing there.
    pub(crate) fn append(&mut self, later: &mut Self) {
        take_over(&mut self.keys, &mut later.keys);
        take_over(&mut self.moved, &mut later.moved);
    }

    /// Leaves what is later than `horizon` for the next slab, of which nothing is there yet.
    pub(crate) fn give_back(&mut self, keys: Keys, horizon: i64, next: &mut Self) {
        let late = self.keys.partition_point(|key| *key < keys.after(horizon));
        let ends = self.keys[late..].iter().filter(|key| keys.parts(**key).1 == Turn::End).count();
        next.keys.extend(self.keys.drain(late..));
        next.moved.extend(self.moved.drain(self.moved.len() - ends..));
    }
}

/// Nothing is left of `later` but memory.
pub(crate) fn take_over<T>(all: &mut Vec<T>, later: &mut Vec<T>) {
    if all.is_empty() {
        std::mem::swap(all, later);
    } else {
        all.append(later);
    }
}

/// Merges runs that are in order of time, two by two; buffers are kept from call to call.
#[derive(Default)]
pub(crate) struct Merger {
    runs: Vec<Vec<u64>>,
    next: Vec<Vec<u64>>,
    spare: Vec<Vec<u64>>,
    sorter: Sorter,
}

impl Merger {
    /// All keys of the runs, by rank, in order; those of one run that have the same time stay as
    /// they are.
    pub(crate) fn merge<'a>(&'a mut self, keys: Keys, runs: &[&[u64]]) -> &'a [u64] {
        if self.sorter.sort(runs, keys.stamps.bits()) {
            self.sorter.sorted()
        } else {
            self.merge_by_twos(keys, runs)
        }
    }

    fn merge_by_twos<'a>(&'a mut self, keys: Keys, runs: &[&[u64]]) -> &'a [u64] {
        self.spare.append(&mut self.runs);
        for pair in runs.chunks(2) {
            let mut merged = self.spare.pop().unwrap_or_default();
            merge_two(keys, pair[0], pair.get(1).copied().unwrap_or_default(), &mut merged);
            self.runs.push(merged);
        }
        while self.runs.len() > 1 {
            for pair in self.runs.chunks(2) {
                let mut merged = self.spare.pop().unwrap_or_default();
                let second = pair.get(1).map(Vec::as_slice).unwrap_or_default();
                merge_two(keys, &pair[0], second, &mut merged);
                self.next.push(merged);
            }
            self.spare.append(&mut self.runs);
            std::mem::swap(&mut self.runs, &mut self.next);
        }
        self.runs.first().map(Vec::as_slice).unwrap_or_default()
    }
}

/// Two halves are merged side by side: the next key of each has to wait for its last one, but not
/// for the other's.
fn merge_two(keys: Keys, left: &[u64], right: &[u64], merged: &mut Vec<u64>) {
    merged.resize(left.len() + right.len(), 0);
    let longer = if left.len() < right.len() { right } else { left };
    let middle = longer.get(longer.len() / 2).map_or(0, |key| keys.at_time_of(*key));
    let before = |run: &[u64]| run.partition_point(|key| *key < middle);
    let (left, later_left) = left.split_at(before(left));
    let (right, later_right) = right.split_at(before(right));
    let (merged, later) = merged.split_at_mut(left.len() + right.len());
    let (mut first, mut second) = (Strand::new(left, right), Strand::new(later_left, later_right));
    let mut taken = 0;
    for (key, later) in merged.iter_mut().zip(later.iter_mut()) {
        if first.is_one_run() || second.is_one_run() {
            break;
        }
        *key = first.take();
        *later = second.take();
        taken += 1;
    }
    first.finish(&mut merged[taken..]);
    second.finish(&mut later[taken..]);
}

/// What is left of two runs that are being merged.
struct Strand<'a> {
    left: &'a [u64],
    right: &'a [u64],
    i: usize,
    j: usize,
}

impl<'a> Strand<'a> {
    fn new(left: &'a [u64], right: &'a [u64]) -> Self {
        Self { left, right, i: 0, j: 0 }
    }

    #[inline]
    fn is_one_run(&self) -> bool {
        self.i >= self.left.len() || self.j >= self.right.len()
    }

    /// Which key comes next is as good as random: as a branch it would be mispredicted half of the
    /// time.
    #[inline]
    fn take(&mut self) -> u64 {
        let (a, b) = (self.left[self.i], self.right[self.j]);
        let takes_left = a <= b;
        self.i += usize::from(takes_left);
        self.j += usize::from(!takes_left);
        select_unpredictable(takes_left, a, b)
    }

    fn finish(mut self, merged: &mut [u64]) {
        let mut taken = 0;
        while !self.is_one_run() {
            merged[taken] = self.take();
            taken += 1;
        }
        let (left, right) = (&self.left[self.i..], &self.right[self.j..]);
        merged[taken..taken + left.len()].copy_from_slice(left);
        merged[taken + left.len()..].copy_from_slice(right);
    }
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
        let keys = Keys::new(100_000, 16).unwrap();
        let mut merger = Merger::default();
        for number in 0..9 {
            let key =
                |run: u32, i: i64| keys.key(i * i64::from(run + 1) % 97 + i * 97, Turn::End, run);
            let runs: Vec<Vec<u64>> = (0..number)
                .map(|run| (0..100 * i64::from(run)).map(|i| key(run, i)).collect())
                .collect();
            let slices: Vec<&[u64]> = runs.iter().map(Vec::as_slice).collect();
            let mut expected: Vec<u64> = runs.concat();
            expected.sort_unstable();
            assert_eq!(merger.merge(keys, &slices), expected);
        }
    }

    #[test]
    fn a_call_that_begins_when_the_one_before_ends_stays_behind_it() {
        let keys = Keys::new(100_000, 2).unwrap();
        let call = |rank, i| [keys.key(i, Turn::Begin, rank), keys.key(i + 1, Turn::End, rank)];
        let run = |rank| (0..100).flat_map(|i| call(rank, i)).collect::<Vec<u64>>();
        let runs = [run(0), run(1)];
        let merged = Merger::default().merge(keys, &[&runs[0], &runs[1]]).to_vec();
        for rank in 0..2 {
            let own = merged.iter().copied().filter(|key| keys.parts(*key).2 == rank);
            assert_eq!(own.collect::<Vec<u64>>(), runs[rank as usize]);
        }
    }
}
