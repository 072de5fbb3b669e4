//! Writes a packed trace of a made-up run, for benchmarks:
//!
//!     cargo run --release --example synthesize -- \
//!         --ranks 4 --events 10000000 --kind pwrite -o big.tailrace
//!
//! `--events` counts the events of all ranks together. Kinds: `pwrite` (a loop of sequential 8-byte
//! writes), `test` (a loop of MPI_Test), `mix` (halo exchange, reduction, nested collective
//! writes), `halo`, `reductions` and `nested` (a piece of the mix alone), `alltoall` (each rank
//! receives from and sends to every other, then waits: `--events` is ignored). Memory does not
//! depend on the length.
#![allow(clippy::print_stdout, clippy::print_stderr, clippy::exit)] // a tool of the developers

use std::path::PathBuf;
use std::sync::Arc;

use tailrace_trace::TraceError;
use tailrace_trace::coded::CodedShape;
use tailrace_trace::event::{Layer, Part};
use tailrace_trace::pack::events_per_block;
use tailrace_trace::packed::Block;
use tailrace_trace::packed::Encoder;
use tailrace_trace::packed::Writer;
use tailrace_trace::tables::{Communicator, FileEntry, Function, Location, Tables, Window};
use tailrace_trace::wire::class;

const FUNCTIONS: [(&str, Layer); 9] = [
    ("MPI_Init", Layer::Mpi),
    ("MPI_Finalize", Layer::Mpi),
    ("pwrite", Layer::Posix),
    ("MPI_Test", Layer::Mpi),
    ("MPI_Isend", Layer::Mpi),
    ("MPI_Irecv", Layer::Mpi),
    ("MPI_Waitall", Layer::Mpi),
    ("MPI_Allreduce", Layer::Mpi),
    ("MPI_File_write_all", Layer::MpiIo),
];
const INIT: u16 = 0;
const FINALIZE: u16 = 1;
const PWRITE: u16 = 2;
const TEST: u16 = 3;
const ISEND: u16 = 4;
const IRECV: u16 = 5;
const WAITALL: u16 = 6;
const ALLREDUCE: u16 = 7;
const WRITE_ALL: u16 = 8;

struct Options {
    ranks: u32,
    events: u64,
    kind: String,
    output: PathBuf,
}

fn options() -> Result<Options, String> {
    let mut options = Options {
        ranks: 4,
        events: 1_000_000,
        kind: "mix".into(),
        output: "synthetic.tailrace".into(),
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(option) = arguments.next() {
        let value = arguments.next().ok_or(format!("{option} wants a value"))?;
        let number =
            || value.parse::<u64>().map_err(|_| format!("{option} wants a number, not {value}"));
        match option.as_str() {
            "--ranks" => options.ranks = number()?.clamp(1, 1 << 16) as u32,
            "--events" => options.events = number()?,
            "--kind" => options.kind = value,
            "-o" | "--output" => options.output = value.into(),
            _ => return Err(format!("there is no option {option}")),
        }
    }
    Ok(options)
}

/// From one step of the model to the next.
const STEP_NS: i64 = 1_000_000;

/// The run of one rank: time, a little noise, and the blocks that go to the file.
struct Rank<'a> {
    number: u32,
    ranks: u32,
    now_ns: i64,
    noise: u64,
    block: Block,
    next_number: u64,
    events: u64,
    writer: &'a mut Writer,
    encoder: &'a mut Encoder,
}

type Written = Result<(), TraceError>;

impl Rank<'_> {
    /// 0 … below: xorshift, so that each run makes the same trace.
    fn noise(&mut self, below: u64) -> i64 {
        self.noise ^= self.noise << 13;
        self.noise ^= self.noise >> 7;
        self.noise ^= self.noise << 17;
        (self.noise % below) as i64
    }

    fn event(&mut self, shape: &Arc<CodedShape>, gap_ns: i64, duration_ns: i64) -> Written {
        let begin = self.now_ns + gap_ns;
        let end = begin + duration_ns;
        self.block.push(begin, end, shape);
        self.now_ns = end;
        self.events += 1;
        if self.block.is_full(events_per_block(self.ranks as usize)) {
            self.flush()
        } else {
            Ok(())
        }
    }

    fn flush(&mut self) -> Written {
        let block = std::mem::replace(&mut self.block, Block::new(self.now_ns, self.next_number));
        let bytes = self.encoder.encode(&block, self.number);
        if block.is_empty() {
            Ok(())
        } else {
            self.writer.block(self.number as usize, block.len(), &bytes)
        }
    }

    /// A request that is started takes its number before the block may end.
    fn start(&mut self, shape: &Arc<CodedShape>, gap_ns: i64, duration_ns: i64) -> Written {
        self.next_number += 1;
        self.event(shape, gap_ns, duration_ns)
    }
}

