//! Processes that the program started, that are recorded, and that end after it.

mod support;

use std::collections::BTreeMap;

use support::{Stream, pack};
use tailrace_trace::open;

/// A program that starts a server and ends at 1000 ns; the server starts two workers that are not
/// recorded, waits for them, and ends at `end`. Bytes of the server are those of its workers, too,
/// as the kernel counts them, and its processor time is its own.
fn meta(end: u64) -> BTreeMap<String, String> {
    let directory = tempfile::tempdir().unwrap();
    let mut program = Stream::new(7, 0, 0);
    program.meta("host", "node").meta("node", "n").meta("exe", "/bin/python").clock(0, 0);
    program.meta("usage_begin", "7 0 0 0 0 0 0").meta("usage_end", "7 95 0 0 0 0 0");
    program.meta("processes_started", "1").meta("children_left", "yes").clock(1000, 1000);
    program.save(directory.path(), 0);
    let mut server = Stream::new(8, 0, 100);
    server.meta("host", "node").meta("node", "n").meta("exe", "/bin/python").clock(100, 100);
    server.meta("ancestors", "7 1").meta("processes_started", "2");
    server.meta("usage_begin", "8 0 0 0 0 0 0 0 50");
    server.meta("usage_end", "8 0 9100000 4608 9000000 512 300 0 90").clock(end, end);
    server.save(directory.path(), 0);
    open(&pack(directory.path())).unwrap().tables().meta.clone()
}

#[test]
fn what_a_recorded_process_started_is_counted() {
    for end in [500, 2000] {
        assert_eq!(meta(end)["unseen"], "processes=2 left");
        let sentence = "rank 0 started 2 other processes, which were not recorded";
        assert_eq!(meta(end)["not_recorded"], sentence);
    }
}

#[test]
fn what_the_kernel_counts_of_a_process_that_nobody_waits_for_is_added() {
    let counted = meta(2000)["usage"].clone();
    let numbers: Vec<u64> = counted.split(' ').map(|number| number.parse().unwrap()).collect();
    // of the server and its workers: 9.1 MB, less its stream and at most a page
    assert!((9_080_000..9_092_000).contains(&numbers[2]), "{counted}");
    assert_eq!(numbers[3..], [4608, 40 + 300]);
    assert_eq!(meta(500)["usage"], "0 0 0 0 0", "the program may have waited for it");
}
