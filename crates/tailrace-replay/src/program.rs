//! What each rank did, for replays that change it: the instants at which ranks meet, and the file
//! calls between them. All of it is in memory, so memory grows with the trace.

use rayon::prelude::*;
use tailrace_trace::event::{self, FileKind, Operation, Part};
use tailrace_trace::offsets::Follower;
use tailrace_trace::tables::Place;
use tailrace_trace::{Batch, Tables, Trace, TraceError};

use crate::accounts::timeline::Timeline;
use crate::graph::Channel;
use crate::graph::vertex::Vertex;
use crate::longest::Bar;
use crate::options::Options;
use crate::reduce::opaque::Opaque;
use crate::reduce::{Common, Rank};
use crate::steps::{self, Access, Course, NoNumbers, Step};
use crate::{calendar, window};

/// A run, rank by rank. Times are nanoseconds since the window's begin.
#[derive(Debug)]
pub struct Program {
    pub runtime: i64,
    pub ranks: Vec<RankProgram>,
}

/// What one rank did.
#[derive(Debug, Default)]
pub struct RankProgram {
    /// When it comes to life, and when it reaches MPI_Finalize, where it only waits for others: the
    /// window's end if it does not.
    pub birth: i64,
    pub end: i64,
    /// In order of time.
    pub vertices: Vec<Vertex>,
    /// By the numbers that its vertices name.
    pub channels: Vec<Channel>,
    /// The main thread's innermost calls on file systems, in order, but none behind the window's
    /// end; cut to the window.
    pub calls: Vec<FileCall>,
    /// Time of the main thread outside of calls, and in file calls, at the window's end.
    pub useful: i64,
    pub io: i64,
}

/// What becomes of a file's name by a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Naming {
    #[default]
    Stays,
    /// The file was there when it was opened.
    Found,
    /// It is made, if it is not there.
    Made,
    /// It is removed, or called something else.
    Gone,
}

#[derive(Clone, Copy, Debug)]
pub struct FileCall {
    pub begin: i64,
    pub end: i64,
    pub access: Access,
    pub naming: Naming,
    /// Index into the trace's files.
    pub file: u32,
    pub bytes: u64,
    /// Where in the file it reads or writes, where that is known; of others: see [`Self::drops`].
    pub offset: Option<i64>,
    /// Its rank waited for another since its last file call; no trace says so of a call, but its
    /// steps do.
    pub after_wait: bool,
}

impl FileCall {
    /// Of a call that has the client drop what it knows: from where on in the file.
    pub fn drops(&self) -> Option<i64> {
        self.offset.filter(|_| self.access == Access::Other)
    }
}

/// Where each file's next read or write begins that names no place: behind the last, or where the
/// program went. As one descriptor would have it: a process rarely has two for one file.
#[derive(Default)]
struct Positions(hashbrown::HashMap<u32, i64>);

impl Positions {
    /// Where the call reads or writes; `offset` is what it says of that.
    fn follow(&mut self, kind: FileKind, step: &Step, offset: Option<i64>) -> Option<i64> {
        match kind {
            FileKind::Open => _ = self.0.insert(step.file, 0),
            FileKind::Seek => _ = offset.map(|offset| self.0.insert(step.file, offset)),
            FileKind::Read | FileKind::Write if offset.is_none() => {
                let position = self.0.get_mut(&step.file)?;
                let begin = *position;
                *position = begin.wrapping_add(step.bytes as i64);
                return Some(begin);
            }
            _ => {}
        }
        offset
    }
}

/// A seek that takes as long asks a file system: where the file ends.
const ASKED: i64 = 10_000;

/// How a file system is asked, if it is: positions, views and mappings are the process's own.
fn access(kind: FileKind, step: &Step, took: i64) -> Option<Access> {
    match kind {
        FileKind::Seek => (took >= ASKED).then_some(Access::LookUp),
        FileKind::View | FileKind::Map => None,
        _ => Some(step.access),
    }
}

/// What a call that failed, or is none on a name, does to none.
fn naming(call: &event::FileCall) -> Naming {
    match call.kind {
        _ if call.error != 0 => Naming::Stays,
        FileKind::Open if call.creates => Naming::Made,
        FileKind::MakeDirectory => Naming::Made,
        FileKind::Open => Naming::Found,
        FileKind::Unlink | FileKind::Rename => Naming::Gone,
        _ => Naming::Stays,
    }
}