fn shape(part: Part, function: u16, class: u8, words: &[i64]) -> Arc<CodedShape> {
    Arc::new(CodedShape { part, function, class, place: 0, words: words.to_vec() })
}

fn call(function: u16, class: u8, words: &[i64]) -> Arc<CodedShape> {
    shape(Part::Call, function, class, words)
}

/// Durations as on a machine: a little above a floor, now and then much more.
fn duration(rank: &mut Rank, floor_ns: i64, spread: u64) -> i64 {
    let usual = floor_ns + rank.noise(spread);
    if rank.noise(1000) == 0 { usual + rank.noise(50_000) } else { usual }
}

fn pwrite_loop(rank: &mut Rank, events: u64) -> Written {
    let write = call(PWRITE, class::FILE, &[3, 1, i64::from(rank.number % 2), 8, 0, 0, -1]);
    for _ in 0..events {
        let (gap, length) = (rank.noise(12) + 40, duration(rank, 280, 60));
        rank.event(&write, gap, length)?;
    }
    Ok(())
}

fn test_loop(rank: &mut Rank, events: u64) -> Written {
    let test = call(TEST, class::COMPLETE, &[3, 0]);
    for _ in 0..events {
        let (gap, length) = (rank.noise(8) + 30, duration(rank, 60, 30));
        rank.event(&test, gap, length)?;
    }
    Ok(())
}

/// What a step of the mix is made of, 12 events: halo exchange with both neighbours on a ring and
/// Waitall, two pwrites, two Allreduces, and a collective write with its pwrite inside.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Piece {
    Halo,
    Writes,
    Reductions,
    Nested,
}

impl Piece {
    const ALL: [Self; 4] = [Self::Halo, Self::Writes, Self::Reductions, Self::Nested];

    fn events(self) -> u64 {
        match self {
            Self::Halo => 5,
            Self::Writes | Self::Reductions => 2,
            Self::Nested => 3,
        }
    }
}

/// The pieces, at the times that they have among the others.
fn mix(rank: &mut Rank, events: u64, pieces: &[Piece]) -> Written {
    let (me, ranks) = (i64::from(rank.number), i64::from(rank.ranks));
    let neighbours = [(me + 1) % ranks, (me + ranks - 1) % ranks];
    let receives =
        neighbours.map(|peer| call(IRECV, class::RECEIVE, &[0, peer, 1, 8192, 1, -2, -1]));
    let sends = neighbours.map(|peer| call(ISEND, class::SEND, &[0, peer, 1, 8192, 0, 1]));
    let wait = call(WAITALL, class::COMPLETE, &[0, 4, 4, 3, 2, 1]);
    let reduce = call(ALLREDUCE, class::COLLECTIVE, &[0, 0, -1, 8, 8, 0]);
    let words = [3, 3, 0, 65536, 0, 0, 0];
    let edges = [Part::Enter, Part::Leave].map(|part| shape(part, WRITE_ALL, class::FILE, &words));
    let write = call(PWRITE, class::FILE, &[3, 1, 0, 65536, 0, 0, -1]);
    let of_step = pieces.iter().map(|piece| piece.events()).sum();
    for step in 0..events.div_ceil(of_step) {
        // Every rank begins its step at the same time, more or less: so no wait contradicts
        // another.
        let begin = 2_000_000 + step as i64 * STEP_NS;
        rank.now_ns = rank.now_ns.max(begin);
        let halo = pieces.contains(&Piece::Halo);
        for posted in receives.iter().chain(&sends).filter(|_| halo) {
            let gap = 200 + rank.noise(100);
            rank.start(posted, gap, 300)?;
        }
        let compute = 100_000 + rank.noise(100_000);
        if halo {
            rank.event(&wait, compute, 50_000)?;
        }
        if pieces.contains(&Piece::Writes) {
            rank.event(&write, 1_000, 20_000)?;
            rank.event(&write, 1_000, 20_000)?;
        }
        if pieces.contains(&Piece::Reductions) {
            let until = begin + 600_000 - rank.now_ns;
            rank.event(&reduce, 1_000, until.max(1_000))?;
        }
        if pieces.contains(&Piece::Nested) {
            rank.event(&edges[0], 10_000, 0)?;
            let length = duration(rank, 60_000, 10_000);
            rank.event(&write, 5_000, length)?;
            let until = begin + 800_000 - rank.now_ns;
            rank.event(&edges[1], until.max(1_000), 0)?;
        }
        if pieces.contains(&Piece::Reductions) {
            rank.event(&reduce, 1_000, 1_000)?;
        }
    }
    Ok(())
}

