//! What a run takes by another method, by arithmetic.

#[path = "methods/blocks.rs"]
mod blocks;
#[path = "../../tailrace-replay/tests/common/mod.rs"]
mod common;
#[path = "methods/kept.rs"]
mod kept;

use common::Case;
use tailrace_predict::simulate::{Method, Network};
use tailrace_predict::{Asked, FileSystem, Outputs, Pace, Rebuilt, Steps, replay, steps};
use tailrace_replay::Access;
use tailrace_replay::program::FileCall;

/// Rank 1 sends 1000 bytes, and rank 0 writes them behind 1000 of its own. Both have computed until
/// 500, but for 100 in which rank 0 opened the file.
const SERIAL: &str = "ranks 2
runtime 3000
0 0 100 open
0 500 600 receive from=1 bytes=1000
0 600 2600 write bytes=2000 distance=0
0 2600 2700 close
0 3000 3000 finalize
1 500 550 send to=0 bytes=1000
1 550 3000 finalize
";

/// Each writes 1000 bytes, one behind the other.
const OWN_BY_BOTH: &str = "ranks 2
runtime 1500
0 500 1500 write bytes=1000 distance=0
0 1500 1500 finalize
1 500 1500 write bytes=1000 distance=1000
1 1500 1500 finalize
";

/// A nanosecond a byte, 100 for all else, and nobody is in anybody's way.
struct Plain;

impl FileSystem for Plain {
    fn end(&mut self, _rank: u32, begin: i64, call: &FileCall) -> i64 {
        begin + if call.access.direction().is_some() { call.bytes as i64 } else { 100 }
    }
}

fn asked(method: Method) -> Asked {
    let network = Network { latency: 10., byte: 0.1, eager_limit_bytes: 1000 };
    let (piece_bytes, kept_bytes) = (i64::MAX, 16 << 20);
    Asked {
        method: Some(method),
        aggregators: None,
        network,
        piece_bytes,
        by_calls: false,
        kept_bytes,
    }
}

fn rebuilt(text: &str, asked: &Asked) -> Option<Rebuilt> {
    let case = Case::parse(text);
    let steps = steps(&case.trace, 1000).unwrap();
    let outputs = Outputs::of(&case.trace, &steps).unwrap();
    let files = &case.trace.tables.files;
    let nodes = vec![0; case.trace.tables.ranks as usize];
    outputs.by(asked, &steps, &nodes, files, &vec![true; files.len()])
}

fn ends(steps: &Steps) -> Vec<i64> {
    let replayed = replay(steps, Pace::AS_MEASURED, &mut Plain);
    replayed.ranks.iter().map(|rank| rank.end).collect()
}

fn ends_by(text: &str, asked: &Asked) -> Vec<i64> {
    ends(&rebuilt(text, asked).unwrap().steps)
}

#[test]
fn one_rank_writes_what_it_gathers() {
    // At 500 both are there; a message of 1000 bytes takes 10 + 100, the write 2000, closing 100,
    // and rank 0 computes for another 300. Rank 1 is busy with its message until 610.
    assert_eq!(ends_by(SERIAL, &asked(Method::Serial)), [500 + 110 + 2000 + 100 + 300, 610]);
    // the only writer of the one node does the same
    assert_eq!(ends_by(SERIAL, &asked(Method::Aggregated)), [3010, 610]);
}

#[test]
fn as_it_was_made_it_shows_what_rebuilding_misses() {
    // That rank 1 was in MPI_Send until 550 plays no part; it is made by messages as above, and what
    // took 3000 as measured takes 3010: 10 more.
    let again = Asked { method: None, ..asked(Method::Serial) };
    assert_eq!(ends_by(SERIAL, &again), [500 + 110 + 2000 + 100 + 300, 610]);
    // where each rank wrote its own, nothing is rebuilt
    let own = OWN_BY_BOTH;
    assert_eq!(ends_by(own, &again), [1500, 1500]);
}

