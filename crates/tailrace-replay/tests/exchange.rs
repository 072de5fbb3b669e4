//! Ranks that send and post receives of a thousand kinds before they wait: one thread takes what
//! each begins with at once, several take it in order of time. Nothing comes out otherwise.

use tailrace_replay::{Options, analyze};
use tailrace_trace::MemoryTrace;
use tailrace_trace::event::{Envelope, Layer, Operation, Progress, RequestAction, SendMode, Token};

const RANKS: u32 = 3;
const MESSAGES: u64 = 1_200;
const ROUNDS: i64 = 4;

fn envelope(peer: u32, tag: u64) -> Envelope {
    let (peer, tag) = (i32::try_from(peer % RANKS).unwrap(), i32::try_from(tag).unwrap());
    // Every third message is too long to leave before its receive is posted.
    let bytes = if tag % 3 == 0 { 1 << 20 } else { 8 };
    Envelope { communicator: 0, peer, tag, bytes }
}

/// What a rank does, ten nanoseconds each.
struct Line<'a> {
    trace: &'a mut MemoryTrace,
    rank: u32,
    at: i64,
    requests: u64,
}

impl Line<'_> {
    fn call(&mut self, name: &str, operation: Operation) {
        let function = self.trace.function(name, Layer::Mpi);
        self.trace.call(self.rank as usize, function, self.at, self.at + 10, operation);
        self.at += 10;
    }

    fn send(&mut self, peer: u32, tag: u64) {
        let (envelope, mode) = (envelope(peer, tag), SendMode::Standard);
        self.call("MPI_Isend", Operation::Send { envelope, mode, progress: Progress::Started });
        self.requests += 1;
    }

    fn receive(&mut self, peer: u32, tag: u64) {
        let (envelope, wildcard) = (envelope(peer, tag), false);
        let progress = Progress::Started;
        self.call("MPI_Irecv", Operation::Receive { envelope, wildcard, progress });
        self.requests += 1;
    }

    fn token(&self, number: u64) -> Token {
        Token { location: self.rank, number }
    }

    /// … for all requests from the `first` on.
    fn wait(&mut self, first: u64, until: i64) {
        let completed = (first..self.requests).map(|number| self.token(number)).collect();
        let function = self.trace.function("MPI_Waitall", Layer::Mpi);
        let operation = Operation::Complete { completed, test: false };
        self.trace.call(self.rank as usize, function, self.at, until, operation);
        self.at = until;
    }
}

/// In each round a rank sends to the next on a ring, and receives from the one before, on so many
/// channels; the last rank is late. `cancels`: rank 1 first posts a receive that it cancels before
/// anything is sent to it.
fn ring(channels: u64, cancels: bool) -> MemoryTrace {
    let mut trace = MemoryTrace::new(RANKS);
    for rank in 0..RANKS {
        let late = if rank + 1 == RANKS { 7_000 } else { 0 };
        let mut line = Line { trace: &mut trace, rank, at: late, requests: 0 };
        if cancels && rank == 1 {
            line.receive(rank + RANKS - 1, 1);
            let (token, action) = (line.token(0), RequestAction::Cancel);
            line.call("MPI_Cancel", Operation::OnRequest { token, action });
        }
        for round in 1..=ROUNDS {
            let first = line.requests;
            (0..MESSAGES).for_each(|number| line.receive(rank + RANKS - 1, number % channels));
            (0..MESSAGES).for_each(|number| line.send(rank + 1, number % channels));
            line.wait(first, 50_000 * round + 100 * i64::from(rank));
        }
    }
    trace
}

fn comes_to(trace: &MemoryTrace, threads: usize, slab: u64) -> String {
    let options = Options { threads, slab, ..Options::default() };
    format!("{:?}", analyze(trace, &options, &mut |_, _| true).unwrap())
}

#[test]
fn what_is_taken_at_once_comes_to_what_it_comes_to_in_order_of_time() {
    for (channels, cancels) in [(MESSAGES, false), (MESSAGES, true), (3, false), (3, true)] {
        let trace = ring(channels, cancels);
        let alone = comes_to(&trace, 1, 100);
        for (threads, slab) in [(1, 0), (1, 8_000), (2, 0), (2, 100), (2, 8_000), (3, 7_000)] {
            assert_eq!(alone, comes_to(&trace, threads, slab), "{threads} threads, {slab} events");
        }
    }
}