/// Linear all-to-all: everyone posts all receives, then all sends, then waits for all.
fn alltoall(rank: &mut Rank) -> Written {
    let (me, ranks) = (i64::from(rank.number), i64::from(rank.ranks));
    for distance in 1..ranks {
        let peer = (me + ranks - distance) % ranks;
        rank.start(&call(IRECV, class::RECEIVE, &[0, peer, 0, 1024, 1, -2, -1]), 50, 100)?;
    }
    for distance in 1..ranks {
        rank.start(
            &call(ISEND, class::SEND, &[0, (me + distance) % ranks, 0, 1024, 0, 1]),
            50,
            200,
        )?;
    }
    let requests = 2 * (ranks - 1);
    let words: Vec<i64> = [0, requests].into_iter().chain((1..=requests).rev()).collect();
    let until = 2_000_000 + requests * 500 - rank.now_ns;
    rank.event(&call(WAITALL, class::COMPLETE, &words), 100, until.max(1_000))
}

fn tables(options: &Options, locations: Vec<Location>) -> Tables {
    let mut tables = Tables {
        ranks: options.ranks,
        counters: vec![None; options.ranks as usize],
        ..Tables::default()
    };
    tables.functions = FUNCTIONS
        .iter()
        .map(|(name, layer)| Function { name: (*name).into(), layer: *layer })
        .collect();
    tables.files = [&b"/scratch/a"[..], b"/scratch/b"]
        .map(|path| FileEntry { path: path.into(), opaque: false })
        .into();
    let members = (0..options.ranks).collect();
    tables.communicators = vec![Communicator { identity: 0, members, remote: None }];
    tables.capture.events = locations.iter().map(|location| location.events).sum();
    let end_ns = locations.iter().map(|location| location.end_ns - 1_000).max().unwrap_or(0);
    tables.window = Some(Window { begin_ns: 1_000_000, end_ns });
    tables.locations = locations;
    tables.meta.insert("program".into(), format!("synthesize {}", options.kind));
    tables
}

fn write_rank(rank: &mut Rank, options: &Options) -> Written {
    let each = options.events / u64::from(options.ranks);
    rank.event(&call(INIT, class::CONTROL, &[0, 0]), 0, 1_000_000)?;
    match options.kind.as_str() {
        "pwrite" => pwrite_loop(rank, each)?,
        "test" => test_loop(rank, each)?,
        "mix" => mix(rank, each, &Piece::ALL)?,
        "halo" => mix(rank, each, &[Piece::Halo])?,
        "reductions" => mix(rank, each, &[Piece::Reductions])?,
        "nested" => mix(rank, each, &[Piece::Nested])?,
        "alltoall" => alltoall(rank)?,
        other => {
            return Err(TraceError::new(
                format!("there is no kind {other}."),
                "pwrite, test, mix, halo, reductions, nested or alltoall.",
            ));
        }
    }
    rank.event(&call(FINALIZE, class::CONTROL, &[1, 0]), 1_000, 1_000)?;
    rank.flush()
}

fn synthesize(options: &Options) -> Result<u64, TraceError> {
    let mut writer = Writer::create(&options.output, options.ranks as usize)?;
    let no_memory = |cause| TraceError::new(format!("cannot compress: {cause}."), "");
    let mut encoder = Encoder::new().map_err(no_memory)?;
    let mut locations = Vec::new();
    for number in 0..options.ranks {
        let (writer, encoder, block) = (&mut writer, &mut encoder, Block::new(0, 0));
        let noise = 0x9e37_79b9_7f4a_7c15 ^ u64::from(number + 1);
        let (ranks, rank) = (options.ranks, number);
        let mut rank = Rank {
            number: rank,
            ranks,
            now_ns: 0,
            noise,
            block,
            next_number: 0,
            events: 0,
            writer,
            encoder,
        };
        write_rank(&mut rank, options)?;
        let (events, end_ns) = (rank.events, rank.now_ns);
        locations.push(Location {
            rank: number,
            main: true,
            host: "synthetic".into(),
            events,
            end_ns,
            ..Location::default()
        });
    }
    let tables = tables(options, locations);
    let bytes = writer.finish(&tables)?;
    println!(
        "{} events, {bytes} bytes, {:.3} bytes/event",
        tables.capture.events,
        bytes as f64 / tables.capture.events as f64
    );
    Ok(bytes)
}

fn main() {
    let options = options().unwrap_or_else(|message| fail(&message));
    if let Err(error) = synthesize(&options) {
        fail(&error.to_string());
    }
}

fn fail(message: &str) -> ! {
    eprintln!("synthesize: {message}");
    std::process::exit(2)
}
