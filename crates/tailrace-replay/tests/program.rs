//! What a rank is reduced to, for those that change it.

mod common;

use common::Case;
use tailrace_replay::{Access, program};

#[test]
fn calls_are_those_that_begin_before_the_windows_end_and_cut_to_it() {
    let case = Case::parse(
        "ranks 1
         runtime 100
         0 10 30 write
         0 90 120 write
         0 100 110 write
         0 130 140 close",
    );
    let program = program(&case.trace, &case.options).unwrap();
    let calls = program.ranks[0].calls.iter().map(|call| (call.begin, call.end));
    assert_eq!(calls.collect::<Vec<_>>(), [(10, 30), (90, 100)]);
}

/// What names no place begins where the last ended or where the program went; to go there asks no
/// file system.
#[test]
fn calls_without_a_place_follow_the_position() {
    let case = Case::parse(
        "ranks 1
         runtime 100
         0 0 1 open
         0 10 20 write bytes=10
         0 20 30 write bytes=10
         0 30 31 seek distance=100
         0 40 50 read bytes=5
         0 50 60 write bytes=7 distance=-95
         0 60 70 read bytes=1",
    );
    let program = program(&case.trace, &case.options).unwrap();
    let calls = program.ranks[0].calls.iter().map(|call| call.offset);
    // 5 is 95 before the 100 to which the program went; it moves no position
    let expected = [None, Some(0), Some(10), Some(100), Some(5), Some(105)];
    assert_eq!(calls.collect::<Vec<_>>(), expected);
}

/// A seek to a file's end waits on a network file system until the server has what was written.
#[test]
fn a_long_seek_asks_the_file_system() {
    let case = Case::parse(
        "ranks 1
         runtime 100000
         0 0 1 open
         0 10 20 write bytes=10
         0 30 31 seek distance=100
         0 40 10040 seek distance=100
         0 10050 10060 read bytes=5",
    );
    let program = program(&case.trace, &case.options).unwrap();
    let calls = program.ranks[0].calls.iter().map(|call| (call.access, call.begin, call.offset));
    let expected = [
        (Access::Open, 0, None),
        (Access::Write, 10, Some(0)),
        (Access::LookUp, 40, None),
        (Access::Read, 10050, Some(200)),
    ];
    assert_eq!(calls.collect::<Vec<_>>(), expected);
}