#[test]
fn each_rank_writes_its_own() {
    // Rank 0 writes 1000 bytes from 500, closes and computes. Rank 1 opens, writes and closes.
    let expected = [500 + 1000 + 100 + 300, 500 + 100 + 1000 + 100];
    for method in [Method::FilePerRank, Method::Independent] {
        assert_eq!(ends_by(SERIAL, &asked(method)), expected);
    }
    let two = Asked { aggregators: Some(2), ..asked(Method::Aggregated) };
    assert_eq!(ends_by(SERIAL, &two), expected);
}

#[test]
fn aggregators_write_what_all_have_exchanged_and_nobody_goes_on_before() {
    // Rank 1 opens until 600; then both tell each other where their 2 × 16 bytes lie, two messages
    // of 10 and 3 for the bytes: 623. Rank 0 has all 2000 after 10 + 200, and two messages more:
    // 853. It writes until 2853, and says so by two messages more; then both close, and rank 0
    // computes.
    let between = Asked { piece_bytes: 999, ..asked(Method::Collective) };
    assert_eq!(ends_by(SERIAL, &between), [2873 + 100 + 300, 2873 + 100]);
    assert_eq!(rebuilt(SERIAL, &between).unwrap().told.unplaced, 2000);
}

#[test]
fn where_each_has_one_piece_nobody_writes_for_others() {
    // MPI-IO, of which both know at 623 where their data lie, leaves each to lock, write and unlock
    // its 1000 bytes; then they close, and rank 0 computes.
    let ends = ends_by(SERIAL, &asked(Method::Collective));
    assert_eq!(ends, [623 + 1200 + 100 + 300, 623 + 1200 + 100]);
}

#[test]
fn who_sends_much_waits_until_it_is_taken() {
    let text = SERIAL.replace("bytes=1000", "bytes=1001").replace("bytes=2000", "bytes=2002");
    // 10 + 100.1 for the message; rank 1 is let go when it has gone.
    assert_eq!(ends_by(&text, &asked(Method::Serial)), [500 + 110 + 2002 + 100 + 300, 610]);
}

#[test]
fn each_call_has_its_place() {
    let by = |method| {
        let Rebuilt { steps, files, told } = rebuilt(SERIAL, &asked(method)).unwrap();
        let call = |call: FileCall| (call.access, call.file, call.offset, call.bytes);
        let calls = steps.calls_made().into_iter();
        let calls: Vec<Vec<_>> = calls.map(|calls| calls.into_iter().map(call).collect()).collect();
        (calls, files.len(), told)
    };
    let write = |file, offset, bytes| (Access::Write, file, Some(offset), bytes);
    let own =
        |file, write| vec![(Access::Open, file, None, 0), write, (Access::Close, file, None, 0)];
    let (calls, files, told) = by(Method::Independent);
    assert_eq!(calls, [own(0, write(0, 0, 1000)), own(0, write(0, 1000, 1000))]);
    assert_eq!((files, told.bytes, told.unplaced, told.apart), (1, 2000, 2000, 0));
    let (calls, files, told) = by(Method::FilePerRank);
    assert_eq!(calls, [own(0, write(0, 0, 1000)), own(1, write(1, 0, 1000))]);
    assert_eq!((files, told.bytes, told.unplaced, told.apart), (2, 2000, 0, 0));
}

