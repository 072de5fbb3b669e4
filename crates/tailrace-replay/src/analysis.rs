//! The result: what the sweep's accounts come to. All times are nanoseconds, moments count from the
//! window's begin.

use std::collections::BTreeMap;

use tailrace_trace::event::Layer;
use tailrace_trace::tables::{Location as Table, Place};

use crate::location::Location;
use crate::timeline::State;
use crate::world::World;

pub use crate::busy::IoPhase;
pub use crate::clocks::Clocks;
pub use crate::longest::Span;
pub use crate::patterns::Pattern;
pub use crate::places::{PlaceAccount, PlaceTally};
pub use crate::routines::RoutineAccount;
pub use crate::tallies::{FileTally, FunctionTally, Sizes};
pub use crate::timeline::Timeline;
pub use crate::uses::Kinds;
pub use crate::waits::ByState;

/// Something that the reader of the results should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// For programs.
    pub code: &'static str,
    /// One sentence.
    pub message: String,
    /// What the user can do about it.
    pub hint: &'static str,
}

/// A rank's accounts: `useful + io + mpi` is the run time, exactly.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RankAccount {
    pub useful: i64,
    pub io: i64,
    pub mpi: i64,
    /// Time of file calls on other threads of the rank, summed over them; not lost time.
    pub overlapped_io: i64,
    /// What its other threads, and other processes that belong to it, did.
    pub others: Others,
    pub bytes_read: u64,
    pub bytes_written: u64,
    /// Events of all its threads in the trace.
    pub events: u64,
    pub host: String,
    /// The cores that it might use; empty where that is not known.
    pub cores: String,
    /// Ready to run, and without a processor; `None` where that is not known.
    pub waited: Option<ByState>,
    /// What capture took of the main thread's time, of its whole life; `None` where not known.
    pub capture: Option<i64>,
    /// In MPI-IO calls of the main thread; file calls inside; the rest that is no file call.
    pub mpiio: i64,
    pub posix_in_mpiio: i64,
    pub between: i64,
    /// Where the replayed clocks stand at the window's end.
    pub clocks: Clocks,
}

/// What the threads of a rank did that are not the main one, those of other processes included: it
/// is in none of the rank's accounts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Others {
    /// How many called MPI, how often, and for how long outside file calls, summed over them.
    pub in_mpi: u64,
    pub mpi_calls: u64,
    pub mpi: i64,
    /// Of the rank's bytes, those that other threads of its main process read and wrote, and those
    /// of other processes.
    pub bytes: u64,
    pub bytes_of_processes: u64,
}

/// A file that was used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileAccount {
    /// Index into the trace's files.
    pub file: u32,
    /// The innermost layer in which most time was spent.
    pub layer: Layer,
    /// Ranks that used it.
    pub ranks: u32,
    pub total: FileTally,
    /// The rank with the most time in its calls, and that time.
    pub slowest_rank: u32,
    pub slowest: i64,
}

/// One rank's use of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRankAccount {
    /// Index into [`Analysis::files`].
    pub file: u32,
    pub rank: u32,
    pub tally: FileTally,
}

/// When which ranks used a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileUse {
    /// Index into [`Analysis::files`].
    pub file: u32,
    /// By row of the timeline, then bin.
    pub time: Vec<Kinds>,
}

/// The files with most time.
#[derive(Clone, Debug, Default)]
pub struct FileUses {
    /// Width of a bin; the last may reach beyond the window.
    pub bin: i64,
    pub bins: usize,
    pub files: Vec<FileUse>,
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
    pub file_uses: FileUses,
    pub functions: Vec<FunctionAccount>,
    pub places: Vec<PlaceAccount>,
    pub routines: Vec<RoutineAccount>,
    pub io_phases: Vec<IoPhase>,
    pub timeline: Timeline,
    /// How much of the run some rank waited for a processor in each state, at most.
    pub any_waited: ByState,
    pub longest: Vec<Span>,
    /// What the reader of the results should know.
    pub warnings: Vec<Warning>,
}

