//! Ranks that are many hand over what they did by way of buffers of the threads, and the graph
//! copies that: nothing comes out otherwise.

use tailrace_replay::{Options, analyze};
use tailrace_trace::MemoryTrace;
use tailrace_trace::event::{Envelope, Layer, Operation, Progress, SendMode};

const RANKS: u32 = 20;
const STEPS: i64 = 200;

/// In each step a rank sends to the next one on a ring and receives from the one before; some are
/// late, each in its turn.
fn ring() -> MemoryTrace {
    let mut trace = MemoryTrace::new(RANKS);
    let mpi = trace.function("MPI", Layer::Mpi);
    let envelope = |peer: u32| {
        let peer = i32::try_from(peer % RANKS).expect("there are few");
        Envelope { communicator: 0, peer, tag: 0, bytes: 8 }
    };
    let (mode, progress) = (SendMode::Standard, Progress::Blocking);
    for rank in 0..RANKS {
        for step in 0..STEPS {
            let late = if (step + i64::from(rank)) % 7 == 0 { 40 } else { 0 };
            let (at, until) = (200 * step + late, 200 * step + 100);
            let send = Operation::Send { envelope: envelope(rank + 1), mode, progress };
            trace.call(rank as usize, mpi, at, at + 10, send);
            let envelope = envelope(rank + RANKS - 1);
            let receive = Operation::Receive { envelope, wildcard: false, progress };
            trace.call(rank as usize, mpi, at + 20, until, receive);
        }
    }
    trace
}

#[test]
fn neither_threads_nor_slabs_change_anything_for_many_ranks() {
    let trace = ring();
    let of = |threads, slab| {
        let options = Options { threads, slab, ..Options::default() };
        format!("{:?}", analyze(&trace, &options, &mut |_, _| true).unwrap())
    };
    let alone = of(1, 0);
    for (threads, slab) in [(1, 100), (2, 0), (2, 100), (2, 1_000), (3, 7), (4, 1 << 16)] {
        assert_eq!(alone, of(threads, slab), "{threads} threads, slabs of {slab} events");
    }
}
