//! How fast the replay is, apart from the reading of traces: events made up on the fly.
//!
//! `cargo run --release -p tailrace-replay --example synthetic -- io|mixed|all-to-all RANKS
//! MILLION_EVENTS THREADS`
#![allow(clippy::print_stdout, clippy::print_stderr, clippy::exit)] // a tool of the developers

use std::sync::Arc;
use std::time::Instant;

use tailrace_replay::{Options, analyze};
use tailrace_trace::event::{
    Envelope, Event, FileCall, FileKind, Flow, Layer, Operation, Part, Progress, SendMode, Shape,
    Token,
};
use tailrace_trace::tables::{Capture, Communicator, FileEntry, Function, Location, Window};
use tailrace_trace::{Batch, EventStream, Tables, Trace, TraceError};

const BATCH: usize = 4096;

#[derive(Clone, Copy)]
enum Kind {
    /// Writes of 8 bytes, one after another.
    Io,
    /// Per step: 5 writes, 5 empty MPI_Tests, 4 halo messages (Isend, Irecv, Waitall), an
    /// allreduce.
    Mixed,
    /// Every rank posts receives from all others, sends to all others, waits for all.
    AllToAll,
}

struct Synthetic {
    tables: Tables,
    kind: Kind,
    events_per_rank: usize,
}

struct Stream<'a> {
    of: &'a Synthetic,
    rank: u32,
    made: usize,
    time: i64,
    requests: u64,
    noise: u64,
}

impl Synthetic {
    fn new(kind: Kind, ranks: u32, events_per_rank: usize) -> Self {
        let end_ns = events_per_rank as i64 * 700;
        let location = |rank| Location {
            rank,
            main: true,
            end_ns,
            events: events_per_rank as u64,
            ..Location::default()
        };
        let function = |name: &str, layer| Function { name: name.into(), layer };
        let members: Arc<[u32]> = (0..ranks).collect();
        let tables = Tables {
            ranks,
            locations: (0..ranks).map(location).collect(),
            functions: vec![function("pwrite", Layer::Posix), function("MPI", Layer::Mpi)],
            files: vec![FileEntry { path: b"file".to_vec(), opaque: false }],
            communicators: vec![Communicator { identity: 0, members, remote: None }],
            window: Some(Window { begin_ns: 0, end_ns }),
            counters: vec![None; ranks as usize],
            capture: Capture {
                events: events_per_rank as u64 * u64::from(ranks),
                ..Capture::default()
            },
            ..Tables::default()
        };
        Self { tables, kind, events_per_rank }
    }
}

impl Trace for Synthetic {
    fn tables(&self) -> &Tables {
        &self.tables
    }

    fn events(&self, location: usize) -> Box<dyn EventStream + Send + '_> {
        let (rank, noise) = (location as u32, 0x9e37_79b9_7f4a_7c15 ^ location as u64);
        Box::new(Stream { of: self, rank, made: 0, time: 0, requests: 0, noise })
    }
}

impl EventStream for Stream<'_> {
    fn next_batch(&mut self, batch: &mut Batch) -> Result<bool, TraceError> {
        batch.clear();
        batch
            .shapes
            .extend([write(), mpi(Operation::Complete { completed: Vec::new(), test: true })]);
        while batch.events.len() < BATCH && self.made < self.of.events_per_rank {
            let shape = self.shape(batch);
            self.noise = self
                .noise
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let begin = self.time + (self.noise >> 56) as i64;
            self.time = begin + 100 + (self.noise >> 48 & 0xff) as i64;
            batch.events.push(Event { begin, end: self.time, shape });
            self.made += 1;
        }
        Ok(!batch.events.is_empty())
    }
}

