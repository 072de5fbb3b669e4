//! How the reads and the writes of a location lie in its files: one after another or not, how far
//! they reach, how large they are.

use hashbrown::HashMap;
use tailrace_trace::Batch;
use tailrace_trace::event::{Event, Part};
use tailrace_trace::offsets::Follower;
use tailrace_trace::tables::Window;

use crate::steps::Line;

/// Requests below this size are small: they cost more by their number than by their bytes.
const SMALL_BYTES: u64 = 64 * 1024;
/// The unit in which a system's page cache, and most file systems, hold a file.
const BLOCK_BYTES: i64 = 4096;

/// The reads, or the writes, of a file by one rank or all. Calls without a known offset (streams,
/// pipes) are only in `small`.
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
    /// The first byte touched, and the one after the last; `None` where no offset is known.
    pub reach: Option<(i64, i64)>,
}

impl Pattern {
    pub(crate) fn add(&mut self, other: &Self) {
        self.consecutive += other.consecutive;
        self.forward += other.forward;
        self.backward += other.backward;
        self.unaligned += other.unaligned;
        self.small += other.small;
        self.small_time += other.small_time;
        if let Some((begin, end)) = other.reach {
            self.stretch(begin, end);
        }
    }

    fn stretch(&mut self, begin: i64, end: i64) {
        let (low, high) = self.reach.unwrap_or((begin, end));
        self.reach = Some((low.min(begin), high.max(end)));
    }

    fn call(&mut self, event: &Event, bytes: u64) {
        if bytes < SMALL_BYTES {
            self.small += 1;
            self.small_time += event.end - event.begin;
        }
    }

    /// The first call is consecutive: it has none before it.
    fn place(&mut self, begin: i64, bytes: u64, before: Option<i64>) {
        match begin.cmp(&before.unwrap_or(begin)) {
            std::cmp::Ordering::Equal => self.consecutive += 1,
            std::cmp::Ordering::Greater => self.forward += 1,
            std::cmp::Ordering::Less => self.backward += 1,
        }
        self.unaligned += u64::from(begin % BLOCK_BYTES != 0);
        self.stretch(begin, begin.saturating_add_unsigned(bytes));
    }
}

/// A file's patterns, and where the last read and the last write ended.
#[derive(Debug, Default)]
struct Track {
    patterns: [Pattern; 2],
    ends: [Option<i64>; 2],
}

/// The patterns of one location, filled batch by batch.
#[derive(Debug, Default)]
pub(crate) struct Patterns {
    follower: Follower,
    tracks: HashMap<u32, Track>,
}

impl Patterns {
    /// Adds a batch whose shapes are compiled to `lines`.
    pub(crate) fn follow(&mut self, batch: &Batch, lines: &[Line], window: Window) {
        if !lines.iter().any(|line| line.step.is_on_file()) {
            return;
        }
        for event in &batch.events {
            let Line { step, .. } = &lines[event.shape as usize];
            let shape = &batch.shapes[event.shape as usize];
            let (Some(call), true) = (shape.operation.file(), shape.part != Part::Enter) else {
                continue;
            };
            let place =
                call.offset.map(|distance| self.follower.offset(call.file, distance, call.bytes));
            let within = event.end >= window.begin_ns && event.begin <= window.end_ns;
            if let (true, Some(direction)) = (step.io && within, step.access.direction()) {
                self.count(event, call.file, (place, call.bytes), direction);
            }
        }
    }

    fn count(&mut self, event: &Event, file: u32, (place, bytes): (Option<i64>, u64), way: usize) {
        let track = self.tracks.entry(file).or_default();
        track.patterns[way].call(event, bytes);
        if let (Some(begin), true) = (place, bytes > 0) {
            track.patterns[way].place(begin, bytes, track.ends[way]);
            track.ends[way] = Some(begin.saturating_add_unsigned(bytes));
        }
    }

    /// The patterns of reads and of writes of each file.
    pub(crate) fn files(&self) -> impl Iterator<Item = (u32, &[Pattern; 2])> {
        self.tracks.iter().map(|(file, track)| (*file, &track.patterns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn track(calls: &[(i64, u64)]) -> Pattern {
        let mut patterns = Patterns::default();
        for (offset, bytes) in calls {
            let event = Event { begin: 10, end: 15, shape: 0 };
            patterns.count(&event, 7, (Some(*offset), *bytes), 0);
        }
        patterns.files().next().expect("a file was used").1[0]
    }

    #[test]
    fn each_call_goes_on_skips_forward_or_goes_back() {
        let pattern = track(&[(4096, 100), (4196, 100), (8192, 100), (0, 100)]);
        let steps = (pattern.consecutive, pattern.forward, pattern.backward);
        assert_eq!(steps, (2, 1, 1)); // the first goes on: nothing was before it
        assert_eq!(pattern.reach, Some((0, 8292)));
        assert_eq!(pattern.unaligned, 1); // 4196
    }

    #[test]
    fn small_is_below_the_limit_and_its_time_is_kept() {
        let pattern = track(&[(0, SMALL_BYTES), (0, SMALL_BYTES - 1)]);
        assert_eq!((pattern.small, pattern.small_time), (1, 5));
    }

    #[test]
    fn a_call_of_no_bytes_or_at_no_known_offset_reaches_nothing() {
        let mut patterns = Patterns::default();
        let event = Event { begin: 0, end: 1, shape: 0 };
        patterns.count(&event, 7, (None, 100), 1);
        patterns.count(&event, 7, (Some(50), 0), 1);
        let (_, [_, writes]) = patterns.files().next().expect("a file was used");
        assert_eq!((writes.reach, writes.consecutive, writes.small), (None, 0, 2));
    }

    #[test]
    fn sums_reach_from_the_first_byte_to_the_last() {
        let mut both = track(&[(100, 10)]);
        both.add(&track(&[(0, 10)]));
        both.add(&Pattern::default());
        assert_eq!((both.reach, both.consecutive), (Some((0, 110)), 2));
    }
}
