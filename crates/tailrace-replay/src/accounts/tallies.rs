//! Calls, bytes and time by function and by file, per rank.

use hashbrown::HashMap;
use tailrace_trace::columns::ColumnShape;
use tailrace_trace::event::{Buffered, Layer, Operation, Part};

use crate::accounts::pattern::Pattern;
use crate::accounts::places::Places;
use crate::steps::{Access, Line, Step, Sum};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FunctionTally {
    pub calls: u64,
    pub time: i64,
    pub bytes: u64,
    /// Of the calls those that were counted and not timed.
    pub counted: u64,
}

/// How large the reads, or the writes, of a file are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// Calls of less than 100 bytes, less than 1 kB, and so on by decades; the last has all beyond.
    pub decades: [u64; Self::DECADES],
    /// The smallest and the largest; `None` where there is no call.
    pub range: Option<(u64, u64)>,
}

impl Sizes {
    pub const DECADES: usize = 8;

    fn calls(&mut self, bytes: u64, calls: u64) {
        let digits = bytes.checked_ilog10().map_or(0, |decade| decade as usize);
        self.decades[digits.saturating_sub(1).min(Self::DECADES - 1)] += calls;
        self.stretch((bytes, bytes));
    }

    fn add(&mut self, other: &Self) {
        (0..Self::DECADES).for_each(|i| self.decades[i] += other.decades[i]);
        if let Some(range) = other.range {
            self.stretch(range);
        }
    }

    fn stretch(&mut self, (low, high): (u64, u64)) {
        let (least, most) = self.range.unwrap_or((low, high));
        self.range = Some((least.min(low), most.max(high)));
    }
}

/// Calls that failed of those that write, synchronise, close or set the size of a file: what they
/// were to bring there may be lost. Of MPI-IO also those that open it: whoever goes on without the
/// file loses all that he meant to write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Failed {
    pub opens: u64,
    pub writes: u64,
    pub others: u64,
    pub time: i64,
    /// The number (errno) of their error, [`Failed::SEVERAL`] where they differ, 0 without calls.
    pub error: i32,
}

impl Failed {
    pub const SEVERAL: i32 = -1;
    /// Numbers of EINTR and EAGAIN: the caller is to try again.
    const TRY_AGAIN: [i32; 2] = [4, 11];

    fn calls(access: Access, mpiio: bool, error: i32, sum: Sum) -> Self {
        let failed = Self { time: sum.time, error, ..Self::default() };
        match access {
            _ if error <= 0 || Self::TRY_AGAIN.contains(&error) => Self::default(),
            Access::Open if mpiio => Self { opens: sum.calls, ..failed },
            Access::Write => Self { writes: sum.calls, ..failed },
            Access::Synchronize | Access::Close | Access::Truncate => {
                Self { others: sum.calls, ..failed }
            }
            _ => Self::default(),
        }
    }

    fn add(&mut self, other: &Self) {
        self.opens += other.opens;
        self.writes += other.writes;
        self.others += other.others;
        self.time += other.time;
        self.error = match (self.error, other.error) {
            (error, 0) | (0, error) => error,
            (error, same) if error == same => error,
            _ => Self::SEVERAL,
        };
    }
}

/// What happened to a file, by one rank or all. Bytes, calls and times are those of the innermost
/// layer, so that nothing counts twice: an MPI-IO call that makes POSIX calls counts in `mpiio`
/// alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileTally {
    pub bytes: [u64; 2],
    /// Calls and time by [`Access`].
    pub calls: [u64; Access::KINDS],
    pub time: [i64; Access::KINDS],
    /// Time in MPI-IO calls, whatever is inside them.
    pub mpiio: i64,
    /// What MPI-IO calls were asked to read and write, whatever they made of it.
    pub mpiio_bytes: [u64; 2],
    /// Calls of STDIO that read and wrote by way of a buffer, and their bytes; of these,
    /// `calls` and `bytes` hold what reached the system.
    pub buffered_calls: [u64; 2],
    pub buffered_bytes: [u64; 2],
    /// How reads and writes lie in the file.
    pub patterns: [Pattern; 2],
    pub sizes: [Sizes; 2],
    pub failed: Failed,
    /// Calls of MPI-IO that failed, whatever failed inside them.
    pub failed_mpiio: Failed,
}