#[test]
fn what_ranks_write_into_one_file_is_gathered_by_the_first() {
    // Each writes two pieces; together they are one of 40 bytes. Rank 1 is there at 300.
    let text = "ranks 2
runtime 1000
0 0 10 open
0 100 110 write bytes=10 distance=0
0 110 120 write bytes=10 distance=10
0 200 210 close
0 210 1000 finalize
1 0 10 open
1 300 310 write bytes=10 distance=10
1 310 320 write bytes=10 distance=10
1 400 410 close
1 410 1000 finalize
";
    let found = rebuilt(text, &asked(Method::Serial)).unwrap();
    let calls = found.steps.calls_made();
    let writes: Vec<(Option<i64>, u64)> = calls[0]
        .iter()
        .filter(|c| c.access == Access::Write)
        .map(|c| (c.offset, c.bytes))
        .collect();
    assert_eq!(writes, [(Some(0), 40)]);
    assert!(calls[1].is_empty());
    // Rank 1 does not open and close, so it comes at 290, and its 20 bytes take 12. Rank 0 writes
    // 40 until 342, computes for another 80, and closes. Rank 1 computes for another 80.
    assert_eq!(ends(&found.steps), [290 + 12 + 40 + 80 + 100, 290 + 12 + 80]);
}

/// Both write 10 bytes of a collective write, rank 1 comes at 500; SECOND is what it does inside.
const TOGETHER: &str = "ranks 2
runtime 3000
0 0 100 open
0 200 { mpiio-write collective bytes=10
0 510 530 read bytes=1000 distance=0
0 540 570 write bytes=1000 distance=-1000
0 570 }
0 600 700 close
0 3000 3000 finalize
1 0 100 open
1 500 { mpiio-write collective bytes=10
SECOND
1 580 }
1 600 700 close
1 3000 3000 finalize
";

fn independent_calls(second: &str) -> Vec<Vec<(Access, u64)>> {
    calls_by(second, &asked(Method::Independent))
}

fn calls_by(second: &str, asked: &Asked) -> Vec<Vec<(Access, u64)>> {
    let text = TOGETHER.replace("SECOND", second);
    let calls = rebuilt(&text, asked).unwrap().steps.calls_made();
    let moving = |call: &&FileCall| call.access.direction().is_some();
    let of = |call: &FileCall| (call.access, call.bytes);
    calls.iter().map(|calls| calls.iter().filter(moving).map(of).collect()).collect()
}

#[test]
fn what_each_wrote_for_itself_in_a_collective_write_is_what_it_writes_alone() {
    // With what lies in the gaps each read and wrote 1000 bytes: MPI-IO does the same for each.
    let second =
        "1 510 530 read bytes=1000 distance=1000\n1 540 580 write bytes=1000 distance=-1000";
    let both = vec![(Access::Read, 1000), (Access::Write, 1000)];
    assert_eq!(independent_calls(second), [both.clone(), both]);
    // Rank 0 does not wait for rank 1 any more: from 200 on it reads and writes 1000 bytes each,
    // computes for 30, closes, and computes for 2300.
    let text = TOGETHER.replace("SECOND", second);
    let found = rebuilt(&text, &asked(Method::Independent)).unwrap();
    assert_eq!(ends(&found.steps)[0], 200 + 2000 + 30 + 100 + 2300);
}

#[test]
fn what_another_wrote_in_a_collective_write_each_writes_itself() {
    // Rank 1 wrote nothing: rank 0 wrote for both, so that is not what they do alone.
    let found = independent_calls("1 510 520 plain");
    assert_ne!(found[0], [(Access::Read, 1000), (Access::Write, 1000)]);
    assert!(found[1].iter().any(|(access, _)| *access == Access::Write));
}

#[test]
fn what_another_wrote_may_go_by_a_call_for_each_piece() {
    // Rank 1's 10 bytes lie in pieces of 4 between those of rank 0: by one call ROMIO reads and
    // writes what is around them.
    let in_pieces = Asked { piece_bytes: 4, ..asked(Method::Independent) };
    let one = calls_by("1 510 520 plain", &in_pieces);
    assert!(one[1].iter().any(|(access, _)| *access == Access::Read), "{one:?}");
    let by_calls = Asked { by_calls: true, ..in_pieces };
    let each = calls_by("1 510 520 plain", &by_calls);
    assert_eq!(each[1], [4, 4, 2].map(|bytes| (Access::Write, bytes)));
    let text = TOGETHER.replace("SECOND", "1 510 520 plain");
    let told = [in_pieces, by_calls].map(|asked| rebuilt(&text, &asked).unwrap().told.by_one_call);
    assert_eq!(told, [20, 0]);
    // without MPI-IO each piece is a call anyway
    let posix = Asked { piece_bytes: 500, ..asked(Method::Independent) };
    let told = rebuilt(SERIAL, &posix).unwrap().told;
    assert_eq!((told.unplaced, told.by_one_call), (2000, 0));
}

