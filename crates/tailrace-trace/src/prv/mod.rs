//! Reader of Extrae's traces in Paraver's format: `.prv`, `.prv.gz`, with the `.pcf` and the `.row`
//! beside them.
//!
//! | of the `.prv` | becomes |
//! |---|---|
//! | state 1 (Running) | useful: time in no call |
//! | event of type 50000001–50000005, begin and end | an MPI call |
//! | event of type 40000004 | a POSIX or STDIO call, also inside an MPI-IO call |
//! | event of type 40000003 | the tracer writing its buffers: a file call |
//! | states 5 and 7 of threads that wait for each other, outside these | useful: time in no call |
//! | any other time that is not Running | a call named after the state; I/O if the state says so |
//! | the same in a program that never calls MPI | useful, unless the state is I/O |
//! | state 2 (Not created) at the start | the rank begins later |
//! | `3:` record | a send and its receive; one that is done in a later call is a request |
//! | counters 42000050, 42000059 at the end of state 1 | useful instructions and cycles |
//!
//! The window is the whole trace, from 0 to the duration in the header. MPI_Init synchronizes all
//! ranks, as it does for Dimemas; creating communicators, one-sided calls and MPI_Finalize order
//! nothing. A `.prv` does not say which Wait completes an Isend: it never waits for its receive.
//!
//! Everything is read into memory: about 24 bytes per call and 48 per message, a tenth of the text.

mod convert;
mod fields;
mod groups;
mod header;
mod kinds;
mod labels;
mod lines;
mod messages;
mod names;
mod parse;
mod stream;
mod thread;
mod types;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::path::Path;

use hashbrown::HashMap;

use crate::error::printable;
use crate::places::Places;
use crate::tables::{Capture, Counters, Location, Tables, Window};
use crate::{EventStream, Trace, TraceError};
use convert::{Context, Converter};
use fields::Fields;
use groups::Groups;
use header::Header;
use labels::Labels;
use lines::Lines;
use messages::{Attached, MpiCalls, Place};
use names::Names;
use parse::Records;
use stream::Stream;
use thread::Thread;

/// What the first bytes of every `.prv` are.
pub const MAGIC: &[u8] = b"#Paraver";

const REPAIR: &str =
    "merge the run's .mpit files again with Extrae's mpi2prv, or copy the trace again";

/// A `.prv` in memory.
pub struct PrvTrace {
    tables: Tables,
    streams: Vec<Stream>,
}

impl Trace for PrvTrace {
    fn tables(&self) -> &Tables {
        &self.tables
    }

    fn events(&self, location: usize) -> Box<dyn EventStream + Send + '_> {
        Box::new(self.streams[location].reader())
    }
}

impl PrvTrace {
    /// Reads a `.prv` or `.prv.gz` whole, with the names in the `.pcf` and `.row` of the same name
    /// where they are there.
    ///
    /// # Errors
    /// Where the file cannot be read, and where a line is not what the format asks for.
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        let file = File::open(path).map_err(|cause| TraceError::system("open", path, &cause))?;
        let records = read(lines::inflate(file, path)?, path)?;
        Ok(Self::from_records(records, Labels::beside(path)))
    }

    /// Reads a `.prv` or `.prv.gz` from anywhere; `path` is what errors call it. Names are Extrae's
    /// own.
    ///
    /// # Errors
    /// As [`PrvTrace::open`].
    pub fn from_reader(source: impl Read + 'static, path: &Path) -> Result<Self, TraceError> {
        let records = read(lines::inflate(source, path)?, path)?;
        Ok(Self::from_records(records, Labels::default()))
    }

    fn from_records(mut records: Records, labels: Labels) -> Self {
        let end =
            records.threads().map(Thread::last_time).fold(records.header.duration_ns, i64::max);
        let mut notes = Notes { unended: finish(&mut records, end), ..Notes::default() };
        let opaque = !groups::shows_inside_mpi_io(&records);
        let mut names = Names::new(&records, labels, opaque);
        let groups = Groups::find(&records, &mut names);
        let attached = attach(&records);
        notes.gather(&records, &groups, &attached);
        let lanes = lanes(&attached, &mut names);
        let mpi = records.mpi();
        let context =
            Context { records: &records, attached: &attached, groups: &groups, lanes: &lanes, mpi };
        let (locations, streams) = convert(&context, &mut names, end);
        Self { tables: tables(&records, names, locations, notes.sentences(), end), streams }
    }
}

