//! An analysis says how far it is, and ends where it is told to, whichever threads do the work.

use std::time::Instant;

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
fn every_slab_is_reported_by_one_thread() {
    let mut reports = Vec::new();
    let analysis = replay(1, &mut |done, total| {
        reports.push((done, total));
        true
    });
    assert!(analysis.is_ok() && reports.len() > 10 && reports.is_sorted());
    assert!(reports.iter().all(|(done, total)| done <= total && *total == 2 * CALLS));
}

/// Each report takes a core from those that work.
#[test]
fn several_threads_report_at_most_every_ten_milliseconds() {
    let (begin, mut reports) = (Instant::now(), Vec::new());
    let analysis = replay(3, &mut |done, total| {
        reports.push((done, total));
        true
    });
    let most = 1 + begin.elapsed().as_millis() / 10;
    assert!(analysis.is_ok() && reports.is_sorted());
    assert!((1..=most).contains(&(reports.len() as u128)), "{reports:?}");
    assert!(reports.iter().all(|(done, total)| done <= total && *total == 2 * CALLS));
}

#[test]
fn who_says_no_gets_an_error_whenever_that_is() {
    for (threads, last) in [(1, 1), (1, 5), (1, 10), (3, 1)] {
        let mut reports = 0;
        let analysis = replay(threads, &mut |_, _| {
            reports += 1;
            reports < last
        });
        let error = analysis.map(drop).unwrap_err().to_string();
        assert!(error.contains("interrupted"), "{error}");
    }
}
