//! How the reads and the writes of a location lie in its files: one after another or not, how far
//! they reach, how large they are.

use std::mem;

use hashbrown::HashMap;
use tailrace_trace::Columns;
use tailrace_trace::event::{FileCall, FileKind, Layer, Part, Shape};
use tailrace_trace::tables::Window;

use crate::accounts::pattern::{BLOCK_BYTES, Pattern};
use crate::steps::{Access, Line};

/// Fewer calls at the same distance are placed one by one.
const FEW: usize = 4;

/// A file's patterns, and where calls ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Track {
    file: u32,
    /// Where the last call ended: offsets are told from there.
    reached: i64,
    patterns: [Pattern; 2],
    /// Where the last read and the last write ended.
    ends: [Option<i64>; 2],
    descriptor: Descriptor,
}

/// Where `read` and `write` go on: the trace has no offset of theirs, but of each `lseek`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Descriptor {
    /// Known while the location has the file open once: which of two descriptors a call is on the
    /// trace does not say.
    place: Option<i64>,
    /// Writes go to the file's end, wherever that is.
    appends: bool,
    open: u32,
}

/// What the calls of a shape do to a file.
#[derive(Clone, Copy, Debug)]
struct Use {
    /// Index into [`Patterns::tracks`].
    track: u32,
    distance: Option<i64>,
    bytes: u64,
    /// Read, or written: what counts. A call that failed is neither.
    way: Option<usize>,
    turn: Turn,
}

/// What a call does to where the next goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    /// Nothing: it has an offset of its own, or moves no bytes.
    Stays,
    GoesOn,
    Seeks,
    Opens,
    OpensToAppend,
    Closes,
    /// To a place that nobody knows.
    Loses,
}

impl Turn {
    fn of(call: &FileCall) -> Self {
        match (call.kind, call.layer) {
            (FileKind::Open, Layer::Posix | Layer::Stdio) if call.error == 0 => {
                if call.appends {
                    Turn::OpensToAppend
                } else {
                    Turn::Opens
                }
            }
            (FileKind::Close, Layer::Posix | Layer::Stdio) => Turn::Closes,
            (_, Layer::Posix) if call.error != 0 => Turn::Stays,
            (FileKind::Seek, Layer::Posix) if call.offset.is_some() => Turn::Seeks,
            (FileKind::Read | FileKind::Write, Layer::Posix) if call.offset.is_none() => {
                Turn::GoesOn
            }
            (FileKind::Seek | FileKind::Read | FileKind::Write, Layer::Stdio) => Turn::Loses,
            _ => Turn::Stays,
        }
    }
}

impl Descriptor {
    /// After so many calls; `sought`: where the last of them went.
    fn turns(&mut self, turn: Turn, calls: u32, sought: i64) {
        match turn {
            Turn::Stays | Turn::GoesOn => {}
            Turn::Seeks => self.place = (self.open < 2).then_some(sought),
            Turn::Loses => self.place = None,
            Turn::Opens | Turn::OpensToAppend => {
                let open = self.open.saturating_add(calls);
                let appends = turn == Turn::OpensToAppend;
                *self = Self { place: (open == 1).then_some(0), appends, open };
            }
            Turn::Closes => {
                *self = Self { open: self.open.saturating_sub(calls), ..Self::default() };
            }
        }
    }

    /// Where it is for such a call; lost to a write that appends.
    fn place_of(&mut self, call: &Use) -> Option<i64> {
        if call.turn != Turn::GoesOn {
            return None;
        }
        if self.appends && call.way == Access::Write.direction() {
            self.place = None;
        }
        self.place
    }
}

impl Track {
    /// So many calls one after another, which took `time`; `within` the window they count.
    fn follow(&mut self, call: &Use, calls: usize, time: i64, within: bool) {
        let way = call.way.filter(|_| within);
        if let Some(way) = way {
            self.patterns[way].calls(calls as u64, time, call.bytes);
        }
        let places = way.filter(|_| call.bytes > 0);
        match call.distance {
            Some(distance) => self.place_run(distance, call.bytes, calls, places),
            None => self.go_on(call, calls, places),
        }
        self.descriptor.turns(call.turn, calls as u32, self.reached);
    }

