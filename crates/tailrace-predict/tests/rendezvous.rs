//! What ranks wait for inside collectives and MPI_Finalize, as measured and in another time.

#[path = "../../tailrace-replay/tests/common/mod.rs"]
mod common;

use common::Case;
use tailrace_predict::{Pace, Scaled, replay, steps};

/// Rank 0 gathers and writes, twice. In the second gathering rank 1 waits for it while it writes.
const CASE: &str = "ranks 2
runtime 130
0 20 30 toroot root=0
0 30 70 write bytes=100
0 70 80 toroot root=0
0 80 120 write bytes=100
1 20 30 toroot root=0 bytes=BYTES
1 30 80 toroot root=0 bytes=BYTES
";

fn without_files(bytes: u64) -> i64 {
    let case = Case::parse(&CASE.replace("BYTES", &bytes.to_string()));
    let steps = steps(&case.trace, 1000).unwrap();
    assert_eq!(replay(&steps, Pace::AS_MEASURED, &mut Scaled::all(1.)).runtime(), 130);
    replay(&steps, Pace::AS_MEASURED, &mut Scaled::all(0.)).runtime()
}

#[test]
fn a_gathering_is_over_earlier_where_its_root_wrote_less_long() {
    // Rank 0: 20, 10 to gather, both at 30, 10 to gather, and 10 at the end: 50. Rank 1 takes the
    // 10 that its second gathering took beyond the root's coming, at 30, and ends 50 later, at 90.
    assert_eq!(without_files(1001), 90);
    // A short message is with the root anyhow: the 50 in the gathering are the rank's own.
    assert_eq!(without_files(1000), 130);
}

/// Rank 1 sends through rank 2, which alone waits for the root; so that rank 1 finds it late in the
/// second gathering, though the root is later still.
const TREE: &str = "ranks 3
runtime 150
0 10 20 toroot root=0
0 20 60 write bytes=100
0 60 70 toroot root=0
0 70 110 write bytes=100
0 110 120 toroot root=0
2 10 20 toroot root=0 bytes=2000
2 20 70 toroot root=0 bytes=2000
2 70 120 toroot root=0 bytes=2000
1 10 15 toroot root=0 bytes=2000
1 15 25 toroot root=0 bytes=2000
1 25 75 toroot root=0 bytes=2000
";

#[test]
fn who_sends_through_others_waits_for_these() {
    let steps = steps(&Case::parse(TREE).trace, 1000).unwrap();
    assert_eq!(replay(&steps, Pace::AS_MEASURED, &mut Scaled::all(1.)).runtime(), 150);
    // Rank 0 gathers from 10, 20 and 30 to 40, and ends 30 later, at 70. Rank 1 is let go by the
    // first two entries of rank 2 (at 20 and 70 as measured, 20 and 30 now), and 5 later, at 35,
    // it has 75 left: 110.
    assert_eq!(replay(&steps, Pace::AS_MEASURED, &mut Scaled::all(0.)).runtime(), 110);
}

#[test]
fn nobody_waits_in_the_end_for_whom_a_change_makes_earlier() {
    // Rank 1 is done at 30 and waits in MPI_Finalize for rank 0, which writes until 80.
    let case = "ranks 2
runtime 80
0 20 80 write bytes=100
1 30 80 finalize
";
    let steps = steps(&Case::parse(case).trace, 1000).unwrap();
    assert_eq!(replay(&steps, Pace::AS_MEASURED, &mut Scaled::all(1.)).runtime(), 80);
    assert_eq!(replay(&steps, Pace::AS_MEASURED, &mut Scaled::all(0.)).runtime(), 30);
}

/// Rank 0 receives 1000 bytes, writes for long, and receives again; rank 1 sends. Of the first two
/// messages rank 1 comes first, of the last rank 0.
const SHORT: &str = "ranks 2
runtime 1200000
0 200000 210000 receive from=1 tag=0
0 210000 500000 write bytes=100
0 500000 510000 receive from=1 tag=0
0 510000 600000 write bytes=100
0 600000 710000 receive from=1 tag=0
0 710000 1200000 finalize
1 100000 WAITED send to=0 tag=0 bytes=1000
1 300000 AGAIN send to=0 tag=0 bytes=1000
1 700000 710000 send to=0 tag=0 bytes=1000
";

fn at_another_pace(waited: &str, again: &str, files: f64) -> i64 {
    let case = SHORT.replace("WAITED", waited).replace("AGAIN", again);
    let steps = steps(&Case::parse(&case).trace, 32_768).unwrap();
    assert_eq!(replay(&steps, Pace::AS_MEASURED, &mut Scaled::all(1.)).runtime(), 1_200_000);
    replay(&steps, Pace::AS_MEASURED, &mut Scaled::all(files)).runtime()
}

#[test]
fn a_short_send_that_waited_for_its_receiver_waits_for_it_again() {
    // Without files rank 0 is at its second receive at 210 µs. Rank 1, let go at 210, sends at 300
    // and is let go at 310; it sends the third 190 later, at 500, and has 490 left at 510.
    assert_eq!(at_another_pace("210000", "510000", 0.), 1_000_000);
    // If it went on at once it waited for nobody: 100, 190, 390 and 490 of its own, 10 a send.
    assert_eq!(at_another_pace("110000", "310000", 0.), 1_200_000);
}

#[test]
fn a_short_send_does_what_others_did_on_its_way() {
    // Files ten times as slow: rank 0 writes until 3110, is met until 3120, writes until 4020, and
    // is met until 4030 by rank 1, which was there at 3310 and has 490 left.
    assert_eq!(at_another_pace("210000", "510000", 10.), 4_520_000);
    // If those before went on at once, so does the third: at the end there is rank 0's receive.
    assert_eq!(at_another_pace("110000", "310000", 10.), 4_030_000);
}
