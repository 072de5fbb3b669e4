//! What a rank is reduced to, for those that change it.

mod common;

use common::Case;
use tailrace_replay::program;

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
