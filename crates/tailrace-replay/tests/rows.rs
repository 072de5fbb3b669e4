//! A rank's only thread is reduced by loops over rows of its blocks, several threads step by step
//! in order of time. Both come to the same: a second thread that does nothing changes no answer.

#[path = "common/random.rs"]
mod random;

use random::Random;
use rayon::prelude::*;
use tailrace_replay::{Analysis, Options, analyze};
use tailrace_trace::MemoryTrace;
use tailrace_trace::event::{
    Envelope, FileCall, FileKind, Flow, Layer, Operation, Progress, SendMode, Token,
};
use tailrace_trace::tables::{Location, Wait, Window};

/// What all ranks do, one after another.
#[derive(Clone, Copy, Debug)]
enum Step {
    Plain,
    /// So many one after another, to one of two files.
    Writes(u64, u32),
    Read(u32),
    Reduce,
    Broadcast,
    /// To the next rank and from the one before, by requests; the waits are for all at once or for
    /// each.
    Halo {
        at_once: bool,
    },
    Exchange,
    /// A collective write with such calls inside.
    WriteAll(Inside),
    /// A write by one rank through MPI-IO.
    WriteAt,
    /// A collective call of MPI-IO with nothing inside.
    SetView,
}

#[derive(Clone, Copy, Debug)]
enum Inside {
    Write,
    WritesAndCalls,
    OnlyFirstRank,
    Nothing,
}

fn step(random: &mut Random) -> Step {
    let file = random.below(2) as u32;
    match random.below(14) {
        0 => Step::Plain,
        1 => Step::Writes(1 + random.below(4), file),
        2 => Step::Writes(5 + random.below(30), file),
        3 => Step::Read(file),
        4 | 5 => Step::Reduce,
        6 => Step::Broadcast,
        7 => Step::Halo { at_once: true },
        8 => Step::Halo { at_once: false },
        9 => Step::Exchange,
        10 | 11 => {
            let inside =
                [Inside::Write, Inside::WritesAndCalls, Inside::OnlyFirstRank, Inside::Nothing];
            Step::WriteAll(inside[random.below(4) as usize])
        }
        12 => Step::WriteAt,
        _ => Step::SetView,
    }
}

fn file_call(kind: FileKind, layer: Layer, file: u32, collective: Option<u32>) -> Operation {
    Operation::File(FileCall {
        kind,
        layer,
        file,
        bytes: 1000,
        offset: Some(0),
        error: 0,
        collective,
        progress: Progress::Blocking,
        creates: false,
        appends: false,
        opaque: false,
    })
}

/// A rank that does its steps.
struct Rank<'r> {
    trace: &'r mut MemoryTrace,
    random: &'r mut Random,
    number: usize,
    ranks: usize,
    now: i64,
    requests: u64,
    functions: [u16; 3],
}

impl Rank<'_> {
    /// Mostly short, some of no length, a few as long as bins.
    fn time(&mut self) -> i64 {
        let limit = [2, 12, 12, 200][self.random.below(4) as usize];
        self.random.below(limit) as i64
    }

    fn call(&mut self, function: usize, operation: Operation) {
        let begin = self.now + self.time();
        self.now = begin + self.time();
        self.trace.call(self.number, self.functions[function], begin, self.now, operation);
    }

    fn write(&mut self, file: u32) {
        self.call(POSIX, file_call(FileKind::Write, Layer::Posix, file, None));
    }

    fn around(&mut self, operation: &Operation, inside: impl FnOnce(&mut Self)) {
        self.now += self.time();
        let function = self.functions[MPIIO];
        self.trace.enter(self.number, function, self.now, operation.clone());
        inside(self);
        self.now += self.time();
        self.trace.leave(self.number, function, self.now, operation.clone());
    }

    fn start(&mut self, operation: Operation) -> Token {
        self.call(MPI, operation);
        self.requests += 1;
        Token { location: self.number as u32, number: self.requests - 1 }
    }

    fn wait(&mut self, completed: Vec<Token>) {
        self.call(MPI, Operation::Complete { completed, test: false });
    }

    fn halo(&mut self, at_once: bool) {
        let peers = [self.number + 1, self.number + self.ranks - 1].map(|peer| peer % self.ranks);
        let envelope =
            |peer: usize| Envelope { communicator: 0, peer: peer as i32, tag: 0, bytes: 100_000 };
        let progress = Progress::Started;
        let receive =
            Operation::Receive { envelope: envelope(peers[1]), wildcard: false, progress };
        let received = self.start(receive);
        let (mode, envelope) = (SendMode::Standard, envelope(peers[0]));
        let sent = self.start(Operation::Send { envelope, mode, progress });
        if at_once {
            self.wait(vec![received, sent]);
        } else {
            self.wait(vec![sent]);
            self.wait(vec![]);
            self.wait(vec![received]);
        }
    }

    fn collective(&mut self, flow: Flow) {
        let (communicator, bytes_sent, bytes_received) = (0, 8, 8);
        let progress = Progress::Blocking;
        self.call(
            MPI,
            Operation::Collective { communicator, flow, bytes_sent, bytes_received, progress },
        );
    }

    fn exchange(&mut self) {
        let peer = |of: usize| Envelope {
            communicator: 0,
            peer: (of % self.ranks) as i32,
            tag: 1,
            bytes: 8,
        };
        let (send, receive) = (peer(self.number + 1), peer(self.number + self.ranks - 1));
        self.call(MPI, Operation::SendReceive { send, receive, progress: Progress::Blocking });
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Plain => self.call(MPI, Operation::Plain),
            Step::Writes(number, file) => (0..number).for_each(|_| self.write(file)),
            Step::Read(file) => {
                self.call(POSIX, file_call(FileKind::Read, Layer::Posix, file, None));
            }
            Step::Reduce => self.collective(Flow::All),
            Step::Broadcast => self.collective(Flow::FromRoot(0)),
            Step::Halo { at_once } => self.halo(at_once),
            Step::Exchange => self.exchange(),
            Step::WriteAll(inside) => {
                let operation = file_call(FileKind::Write, Layer::MpiIo, 1, Some(0));
                self.around(&operation, |rank| rank.inside(inside));
            }
            Step::WriteAt => {
                let operation = file_call(FileKind::Write, Layer::MpiIo, 1, None);
                self.around(&operation, |rank| rank.write(1));
            }
            Step::SetView => {
                self.call(MPIIO, file_call(FileKind::View, Layer::MpiIo, 1, Some(0)));
            }
        }
    }

    fn inside(&mut self, inside: Inside) {
        match inside {
            Inside::Write => self.write(1),
            Inside::WritesAndCalls => {
                self.call(MPI, Operation::Plain);
                self.write(1);
                self.halo(true);
                self.write(0);
                self.write(1);
            }
            Inside::OnlyFirstRank if self.number == 0 => self.write(1),
            Inside::OnlyFirstRank | Inside::Nothing => {}
        }
    }
}

