//! The result: what the sweep's accounts come to. All times are nanoseconds, moments count from the window's begin.

use std::collections::BTreeMap;

use tailrace_trace::event::Layer;

use crate::busy::IoPhase;
use crate::clocks::Clocks;
use crate::longest::Span;
use crate::tallies::{FileKey, FileTally, FunctionTally};
use crate::timeline::{State, Timeline};
use crate::world::World;

/// Something that the reader of the results should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// For programs.
    pub code: &'static str,
    /// One sentence.
    pub message: String,
}

/// A rank's accounts: `useful + io + mpi` is the run time, exactly.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RankAccount {
    pub useful: i64,
    pub io: i64,
    pub mpi: i64,
    /// Time of file calls on other threads of the rank, summed over them; not lost time.
    pub overlapped_io: i64,
    pub bytes_read: u64,
    pub bytes_written: u64,
    /// Events of all its threads in the trace.
    pub events: u64,
    pub host: String,
    /// In MPI-IO calls of the main thread; file calls inside; the rest that is no file call.
    pub mpiio: i64,
    pub posix_in_mpiio: i64,
    pub between: i64,
    /// Where the replayed clocks stand at the window's end.
    pub clocks: Clocks,
}

/// A file in one layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileAccount {
    /// Index into the trace's files.
    pub file: u32,
    pub layer: Layer,
    /// Ranks that used it.
    pub ranks: u32,
    pub total: FileTally,
    /// The rank with the most time in its calls, and that time.
    pub slowest_rank: u32,
    pub slowest: i64,
}

/// One rank's use of a file in one layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRankAccount {
    /// Index into [`Analysis::files`].
    pub file: u32,
    pub rank: u32,
    pub tally: FileTally,
}

/// A function that was called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionAccount {
    /// Index into the trace's functions.
    pub function: u16,
    pub total: FunctionTally,
    /// The rank that spent most time in it, and that time.
    pub slowest_rank: u32,
    pub slowest: i64,
}

#[derive(Clone, Debug)]
pub struct Analysis {
    /// T, T_net, T_even and T_ideal.
    pub runtime: i64,
    pub ideal: Clocks,
    pub ranks: Vec<RankAccount>,
    pub files: Vec<FileAccount>,
    pub file_ranks: Vec<FileRankAccount>,
    pub functions: Vec<FunctionAccount>,
    pub io_phases: Vec<IoPhase>,
    pub timeline: Timeline,
    pub longest: Vec<Span>,
    pub warnings: Vec<Warning>,
}

impl Analysis {
    pub(crate) fn new(mut world: World<'_>) -> Self {
        let runtime = world.runtime();
        let ranks = ranks(&mut world);
        let (files, file_ranks) = files(&world);
        let latest = ranks.iter().map(|rank| rank.clocks).reduce(Clocks::max).unwrap_or_default();
        let mut analysis = Self {
            runtime,
            ideal: latest,
            ranks,
            files,
            file_ranks,
            functions: functions(&world),
            io_phases: world.busy.phases().to_vec(),
            timeline: std::mem::take(&mut world.timeline),
            longest: std::mem::replace(&mut world.longest, crate::longest::Longest::new(0)).finish(),
            warnings: Vec::new(),
        };
        analysis.warnings = crate::warnings::collect(&world, &analysis);
        analysis
    }

    /// All phases in order of time: "io", and "compute" between them. Together they fill the window.
    pub fn phases(&self) -> Vec<(&'static str, IoPhase)> {
        let compute = |begin, end| ("compute", IoPhase { begin, end, ..IoPhase::default() });
        let mut phases = Vec::new();
        let mut now = 0;
        for phase in self.io_phases.iter().filter(|phase| phase.end > phase.begin) {
            phases.extend((phase.begin > now).then(|| compute(now, phase.begin)));
            phases.push(("io", phase.clone()));
            now = phase.end;
        }
        phases.extend((self.runtime > now).then(|| compute(now, self.runtime)));
        phases
    }

    /// max U.
    pub fn useful_max(&self) -> i64 {
        self.ranks.iter().map(|rank| rank.useful).max().unwrap_or(0)
    }
}

