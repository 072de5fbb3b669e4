//! Writes that follow one another, made as one.

use hashbrown::HashMap;
use tailrace_replay::Access;
use tailrace_replay::program::FileCall;

use crate::replay::{FileSystem, rounded};

/// A size must be so many times as large as another to tell a call from its bytes.
const APART: u64 = 8;

/// Nanoseconds: where sizes do not tell, a byte is taken to be no slower (100 MB/s); of a write that
/// is over before a device could answer, and only copies into memory, no slower than 1 GB/s.
const SLOW_BYTE: f64 = 10.;
const COPIED_BYTE: f64 = 1.;
const IN_MEMORY: f64 = 10_000.;

/// Whether the writes among the calls are of sizes that tell a call from its bytes; none where
/// nothing is written.
pub fn are_apart<'a>(calls: impl Iterator<Item = &'a FileCall>) -> Option<bool> {
    let sizes = calls.filter(|call| call.access == Access::Write && call.bytes > 0);
    let edges = sizes.fold(None, |edges, FileCall { bytes, .. }| {
        let (smallest, largest) = edges.unwrap_or((*bytes, *bytes));
        Some((smallest.min(*bytes), largest.max(*bytes)))
    });
    edges.map(|(smallest, largest)| is_apart(smallest, largest))
}

fn is_apart(smallest: u64, largest: u64) -> bool {
    largest >= smallest.saturating_mul(APART)
}

/// What a write or read takes by itself, ns: of those among the calls, by the typical time of those
/// of the smallest and of those of the largest sizes, each within a factor of two. Where these are
/// too close, what one takes beyond its bytes if they are slow; none where there is none.
pub fn by_itself<'a>(calls: impl Iterator<Item = &'a FileCall>, access: Access) -> Option<f64> {
    let moves = calls.filter(|call| call.access == access && call.bytes > 0);
    let mut moves: Vec<(u64, i64)> = moves.map(|c| (c.bytes, c.end - c.begin)).collect();
    moves.sort_unstable();
    let (smallest, largest) = (moves.first()?.0, moves.last()?.0);
    if !is_apart(smallest, largest) {
        let (bytes, time) = medians(&moves);
        let byte = if time < IN_MEMORY { COPIED_BYTE } else { SLOW_BYTE };
        return Some((time - byte * bytes).max(0.));
    }
    let small = moves.partition_point(|(bytes, _)| *bytes < smallest.saturating_mul(2));
    let large = moves.partition_point(|(bytes, _)| *bytes <= largest / 2);
    let (b1, t1) = medians(&moves[..small]);
    let (b2, t2) = medians(&moves[large..]);
    let byte = ((t2 - t1) / (b2 - b1)).max(0.);
    Some((t1 - byte * b1).max(0.))
}

/// Of bytes and of times.
fn medians(moves: &[(u64, i64)]) -> (f64, f64) {
    let mut times: Vec<i64> = moves.iter().map(|(_, time)| *time).collect();
    times.sort_unstable();
    (moves[moves.len() / 2].0 as f64, times[times.len() / 2] as f64)
}

/// How calls that follow one another become one.
#[derive(Clone, Copy, Debug)]
pub struct Gathering {
    /// So many bytes at most.
    pub size: u64,
    /// Nanoseconds a byte, to and from where it is gathered.
    pub copy: f64,
    /// What each call took by itself, as measured: this is saved.
    pub call: f64,
}

impl Gathering {
    /// What copying takes the call's bytes.
    pub(crate) fn copied(&self, call: &FileCall) -> i64 {
        rounded(call.bytes as f64 * self.copy)
    }
}

/// Another's calls, but each rank gathers what it writes one behind the other into a file, up to a
/// size, until it does something else with the file, or ends.
pub struct Merged<'a> {
    under: &'a mut dyn FileSystem,
    by: Gathering,
    gathered: HashMap<(u32, u32), Gathered>,
}

/// The writes so far, as one, and how many they are.
struct Gathered {
    write: FileCall,
    calls: i64,
    /// What they took, as measured.
    time: i64,
}

impl<'a> Merged<'a> {
    pub fn new(under: &'a mut dyn FileSystem, by: Gathering) -> Self {
        Self { under, by, gathered: HashMap::new() }
    }

    fn write(&mut self, rank: u32, now: i64, call: &FileCall) -> i64 {
        let place = (rank, call.file);
        let copied = self.by.copied(call);
        let time = call.end - call.begin;
        if let Some(gathered) = self.gathered.get_mut(&place)
            && follows(&gathered.write, call)
            && gathered.write.bytes.saturating_add(call.bytes) <= self.by.size
        {
            gathered.write.bytes += call.bytes;
            gathered.calls += 1;
            gathered.time += time;
            return now + copied;
        }
        let now = self.flush(rank, now, call.file);
        if call.bytes >= self.by.size {
            return self.under.end(rank, now, call);
        }
        self.gathered.insert(place, Gathered { write: *call, calls: 1, time });
        now + copied
    }