const MPI: usize = 0;
const POSIX: usize = 1;
const MPIIO: usize = 2;

fn trace(random: &mut Random, ranks: usize) -> MemoryTrace {
    let mut trace = MemoryTrace::new(ranks as u32);
    let functions = [("MPI", Layer::Mpi), ("write", Layer::Posix), ("MPI_File", Layer::MpiIo)]
        .map(|(name, layer)| trace.function(name, layer));
    trace.file(b"first", false);
    trace.file(b"second", false);
    let steps: Vec<Step> = (0..=random.below(60)).map(|_| step(random)).collect();
    for number in 0..ranks {
        let trace = &mut trace;
        let mut rank = Rank { trace, random, number, ranks, now: 0, requests: 0, functions };
        for step in &steps {
            rank.take(*step);
        }
    }
    let end_ns = trace.tables.locations.iter().map(|location| location.end_ns).max().unwrap_or(0);
    let begin_ns = random.below(30) as i64;
    trace.tables.window = Some(Window { begin_ns, end_ns: begin_ns.max(end_ns - 20) });
    for location in &mut trace.tables.locations {
        location.waits = Some(waits(random, end_ns));
    }
    trace
}

/// Stretches of time in which the rank waited for a processor.
fn waits(random: &mut Random, until: i64) -> Vec<Wait> {
    let (mut at, mut waits) = (0, Vec::new());
    while random.below(8) > 0 && at < until {
        let begin_ns = at + random.below(2) as i64 * random.below(100) as i64;
        at = begin_ns + 1 + random.below(150) as i64;
        waits.push(Wait { begin_ns, end_ns: at, waited_ns: (at - begin_ns) / 2 });
    }
    waits
}

fn compare(seed: u64) {
    let mut random = Random(seed);
    let ranks = 2 + random.below(3) as usize;
    let mut trace = trace(&mut random, ranks);
    let bins = [1, 3, 20, 200][random.below(4) as usize];
    let longest = [0, 5, 1000][random.below(3) as usize];
    let options = Options { bins, longest, threads: 1, ..Options::default() };
    let of = |trace: &MemoryTrace, slab| {
        analyze(trace, &Options { slab, ..options }, &mut |_, _| true).unwrap()
    };
    let by_rows = of(&trace, 0);
    for slab in [1, 7] {
        same(&by_rows, &of(&trace, slab), (seed, slab));
    }
    for rank in 0..ranks as u32 {
        let end_ns = trace.tables.locations[rank as usize].end_ns;
        trace.location(Location { rank, thread: 1, end_ns, ..Location::default() });
    }
    let by_steps = of(&trace, 0);
    same(&by_rows, &by_steps, (seed, 0));
}

fn same(expected: &Analysis, found: &Analysis, what: (u64, u64)) {
    let [expected, found] = [expected, found].map(|analysis| format!("{analysis:#?}"));
    let mut lines = expected.lines().zip(found.lines());
    assert_eq!(lines.find(|(expected, found)| expected != found), None, "{what:?}");
}

#[test]
fn rows_are_what_begins_and_ends_come_to() {
    (0..100).into_par_iter().for_each(compare);
}