#[test]
fn what_mpi_io_wrote_back_in_the_gaps_is_no_data() {
    // 10 bytes of each, in pieces with gaps: rank 0 read and wrote 1000 bytes for them, rank 1 1000
    // behind those. Who writes for both has 20 bytes to write, wherever they lie.
    let second =
        "1 510 530 read bytes=1000 distance=1000\n1 540 580 write bytes=1000 distance=-1000";
    let text = TOGETHER.replace("SECOND", second);
    for method in [Method::Serial, Method::Aggregated] {
        let found = rebuilt(&text, &asked(method)).unwrap();
        assert_eq!(written_by_rank_0(&found), [(Some(0), 20)]);
    }
}

/// Through MPI-IO, rank 0 writes 10 bytes alone and then two variables with rank 1, whose second part
/// lies at `at`.
fn writes_of_one_rank_by_variable(at: i64) -> Vec<(Option<i64>, u64)> {
    let text = "ranks 2
runtime 1000
0 0 10 open
0 100 { mpiio-write bytes=10
0 101 105 write bytes=10 distance=0
0 106 }
0 110 { mpiio-write bytes=20
0 111 115 write bytes=20 distance=0
0 116 }
0 120 { mpiio-write bytes=20
0 121 125 write bytes=20 distance=20
0 126 }
0 200 210 close
0 210 1000 finalize
1 0 10 open
1 110 { mpiio-write bytes=20
1 111 115 write bytes=20 distance=30
1 116 }
1 120 { mpiio-write bytes=20
1 121 125 write bytes=20 distance=AT
1 126 }
1 200 210 close
1 210 1000 finalize
";
    let text = text.replace("AT", &(at - 50).to_string());
    written_by_rank_0(&rebuilt(&text, &asked(Method::Serial)).unwrap())
}

/// Where and how much, in order.
fn written_by_rank_0(found: &Rebuilt) -> Vec<(Option<i64>, u64)> {
    let calls = found.steps.calls_made();
    let writes = calls[0].iter().filter(|call| call.access == Access::Write);
    writes.map(|call| (call.offset, call.bytes)).collect()
}

#[test]
fn what_lies_behind_a_ranks_part_in_the_file_belongs_to_the_same_variable() {
    // 0 to 10; 10 to 30 of rank 0 and 30 to 50 of rank 1; 50 to 70 and 70 to 90
    let found = writes_of_one_rank_by_variable(70);
    assert_eq!(found, [(Some(0), 10), (Some(10), 40), (Some(50), 40)]);
    // where rank 1's second part does not follow, nothing says what belongs together
    let found = writes_of_one_rank_by_variable(100);
    assert_eq!(found, [(Some(0), 70), (Some(100), 20)]);
}

#[test]
fn rows_that_ranks_write_by_a_call_each_are_gathered_at_once() {
    // Through MPI-IO, each writes two rows of 10 bytes into a file whose rows have 40: rank 0 at 0
    // and 10, rank 1 at 20 and 30. The first rows of both leave a gap, so they are no variable.
    let text = "ranks 2
runtime 1000
0 0 10 open
0 100 { mpiio-write bytes=10
0 101 105 write bytes=10 distance=0
0 106 }
0 110 { mpiio-write bytes=10
0 111 115 write bytes=10 distance=0
0 116 }
0 200 210 close
0 210 1000 finalize
1 0 10 open
1 100 { mpiio-write bytes=10
1 101 105 write bytes=10 distance=20
1 106 }
1 110 { mpiio-write bytes=10
1 111 115 write bytes=10 distance=0
1 116 }
1 200 210 close
1 210 1000 finalize
";
    let found = rebuilt(text, &asked(Method::Serial)).unwrap();
    assert_eq!(written_by_rank_0(&found), [(Some(0), 40)]);
    // Both open and compute for 90. What comes is one message of 20 bytes, 10 + 2, and not two; the
    // write takes 40, rank 0 computes for 5 of the 6 between its file calls, as it does from the
    // first call to the last in 178 of 182, and for 84 behind them, and closes.
    assert_eq!(ends(&found.steps)[0], 100 + 90 + 12 + 40 + 5 + 84 + 100);
}

