//! Many things at one nanosecond: a rank may hand over no part of them before all are there.

use tailrace_replay::{Options, analyze};
use tailrace_trace::MemoryTrace;
use tailrace_trace::event::{Envelope, Layer, Operation, Progress, SendMode, Token};

/// More than a rank of so many hands over at a time.
const RANKS: u32 = 1024;
const MESSAGES: u64 = 700;

/// Rank 0 receives 700 messages from rank 1 and completes all of them by one call.
#[test]
fn a_call_that_completes_many_requests_gets_on() {
    let mut trace = MemoryTrace::new(RANKS);
    let mpi = trace.function("MPI", Layer::Mpi);
    let envelope = |peer| Envelope { communicator: 0, peer, tag: 0, bytes: 8 };
    let progress = Progress::Started;
    for at in 0..MESSAGES as i64 {
        let receive = Operation::Receive { envelope: envelope(1), wildcard: false, progress };
        trace.call(0, mpi, at, at + 1, receive);
        let (mode, progress) = (SendMode::Standard, Progress::Blocking);
        trace.call(1, mpi, at, at + 1, Operation::Send { envelope: envelope(0), mode, progress });
    }
    let completed = (0..MESSAGES).map(|number| Token { location: 0, number }).collect();
    trace.call(0, mpi, 2000, 3000, Operation::Complete { completed, test: false });
    for rank in 1..RANKS {
        trace.call(rank as usize, mpi, 4000, 5000, Operation::Plain);
    }
    let mut rounds = 0;
    let analysis = analyze(&trace, &Options::default(), &mut |_, _| {
        rounds += 1;
        rounds < 10_000
    });
    assert_eq!(analysis.expect("it gets on").runtime, 5000);
}