    /// … a single call, which counts: most often all there is to it is its place.
    #[inline]
    fn follow_single(&mut self, call: &Use, time: i64) {
        match (call.distance, call.turn, call.way) {
            (Some(distance), Turn::Stays, None) => {
                self.place(self.reached.wrapping_add(distance), call.bytes, None);
            }
            (Some(distance), Turn::Stays, Some(way)) if call.bytes > 0 => {
                self.patterns[way].calls(1, time, call.bytes);
                self.place(self.reached.wrapping_add(distance), call.bytes, Some(way));
            }
            _ => self.follow(call, 1, time, true),
        }
    }

    /// Calls without an offset: they go on from where the descriptor stands, if that is known. The
    /// distances of others are counted from where these others ended.
    fn go_on(&mut self, call: &Use, calls: usize, way: Option<usize>) {
        if let Some(begin) = self.descriptor.place_of(call) {
            let reached = mem::replace(&mut self.reached, begin);
            self.place_run(0, call.bytes, calls, way);
            self.descriptor.place = Some(mem::replace(&mut self.reached, reached));
        } else if let Some(way) = way {
            self.patterns[way].nowhere += calls as u64;
        }
    }

    /// So many calls, each at that distance from where the one before ended.
    fn place_run(&mut self, distance: i64, bytes: u64, calls: usize, way: Option<usize>) {
        self.place(self.reached.wrapping_add(distance), bytes, way);
        let rest = calls - 1;
        match way {
            Some(way) if rest >= FEW && self.is_near(distance, bytes, rest) => {
                self.place_all(distance, bytes, rest, way);
            }
            _ => (0..rest).for_each(|_| {
                self.place(self.reached.wrapping_add(distance), bytes, way);
            }),
        }
    }

    #[inline]
    fn place(&mut self, begin: i64, bytes: u64, way: Option<usize>) {
        self.reached = begin.wrapping_add(bytes as i64);
        if let Some(way) = way {
            self.patterns[way].place(begin, bytes, self.ends[way]);
            self.ends[way] = Some(begin.saturating_add_unsigned(bytes));
        }
    }

    /// Whether no offset of so many more calls is beyond what numbers hold.
    fn is_near(&self, distance: i64, bytes: u64, calls: usize) -> bool {
        const FAR: u128 = 1 << 62;
        let step = u128::from(distance.unsigned_abs()) + u128::from(bytes);
        u128::from(self.reached.unsigned_abs()) + step * (calls as u128) < FAR
    }

    /// More calls at the same distance, which are near: each is where the one before was, and
    /// `step` further.
    fn place_all(&mut self, distance: i64, bytes: u64, calls: usize, way: usize) {
        let bytes = bytes as i64;
        let (first, step) = (self.reached + distance, distance + bytes);
        let last = first + step * (calls as i64 - 1);
        let unaligned = |call: u32| {
            let low = (first as u32).wrapping_add((step as u32).wrapping_mul(call));
            u32::from(!low.is_multiple_of(BLOCK_BYTES as u32))
        };
        let pattern = &mut self.patterns[way];
        *pattern.of_order(distance.cmp(&0)) += calls as u64;
        pattern.unaligned += u64::from((0..calls as u32).map(unaligned).sum::<u32>());
        pattern.stretch(first.min(last), first.max(last) + bytes);
        self.reached = last + bytes;
        self.ends[way] = Some(self.reached);
    }
}

/// The patterns of one location, filled block by block.
#[derive(Debug, Default)]
pub(crate) struct Patterns {
    tracks: Vec<Track>,
    index: HashMap<u32, u32>,
}

impl Patterns {
    /// Adds a block whose shapes are compiled to `lines`; no event ends after `end_ns`.
    pub(crate) fn follow(
        &mut self,
        columns: &Columns,
        end_ns: i64,
        lines: &[Line],
        window: Window,
    ) {
        if !lines.iter().any(|line| line.step.is_on_file()) {
            return;
        }
        let shapes = columns.shapes.iter().zip(lines);
        let uses: Vec<Option<Use>> =
            shapes.map(|(shape, line)| self.find(&shape.shape, line)).collect();
        let inside = columns.begin_ns >= window.begin_ns && end_ns <= window.end_ns;
        if inside && columns.long.is_empty() {
            self.follow_runs(columns, &uses);
            return;
        }
        for event in columns.events() {
            if let Some(call) = &uses[event.shape as usize] {
                let within = event.end >= window.begin_ns && event.begin <= window.end_ns;
                self.tracks[call.track as usize].follow(call, 1, event.end - event.begin, within);
            }
        }
    }

