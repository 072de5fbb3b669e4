//! The result: what the accounts come to. All times are nanoseconds, moments count from the
//! window's begin.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use tailrace_trace::event::Layer;
use tailrace_trace::tables::{Ended, Location as Table, Place};

use crate::longest::Longest;
use crate::reduce::Rank;
use crate::reduce::thread::Thread;
use crate::run::Results;
use crate::steps::Access;

pub use crate::accounts::longest::Span;
pub use crate::accounts::pairs::Again;
pub use crate::accounts::pattern::Pattern;
pub use crate::accounts::places::{PlaceAccount, PlaceTally};
pub use crate::accounts::routines::{AgainRank, RoutineAccount, RoutineRank};
pub use crate::accounts::stretches::RoutinePhase;
pub use crate::accounts::tallies::{Failed, FileTally, FunctionTally, Sizes};
pub use crate::accounts::timeline::{State, Timeline};
pub use crate::accounts::uses::Kinds;
pub use crate::accounts::waits::ByState;
pub use crate::clocks::Clocks;
pub use crate::graph::phases::IoPhase;
pub use crate::graph::vertex::Site;
pub use crate::path::{Awaited, CriticalPath, Dependences, Replay, Share, WaitState, WaitSum};

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
    /// Time of the main thread in file calls before the window and after it, which nothing else
    /// here holds.
    pub outside_io: i64,
    pub ended: Ended,
    /// From the last that is known of a rank that was killed to the window's end; `mpi` has it. Of
    /// this time nobody knows when the rank ended and what it did until then.
    pub unknown: i64,
    /// The call that it never left, as its process was killed in there.
    pub unfinished: Option<Unfinished>,
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

/// A call without an end, of which the accounts hold what lies in the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unfinished {
    pub function: u16,
    /// From its begin to the window's end.
    pub length: i64,
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
    /// Time of their reads and of their writes on devices: pipes, terminals, sockets. Whoever waits
    /// there is not the main thread.
    pub devices: [i64; 2],
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
    pub routine_ranks: Vec<RoutineRank>,
    /// By place.
    pub again: BTreeMap<u32, Again>,
    /// By place: what lay before its calls, ns.
    pub before: BTreeMap<u32, i64>,
    pub again_ranks: Vec<AgainRank>,
    /// In order of their routines, and of time.
    pub routine_phases: Vec<RoutinePhase>,
    pub io_phases: Vec<IoPhase>,
    pub timeline: Timeline,
    /// How much of the run some rank waited for a processor in each state, at most.
    pub any_waited: ByState,
    pub longest: Vec<Span>,
    /// Critical paths, and who waited for whom.
    pub dependences: Dependences,
    /// What the reader of the results should know.
    pub warnings: Vec<Warning>,
}