/// What all ranks of the trace did.
///
/// # Errors
/// Where the trace is damaged, or its times are beyond reason.
pub fn program(trace: &dyn Trace, options: &Options) -> Result<Program, TraceError> {
    let tables = trace.tables();
    let window = window(tables);
    let times = calendar(tables, window)?;
    let times = (window, times.0, times.1);
    let mut common = Common::new(tables, times, options, Opaque::new(trace)?);
    common.apart = true;
    let timeline = Timeline::new(common.runtime(), tables.ranks as usize, 1);
    let ranks = tables.locations_of_ranks().into_par_iter().zip(0..tables.ranks);
    let ranks = ranks.map(|(locations, number)| {
        let rank = Rank::new(trace, &common, number, locations);
        of_rank(trace, rank, &timeline)
    });
    Ok(Program { runtime: common.runtime(), ranks: ranks.collect::<Result<_, _>>()? })
}

fn of_rank(
    trace: &dyn Trace,
    mut rank: Rank<'_>,
    timeline: &Timeline,
) -> Result<RankProgram, TraceError> {
    let end = rank.common.window.end_ns;
    rank.timeline = timeline.row_to_fill();
    rank.bar = Bar::HIGHEST;
    rank.come_to_life();
    let (mut vertices, mut channels) = (Vec::new(), Vec::new());
    let mut is_over = false;
    while !is_over {
        is_over = rank.reduce(end)? >= end;
        if is_over {
            rank.finish()?;
        }
        vertices.append(&mut rank.slab.vertices);
        channels.append(&mut rank.slab.channels);
        rank.edges.keys.clear();
        rank.edges.moved.clear();
    }
    let main = rank.main.map(|main| rank.locations[main]);
    let [useful, io, _] = rank.pen.totals();
    let nothing = (Vec::new(), rank.common.runtime());
    let (calls, end) = main.map_or(Ok(nothing), |main| calls(trace, main, rank.common))?;
    Ok(RankProgram { birth: rank.birth(), end, vertices, channels, calls, useful, io })
}

/// The thread's file calls, and when it reaches MPI_Finalize.
fn calls(
    trace: &dyn Trace,
    location: usize,
    common: &Common<'_>,
) -> Result<(Vec<FileCall>, i64), TraceError> {
    let (mut calls, mut end) = (Vec::new(), common.runtime());
    let (mut stream, mut batch) = (trace.events(location), Batch::default());
    let (mut follower, mut positions) = (Follower::default(), Positions::default());
    while stream.next_batch(&mut batch)? {
        let steps = batch.shapes.iter().map(|shape| {
            let tokens = shape.operation.requests().len() as u32;
            steps::line(common.rules(), shape, tokens, 0, &mut NoNumbers).step
        });
        let steps: Vec<Step> = steps.collect();
        for event in &batch.events {
            let step = &steps[event.shape as usize];
            let operation = &batch.shapes[event.shape as usize].operation;
            if *operation == Operation::Finalize {
                end = end.min(common.clip(event.begin));
            }
            let Some(call) = operation.file() else { continue };
            if step.part == Part::Enter {
                continue;
            }
            // calls of MPI-IO are no file calls, but distances are told from where they ended, too
            let offset = call.offset.map(|by| follower.offset(step.file, by, step.bytes));
            if step.course != Course::File || !is_on_file_system(common.tables, step) {
                continue;
            }
            let offset = positions.follow(call.kind, step, offset);
            let Some(access) = access(call.kind, step, event.end - event.begin) else { continue };
            if event.begin >= common.window.end_ns {
                continue;
            }
            let offset = offset.filter(|_| call.kind != FileKind::Seek);
            let (begin, end) = (common.clip(event.begin), common.clip(event.end));
            let Step { file, bytes, .. } = *step;
            let naming = naming(call);
            let after_wait = false;
            calls.push(FileCall { begin, end, access, naming, file, bytes, offset, after_wait });
        }
    }
    Ok((calls, end))
}

fn is_on_file_system(tables: &Tables, step: &Step) -> bool {
    let entry = tables.files.get(step.file as usize);
    entry.is_some_and(|entry| entry.place() == Place::FileSystem)
}
