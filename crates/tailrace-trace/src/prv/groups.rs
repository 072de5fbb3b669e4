//! What only all ranks' calls together tell: the roots of collectives, and who calls MPI-IO
//! together.

use hashbrown::HashMap;

use super::kinds::{Kind, Order};
use super::names::Names;
use super::parse::Records;
use super::thread::{Arguments, Thread};
use super::types;

#[derive(Debug, Default)]
pub(super) struct Groups {
    /// World rank of the root of the n-th collective on a communicator, where one rank said that it
    /// is the root.
    roots: HashMap<(u32, u64), u32>,
    /// The communicator whose ranks make the collective MPI-IO calls together, where that can be
    /// told.
    pub mpi_io: Option<u32>,
    /// Collective MPI-IO calls are there, but the ranks do not make the same number of them.
    pub mpi_io_unclear: bool,
}

/// Numbers the collectives of one rank on each communicator.
#[derive(Debug, Default)]
pub(super) struct Counter(HashMap<u32, u64>);

impl Counter {
    pub(super) fn next(&mut self, communicator: u32) -> u64 {
        let count = self.0.entry(communicator).or_insert(0);
        *count += 1;
        *count - 1
    }
}

impl Groups {
    pub(super) fn find(records: &Records, names: &mut Names) -> Self {
        let mut groups = Self::default();
        for (rank, thread) in (0..).zip(&records.main) {
            let mut counter = Counter::default();
            for call in &thread.calls {
                let arguments = &records.distinct.arguments[call.arguments as usize];
                let rooted = is_rooted(names.meaning(arguments.kind, arguments.value).kind);
                let Some((communicator, rooted)) =
                    names.communicator(arguments.communicator, rank).zip(rooted)
                else {
                    continue;
                };
                let number = counter.next(communicator);
                if rooted && arguments.root {
                    groups.roots.entry((communicator, number)).or_insert(rank);
                }
            }
        }
        groups.find_mpi_io(records, names);
        groups
    }

    pub(super) fn root(&self, communicator: u32, number: u64) -> Option<u32> {
        self.roots.get(&(communicator, number)).copied()
    }

    /// Extrae records neither file nor communicator of an MPI-IO call. Ranks that make equally many
    /// collective ones are taken to make them together; where the numbers differ, nothing is
    /// assumed.
    fn find_mpi_io(&mut self, records: &Records, names: &mut Names) {
        let together: Vec<bool> =
            records.distinct.arguments.iter().map(|a| is_collective_io(names, a)).collect();
        let calls = |thread: &Thread| {
            thread.calls.iter().filter(|call| together[call.arguments as usize]).count()
        };
        let counts: Vec<usize> = records.main.iter().map(calls).collect();
        let callers: Vec<u32> =
            (0..).zip(&counts).filter(|(_, count)| **count > 0).map(|(rank, _)| rank).collect();
        let Some(first) = callers.first() else { return };
        self.mpi_io_unclear =
            callers.iter().any(|rank| counts[*rank as usize] != counts[*first as usize]);
        if self.mpi_io_unclear {
            return;
        }
        let everyone = callers.len() == counts.len();
        self.mpi_io = Some(if everyone { 0 } else { names.add_communicator(callers.into(), None) });
    }
}

/// Of a collective: whether it has a root.
fn is_rooted(kind: Kind) -> Option<bool> {
    match kind {
        Kind::Collective { order, .. } => Some(matches!(order, Order::FromRoot | Order::ToRoot)),
        _ => None,
    }
}

fn is_collective_io(names: &mut Names, arguments: &Arguments) -> bool {
    let kind = names.meaning(arguments.kind, arguments.value).kind;
    arguments.kind == types::MPI_IO && matches!(kind, Kind::File { collective: true, .. })
}

/// Whether any MPI-IO call holds a POSIX or STDIO call: if none does, MPI-IO is the innermost
/// layer.
pub(super) fn shows_inside_mpi_io(records: &Records) -> bool {
    let kind = |arguments: u32| records.distinct.arguments[arguments as usize].kind;
    records.threads().any(|thread| {
        let mut inside_until = i64::MIN;
        thread.calls.iter().any(|call| {
            match kind(call.arguments) {
                types::MPI_IO => inside_until = call.end,
                types::IO => return call.begin < inside_until,
                _ => {}
            }
            false
        })
    })
}
