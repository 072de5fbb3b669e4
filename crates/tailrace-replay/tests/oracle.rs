//! The graph against a slow oracle that shares nothing with it: whole lists of events, a graph of
//! dependencies, recursion.
//!
//! Programs are random: any times, any order among ranks, so that most of them contradict
//! themselves somewhere.

mod common;
#[path = "common/random.rs"]
mod random;

use std::collections::HashMap;

use random::Random;
use rayon::prelude::*;
use tailrace_replay::analysis;
use tailrace_replay::{Options, analyze};
use tailrace_trace::MemoryTrace;
use tailrace_trace::event::{
    Envelope, FileCall, FileKind, Flow, Layer, Operation, Progress, SendMode, Token,
};
use tailrace_trace::tables::Window;

/// The oracle's clocks; `even` in units of 1/P ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Clocks {
    net: i64,
    even: i64,
    ideal: i64,
}

impl Clocks {
    fn all(moment: i64, ranks: i64) -> Self {
        Self { net: moment, even: moment * ranks, ideal: moment }
    }

    fn max(self, other: Self) -> Self {
        Self {
            net: self.net.max(other.net),
            even: self.even.max(other.even),
            ideal: self.ideal.max(other.ideal),
        }
    }

    fn plus(self, time: i64, ranks: i64) -> Self {
        let Self { net, even, ideal } = self;
        Self { net: net + time, even: even + time * ranks, ideal: ideal + time }
    }

    fn whole(self, ranks: i64) -> analysis::Clocks {
        let Self { net, even, ideal } = self;
        analysis::Clocks { net, even: even / ranks, ideal }
    }
}

const EAGER_LIMIT_BYTES: u64 = 100;

/// A call of a program, as the oracle sees it. Waits name the calls that started what they
/// complete.
#[derive(Clone, Debug)]
enum Call {
    Plain,
    Write,
    Send { to: u32, tag: i32, bytes: u64, mode: SendMode, request: bool },
    Receive { from: u32, tag: i32, request: bool },
    SendReceive { to: u32, from: u32 },
    Wait(Vec<usize>),
    Collective { flow: Flow, request: bool },
}

#[derive(Clone, Debug)]
struct Timed {
    begin: i64,
    end: i64,
    call: Call,
}

type Program = Vec<Vec<Timed>>;

impl Random {
    fn call(&mut self, rank: u32, ranks: u32, open: &mut Vec<usize>, own: usize) -> Call {
        let peer = (rank + 1 + self.below(u64::from(ranks) - 1) as u32) % ranks;
        let (tag, bytes, request) = (self.below(2) as i32, self.below(2) * 200, self.below(2) == 0);
        let mode =
            [SendMode::Standard, SendMode::Synchronous, SendMode::Buffered][self.below(3) as usize];
        let call = match self.below(10) {
            0 => Call::Plain,
            1 | 2 => Call::Write,
            3 | 4 => Call::Send { to: peer, tag, bytes, mode, request },
            5 | 6 => Call::Receive { from: peer, tag, request },
            7 => Call::SendReceive { to: peer, from: peer },
            8 => Call::Wait(self.some_of(open)),
            _ => Call::Collective { flow: self.flow(ranks), request },
        };
        if call.is_request() {
            open.push(own);
        }
        call
    }

    fn some_of(&mut self, open: &mut Vec<usize>) -> Vec<usize> {
        let count = self.below(open.len() as u64 + 1) as usize;
        (0..count).map(|_| open.swap_remove(self.below(open.len() as u64) as usize)).collect()
    }

    fn flow(&mut self, ranks: u32) -> Flow {
        let root = self.below(u64::from(ranks)) as i32;
        [Flow::All, Flow::FromRoot(root), Flow::ToRoot(root), Flow::Prefix, Flow::Neighbours]
            [self.below(5) as usize]
    }

    /// All ranks agree on the kinds of their collectives, as MPI demands; moments differ from rank
    /// to rank.
    fn program(&mut self, ranks: u32, calls: usize) -> Program {
        let flows: Vec<Flow> = (0..calls).map(|_| self.flow(ranks)).collect();
        (0..ranks).map(|rank| self.rank(rank, ranks, calls, &flows)).collect()
    }

    fn rank(&mut self, rank: u32, ranks: u32, calls: usize, flows: &[Flow]) -> Vec<Timed> {
        let (mut now, mut open, mut collectives) = (0, Vec::new(), flows.iter());
        let mut timed = Vec::new();
        for own in 0..calls {
            let mut call = self.call(rank, ranks, &mut open, own);
            if let Call::Collective { flow, .. } = &mut call {
                *flow = *collectives.next().expect("as many as calls");
            }
            // No two ranks do anything at the same nanosecond: what would come first there is a
            // convention.
            let mut moment = || {
                now += 1 + self.below(40) as i64;
                now * i64::from(ranks) + i64::from(rank)
            };
            timed.push(Timed { begin: moment(), end: moment(), call });
        }
        timed
    }
}