fn read(mut lines: Lines<Box<dyn Read>>, path: &Path) -> Result<Records, TraceError> {
    let mut records = None;
    let mut number = 0;
    loop {
        let mut text = match lines.next_lines() {
            Ok(Some(text)) => Fields::new(text),
            Ok(None) => break,
            Err(broken) => return Err(broken.explain(path, number)),
        };
        let records = if let Some(ref mut records) = records {
            records
        } else {
            number = 1;
            records.insert(Records::new(header(path, text.take_line())?))
        };
        while !text.rest().is_empty() {
            number += 1;
            records.line(&mut text).map_err(|expected| malformed(path, number, expected))?;
        }
    }
    records.ok_or_else(|| TraceError::new(format!("{} is empty", printable(path)), REPAIR))
}

fn header(path: &Path, line: &[u8]) -> Result<Header, TraceError> {
    let explain = |wrong| {
        let message =
            format!("the first line of {} is not the header of a .prv: {wrong}", printable(path));
        TraceError::new(message, "give a trace of one application as Extrae's mpi2prv writes it")
    };
    Header::parse(line).map_err(explain)
}

fn malformed(path: &Path, line: u64, expected: &str) -> TraceError {
    TraceError::new(
        format!("{} is damaged at line {line}: expected {expected}", printable(path)),
        REPAIR,
    )
}

/// Ends all threads; returns how many calls had no end.
fn finish(records: &mut Records, end: i64) -> u64 {
    let Records { main, others, distinct, .. } = records;
    main.iter_mut().chain(others.values_mut()).map(|thread| thread.finish(end, distinct)).sum()
}

/// All threads by place: first each rank's main thread, then its others.
fn places(records: &Records) -> Vec<(Place, &Thread)> {
    let mut places = BTreeMap::new();
    places.extend((0..).zip(&records.main).map(|(rank, thread)| ((rank, 0), thread)));
    places.extend(records.others.iter().map(|(place, thread)| (*place, thread)));
    places.into_iter().collect()
}

fn attach(records: &Records) -> Attached {
    if records.messages.is_empty() {
        return Attached::default();
    }
    let kind = |arguments: u32| records.distinct.arguments[arguments as usize].kind;
    let calls: HashMap<Place, MpiCalls> = places(records)
        .into_iter()
        .map(|(place, thread)| (place, MpiCalls::new(&thread.calls, kind)))
        .collect();
    messages::attach(&records.messages, &calls)
}

/// The communicator of each lane; of the first it is MPI_COMM_WORLD.
fn lanes(attached: &Attached, names: &mut Names) -> Vec<u32> {
    let count = attached.lanes.iter().max().map_or(0, |last| *last);
    let world = std::sync::Arc::clone(&names.communicators[0].members);
    std::iter::once(0)
        .chain((0..count).map(|_| names.add_communicator(world.clone(), None)))
        .collect()
}

fn convert(context: &Context, names: &mut Names, end: i64) -> (Vec<Location>, Vec<Stream>) {
    let mut converted = (Vec::new(), Vec::new());
    for (place, thread) in places(context.records) {
        let location = converted.0.len() as u32;
        let done =
            Converter::new(context, names, place, location, thread).convert(&thread.calls, end);
        let mut stream = done.stream;
        stream.seal();
        converted.0.push(describe(context.records, names, place, &stream, done.begin_ns, end));
        converted.1.push(stream);
    }
    converted
}

