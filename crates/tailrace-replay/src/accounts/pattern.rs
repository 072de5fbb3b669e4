//! How the reads, or the writes, of a file lie in it: one after another or not, how far they reach,
//! how large they are.

use std::cmp::Ordering;

/// Requests below this size are small: they cost more by their number than by their bytes.
pub(super) const SMALL_BYTES: u64 = 64 * 1024;
/// The unit in which a system's page cache, and most file systems, hold a file.
pub(super) const BLOCK_BYTES: i64 = 4096;

/// The reads, or the writes, of a file by one rank or all. Calls without a known offset (what is
/// appended, or of pipes) are only in `small` and `empty`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pattern {
    /// Calls that begin where the one before of the same location ended, after that, or before.
    pub consecutive: u64,
    pub forward: u64,
    pub backward: u64,
    /// Calls that do not begin at a multiple of [`BLOCK_BYTES`].
    pub unaligned: u64,
    /// Calls of less than [`SMALL_BYTES`], and the time in them.
    pub small: u64,
    pub small_time: i64,
    /// Calls that moved not a byte.
    pub empty: u64,
    /// Calls that moved bytes at no known offset.
    pub nowhere: u64,
    /// The first byte touched, and the one after the last, of what is known.
    pub(super) touched: Option<(i64, i64)>,
}

impl Pattern {
    pub(crate) fn add(&mut self, other: &Self) {
        self.consecutive += other.consecutive;
        self.forward += other.forward;
        self.backward += other.backward;
        self.unaligned += other.unaligned;
        self.small += other.small;
        self.small_time += other.small_time;
        self.empty += other.empty;
        self.nowhere += other.nowhere;
        if let Some((begin, end)) = other.touched {
            self.stretch(begin, end);
        }
    }

    /// The first byte touched, and the one after the last; `None` where the offset of any call is
    /// not known: it may lie beyond.
    pub fn reach(&self) -> Option<(i64, i64)> {
        self.touched.filter(|_| self.nowhere == 0)
    }

    pub(super) fn stretch(&mut self, begin: i64, end: i64) {
        let (low, high) = self.touched.unwrap_or((begin, end));
        self.touched = Some((low.min(begin), high.max(end)));
    }

    pub(super) fn calls(&mut self, calls: u64, time: i64, bytes: u64) {
        self.empty += if bytes == 0 { calls } else { 0 };
        if bytes < SMALL_BYTES {
            self.small += calls;
            self.small_time += time;
        }
    }

    /// The first call is consecutive: it has none before it.
    #[inline]
    pub(super) fn place(&mut self, begin: i64, bytes: u64, before: Option<i64>) {
        *self.of_order(begin.cmp(&before.unwrap_or(begin))) += 1;
        self.unaligned += u64::from(begin % BLOCK_BYTES != 0);
        self.stretch(begin, begin.saturating_add_unsigned(bytes));
    }

    /// Calls that begin where the one before ended, after that, or before.
    pub(super) fn of_order(&mut self, order: Ordering) -> &mut u64 {
        match order {
            Ordering::Equal => &mut self.consecutive,
            Ordering::Greater => &mut self.forward,
            Ordering::Less => &mut self.backward,
        }
    }
}