impl Call {
    fn is_request(&self) -> bool {
        matches!(
            self,
            Self::Send { request: true, .. }
                | Self::Receive { request: true, .. }
                | Self::Collective { request: true, .. }
        )
    }

    fn operation(&self, rank: u32, program: &[Timed]) -> Operation {
        let envelope =
            |peer: u32, tag, bytes| Envelope { communicator: 0, peer: peer as i32, tag, bytes };
        let progress = |request: bool| if request { Progress::Started } else { Progress::Blocking };
        let number = |own: usize| {
            program[..own].iter().filter(|timed| timed.call.is_request()).count() as u64
        };
        match self {
            Self::Plain => Operation::Plain,
            Self::Write => Operation::File(write()),
            Self::Send { to, tag, bytes, mode, request } => Operation::Send {
                envelope: envelope(*to, *tag, *bytes),
                mode: *mode,
                progress: progress(*request),
            },
            Self::Receive { from, tag, request } => Operation::Receive {
                envelope: envelope(*from, *tag, 0),
                wildcard: false,
                progress: progress(*request),
            },
            Self::SendReceive { to, from } => Operation::SendReceive {
                send: envelope(*to, 7, 200),
                receive: envelope(*from, 7, 200),
                progress: Progress::Blocking,
            },
            Self::Wait(owns) => Operation::Complete {
                completed: owns
                    .iter()
                    .map(|own| Token { location: rank, number: number(*own) })
                    .collect(),
                test: false,
            },
            Self::Collective { flow, request } => Operation::Collective {
                communicator: 0,
                flow: *flow,
                bytes_sent: 0,
                bytes_received: 0,
                progress: progress(*request),
            },
        }
    }
}

fn write() -> FileCall {
    FileCall {
        kind: FileKind::Write,
        layer: Layer::Posix,
        file: 0,
        bytes: 1,
        offset: None,
        error: 0,
        collective: None,
        progress: Progress::Blocking,
        creates: false,
        appends: false,
        opaque: false,
    }
}

fn trace(program: &Program, runtime: i64) -> MemoryTrace {
    let mut trace = MemoryTrace::new(program.len() as u32);
    let (mpi, posix) = (trace.function("MPI", Layer::Mpi), trace.function("write", Layer::Posix));
    trace.file(b"file", false);
    for (rank, calls) in program.iter().enumerate() {
        trace.neighbours(0, rank as u32, &sources(rank, program.len()));
        for timed in calls {
            let function = if matches!(timed.call, Call::Write) { posix } else { mpi };
            trace.call(
                rank,
                function,
                timed.begin,
                timed.end,
                timed.call.operation(rank as u32, calls),
            );
        }
        trace.tables.locations[rank].end_ns = runtime;
    }
    trace.tables.window = Some(Window { begin_ns: 0, end_ns: runtime });
    trace
}

type Place = (usize, usize);

/// For each side of each message: the other side, by its place.
#[derive(Default)]
struct Matches {
    send_of: HashMap<Place, Place>,
    receive_of: HashMap<Place, Place>,
}

/// The n-th send on a channel, by begin, is received by the n-th receive posted on it.
fn matches(program: &Program) -> Matches {
    let mut channels: HashMap<(u32, u32, i32), [Vec<Place>; 2]> = HashMap::new();
    for (rank, calls) in program.iter().enumerate() {
        let own = rank as u32;
        for (index, timed) in calls.iter().enumerate() {
            let mut put = |channel, side: usize| {
                channels.entry(channel).or_default()[side].push((rank, index));
            };
            match timed.call {
                Call::Send { to, tag, .. } => put((own, to, tag), 0),
                Call::Receive { from, tag, .. } => put((from, own, tag), 1),
                Call::SendReceive { to, from } => {
                    put((own, to, 7), 0);
                    put((from, own, 7), 1);
                }
                _ => {}
            }
        }
    }
    let mut matches = Matches::default();
    for [sends, receives] in channels.into_values() {
        for (send, receive) in sends.into_iter().zip(receives) {
            matches.send_of.insert(receive, send);
            matches.receive_of.insert(send, receive);
        }
    }
    matches
}

struct Oracle<'a> {
    program: &'a Program,
    matches: Matches,
    memory: HashMap<Place, Clocks>,
}