    /// Writes what is gathered; when that is done.
    fn flush(&mut self, rank: u32, now: i64, file: u32) -> i64 {
        let Some(Gathered { write, calls, time }) = self.gathered.remove(&(rank, file)) else {
            return now;
        };
        let saved = (calls - 1) as f64 * self.by.call;
        // at best the many take what one of them took
        let measured = rounded((time as f64 - saved).max(time as f64 / calls as f64));
        let write = FileCall { begin: now, end: now + measured, ..write };
        self.under.end(rank, now, &write)
    }
}

pub(crate) fn follows(before: &FileCall, call: &FileCall) -> bool {
    let end = before.offset.map(|offset| offset.wrapping_add(before.bytes as i64));
    end == call.offset
}

impl FileSystem for Merged<'_> {
    fn end(&mut self, rank: u32, begin: i64, call: &FileCall) -> i64 {
        if call.access == Access::Write {
            return self.write(rank, begin, call);
        }
        let begin = self.flush(rank, begin, call.file);
        self.under.end(rank, begin, call)
    }

    fn rest(&mut self, rank: u32, now: i64) -> i64 {
        let mut files: Vec<u32> =
            self.gathered.keys().filter(|(of, _)| *of == rank).map(|(_, file)| *file).collect();
        files.sort_unstable();
        let now = files.into_iter().fold(now, |now, file| self.flush(rank, now, file));
        self.under.rest(rank, now)
    }
}

#[cfg(test)]
mod tests {
    use tailrace_replay::program::Naming;

    use super::*;
    use crate::Scaled;

    fn call(access: Access, offset: i64, bytes: u64, time: i64) -> FileCall {
        let naming = Naming::Stays;
        let (offset, after_wait) = (Some(offset), false);
        FileCall { begin: 0, end: time, access, naming, file: 0, bytes, offset, after_wait }
    }

    fn ends(size: u64, by_itself: f64, calls: &[FileCall]) -> Vec<i64> {
        let mut measured = Scaled::all(1.);
        let mut files = Merged::new(&mut measured, Gathering { size, copy: 0.1, call: by_itself });
        let mut now = 0;
        let mut end = |call| {
            now = files.end(0, now, call);
            now
        };
        let mut found: Vec<i64> = calls.iter().map(&mut end).collect();
        found.push(files.rest(0, now));
        found
    }

    #[test]
    fn writes_that_follow_one_another_are_made_as_one_before_the_next_call() {
        let calls = [
            call(Access::Write, 0, 10, 100),
            call(Access::Write, 10, 10, 100),
            call(Access::Write, 20, 10, 100),
            call(Access::Close, 0, 0, 5),
        ];
        // 1 to copy each; then 300 less twice 60, and 5
        assert_eq!(ends(100, 60., &calls), [1, 2, 3, 188, 188]);
        // a call by itself cannot take more than one took: 100 are left
        assert_eq!(ends(100, f64::INFINITY, &calls), [1, 2, 3, 108, 108]);
        // room for two: 200 − 60 when the third comes, which is written at the close
        assert_eq!(ends(20, 60., &calls), [1, 2, 143, 248, 248]);
    }

    #[test]
    fn what_lies_elsewhere_is_large_or_is_the_last_is_written_by_itself() {
        let calls = [
            call(Access::Write, 0, 10, 100),
            call(Access::Write, 50, 10, 100),
            call(Access::Write, 60, 40, 100),
            call(Access::Write, 100, 10, 100),
        ];
        assert_eq!(ends(40, 60., &calls), [1, 102, 302, 303, 403]);
    }

    #[test]
    fn a_call_is_told_from_its_bytes_where_sizes_differ() {
        let writes = [(10, 120), (10, 120), (19, 500), (100, 300), (60, 300), (51, 1), (0, 7)];
        let calls: Vec<FileCall> =
            writes.iter().map(|(bytes, time)| call(Access::Write, 0, *bytes, *time)).collect();
        // 120 for 10 bytes and 300 for 60: 3.6 a byte, 84 a call
        let alone = by_itself(calls.iter(), Access::Write).unwrap();
        assert!((alone - 84.).abs() < 1e-9, "{alone}");
        // 10, 10 and 19 bytes are too close: of 120 the 10 bytes may have taken 10, in memory
        let alone = by_itself(calls[..3].iter(), Access::Write).unwrap();
        assert!((alone - 110.).abs() < 1e-9, "{alone}");
        // of 20 µs 1000 bytes may have taken 10 µs on a device
        let alone =
            by_itself([call(Access::Write, 0, 1000, 20_000)].iter(), Access::Write).unwrap();
        assert!((alone - 10_000.).abs() < 1e-9, "{alone}");
        assert_eq!(by_itself([].iter(), Access::Write), None);
    }

    #[test]
    fn sizes_are_apart_by_eight_times() {
        let calls = [10, 40, 80].map(|bytes| call(Access::Write, 0, bytes, 100));
        assert_eq!(are_apart(calls.iter()), Some(true));
        assert_eq!(are_apart(calls[..2].iter()), Some(false));
        assert_eq!(are_apart([call(Access::Read, 0, 10, 1)].iter()), None);
    }
}