fn ranks(world: &mut World<'_>) -> Vec<RankAccount> {
    let mut ranks = vec![RankAccount::default(); world.tables.ranks as usize];
    for (location, table) in world.locations.iter().zip(&world.tables.locations) {
        let rank = &mut ranks[location.rank as usize];
        rank.overlapped_io += location.overlapped_io;
        rank.bytes_read = rank.bytes_read.saturating_add(location.bytes[0]);
        rank.bytes_written = rank.bytes_written.saturating_add(location.bytes[1]);
        rank.events += table.events;
        if location.main {
            [rank.useful, rank.io, rank.mpi] = location.pen.totals();
            rank.host.clone_from(&table.host);
            rank.mpiio = location.layers.mpiio;
            rank.posix_in_mpiio = location.layers.posix;
            rank.between = location.layers.between;
            rank.clocks = location.clocks();
        }
    }
    ranks_without_stream(world, &mut ranks);
    ranks
}

/// Of a rank whose stream was lost nothing is known: others may have waited for it, so its time is MPI's.
fn ranks_without_stream(world: &mut World<'_>, ranks: &mut [RankAccount]) {
    let runtime = world.runtime();
    for rank in (0..ranks.len()).filter(|rank| world.main[*rank].is_none()) {
        ranks[rank].mpi = runtime;
        let row = world.timeline.row(rank as u32);
        world.timeline.add(row, State::Mpi, 0, runtime);
    }
}

fn files(world: &World<'_>) -> (Vec<FileAccount>, Vec<FileRankAccount>) {
    let mut by_file: BTreeMap<(u32, u8), BTreeMap<u32, FileTally>> = BTreeMap::new();
    for location in &world.locations {
        for ((file, layer), tally) in &location.tallies.files {
            let key = (*file, *layer as u8);
            by_file.entry(key).or_default().entry(location.rank).or_default().add(tally);
        }
    }
    let layers: BTreeMap<u8, Layer> = LAYERS.into_iter().map(|layer| (layer as u8, layer)).collect();
    let mut rows = (Vec::new(), Vec::new());
    for ((file, layer), ranks) in by_file {
        let row = rows.0.len() as u32;
        rows.0.push(file_account((file, layers[&layer]), &ranks));
        rows.1.extend(ranks.into_iter().map(|(rank, tally)| FileRankAccount { file: row, rank, tally }));
    }
    rows
}

const LAYERS: [Layer; 5] = [Layer::Mpi, Layer::MpiIo, Layer::Posix, Layer::Stdio, Layer::Asynchronous];

fn file_account((file, layer): FileKey, ranks: &BTreeMap<u32, FileTally>) -> FileAccount {
    let mut total = FileTally::default();
    ranks.values().for_each(|tally| total.add(tally));
    let slowest = ranks.iter().max_by_key(|(rank, tally)| (tally.total_time(), std::cmp::Reverse(**rank)));
    let (slowest_rank, slowest) = slowest.map_or((0, 0), |(rank, tally)| (*rank, tally.total_time()));
    FileAccount { file, layer, ranks: ranks.len() as u32, total, slowest_rank, slowest }
}

fn functions(world: &World<'_>) -> Vec<FunctionAccount> {
    let mut by_rank: BTreeMap<(u16, u32), FunctionTally> = BTreeMap::new();
    for location in &world.locations {
        for (function, tally) in location.tallies.functions.iter().enumerate().filter(|(_, tally)| tally.calls > 0) {
            add(by_rank.entry((function as u16, location.rank)).or_default(), tally);
        }
    }
    let mut rows: Vec<FunctionAccount> = Vec::new();
    for ((function, rank), tally) in by_rank {
        if rows.last().is_none_or(|row| row.function != function) {
            let total = FunctionTally::default();
            rows.push(FunctionAccount { function, total, slowest_rank: rank, slowest: -1 });
        }
        let row = rows.last_mut().expect("the row was just made");
        add(&mut row.total, &tally);
        if tally.time > row.slowest {
            (row.slowest_rank, row.slowest) = (rank, tally.time);
        }
    }
    rows
}

fn add(to: &mut FunctionTally, tally: &FunctionTally) {
    to.calls += tally.calls;
    to.time += tally.time;
    to.bytes = to.bytes.saturating_add(tally.bytes);
}