impl Oracle<'_> {
    /// The clocks at the begin of a call.
    fn begin(&mut self, (rank, index): Place) -> Clocks {
        let (begin, ranks) = (self.program[rank][index].begin, self.program.len() as i64);
        if index == 0 {
            return Clocks::all(begin, ranks);
        }
        let before = self.program[rank][index - 1].end;
        self.end((rank, index - 1)).plus(begin - before, ranks)
    }

    /// The clocks at the end of a call.
    fn end(&mut self, place: Place) -> Clocks {
        if let Some(known) = self.memory.get(&place) {
            return *known;
        }
        let begin = self.begin(place);
        let timed = &self.program[place.0][place.1];
        let clocks = match &timed.call {
            Call::Plain => begin,
            Call::Write => self.written(begin, timed),
            Call::Wait(owns) => owns
                .iter()
                .map(|own| self.waits_for((place.0, *own), timed.end))
                .fold(begin, Clocks::max),
            call if call.is_request() => begin,
            _ => begin.max(self.waits_for(place, timed.end)),
        };
        self.memory.insert(place, clocks);
        clocks
    }

    fn written(&self, begin: Clocks, timed: &Timed) -> Clocks {
        let overlap =
            |other: &Timed| (other.end.min(timed.end) - other.begin.max(timed.begin)).max(0);
        let writes =
            self.program.iter().flatten().filter(|other| matches!(other.call, Call::Write));
        let area: i64 = writes.map(overlap).sum();
        Clocks {
            net: begin.net + timed.end - timed.begin,
            even: begin.even + area,
            ideal: begin.ideal,
        }
    }

    /// What an operation that completes at `end` waits for: all of it must have begun by then.
    fn waits_for(&mut self, place: Place, end: i64) -> Clocks {
        let (send, receive) = (
            self.matches.send_of.get(&place).copied(),
            self.matches.receive_of.get(&place).copied(),
        );
        match self.program[place.0][place.1].call.clone() {
            Call::Receive { .. } => self.begun(send, end),
            Call::Send { bytes, mode, .. } if rendezvous(bytes, mode) => self.begun(receive, end),
            Call::SendReceive { .. } => self.begun(send, end).max(self.begun(receive, end)),
            Call::Collective { flow, .. } => self.collective(place, flow, end),
            _ => Clocks::default(),
        }
    }

    fn begun(&mut self, place: Option<Place>, end: i64) -> Clocks {
        let begun = place.filter(|(rank, index)| self.program[*rank][*index].begin <= end);
        begun.map_or(Clocks::default(), |place| self.begin(place))
    }

    fn collective(&mut self, place: Place, flow: Flow, end: i64) -> Clocks {
        let is_collective = |timed: &Timed| matches!(timed.call, Call::Collective { .. });
        let number =
            self.program[place.0][..place.1].iter().filter(|timed| is_collective(timed)).count();
        let mut latest = Clocks::default();
        for rank in 0..self.program.len() {
            let others =
                self.program[rank].iter().enumerate().filter(|(_, timed)| is_collective(timed));
            let other = others.map(|(index, _)| (rank, index)).nth(number);
            let flows = match flow {
                Flow::All => true,
                Flow::FromRoot(root) => rank as i32 == root && place.0 != rank,
                Flow::ToRoot(root) => place.0 as i32 == root,
                Flow::Prefix => rank <= place.0,
                Flow::Neighbours => sources(place.0, self.program.len()).contains(&(rank as u32)),
            };
            if flows {
                latest = latest.max(self.begun(other, end));
            }
        }
        latest
    }
}

/// Whom a rank's neighbourhood collectives receive from, not the same as whom they send to.
fn sources(rank: usize, ranks: usize) -> [u32; 2] {
    [(rank + ranks - 1) % ranks, (rank + 2) % ranks].map(|rank| rank as u32)
}

fn rendezvous(bytes: u64, mode: SendMode) -> bool {
    mode == SendMode::Synchronous || mode == SendMode::Standard && bytes > EAGER_LIMIT_BYTES
}

fn compare(seed: u64) {
    let mut random = Random(seed);
    let (ranks, calls) = (2 + random.below(5) as u32, 1 + random.below(40) as usize);
    let program = random.program(ranks, calls);
    let runtime = program.iter().flatten().map(|timed| timed.end).max().unwrap_or(0) + 10;
    let mut oracle =
        Oracle { program: &program, matches: matches(&program), memory: HashMap::new() };
    let slab = [1, 7, 50, Options::default().slab][random.below(4) as usize];
    let options = Options { eager_limit_bytes: EAGER_LIMIT_BYTES, slab, ..Options::default() };
    let analysis = analyze(&trace(&program, runtime), &options, &mut |_, _| true).unwrap();
    for (rank, calls) in program.iter().enumerate() {
        let (last, ranks) = (calls.len() - 1, program.len() as i64);
        let expected = oracle.end((rank, last)).plus(runtime - calls[last].end, ranks).whole(ranks);
        assert_eq!(
            analysis.ranks[rank].clocks, expected,
            "seed {seed}, rank {rank} of {program:?}"
        );
    }
    let broken = analysis
        .warnings
        .iter()
        .find(|w| ["time-not-conserved", "replay-out-of-order"].contains(&w.code));
    assert_eq!(broken, None, "seed {seed}");
    assert_eq!(common::wrong_paths(&analysis), Vec::<String>::new(), "seed {seed}");
}

#[test]
fn random_programs_replay_as_the_oracle_says() {
    (0..3000).into_par_iter().for_each(compare);
}