impl Analysis {
    pub(crate) fn new(results: &mut Results<'_>, dependences: Dependences) -> Self {
        let runtime = results.common.runtime();
        let ranks = ranks(results);
        let (files, file_ranks) = files(results);
        let ideal = ranks.iter().map(|rank| rank.clocks).reduce(Clocks::max).unwrap_or_default();
        let longest = std::mem::replace(&mut results.longest, Longest::new(0)).finish();
        let again =
            crate::accounts::routines::again(results.threads().map(|(_, thread)| &thread.routines));
        let before = crate::accounts::routines::before(
            results.threads().map(|(_, thread)| &thread.routines),
        );
        let threads = results.ranks.iter().zip(0..);
        let threads = threads.flat_map(|(rank, i)| rank.threads.iter().map(move |t| (i, t)));
        let again_ranks = crate::accounts::routines::again_by_rank(
            threads.map(|(rank, thread)| (rank, &thread.routines)),
            runtime,
        );
        let threads = results.ranks.iter_mut().zip(0..);
        let threads = threads.flat_map(|(rank, i)| rank.threads.iter_mut().map(move |t| (i, t)));
        let (routines, routine_phases, routine_ranks) = crate::accounts::routines::accounts(
            threads.map(|(rank, thread)| (rank, &mut thread.routines)),
            runtime,
        );
        let places = results.threads().map(|(_, thread)| &thread.tallies.places);
        let waits = results.ranks.iter().map(|rank| &rank.waits);
        Self {
            runtime,
            ideal,
            ranks,
            file_uses: file_uses(results, &files),
            files,
            file_ranks,
            functions: functions(results),
            places: crate::accounts::places::accounts(places),
            routines,
            routine_ranks,
            again,
            before,
            again_ranks,
            routine_phases,
            io_phases: results.area.phases().to_vec(),
            any_waited: crate::accounts::waits::by_any(waits, runtime),
            timeline: std::mem::take(&mut results.timeline),
            longest,
            dependences,
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

fn ranks(results: &Results<'_>) -> Vec<RankAccount> {
    let count = i64::from(results.common.tables.ranks.max(1));
    let ranks = results.ranks.iter().zip(results.clocks());
    ranks
        .map(|(rank, clocks)| RankAccount { clocks: clocks.in_nanoseconds(count), ..account(rank) })
        .collect()
}

/// Of a rank of which nothing is known: others may have waited for it, so its time is MPI's.
fn account(rank: &Rank<'_>) -> RankAccount {
    let mut account = RankAccount { mpi: rank.common.runtime(), ..RankAccount::default() };
    for (i, thread) in rank.threads.iter().enumerate() {
        let table = &rank.common.tables.locations[rank.locations[i]];
        account.overlapped_io += thread.overlapped_io;
        account.bytes_read = account.bytes_read.saturating_add(thread.bytes[0]);
        account.bytes_written = account.bytes_written.saturating_add(thread.bytes[1]);
        account.events += table.events;
        if thread.main {
            [account.useful, account.io, account.mpi] = rank.pen.totals();
            account.host.clone_from(&table.host);
            account.cores.clone_from(&table.cores);
            account.capture = table.capture_ns;
            account.ended = table.ended;
            account.unknown = unknown(rank, thread, table);
            account.unfinished = unfinished(rank, table);
            account.waited = table.waits.is_some().then(|| rank.waits.totals());
            account.mpiio = thread.layers.mpiio;
            account.outside_io = thread.outside_io;
            account.posix_in_mpiio = thread.layers.posix;
            account.between = thread.layers.between;
        } else {
            add_other(rank, &mut account, thread, table);
        }
    }
    account
}

fn unfinished(rank: &Rank<'_>, table: &Table) -> Option<Unfinished> {
    let call = table.unfinished.as_ref()?;
    let length = rank.common.runtime() - rank.common.clip(call.begin_ns);
    Some(Unfinished { function: call.function?, length }).filter(|call| call.length > 0)
}

/// A file call that is known to have been under way says what the rank did; what it waited for in
/// one of MPI, nobody knows.
fn unknown(rank: &Rank<'_>, thread: &Thread, table: &Table) -> i64 {
    let function = table.unfinished.as_ref().and_then(|call| call.function);
    let layer = function.map(|function| rank.common.tables.functions[usize::from(function)].layer);
    let in_a_file_call = layer.is_some_and(|layer| layer != Layer::Mpi);
    let known = table.ended != Ended::Unknown || in_a_file_call;
    if known { 0 } else { rank.common.runtime() - thread.last }
}

fn add_other(rank: &Rank<'_>, account: &mut RankAccount, thread: &Thread, table: &Table) {
    let tables = rank.common.tables;
    let functions = thread.tallies.functions.iter().enumerate();
    let mpi = functions
        .filter(|(function, _)| tables.functions[*function].layer == Layer::Mpi)
        .fold(0, |calls, (_, tally)| calls + (tally.calls - tally.counted));
    let others = &mut account.others;
    others.in_mpi += u64::from(mpi > 0);
    others.mpi_calls += mpi;
    others.mpi += thread.overlapped_mpi;
    let main = rank.main.map(|main| &tables.locations[rank.locations[main]]);
    let same = main.is_none_or(|main| (&main.host, main.process) == (&table.host, table.process));
    let bytes = if same { &mut others.bytes } else { &mut others.bytes_of_processes };
    *bytes = bytes.saturating_add(thread.bytes[0].saturating_add(thread.bytes[1]));
    for ((file, _), tally) in &thread.tallies.files {
        if tables.files[*file as usize].place() == Place::Device {
            for way in [Access::Read, Access::Write] {
                others.devices[way as usize] += tally.time[way as usize];
            }
        }
    }
}

impl Results<'_> {
    /// All threads, and the ranks that they belong to.
    fn threads(&self) -> impl Iterator<Item = (u32, &Thread)> {
        let of_rank = |rank| -> Box<dyn Iterator<Item = (u32, &Thread)>> {
            let rank: &Rank<'_> = rank;
            Box::new(rank.threads.iter().map(|thread| (rank.number, thread)))
        };
        self.ranks.iter().flat_map(of_rank)
    }
}

/// One row per file, and per file and rank. MPI-IO time alone makes no row: where its calls were
/// the innermost layer, they have been counted as file calls.
///
/// One map for all, since most files have one rank each and there may be a million of them.
fn files(results: &Results<'_>) -> (Vec<FileAccount>, Vec<FileRankAccount>) {
    let mut by_rank: BTreeMap<(u32, u32), FileTally> = BTreeMap::new();
    let mut by_layer: BTreeMap<(u32, Layer), i64> = BTreeMap::new();
    for (rank, thread) in results.threads() {
        for ((file, layer), tally) in &thread.tallies.files {
            by_rank.entry((*file, rank)).or_default().add(tally);
            if tally.is_used() {
                *by_layer.entry((*file, *layer)).or_default() += tally.total_time();
            }
        }
        for (file, patterns) in thread.patterns.files() {
            let tally = by_rank.entry((file, rank)).or_default();
            (0..2).for_each(|i| tally.patterns[i].add(&patterns[i]));
        }
    }
    let (mut accounts, mut rows) = (Vec::new(), Vec::new());
    for ((file, rank), tally) in by_rank {
        if accounts.last().is_none_or(|account: &FileAccount| account.file != file) {
            let Some(layer) = longest(&by_layer, file) else { continue };
            accounts.push(FileAccount::of(file, layer));
        }
        let row = accounts.len() - 1;
        accounts[row].add(rank, &tally);
        if tally.is_used() {
            rows.push(FileRankAccount { file: row as u32, rank, tally });
        }
    }
    (accounts, rows)
}

/// The layer with most time in innermost calls on the file, the first of equals; `None` where
/// there is no such call.
fn longest(by_layer: &BTreeMap<(u32, Layer), i64>, file: u32) -> Option<Layer> {
    let layers = by_layer.range((file, Layer::Mpi)..).take_while(|((of, _), _)| *of == file);
    layers.min_by_key(|(_, time)| Reverse(**time)).map(|((_, layer), _)| *layer)
}

/// Files whose use by rank and time is kept.
const MOST_FILE_USES: usize = 8;

fn file_uses(results: &Results<'_>, files: &[FileAccount]) -> FileUses {
    let (bin, bins) = crate::accounts::uses::bins(results.common.runtime());
    let on_file_system = |file: u32| {
        let entry = results.common.tables.files.get(file as usize);
        entry.is_some_and(|entry| entry.place() == Place::FileSystem)
    };
    let mut order: Vec<usize> =
        (0..files.len()).filter(|row| on_file_system(files[*row].file)).collect();
    order.sort_by_key(|row| Reverse(files[*row].total.total_time()));
    let uses = order.into_iter().filter_map(|row| {
        let time = file_use(results, files[row].file, bins)?;
        Some(FileUse { file: row as u32, time })
    });
    FileUses { bin, bins, files: uses.take(MOST_FILE_USES).collect() }
}

/// `None` where a location has given the file up.
fn file_use(results: &Results<'_>, file: u32, bins: usize) -> Option<Vec<Kinds>> {
    let timeline = &results.timeline;
    let mut time = vec![[0; 3]; timeline.rows * bins];
    for (rank, thread) in results.threads() {
        let row = timeline.row(rank) * bins;
        for mark in thread.uses.of(file)? {
            let kinds = &mut time[row + mark.bin as usize];
            (0..kinds.len()).for_each(|kind| kinds[kind] += mark.time[kind]);
        }
    }
    Some(time)
}

impl FileAccount {
    fn of(file: u32, layer: Layer) -> Self {
        let total = FileTally::default();
        Self { file, layer, ranks: 0, total, slowest_rank: 0, slowest: -1 }
    }

    /// What the next rank did to the file.
    fn add(&mut self, rank: u32, tally: &FileTally) {
        self.total.add(tally);
        if tally.is_used() {
            self.ranks += 1;
            if tally.total_time() > self.slowest {
                (self.slowest_rank, self.slowest) = (rank, tally.total_time());
            }
        }
    }
}

fn functions(results: &Results<'_>) -> Vec<FunctionAccount> {
    let mut by_rank: BTreeMap<(u16, u32), FunctionTally> = BTreeMap::new();
    for (rank, thread) in results.threads() {
        let functions = thread.tallies.functions.iter().enumerate();
        for (function, tally) in functions.filter(|(_, tally)| tally.calls > 0) {
            add(by_rank.entry((function as u16, rank)).or_default(), tally);
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
    to.calls = to.calls.saturating_add(tally.calls);
    to.counted = to.counted.saturating_add(tally.counted);
    to.time += tally.time;
    to.bytes = to.bytes.saturating_add(tally.bytes);
}