#[test]
fn what_a_rank_computes_behind_its_output_does_not_come_before_it() {
    // Through MPI-IO, each writes 2000 bytes until 250. Rank 0's call ends at 450, rank 1's at 350;
    // then rank 0 computes for 1800, rank 1 for 900. Of the time between its file calls each is in
    // MPI-IO for one part of ten.
    let text = "ranks 2
runtime 2350
0 0 10 open
0 100 { mpiio-write bytes=2000
0 110 250 write bytes=2000 distance=0
0 450 }
0 2250 2350 close
0 2350 2350 finalize
1 0 10 open
1 100 { mpiio-write bytes=2000
1 110 250 write bytes=2000 distance=2000
1 350 }
1 1250 1350 close
1 1350 2350 finalize
";
    // Rank 0 opens, computes for 90, has rank 1's data 10 + 200 later, writes until 4400, computes
    // and closes. Rank 1 does not open, comes at 90, is let go at 400, and computes.
    let found = rebuilt(text, &asked(Method::Serial)).unwrap();
    assert_eq!(ends(&found.steps), [100 + 90 + 210 + 4000 + 1800 + 100, 400 + 900]);
}

#[test]
fn who_sends_much_waits_until_it_is_asked_for_and_not_until_all_is_taken() {
    // At 500 rank 0 asks both others for 2000 bytes each, and packs its own until 800. Rank 1 is
    // there at 500, rank 2 at 900.
    let text = "ranks 3
runtime 8000
0 0 100 open
0 500 500 receive from=1 bytes=2000 as=A
0 500 500 receive from=2 bytes=2000 as=B
0 800 1100 wait A B
0 1100 7100 write bytes=6000 distance=0
0 7100 7200 close
0 7200 8000 finalize
1 500 700 send to=0 bytes=2000
1 5000 8000 finalize
2 900 1100 send to=0 bytes=2000
2 3000 8000 finalize
";
    // A message takes 10 + 200, both 10 + 400. Rank 1 is let go at 710 and computes for 4300,
    // rank 2 at 1110 and for 1900; rank 0 has all at 1310, writes until 7310 and closes.
    let expected = [1310 + 6000 + 100, 710 + 4300, 1110 + 1900];
    assert_eq!(ends_by(text, &asked(Method::Serial)), expected);
}

#[test]
fn who_has_a_file_alone_meets_nobody_to_set_a_view() {
    // Both write 1000 bytes; then rank 0 computes until 1500, rank 1 until 3000, both set a view,
    // which ends at 3000, and compute for 1000 and 100.
    let text = "ranks 2
runtime 4000
0 0 100 open
0 500 { mpiio-write collective bytes=1000
0 500 1000 write bytes=1000 distance=0
0 1000 }
0 1500 { mpiio-view collective
0 3000 }
0 4000 4000 finalize
1 0 100 open
1 500 { mpiio-write collective bytes=1000
1 500 1000 write bytes=1000 distance=1000
1 1000 }
1 3000 { mpiio-view collective
1 3000 }
1 3100 4000 finalize
";
    let expected = [100 + 400 + 1000 + 500 + 1000, 100 + 400 + 1000 + 2000 + 100];
    assert_eq!(ends_by(text, &asked(Method::FilePerRank)), expected);
}