impl Stream<'_> {
    /// Index of the shape of the next event.
    fn shape(&mut self, batch: &mut Batch) -> u32 {
        let operation = match self.of.kind {
            Kind::Io => return 0,
            Kind::Mixed if self.made % 20 < 5 => return 0,
            Kind::Mixed if self.made % 20 < 10 => return 1,
            Kind::Mixed => self.mixed(),
            Kind::AllToAll => self.all_to_all(),
        };
        batch.shapes.push(mpi(operation));
        batch.shapes.len() as u32 - 1
    }

    fn mixed(&mut self) -> Operation {
        let ranks = self.of.tables.ranks;
        match self.made % 20 {
            10..14 => self.receive((self.rank + ranks - 1) % ranks),
            14..18 => self.send((self.rank + 1) % ranks),
            18 => self.wait(8),
            _ => Operation::Collective {
                communicator: 0,
                flow: Flow::All,
                bytes_sent: 8,
                bytes_received: 8,
                progress: Progress::Blocking,
            },
        }
    }

    fn all_to_all(&mut self) -> Operation {
        let ranks = self.of.tables.ranks as usize;
        let other = |i: usize| ((self.rank as usize + 1 + i) % ranks) as u32;
        match self.made {
            i if i < ranks - 1 => self.receive(other(i)),
            i if i < 2 * (ranks - 1) => self.send(other(i - (ranks - 1))),
            _ => self.wait(2 * (ranks as u64 - 1)),
        }
    }

    fn send(&mut self, peer: u32) -> Operation {
        self.requests += 1;
        Operation::Send {
            envelope: envelope(peer),
            mode: SendMode::Standard,
            progress: Progress::Started,
        }
    }

    fn receive(&mut self, peer: u32) -> Operation {
        self.requests += 1;
        Operation::Receive {
            envelope: envelope(peer),
            wildcard: false,
            progress: Progress::Started,
        }
    }

    fn wait(&self, last: u64) -> Operation {
        let numbers = self.requests - last..self.requests;
        let completed = numbers.map(|number| Token { location: self.rank, number }).collect();
        Operation::Complete { completed, test: false }
    }
}

fn envelope(peer: u32) -> Envelope {
    Envelope { communicator: 0, peer: peer as i32, tag: 1, bytes: 1024 }
}

fn mpi(operation: Operation) -> Shape {
    Shape { part: Part::Call, function: 1, place: 0, operation }
}

fn write() -> Shape {
    let call = FileCall {
        kind: FileKind::Write,
        layer: Layer::Posix,
        file: 0,
        bytes: 8,
        offset: Some(0),
        error: 0,
        collective: None,
        progress: Progress::Blocking,
        creates: false,
        appends: false,
        opaque: false,
    };
    Shape { part: Part::Call, function: 0, place: 0, operation: Operation::File(call) }
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let [_, kind, ranks, millions, threads] = words.as_slice() else {
        panic!("synthetic io|mixed|all-to-all RANKS MILLION_EVENTS THREADS");
    };
    let (ranks, millions): (u32, usize) =
        (ranks.parse().expect("ranks"), millions.parse().expect("million events"));
    let (kind, events_per_rank) = match kind.as_str() {
        "io" => (Kind::Io, millions * 1_000_000 / ranks as usize),
        "mixed" => (Kind::Mixed, millions * 1_000_000 / ranks as usize),
        _ => (Kind::AllToAll, 2 * (ranks as usize - 1) + 1),
    };
    let trace = Synthetic::new(kind, ranks, events_per_rank);
    let begin = Instant::now();
    let options = Options { threads: threads.parse().expect("threads"), ..Options::default() };
    let analysis = analyze(&trace, &options, &mut |_, _| true).expect("a good trace");
    let (seconds, events) = (begin.elapsed().as_secs_f64(), trace.tables.capture.events);
    println!(
        "{events} events in {seconds:.3} s, {:.1} M events/s; {:?}",
        events as f64 / seconds / 1e6,
        analysis.ideal
    );
    analysis.warnings.iter().for_each(|warning| println!("warning: {}", warning.message));
}
