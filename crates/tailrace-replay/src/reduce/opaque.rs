//! When opaque collective file calls become file calls: when the last rank enters.
//!
//! Until then a rank waits, and what it does is MPI; so its own accounts depend on others. Where a
//! trace has such calls (no POSIX call is ever seen inside), a first pass over it finds out when
//! each became one. A rank that left before the last one entered waited for nobody: all of its call
//! was a file call.

use hashbrown::HashMap;
use tailrace_trace::event::{FileCall, Operation, Part, Progress, Shape};
use tailrace_trace::{Batch, Tables, Trace, TraceError};

use crate::steps::collective_file;

/// Communicator, and the number of the collective file call on it.
type Key = (u32, u32);

#[derive(Clone, Copy, Debug)]
struct Entries {
    ranks: u32,
    last: i64,
}

/// Of a trace without opaque files: nothing.
#[derive(Default)]
pub(crate) struct Opaque {
    entries: HashMap<Key, Entries>,
    /// By location: when the calls were left that hold others, in order.
    leaves: Vec<Vec<i64>>,
}

impl Opaque {
    pub(crate) fn new(trace: &dyn Trace) -> Result<Self, TraceError> {
        let tables = trace.tables();
        let mut opaque = Self::default();
        if !tables.files.iter().any(|file| file.opaque) {
            return Ok(opaque);
        }
        for location in 0..tables.locations.len() {
            let leaves = opaque.follow(trace, location)?;
            opaque.leaves.push(leaves);
        }
        Ok(opaque)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.leaves.is_empty()
    }

    /// When the last rank entered; `None` if one never did.
    pub(crate) fn entered_by_all(&self, tables: &Tables, key: Key) -> Option<i64> {
        let entries = self.entries.get(&key)?;
        let size = tables.communicators[key.0 as usize].size();
        (entries.ranks as usize >= size).then_some(entries.last)
    }

    /// When the location left the `number`-th of its calls that are opaque and collective and hold
    /// others.
    pub(crate) fn left(&self, location: usize, number: usize) -> Option<i64> {
        self.leaves.get(location)?.get(number).copied()
    }

    fn follow(&mut self, trace: &dyn Trace, location: usize) -> Result<Vec<i64>, TraceError> {
        let tables = trace.tables();
        let mut stream = trace.events(location);
        let (mut batch, mut numbers) = (Batch::default(), HashMap::new());
        let (mut leaves, mut open) = (Vec::new(), Vec::new());
        while stream.next_batch(&mut batch)? {
            for event in &batch.events {
                let shape = &batch.shapes[event.shape as usize];
                if shape.part == Part::Leave {
                    if let Some(Some(place)) = open.pop() {
                        leaves[place] = event.end;
                    }
                    continue;
                }
                if let Some(communicator) = entered(tables, shape) {
                    let number = numbers.entry(communicator).or_insert(0);
                    self.enter((communicator, *number), event.begin);
                    *number += 1;
                }
                if shape.part == Part::Enter {
                    let waits = waits_for_all(tables, shape).then_some(leaves.len());
                    leaves.extend(waits.map(|_| i64::MAX));
                    open.push(waits);
                }
            }
        }
        Ok(leaves)
    }

    fn enter(&mut self, key: Key, at: i64) {
        let entries = self.entries.entry(key).or_insert(Entries { ranks: 0, last: at });
        entries.ranks += 1;
        entries.last = entries.last.max(at);
    }
}

/// The communicator on which a call of this shape is a collective file call.
fn entered(tables: &Tables, shape: &Shape) -> Option<u32> {
    let prepares = shape.operation.progress() == Progress::Persistent;
    collective_file(tables, &shape.operation).filter(|_| !prepares)
}

/// Whether a call of this shape is a wait until the last rank enters, and then a file call.
pub(crate) fn waits_for_all(tables: &Tables, shape: &Shape) -> bool {
    let blocking = shape.operation.progress() == Progress::Blocking;
    let opaque = matches!(&shape.operation, Operation::File(FileCall { opaque: true, .. }));
    blocking && opaque && entered(tables, shape).is_some()
}