    /// Events that are all in the window and none of them long.
    fn follow_runs(&mut self, columns: &Columns, uses: &[Option<Use>]) {
        let Columns { shape_of, durations, .. } = columns;
        let mut row = 0;
        while let Some(&shape) = shape_of.get(row) {
            let Some(call) = &uses[usize::from(shape)] else {
                row += 1;
                continue;
            };
            let track = &mut self.tracks[call.track as usize];
            if shape_of.get(row + 1) != Some(&shape) {
                track.follow_single(call, durations[row].into());
                row += 1;
                continue;
            }
            let run = shape_of[row..].iter().take_while(|next| **next == shape).count();
            let time = durations[row..row + run].iter().map(|&time| i64::from(time)).sum();
            track.follow(call, run, time, true);
            row += run;
        }
    }

    fn find(&mut self, shape: &Shape, line: &Line) -> Option<Use> {
        let call = shape.operation.file().filter(|_| shape.part != Part::Enter)?;
        let track = *self.index.entry(call.file).or_insert_with(|| {
            self.tracks.push(Track { file: call.file, ..Track::default() });
            self.tracks.len() as u32 - 1
        });
        let moves = line.step.io && call.error == 0 && !line.step.is_part;
        let way = line.step.access.direction().filter(|_| moves);
        let turn = Turn::of(call);
        Some(Use { track, distance: call.offset, bytes: call.bytes, way, turn })
    }

