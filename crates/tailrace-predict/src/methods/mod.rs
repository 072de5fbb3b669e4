//! Output by another method, from a trace alone: the same data of the same ranks, with the messages
//! and file calls that the other method makes.
//!
//! # What an output is
//!
//! A *family* is a file that several ranks write, or files of one rank each whose names differ in
//! numbers alone ([`families`]). What a rank writes into it with nothing between ranks in between,
//! and each collective call of MPI-IO, is a *stretch* ([`stretches`]). Whose data it holds is told
//! by what was sent to the writer before ([`shares`]). A *unit* is what ranks write together: a
//! collective write; or the n-th stretch of each since all ranks last met, if they have as many
//! ([`units`]). Each rank is busy with its part of a unit from its first message or write of it to
//! its last: an output phase of the rank. Between two of these it does what it did.
//!
//! # What becomes of it
//!
//! In a phase the rank's waits, its time in MPI and the unit's file calls go, and what the method
//! makes of the unit follows ([`generator`]), in the blocks in which a library would write it
//! ([`blocks`]); what a library would keep of it ([`libraries`]) goes when it would ([`kept`]).
//! Whoever writes then opens and closes the file, and nobody else does ([`rewriting`]). All else
//! stays: computing, other messages, other files, what is read, and calls on a file that move no
//! data and are made by a rank that still writes.

mod blocks;
mod families;
mod generator;
mod inserts;
mod kept;
mod layout;
mod libraries;
mod notes;
mod rewriting;
mod shares;
mod stretches;
mod targets;
mod units;
mod variables;

use rayon::prelude::*;
use tailrace_replay::Access;
use tailrace_replay::program::FileCall;
use tailrace_trace::tables::FileEntry;
use tailrace_trace::{Trace, TraceError};

pub use generator::Told;

use crate::files::Scaled;
use crate::renamed::renamed;
use crate::replay;
use crate::simulate::{Method, Network};
use crate::steps::{RankSteps, Steps};
use blocks::Blocks;
use families::Families;
use generator::Generator;
use kept::Emptied;
use notes::Note;
use rewriting::Dropped;
use units::Unit;

/// The family of an insert that writes nothing.
const NO_OUTPUT: u32 = u32::MAX;

/// Which method, and what it takes beside the file system.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// None: as each output was made, which tells what rebuilding misses.
    pub method: Option<Method>,
    /// How many ranks write; none: one a node.
    pub aggregators: Option<u32>,
    pub network: Network,
    /// Where it is not known where a rank's data lie in a file: in pieces of so many bytes at most.
    pub piece_bytes: i64,
    /// Each of these pieces is written by a call of its own, by independent output.
    pub by_calls: bool,
    /// What netCDF-4 keeps of a variable in chunks that one rank writes.
    pub kept_bytes: i64,
}

/// What a run wrote, and when each of its steps began.
pub struct Outputs {
    families: Families,
    units: Vec<Unit>,
    blocks: Blocks,
    begins: Vec<Vec<i64>>,
    /// By rank: the numbers of its file calls that move no data.
    others: Vec<Vec<u32>>,
    /// By rank: its collective calls about a family's files that move no data, from when to when.
    meetings: Vec<Meetings>,
    /// By rank.
    emptied: Vec<Emptied>,
    /// By rank: the numbers of its calls by which HDF5 synchronises a file of all.
    flushes: Vec<Vec<u32>>,
    /// By file: the one of which it is another name.
    renamed: Vec<Option<u32>>,
}

/// The families that they are about, from when to when.
type Meetings = Vec<(u32, (i64, i64))>;

/// A run with another method.
pub struct Rebuilt {
    pub steps: Steps,
    /// Those of the trace, and more where each rank gets one of its own.
    pub files: Vec<FileEntry>,
    pub told: Told,
}

impl Outputs {
    /// # Errors
    /// Where the trace is damaged.
    pub fn of(trace: &dyn Trace, steps: &Steps) -> Result<Self, TraceError> {
        let notes = notes::notes(trace)?;
        let calls = steps.ranks.iter().map(|rank| rank.calls.as_slice());
        let families = Families::of(&trace.tables().files, calls, &notes);
        let of_rank = |(rank, notes): (u32, &Vec<notes::Note>)| {
            stretches::stretches(rank, notes, &steps.ranks[rank as usize].calls, &families)
        };
        let mut stretches: Vec<_> =
            (0..notes.len() as u32).into_par_iter().zip(&notes).map(of_rank).collect();
        let blocks = Blocks::of(&stretches, &families);
        blocks.leave_other_looks(&mut stretches);
        let units = units::units(&notes, stretches, &families);
        let others = steps.ranks.iter().map(|rank| rewriting::others(&rank.calls)).collect();
        let meetings: Vec<_> = notes.iter().map(|notes| meetings(notes, &families)).collect();
        let of_rank =
            |(rank, met): (&RankSteps, &Meetings)| Emptied::of(&rank.calls, met, &families);
        let emptied = steps.ranks.iter().zip(&meetings).map(of_rank).collect();
        let of_rank = |(rank, notes): (&RankSteps, &Vec<Note>)| flushes(&rank.calls, notes);
        let flushes = steps.ranks.iter().zip(&notes).map(of_rank).collect();
        let begins = replay::begins(steps, &mut Scaled::all(1.));
        let renamed = renamed(trace.tables(), steps);
        Ok(Self { families, units, blocks, begins, others, meetings, emptied, flushes, renamed })
    }

