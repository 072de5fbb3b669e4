//! An analysis says how far it is, and ends where it is told to, whichever threads do the work.

use tailrace_replay::{Analysis, Options, analyze};
use tailrace_trace::event::{Layer, Operation};
use tailrace_trace::{MemoryTrace, TraceError};

/// Few enough for a block that is not taken whole.
const CALLS: u64 = 60;

/// Two ranks that call MPI every ten nanoseconds, in slabs of four calls.
fn replay(
    threads: usize,
    progress: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<Analysis, TraceError> {
    let mut trace = MemoryTrace::new(2);
    let mpi = trace.function("MPI", Layer::Mpi);
    for rank in 0..2 {
        for at in (0..10 * CALLS as i64).step_by(10) {
            trace.call(rank, mpi, at, at + 1, Operation::Plain);
        }
    }
    analyze(&trace, &Options { threads, slab: 4, ..Options::default() }, progress)
}

#[test]
fn every_slab_is_reported() {
    for threads in [1, 3] {
        let mut reports = Vec::new();
        let analysis = replay(threads, &mut |done, total| {
            reports.push((done, total));
            true
        });
        assert!(analysis.is_ok() && reports.len() > 10 && reports.is_sorted());
        assert!(reports.iter().all(|(done, total)| done <= total && *total == 2 * CALLS));
    }
}

#[test]
fn who_says_no_gets_an_error_whenever_that_is() {
    for threads in [1, 3] {
        for last in [1, 5, 10] {
            let mut reports = 0;
            let analysis = replay(threads, &mut |_, _| {
                reports += 1;
                reports < last
            });
            let error = analysis.map(drop).unwrap_err().to_string();
            assert!(error.contains("interrupted"), "{error}");
        }
    }
}