    /// The patterns of reads and of writes of each file.
    pub(crate) fn files(&self) -> impl Iterator<Item = (u32, &[Pattern; 2])> {
        self.tracks.iter().map(|track| (track.file, &track.patterns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::pattern::SMALL_BYTES;

    fn stays(distance: Option<i64>, bytes: u64, way: usize) -> Use {
        Use { track: 0, distance, bytes, way: Some(way), turn: Turn::Stays }
    }

    fn track(calls: &[(i64, u64)]) -> Pattern {
        let mut track = Track::default();
        for (offset, bytes) in calls {
            track.follow(&stays(Some(offset - track.reached), *bytes, 0), 1, 5, true);
        }
        track.patterns[0]
    }

    #[test]
    fn each_call_goes_on_skips_forward_or_goes_back() {
        let pattern = track(&[(4096, 100), (4196, 100), (8192, 100), (0, 100)]);
        let steps = (pattern.consecutive, pattern.forward, pattern.backward);
        assert_eq!(steps, (2, 1, 1)); // the first goes on: nothing was before it
        assert_eq!(pattern.reach(), Some((0, 8292)));
        assert_eq!(pattern.unaligned, 1); // 4196
    }

    #[test]
    fn small_is_below_the_limit_and_its_time_is_kept() {
        let pattern = track(&[(0, SMALL_BYTES), (0, SMALL_BYTES - 1)]);
        assert_eq!((pattern.small, pattern.small_time), (1, 5));
    }

    #[test]
    fn a_call_of_no_bytes_or_at_no_known_offset_reaches_nothing() {
        let mut track = Track::default();
        track.follow(&stays(None, 100, 1), 1, 1, true);
        track.follow(&stays(Some(50), 0, 1), 1, 1, true);
        let [_, writes] = track.patterns;
        let found = (writes.reach(), writes.consecutive, writes.nowhere, writes.small);
        assert_eq!(found, (None, 0, 1, 2));
        assert_eq!(writes.empty, 1);
    }

    #[test]
    fn calls_of_a_run_are_as_if_one_by_one() {
        for (distance, bytes) in [(0, 8), (-100, 8), (4096, 4096), (-4096, 100), (7, 0), (-8, 8)] {
            for far in [0, i64::MAX - 1000, i64::MIN] {
                let call = stays(Some(distance), bytes, 0);
                let start = Track { reached: far, ..Track::default() };
                let (mut run, mut single) = (start, start);
                run.follow(&call, 1000, 3000, true);
                (0..1000).for_each(|_| single.follow_single(&call, 3));
                assert_eq!(run, single);
            }
        }
    }

    /// A call of the descriptor's own place: a seek to `offset`, or so many bytes read.
    fn turn(track: &mut Track, turn: Turn, offset: Option<i64>, bytes: u64) {
        let distance = offset.map(|offset| offset - track.reached);
        let way = (turn == Turn::GoesOn).then_some(0);
        track.follow(&Use { track: 0, distance, bytes, way, turn }, 1, 5, true);
    }

    #[test]
    fn a_file_is_read_and_written_from_its_begin_on_or_appended_to() {
        let write = Use { track: 0, distance: None, bytes: 10, way: Some(1), turn: Turn::GoesOn };
        let mut track = Track::default();
        for _ in 0..2 {
            turn(&mut track, Turn::Opens, None, 0);
            turn(&mut track, Turn::GoesOn, None, 50);
            turn(&mut track, Turn::GoesOn, None, 50);
            track.follow(&write, 1, 5, true);
            turn(&mut track, Turn::Closes, None, 0);
        }
        assert_eq!(track.patterns[0].reach(), Some((0, 100)));
        // the second time it goes back to the begin
        assert_eq!((track.patterns[0].consecutive, track.patterns[0].backward), (3, 1));
        assert_eq!(track.patterns[1].reach(), Some((100, 110)));
        turn(&mut track, Turn::OpensToAppend, None, 0);
        turn(&mut track, Turn::GoesOn, None, 50);
        track.follow(&write, 1, 5, true);
        turn(&mut track, Turn::GoesOn, None, 50); // behind what was written, wherever that is
        assert_eq!((track.patterns[1].nowhere, track.patterns[0].nowhere), (1, 1));
        turn(&mut track, Turn::Seeks, Some(0), 0);
        track.follow(&write, 1, 5, true);
        assert_eq!(track.patterns[1].nowhere, 2);
    }

    #[test]
    fn reads_go_on_from_where_the_descriptor_was_put() {
        let mut track = Track::default();
        turn(&mut track, Turn::GoesOn, None, 10); // it was open before: nobody knows where
        turn(&mut track, Turn::Opens, None, 0);
        assert_eq!((track.patterns[0].nowhere, track.patterns[0].reach()), (1, None));
        for (offset, bytes) in [(1000, 10), (5000, 10), (200, 10)] {
            turn(&mut track, Turn::Seeks, Some(offset), 0);
            turn(&mut track, Turn::GoesOn, None, bytes);
        }
        turn(&mut track, Turn::Stays, Some(90_000), 0); // a pread elsewhere moves nothing
        turn(&mut track, Turn::GoesOn, None, 10);
        let reads = track.patterns[0];
        // 1000 is the first known; 5000 is after 1010, 200 before 5010, 210 is where 200 ended
        assert_eq!((reads.consecutive, reads.forward, reads.backward), (2, 1, 1));
        assert_eq!((reads.touched, reads.reach()), (Some((200, 5010)), None));
    }

    #[test]
    fn reads_that_go_on_together_are_as_if_one_by_one() {
        let start = Track {
            reached: 77,
            descriptor: Descriptor { place: Some(5000), appends: false, open: 1 },
            ..Track::default()
        };
        let call = Use { turn: Turn::GoesOn, ..stays(None, 100, 0) };
        let (mut run, mut single) = (start, start);
        run.follow(&call, 1000, 3000, true);
        (0..1000).for_each(|_| single.follow(&call, 1, 3, true));
        assert_eq!(run, single);
        assert_eq!((run.reached, run.descriptor.place), (77, Some(105_000)));
        assert_eq!(run.patterns[0].reach(), Some((5000, 105_000)));
    }

    #[test]
    fn of_two_descriptors_nobody_knows_which_was_put() {
        let mut track = Track::default();
        turn(&mut track, Turn::Opens, None, 0);
        turn(&mut track, Turn::Opens, None, 0);
        turn(&mut track, Turn::Seeks, Some(100), 0);
        turn(&mut track, Turn::GoesOn, None, 10);
        assert_eq!((track.patterns[0].nowhere, track.patterns[0].touched), (1, None));
        turn(&mut track, Turn::Closes, None, 0);
        turn(&mut track, Turn::Seeks, Some(100), 0);
        turn(&mut track, Turn::GoesOn, None, 10);
        assert_eq!(track.patterns[0].touched, Some((100, 110)));
    }

    #[test]
    fn sums_reach_from_the_first_byte_to_the_last() {
        let mut both = track(&[(100, 10)]);
        both.add(&track(&[(0, 10)]));
        both.add(&Pattern::default());
        assert_eq!((both.reach(), both.consecutive), (Some((0, 110)), 2));
    }
}