    /// The steps with another method for all files that `moves` says. None where ranks would then
    /// wait for each other in a circle.
    pub fn by(
        &self,
        asked: &Asked,
        steps: &Steps,
        nodes: &[u32],
        files: &[FileEntry],
        moves: &[bool],
    ) -> Option<Rebuilt> {
        let original = steps;
        let mut steps = original.all_but_steps();
        let mut dropped: Vec<Dropped> = steps.ranks.iter().map(Dropped::none).collect();
        let changed = self.changed(moves);
        let count = files.len() as u32;
        let places = (nodes, self.emptied.as_slice());
        let known = (&self.families, &self.blocks);
        let mut generator = Generator::new(asked, known, places, count, &mut steps);
        for unit in &self.units {
            if changed[unit.family as usize] && generator.keeps(unit) {
                generator.keep(unit);
            } else if changed[unit.family as usize] && generator.keeps_calls(unit) {
                generator.without_waits(unit);
            } else if changed[unit.family as usize] {
                for (rank, calls) in &unit.calls {
                    dropped[*rank as usize].add(calls.iter().copied());
                }
                generator.unit(unit);
            } else if moves[self.families.list[unit.family as usize].files[0].1 as usize] {
                generator.leave(unit);
            }
        }
        generator.write_kept();
        let is_alone = matches!(asked.method, Some(Method::Serial | Method::FilePerRank));
        if is_alone {
            self.drop_flushes(&changed, original, &mut dropped);
        }
        // as it was made, an output is opened and closed by those that did
        let opened = |(_, changed): &(u32, &bool)| **changed && asked.method.is_some();
        for (family, _) in (0..).zip(&changed).filter(opened) {
            let about = self.about(generator.steps, family, &dropped);
            rewriting::open_and_close(&mut generator, family, &about, &mut dropped);
        }
        if is_alone {
            self.part(&mut generator, &changed);
        }
        let Generator { inserts, targets, told, .. } = generator;
        rewriting::rewrite(&mut steps, original, &self.begins, inserts, &dropped);
        if !targets.more.is_empty() {
            rewriting::synchronize_each(&mut steps, &self.renamed, &targets.more);
        }
        let more = targets.more.iter().map(|(file, rank)| own(&files[*file as usize], *rank));
        let files = files.iter().cloned().chain(more).collect();
        replay::is_possible(&steps).then_some(Rebuilt { steps: steps.note_waits(), files, told })
    }

    /// HDF5 that has a file alone does not synchronise it.
    fn drop_flushes(&self, changed: &[bool], steps: &Steps, dropped: &mut [Dropped]) {
        for ((numbers, rank), dropped) in self.flushes.iter().zip(&steps.ranks).zip(dropped) {
            let is_of = |number: &&u32| {
                let family = self.families.find(rank.calls[**number as usize].file);
                family.is_some_and(|family| changed[family as usize])
            };
            dropped.add(numbers.iter().filter(is_of).copied());
        }
    }

    /// Who has a file alone meets nobody to open it or to set a view.
    fn part(&self, generator: &mut Generator<'_>, changed: &[bool]) {
        for (inserts, meetings) in generator.inserts.iter_mut().zip(&self.meetings) {
            for (_, span) in meetings.iter().filter(|(family, _)| changed[*family as usize]) {
                inserts.begin(NO_OUTPUT, *span);
            }
        }
    }

    /// By rank: the calls on the family's files that move no data and are still made.
    fn about(&self, steps: &Steps, family: u32, dropped: &[Dropped]) -> Vec<Vec<(u32, FileCall)>> {
        let of_rank = |rank: usize| {
            let numbers = self.others[rank].iter().copied();
            let calls = numbers.map(|number| (number, steps.ranks[rank].calls[number as usize]));
            let stays = |(number, call): &(u32, FileCall)| {
                self.families.find(call.file) == Some(family) && !dropped[rank].has(*number)
            };
            calls.filter(stays).collect()
        };
        (0..dropped.len()).map(of_rank).collect()
    }

    /// By family: whether it moves, and holds data that several ranks write together.
    fn changed(&self, moves: &[bool]) -> Vec<bool> {
        let mut changed = vec![false; self.families.list.len()];
        for unit in self.units.iter().filter(|unit| unit.is_joint()) {
            let file = self.families.list[unit.family as usize].files[0].1;
            changed[unit.family as usize] |= moves[file as usize];
        }
        changed
    }
}

fn flushes(calls: &[FileCall], notes: &[Note]) -> Vec<u32> {
    let spans: Vec<_> =
        notes.iter().filter(|note| note.is_flush).map(|note| (note.begin, note.end)).collect();
    let is_inside = |call: &FileCall| {
        let next = spans.partition_point(|(begin, _)| *begin <= call.begin);
        next > 0 && call.begin < spans[next - 1].1
    };
    let synchronizes = |call: &FileCall| call.access == Access::Synchronize && is_inside(call);
    (0..).zip(calls).filter(|(_, call)| synchronizes(call)).map(|(number, _)| number).collect()
}

fn meetings(notes: &[Note], families: &Families) -> Meetings {
    let family = |note: &Note| Some((families.find(note.about?)?, (note.begin, note.end)));
    notes.iter().filter_map(family).collect()
}

/// The file of a rank, in place of one of all.
fn own(file: &FileEntry, rank: u32) -> FileEntry {
    let mut path = file.path.clone();
    path.extend(format!(".rank-{rank:06}").bytes());
    FileEntry { path, ..*file }
}