impl FileTally {
    pub fn add(&mut self, other: &FileTally) {
        self.failed.add(&other.failed);
        self.failed_mpiio.add(&other.failed_mpiio);
        for i in 0..2 {
            self.bytes[i] = self.bytes[i].saturating_add(other.bytes[i]);
            self.mpiio_bytes[i] = self.mpiio_bytes[i].saturating_add(other.mpiio_bytes[i]);
            self.buffered_calls[i] = self.buffered_calls[i].saturating_add(other.buffered_calls[i]);
            self.buffered_bytes[i] = self.buffered_bytes[i].saturating_add(other.buffered_bytes[i]);
            self.patterns[i].add(&other.patterns[i]);
            self.sizes[i].add(&other.sizes[i]);
        }
        for i in 0..Access::KINDS {
            self.calls[i] += other.calls[i];
            self.time[i] += other.time[i];
        }
        self.mpiio += other.mpiio;
    }

    /// Whether any call of the innermost layer was on the file.
    pub fn is_used(&self) -> bool {
        self.calls.iter().any(|calls| *calls > 0)
    }

    /// Time in all calls of the innermost layer.
    pub fn total_time(&self) -> i64 {
        self.time.iter().sum()
    }
}

/// A file and the layer of the calls.
pub(crate) type FileKey = (u32, Layer);

/// The tallies of one location, filled block by block.
#[derive(Debug, Default)]
pub(crate) struct Tallies {
    pub functions: Vec<FunctionTally>,
    pub files: HashMap<FileKey, FileTally>,
    pub places: Places,
}

impl Tallies {
    /// Takes over what was summed by shape, and clears it.
    pub(crate) fn take(&mut self, shapes: &[ColumnShape], lines: &mut [Line]) {
        for (ColumnShape { shape, .. }, Line { step, sum }) in shapes.iter().zip(lines) {
            if sum.calls == 0 || shape.part == Part::Enter {
                continue;
            }
            match &shape.operation {
                Operation::Buffered(count) => self.add_counts(count, step.layer, sum.calls),
                Operation::Counted { calls } => self.add_counted(step.function, *calls, sum.calls),
                operation => self.add_calls(shape.place, step, operation, *sum),
            }
            *sum = Sum::default();
        }
    }

    fn add_calls(&mut self, place: u32, step: &Step, operation: &Operation, sum: Sum) {
        self.add_function(step, sum);
        self.places.add(place, step, sum);
        if let Some(call) = operation.file() {
            self.add_file(step, call.error, sum);
        }
    }

    /// A call inside another of its layer or further in: the file has its time and bytes already.
    pub(crate) fn take_nested(&mut self, step: &Step, sum: Sum) {
        self.add_function(step, sum);
    }

    /// For so long of a call it waited for other ranks, and was none on the file.
    #[cold]
    pub(crate) fn waited(&mut self, step: &Step, time: i64) {
        self.places.waited(step, time);
        if step.is_on_file() {
            let tally = self.files.entry((step.file, step.layer)).or_default();
            tally.time[step.access as usize] -= time;
        }
    }

    fn add_function(&mut self, step: &Step, sum: Sum) {
        let tally = self.function(step.function);
        tally.calls += sum.calls;
        tally.time += sum.time;
        tally.bytes = tally.bytes.saturating_add(step.bytes.saturating_mul(sum.calls));
    }

    fn add_counted(&mut self, function: u16, calls: u64, events: u64) {
        let tally = self.function(function);
        let calls = calls.saturating_mul(events);
        tally.calls = tally.calls.saturating_add(calls);
        tally.counted = tally.counted.saturating_add(calls);
    }