impl Analysis {
    pub(crate) fn new(world: &mut World<'_>) -> Self {
        let runtime = world.runtime();
        let ranks = ranks(world);
        let (files, file_ranks) = files(world);
        let latest = ranks.iter().map(|rank| rank.clocks).reduce(Clocks::max).unwrap_or_default();
        Self {
            runtime,
            ideal: latest,
            ranks,
            file_uses: file_uses(world, &files),
            files,
            file_ranks,
            functions: functions(world),
            places: crate::places::accounts(world.locations.iter().map(|l| &l.tallies.places)),
            routines: crate::routines::accounts(
                world.locations.iter_mut().map(|l| &mut l.routines),
            ),
            io_phases: world.accounts.busy.phases().to_vec(),
            any_waited: crate::waits::by_any(world.locations.iter().map(|l| &l.waits), runtime),
            timeline: std::mem::take(&mut world.accounts.timeline),
            longest: std::mem::replace(
                &mut world.accounts.longest,
                crate::longest::Longest::new(0),
            )
            .finish(),
            warnings: Vec::new(),
        }
    }

    /// All phases in order of time: "io", and "compute" between them. Together they fill the
    /// window.
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
        if !location.main {
            add_other(world, rank, location, table);
        }
        if location.main {
            [rank.useful, rank.io, rank.mpi] = location.pen.totals();
            rank.host.clone_from(&table.host);
            rank.cores.clone_from(&table.cores);
            rank.capture = table.capture_ns;
            rank.waited = table.waits.is_some().then(|| location.waits.totals());
            rank.mpiio = location.layers.mpiio;
            rank.posix_in_mpiio = location.layers.posix;
            rank.between = location.layers.between;
            rank.clocks = location.clocks();
        }
    }
    ranks_without_stream(world, &mut ranks);
    ranks
}

fn add_other(world: &World<'_>, rank: &mut RankAccount, location: &Location, table: &Table) {
    let functions = location.tallies.functions.iter().enumerate();
    let mpi = functions
        .filter(|(function, _)| world.tables.functions[*function].layer == Layer::Mpi)
        .fold(0, |calls, (_, tally)| calls + tally.calls);
    let others = &mut rank.others;
    others.in_mpi += u64::from(mpi > 0);
    others.mpi_calls += mpi;
    others.mpi += location.overlapped_mpi;
    let main = world.main[location.rank as usize].map(|main| &world.tables.locations[main]);
    let same = main.is_none_or(|main| (&main.host, main.process) == (&table.host, table.process));
    let bytes = if same { &mut others.bytes } else { &mut others.bytes_of_processes };
    *bytes = bytes.saturating_add(location.bytes[0].saturating_add(location.bytes[1]));
}

/// Of a rank whose stream was lost nothing is known: others may have waited for it, so its time is
/// MPI's.
fn ranks_without_stream(world: &mut World<'_>, ranks: &mut [RankAccount]) {
    let runtime = world.runtime();
    for rank in (0..ranks.len()).filter(|rank| world.main[*rank].is_none()) {
        ranks[rank].mpi = runtime;
        let row = world.accounts.timeline.row(rank as u32);
        world.accounts.timeline.add(row, State::Mpi, 0, runtime);
    }
}

/// One row per file, and per file and rank. MPI-IO time alone makes no row: where its calls were
/// the innermost layer, they have been counted as file calls.
fn files(world: &World<'_>) -> (Vec<FileAccount>, Vec<FileRankAccount>) {
    let mut by_file: BTreeMap<u32, FileLayers> = BTreeMap::new();
    for location in &world.locations {
        for ((file, layer), tally) in &location.tallies.files {
            by_file.entry(*file).or_default().add(*layer, location.rank, tally);
        }
        for (file, patterns) in location.patterns.files() {
            by_file.entry(file).or_default().add_patterns(location.rank, patterns);
        }
    }
    let mut rows = (Vec::new(), Vec::new());
    for (file, layers) in by_file {
        let row = rows.0.len() as u32;
        let Some(account) = layers.account(file) else { continue };
        rows.0.push(account);
        let ranks = layers.by_rank.into_iter().filter(|(_, tally)| tally.is_used());
        rows.1.extend(ranks.map(|(rank, tally)| FileRankAccount { file: row, rank, tally }));
    }
    rows
}

