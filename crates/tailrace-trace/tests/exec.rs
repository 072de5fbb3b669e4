//! A process that became another program.

mod support;

use support::{Stream, events, pack};
use tailrace_trace::open;

/// A launcher is in a call from 10 to 50 ns, and becomes the program at 100, which is in one from 150
/// to 160: one thread, which ran for 90 ns in all.
#[test]
fn what_a_process_was_before_its_exec_is_the_same_thread() {
    let directory = tempfile::tempdir().unwrap();
    let mut launcher = Stream::new(7, 0, 0);
    launcher.meta("host", "node").meta("node", "n").meta("exe", "/bin/launcher").clock(0, 0);
    launcher.meta("usage_begin", "7 5 0 0 0 0 0").meta("processes_started", "1");
    launcher.u64_at(80, 0); // an exec closes nothing
    launcher.name(1, 0, "MPI_Barrier").define(1, 1, 6, &[0, 0, -1, 0, 0, 0]).call(1, 10, 40);
    launcher.save(directory.path(), 0);
    let mut program = Stream::new(7, 0, 100);
    program.meta("host", "node").meta("node", "n").meta("exe", "/bin/program").clock(100, 100);
    program.meta("usage_begin", "7 60 0 0 0 0 0").meta("usage_end", "7 95 0 0 0 0 0");
    program.meta("processes_started", "2");
    program.name(1, 0, "MPI_Barrier").define(1, 1, 6, &[0, 0, -1, 0, 0, 0]).call(1, 50, 10);
    program.save(directory.path(), 1);
    let trace = open(&pack(directory.path())).unwrap();
    let tables = trace.tables();
    assert_eq!(tables.locations.len(), 1);
    assert_eq!((tables.locations[0].begin_ns, tables.locations[0].events), (0, 2));
    let begins: Vec<i64> = events(trace.as_ref(), 0).iter().map(|(e, _)| e.begin).collect();
    assert_eq!(begins, [10, 150]);
    let meta = |key: &str| tables.meta.get(key).map(String::as_str);
    assert_eq!((meta("program"), meta("ran_ns")), (Some("/bin/program"), Some("90")));
    assert_eq!(meta("unseen"), Some("processes=3"));
    assert!(tables.capture.complete);
}

fn wait(begin: u64, end: u64, waited_ns: u64) -> Vec<u8> {
    [begin, end, waited_ns].iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// The launcher waits for a processor for 40 ns before it becomes the program, which no record says;
/// the program for 30 ns, of which a record says 20: it ran for 90 ns, and slept for as long less.
#[test]
fn a_wait_for_a_processor_before_an_exec_is_no_sleep() {
    let directory = tempfile::tempdir().unwrap();
    let mut launcher = Stream::new(7, 0, 0);
    launcher.meta("host", "node").meta("node", "n").meta("exe", "/bin/launcher").clock(0, 0);
    launcher.meta("usage_begin", "7 5 0 0 0 0 0 100");
    launcher.u64_at(80, 0).record(251, &wait(0, 0, 0));
    launcher.save(directory.path(), 0);
    let mut program = Stream::new(7, 0, 100);
    program.meta("host", "node").meta("node", "n").meta("exe", "/bin/program").clock(100, 100);
    program.meta("usage_begin", "7 60 0 0 0 0 0 140").meta("usage_end", "7 95 0 0 0 0 0 170");
    program.record(251, &wait(100, 100, 0)).record(251, &wait(120, 150, 20));
    program.save(directory.path(), 1);
    let trace = open(&pack(directory.path())).unwrap();
    assert_eq!(trace.tables().meta["ran_ns"], (90 + 70 - 20).to_string());
}

/// All threads ran for 900 ns, 90 of them the main one; a stream of an earlier version does not say.
#[test]
fn what_ran_beside_the_main_thread_is_the_others() {
    let others = |begin: &str, end: &str| {
        let directory = tempfile::tempdir().unwrap();
        let mut program = Stream::new(7, 0, 0);
        program.meta("host", "node").meta("node", "n").meta("exe", "/bin/program").clock(0, 0);
        program.meta("usage_begin", begin).meta("usage_end", end);
        program.save(directory.path(), 0);
        let trace = open(&pack(directory.path())).unwrap();
        trace.tables().meta.get("others_ran_ns").cloned()
    };
    let all = others("7 5 0 0 0 0 0 0 100", "7 95 0 0 0 0 0 0 1000");
    assert_eq!(all, Some((900 - 90).to_string()));
    assert_eq!(others("7 5 0 0 0 0 0 0", "7 95 0 0 0 0 0 0"), None);
}

/// Before the exec the host's time was counted as the thread's, and not after it (under an emulator,
/// which does not say that there is a host): how long it ran is not known, nor how long others did.
#[test]
fn a_clock_that_goes_back_in_an_exec_says_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let mut launcher = Stream::new(7, 0, 0);
    launcher.meta("host", "node").meta("node", "n").meta("exe", "/bin/launcher").clock(0, 0);
    launcher.meta("usage_begin", "7 4000 0 0 0 0 0 0 5").u64_at(80, 0);
    launcher.save(directory.path(), 0);
    let mut program = Stream::new(7, 0, 100);
    program.meta("host", "node").meta("node", "n").meta("exe", "/bin/program").clock(100, 100);
    program.meta("usage_begin", "7 60 0 0 0 0 0 0 60").meta("usage_end", "7 95 0 0 0 0 0 0 95");
    program.save(directory.path(), 1);
    let trace = open(&pack(directory.path())).unwrap();
    let meta = &trace.tables().meta;
    assert_eq!((meta["ran_ns"].as_str(), meta.get("others_ran_ns")), ("", None));
}
