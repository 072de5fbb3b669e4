//! What netCDF-3 writes in blocks, with a look in the file for the next behind each.

use std::fmt::Write;

use tailrace_predict::simulate::Method;
use tailrace_replay::Access;
use tailrace_replay::program::FileCall;

use super::{asked, rebuilt};

/// Rank 1 sends 128 bytes, and rank 0 writes them behind its own 128, in four blocks of 64.
fn serial(looks: bool) -> String {
    let mut text = "ranks 2
runtime 2000
0 0 100 open file=out
0 500 600 receive from=1 bytes=128
"
    .to_owned();
    blocks(&mut text, (0, "out"), 4, looks);
    text + "0 1600 1700 close file=out
0 2000 2000 finalize
1 500 550 send to=0 bytes=128
1 550 2000 finalize
"
}

/// Each writes two blocks of 64 into a file of its own.
fn own() -> String {
    let mut text = "ranks 2\nruntime 1500\n".to_owned();
    for (rank, file) in [(0, "out-0"), (1, "out-1")] {
        writeln!(text, "{rank} 0 100 open file={file}").unwrap();
        blocks(&mut text, (rank, file), 2, true);
        writeln!(text, "{rank} 1200 1300 close file={file}").unwrap();
        writeln!(text, "{rank} 1500 1500 finalize").unwrap();
    }
    text
}

fn blocks(text: &mut String, (rank, file): (u32, &str), count: u32, looks: bool) {
    for number in 0..count {
        let at = 600 + 200 * number;
        let end = at + 64;
        writeln!(text, "{rank} {at} {end} write bytes=64 distance=0 file={file}").unwrap();
        if looks {
            let end = at + 150;
            writeln!(text, "{rank} {} {end} read bytes=0 file={file}", at + 70).unwrap();
        }
    }
}

/// By rank: what it writes where, and how often it looks.
type Made = Vec<(Vec<(Option<i64>, u64)>, usize)>;

fn made(text: &str, method: Method) -> Made {
    let found = rebuilt(text, &asked(method)).unwrap();
    let of_rank = |calls: Vec<FileCall>| {
        let of = |access| calls.iter().filter(move |call| call.access == access);
        let writes = of(Access::Write).map(|call| (call.offset, call.bytes)).collect();
        (writes, of(Access::Read).filter(|call| call.bytes == 0).count())
    };
    found.steps.calls_made().into_iter().map(of_rank).collect()
}

#[test]
fn who_writes_looks_behind_each_block() {
    let two = vec![(Some(0), 64), (Some(64), 64)];
    assert_eq!(made(&serial(true), Method::FilePerRank), [(two.clone(), 2), (two.clone(), 2)]);
    let four = [two.as_slice(), &[(Some(128), 64), (Some(192), 64)]].concat();
    assert_eq!(made(&serial(true), Method::Serial), [(four.clone(), 4), (vec![], 0)]);
    assert_eq!(made(&own(), Method::Serial), [(four, 4), (vec![], 0)]);
}

#[test]
fn through_mpi_io_nobody_does() {
    let found = made(&serial(true), Method::Independent);
    assert!(found.iter().all(|(_, looks)| *looks == 0), "{found:?}");
}

#[test]
fn without_looks_there_are_no_blocks() {
    let one = vec![(Some(0), 128)];
    assert_eq!(made(&serial(false), Method::FilePerRank), [(one.clone(), 0), (one, 0)]);
}

#[test]
fn who_looks_once_goes_on_doing_so() {
    // behind one block of four: that is no library's way
    let look = "0 1270 1350 read bytes=0 file=out\n0 1600 1700 close";
    let text = serial(false).replace("0 1600 1700 close", look);
    let one = vec![(Some(0), 128)];
    assert_eq!(made(&text, Method::FilePerRank), [(one.clone(), 1), (one, 0)]);
}
