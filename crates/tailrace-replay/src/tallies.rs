//! Calls, bytes and time by function and by file, per rank.

use hashbrown::HashMap;
use tailrace_trace::Batch;
use tailrace_trace::event::{Layer, Part};

use crate::longest::Span;
use crate::steps::{Access, Line, Step, Sum};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FunctionTally {
    pub calls: u64,
    pub time: i64,
    pub bytes: u64,
}

/// What happened to a file in its innermost layer, by one rank or all. Calls of MPI-IO that make POSIX calls do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileTally {
    pub bytes: [u64; 2],
    /// Calls and time by [`Access`].
    pub calls: [u64; 3],
    pub time: [i64; 3],
}

impl FileTally {
    pub fn add(&mut self, other: &FileTally) {
        (0..2).for_each(|i| self.bytes[i] = self.bytes[i].saturating_add(other.bytes[i]));
        (0..3).for_each(|i| self.calls[i] += other.calls[i]);
        (0..3).for_each(|i| self.time[i] += other.time[i]);
    }

    /// Time in all calls.
    pub fn total_time(&self) -> i64 {
        self.time.iter().sum()
    }
}

/// A file and the layer through which it was used.
pub type FileKey = (u32, Layer);

/// The tallies of one location, filled batch by batch.
#[derive(Debug, Default)]
pub struct Tallies {
    pub functions: Vec<FunctionTally>,
    pub files: HashMap<FileKey, FileTally>,
    pub events: u64,
}

impl Tallies {
    /// Takes over what was summed by shape, and clears it.
    pub fn take(&mut self, batch: &Batch, lines: &mut [Line]) {
        for (shape, Line { step, sum }) in batch.shapes.iter().zip(lines) {
            if sum.calls == 0 || shape.part == Part::Enter {
                continue;
            }
            self.add_function(step, *sum);
            if step.io && step.file != Span::NO_FILE {
                self.add_file(step, *sum);
            }
            *sum = Sum::default();
        }
    }

    /// A call inside a file call of another layer: its time and bytes are the outer one's already.
    pub fn take_nested(&mut self, step: &Step, duration: i64) {
        self.add_function(step, Sum { calls: 1, time: duration });
    }

    fn add_function(&mut self, step: &Step, sum: Sum) {
        let function = step.function as usize;
        if self.functions.len() <= function {
            self.functions.resize(function + 1, FunctionTally::default());
        }
        let tally = &mut self.functions[function];
        tally.calls += sum.calls;
        tally.time += sum.time;
        tally.bytes = tally.bytes.saturating_add(step.bytes.saturating_mul(sum.calls));
    }

    fn add_file(&mut self, step: &Step, sum: Sum) {
        let tally = self.files.entry((step.file, step.layer)).or_default();
        let access = step.access as usize;
        tally.calls[access] += sum.calls;
        tally.time[access] += sum.time;
        if step.access != Access::Metadata {
            tally.bytes[access] = tally.bytes[access].saturating_add(step.bytes.saturating_mul(sum.calls));
        }
    }
}