/// Files whose use by rank and time is kept.
const MOST_FILE_USES: usize = 8;

fn file_uses(world: &World<'_>, files: &[FileAccount]) -> FileUses {
    let (bin, bins) = crate::uses::bins(world.runtime());
    let on_file_system = |file: u32| {
        let entry = world.tables.files.get(file as usize);
        entry.is_some_and(|entry| entry.place() == Place::FileSystem)
    };
    let mut order: Vec<usize> =
        (0..files.len()).filter(|row| on_file_system(files[*row].file)).collect();
    order.sort_by_key(|row| std::cmp::Reverse(files[*row].total.total_time()));
    let uses = order.into_iter().filter_map(|row| {
        let time = file_use(world, files[row].file, bins)?;
        Some(FileUse { file: row as u32, time })
    });
    FileUses { bin, bins, files: uses.take(MOST_FILE_USES).collect() }
}

/// `None` where a location has given the file up.
fn file_use(world: &World<'_>, file: u32, bins: usize) -> Option<Vec<Kinds>> {
    let timeline = &world.accounts.timeline;
    let mut time = vec![[0; 3]; timeline.rows * bins];
    for location in &world.locations {
        let row = timeline.row(location.rank) * bins;
        for mark in location.uses.of(file)? {
            let kinds = &mut time[row + mark.bin as usize];
            (0..kinds.len()).for_each(|kind| kinds[kind] += mark.time[kind]);
        }
    }
    Some(time)
}

/// What ranks did to one file, and the time in its innermost calls by layer.
#[derive(Default)]
struct FileLayers {
    by_rank: BTreeMap<u32, FileTally>,
    by_layer: BTreeMap<Layer, i64>,
}

impl FileLayers {
    fn add(&mut self, layer: Layer, rank: u32, tally: &FileTally) {
        self.by_rank.entry(rank).or_default().add(tally);
        if tally.is_used() {
            *self.by_layer.entry(layer).or_default() += tally.total_time();
        }
    }

    fn add_patterns(&mut self, rank: u32, patterns: &[Pattern; 2]) {
        let tally = self.by_rank.entry(rank).or_default();
        (0..2).for_each(|i| tally.patterns[i].add(&patterns[i]));
    }

    /// `None` where no call of the innermost layer was on the file.
    fn account(&self, file: u32) -> Option<FileAccount> {
        let mut total = FileTally::default();
        self.by_rank.values().for_each(|tally| total.add(tally));
        let used = || self.by_rank.iter().filter(|(_, tally)| tally.is_used());
        let longest = |(_, time): &(&Layer, &i64)| **time;
        let (layer, _) = self.by_layer.iter().rev().max_by_key(longest)?; // the first of equals
        let (slowest_rank, slowest) = used().rev().max_by_key(|(_, tally)| tally.total_time())?;
        Some(FileAccount {
            file,
            layer: *layer,
            ranks: used().count() as u32,
            total,
            slowest_rank: *slowest_rank,
            slowest: slowest.total_time(),
        })
    }
}

fn functions(world: &World<'_>) -> Vec<FunctionAccount> {
    let mut by_rank: BTreeMap<(u16, u32), FunctionTally> = BTreeMap::new();
    for location in &world.locations {
        for (function, tally) in
            location.tallies.functions.iter().enumerate().filter(|(_, tally)| tally.calls > 0)
        {
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
