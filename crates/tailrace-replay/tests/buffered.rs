//! What is counted and not timed: calls that stdio's buffer served, which stand beside requests, and
//! calls of MPI that answer from memory.

use tailrace_replay::{Options, analyze};
use tailrace_trace::MemoryTrace;
use tailrace_trace::event::{Buffered, FileCall, FileKind, Layer, Operation, Progress};
use tailrace_trace::tables::Location;

fn request(kind: FileKind, bytes: u64) -> Operation {
    Operation::File(FileCall {
        kind,
        layer: Layer::Stdio,
        file: 0,
        bytes,
        offset: None,
        error: 0,
        collective: None,
        progress: Progress::Blocking,
        creates: false,
        appends: false,
        opaque: false,
    })
}

/// 150 prints of 60 bytes in two requests, of which 52 prints and the first request come before
/// 1 µs; a request of 3 µs at 1 µs and one without a duration at 9 µs; the run ends at 10 µs.
#[test]
fn counts_are_no_requests_and_take_no_time() {
    let mut trace = MemoryTrace::new(1);
    trace.file(b"/run/log", false);
    let (print, flush) =
        (trace.function("fprintf", Layer::Stdio), trace.function("fflush", Layer::Stdio));
    let counted =
        |calls| Operation::Buffered(Buffered { file: 0, writes: true, calls, bytes: calls * 60 });
    trace.call(0, print, 1000, 1000, counted(52));
    trace.call(0, print, 1000, 4000, request(FileKind::Write, 4096));
    trace.call(0, print, 9000, 9000, counted(98));
    trace.call(0, flush, 9000, 9000, request(FileKind::Write, 150 * 60 - 4096));
    trace.call(0, flush, 9000, 10_000, request(FileKind::Close, 0));
    let analysis = analyze(&trace, &Options::default(), &mut |_, _| true).unwrap();
    let [file] = &analysis.files[..] else { panic!("one file") };
    assert_eq!((file.total.buffered_calls, file.total.buffered_bytes), ([0, 150], [0, 9000]));
    assert_eq!((file.total.calls[1], file.total.bytes[1]), (2, 9000));
    assert_eq!(file.total.patterns[1].small, 2);
    let rank = &analysis.ranks[0];
    assert_eq!((rank.io, rank.bytes_written), (4000, 9000));
    let calls: u64 = analysis.functions.iter().map(|function| function.total.calls).sum();
    assert_eq!(calls, 3);
}

/// 70,000 questions of MPI, of which one record was made inside a barrier of 2 µs; another thread
/// asked 5 times and called nothing else.
#[test]
fn questions_are_calls_without_time() {
    let mut trace = MemoryTrace::new(1);
    let (size, barrier) =
        (trace.function("MPI_Type_size", Layer::Mpi), trace.function("MPI_Probe", Layer::Mpi));
    let other = trace.location(Location { rank: 0, thread: 1, ..Location::default() });
    trace.call(0, size, 1000, 1000, Operation::Counted { calls: 69_000 });
    trace.call(0, barrier, 1000, 3000, Operation::Plain);
    trace.call(0, size, 3000, 3000, Operation::Counted { calls: 1000 });
    trace.call(0, barrier, 9000, 10_000, Operation::Plain);
    trace.call(other, size, 5000, 5000, Operation::Counted { calls: 5 });
    let analysis = analyze(&trace, &Options::default(), &mut |_, _| true).unwrap();
    let rank = &analysis.ranks[0];
    assert_eq!((rank.mpi, rank.useful), (3000, 7000));
    assert_eq!((rank.others.in_mpi, rank.others.mpi_calls), (0, 0));
    let of = |function| analysis.functions.iter().find(|row| row.function == function).unwrap();
    let total = of(size).total;
    assert_eq!((total.calls, total.counted, total.time), (70_005, 70_005, 0));
    assert_eq!((of(barrier).total.calls, of(barrier).total.counted), (2, 0));
}