fn describe(
    records: &Records,
    names: &Names,
    (rank, thread): Place,
    stream: &Stream,
    begin_ns: i64,
    end: i64,
) -> Location {
    let events = stream.events();
    let alive = if thread == 0 {
        (begin_ns, end)
    } else {
        (events.first().map_or(0, |e| e.begin), events.last().map_or(0, |e| e.end))
    };
    Location {
        rank,
        thread,
        main: thread == 0,
        host: names.labels.node(records.header.tasks[rank as usize].node),
        begin_ns: alive.0,
        end_ns: alive.1,
        events: events.len() as u64,
        ..Location::default()
    }
}

fn tables(
    records: &Records,
    names: Names,
    locations: Vec<Location>,
    notes: Vec<String>,
    end: i64,
) -> Tables {
    let events = locations.iter().map(|location| location.events).sum();
    let meta =
        [("format", "Extrae/Paraver (.prv)".to_owned()), ("started", records.header.date.clone())];
    Tables {
        ranks: records.main.len() as u32,
        locations,
        functions: names.functions,
        files: names.files,
        renames: BTreeSet::new(),
        communicators: names.communicators,
        neighbours: BTreeMap::new(),
        window: Some(Window { begin_ns: 0, end_ns: end }),
        meta: meta.map(|(key, value)| (key.to_owned(), value)).into(),
        counters: records.main.iter().map(counters).collect(),
        capture: Capture { events, notes, ..Capture::default() },
        places: Places::default(),
    }
}

fn counters(thread: &Thread) -> Option<Counters> {
    Some(Counters { instructions: thread.instructions.useful?, cycles: thread.cycles.useful? })
}

/// What had to be mended or assumed.
#[derive(Default)]
struct Notes {
    unended: u64,
    unbegun: u64,
    dropped: u64,
    without_states: usize,
    threads: u32,
    applications: u32,
    unclear_io: bool,
    overlong_ns: i64,
}

impl Notes {
    fn gather(&mut self, records: &Records, groups: &Groups, attached: &Attached) {
        self.unbegun = records.threads().map(|thread| thread.ends_without_begin).sum();
        self.dropped = attached.dropped;
        self.without_states = records.main.iter().filter(|thread| !thread.has_states()).count();
        self.threads = records.header.tasks.iter().map(|task| task.threads).max().unwrap_or(1);
        self.applications = records.header.applications;
        self.unclear_io = groups.mpi_io_unclear;
        let last = records.threads().map(Thread::last_time).max().unwrap_or(0);
        self.overlong_ns = last - records.header.duration_ns;
    }

    fn sentences(&self) -> Vec<String> {
        let counted =
            |count: i64, sentence: &str| (count > 0).then(|| format!("{count} {sentence}"));
        let all = [
            counted(
                self.unended as i64,
                "calls have no end in the trace: they are taken to last until its end",
            ),
            counted(
                self.unbegun as i64,
                "calls have no begin in the trace: they are known by their states only",
            ),
            counted(
                self.dropped as i64,
                "messages begin or end outside every MPI call: no rank waits for them",
            ),
            counted(
                self.without_states as i64,
                "ranks have no state records: all their time outside calls counts as useful",
            ),
            (self.applications > 1).then(|| {
                format!(
                    "the trace holds {} applications: this is the first of them",
                    self.applications
                )
            }),
            (self.threads > 1).then(|| {
                format!(
                    "ranks have up to {} threads: useful time is that of each rank's first thread, \
                     with what it waits for the others",
                    self.threads
                )
            }),
            self.unclear_io.then(|| {
                "the ranks do not make the same number of collective MPI-IO calls, and the trace \
                 does not say which belong together: no rank waits in them"
                    .to_owned()
            }),
            counted(
                self.overlong_ns,
                "ns lie beyond the duration in the header: the run is taken to be that long",
            ),
        ];
        all.into_iter().flatten().collect()
    }
}