    fn function(&mut self, function: u16) -> &mut FunctionTally {
        let function = usize::from(function);
        if self.functions.len() <= function {
            self.functions.resize(function + 1, FunctionTally::default());
        }
        &mut self.functions[function]
    }

    fn add_counts(&mut self, count: &Buffered, layer: Layer, events: u64) {
        let tally = self.files.entry((count.file, layer)).or_default();
        let way = usize::from(count.writes);
        let (calls, bytes) = (&mut tally.buffered_calls[way], &mut tally.buffered_bytes[way]);
        *calls = calls.saturating_add(count.calls.saturating_mul(events));
        *bytes = bytes.saturating_add(count.bytes.saturating_mul(events));
    }

    fn add_file(&mut self, step: &Step, error: i32, sum: Sum) {
        let tally = self.files.entry((step.file, step.layer)).or_default();
        let bytes = step.bytes.saturating_mul(sum.calls);
        if step.mpiio {
            tally.mpiio += sum.time;
            add_bytes(&mut tally.mpiio_bytes, step, bytes);
            tally.failed_mpiio.add(&Failed::calls(step.access, true, error, sum));
        }
        if !step.io {
            return;
        }
        let access = step.access as usize;
        tally.calls[access] += step.requests(sum);
        tally.time[access] += sum.time;
        add_bytes(&mut tally.bytes, step, bytes);
        if !step.mpiio {
            tally.failed.add(&Failed::calls(step.access, false, error, sum));
        }
        if let (Some(direction), 0) = (step.access.direction(), error) {
            tally.sizes[direction].calls(step.bytes, step.requests(sum));
        }
    }
}

fn add_bytes(moved: &mut [u64; 2], step: &Step, bytes: u64) {
    if let Some(direction) = step.access.direction() {
        moved[direction] = moved[direction].saturating_add(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_calls_are_those_that_were_to_write() {
        let sum = Sum { calls: 3, time: 30 };
        let mut failed = Failed::default();
        failed.add(&Failed::calls(Access::Write, false, 28, sum));
        failed.add(&Failed::calls(Access::Write, false, 0, sum)); // it did not fail
        failed.add(&Failed::calls(Access::Write, false, 11, sum)); // is to be tried again
        failed.add(&Failed::calls(Access::Open, false, 2, sum)); // there was no such file
        assert_eq!(failed, Failed { writes: 3, time: 30, error: 28, ..Failed::default() });
        failed.add(&Failed::calls(Access::Synchronize, false, 5, sum));
        let both = Failed { opens: 0, writes: 3, others: 3, time: 60, error: Failed::SEVERAL };
        assert_eq!(failed, both);
        let opens = Failed { opens: 3, time: 30, error: 2, ..Failed::default() };
        assert_eq!(Failed::calls(Access::Open, true, 2, sum), opens);
        assert_eq!(Failed::calls(Access::Read, true, 5, sum), Failed::default());
    }

    #[test]
    fn sizes_are_told_apart_by_decades() {
        let mut sizes = Sizes::default();
        for (bytes, calls) in [(0, 1), (99, 1), (100, 3), (999, 1), (1000, 1), (u64::MAX, 1)] {
            sizes.calls(bytes, calls);
        }
        assert_eq!(sizes.decades, [2, 4, 1, 0, 0, 0, 0, 1]);
        assert_eq!(sizes.range, Some((0, u64::MAX)));
        let mut both = Sizes::default();
        both.calls(99_999_999, 2);
        both.calls(100_000_000, 1);
        assert_eq!((both.decades[6], both.decades[7]), (2, 1));
        both.add(&sizes);
        both.add(&Sizes::default());
        assert_eq!((both.decades[0], both.decades[7], both.range), (2, 2, Some((0, u64::MAX))));
    }
}
