//! Begins and ends of file calls as numbers that order like their times, and merging them.
//!
//! A key is the time (nanoseconds since the window's begin), then what happens ([`Turn`]), then the
//! rank. The window's length and the number of ranks decide whether they fit: see
//! [`Keys::new`].

use std::hint::select_unpredictable;

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
    rank_bits: u32,
}

impl Keys {
    /// `None` if the window is too long for so many ranks: 2⁶⁰ ns (36 years) divided by the next
    /// power of two. ∫k dt fits into 64 bits wherever keys do.
    pub(crate) fn new(runtime: i64, ranks: usize) -> Option<Self> {
        let rank_bits = ranks.next_power_of_two().trailing_zeros();
        let fits = runtime >= 0 && (runtime as u64).leading_zeros() > 3 + rank_bits;
        fits.then_some(Self { rank_bits })
    }

    #[inline]
    pub(crate) fn key(self, time: i64, turn: Turn, rank: u32) -> u64 {
        ((time as u64) << 2 | turn as u64) << self.rank_bits | u64::from(rank)
    }

    /// Above all keys until `time`.
    pub(crate) fn after(self, time: i64) -> u64 {
        let last = i64::MAX >> 3 >> self.rank_bits;
        ((time.clamp(-1, last) + 1) as u64) << 2 << self.rank_bits
    }

    #[inline]
    pub(crate) fn parts(self, key: u64) -> (i64, Turn, u32) {
        let rank = key & !(u64::MAX << self.rank_bits);
        let turn = match key >> self.rank_bits & 3 {
            0 => Turn::Begin,
            1 => Turn::Sample,
            2 => Turn::End,
            _ => Turn::Total,
        };
        ((key >> self.rank_bits >> 2) as i64, turn, rank as u32)
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
    fn keys_order_by_time_then_turn_then_rank() {
        let keys = Keys::new(1000, 5).unwrap();
        let order = [
            keys.key(5, Turn::Begin, 4),
            keys.key(5, Turn::Sample, 0),
            keys.key(5, Turn::End, 0),
            keys.key(5, Turn::End, 3),
            keys.key(6, Turn::Begin, 0),
        ];
        assert!(order.is_sorted());
        assert_eq!(keys.parts(order[3]), (5, Turn::End, 3));
        assert_eq!(order.partition_point(|key| *key < keys.after(5)), 4);
        assert_eq!(order.partition_point(|key| *key < keys.after(i64::MAX)), 5);
        assert_eq!(order.partition_point(|key| *key < keys.after(-7)), 0);
    }

    #[test]
    fn spans_that_no_run_has_are_refused() {
        assert!(Keys::new(i64::MAX, 1).is_none());
        assert!(Keys::new(1 << 58, 1 << 10).is_none());
        assert!(Keys::new(1 << 49, 1 << 10).is_some());
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
