//! Extrae's text is read in time that grows with its size alone, also where communicators, ranks or
//! functions are many. Processor time is compared with processor time of the same minute: how fast
//! or busy the machine is does not matter.

use std::fmt::Write;
use std::io::Cursor;
use std::path::Path;
use std::time::Instant;

use tailrace_trace::Trace;
use tailrace_trace::prv::PrvTrace;

/// A reader in linear time takes four times as long for four times as much, one in quadratic time
/// sixteen times.
const LIMIT: f64 = 8.0;
const ROUNDS: usize = 3;

/// A run whose ranks meet once on each of these communicators, one after another: they compute, and
/// are in a barrier.
fn run(ranks: usize, communicators: &[Vec<usize>]) -> Vec<u8> {
    let end = 10 * communicators.len() + 20;
    let tasks = vec!["1:1"; ranks].join(",");
    let mut text = format!(
        "#Paraver (01/01/2026 at 00:00):{end}_ns:1({ranks}):1:{ranks}({tasks}),{}\n",
        communicators.len()
    );
    for (number, members) in communicators.iter().enumerate() {
        let members: Vec<_> = members.iter().map(|rank| (rank + 1).to_string()).collect();
        let all = members.join(":");
        writeln!(text, "c:1:{}:{}:{all}", number + 1, members.len()).unwrap();
    }
    for (number, members) in communicators.iter().enumerate() {
        for rank in members.iter().map(|rank| rank + 1) {
            let (begin, end) = (10 * number + 5, 10 * number + 9);
            let thread = format!("{rank}:1:{rank}:1");
            let of = number + 1;
            writeln!(text, "1:{thread}:{}:{begin}:1", 10 * number).unwrap();
            writeln!(text, "2:{thread}:{begin}:50000002:8:50100004:{of}").unwrap();
            writeln!(text, "1:{thread}:{begin}:{end}:5").unwrap();
            writeln!(text, "2:{thread}:{end}:50000002:0").unwrap();
        }
    }
    text.into_bytes()
}

/// Two ranks in `count` communicators: copies of MPI_COMM_WORLD.
fn many_communicators(count: usize) -> Vec<u8> {
    run(2, &vec![vec![0, 1]; count])
}

/// `count` ranks, together and by fours.
fn many_ranks(count: usize) -> Vec<u8> {
    let world: Vec<usize> = (0..count).collect();
    let fours = world.chunks(4).map(<[_]>::to_vec);
    let groups: Vec<_> = fours.chain([world.clone()]).collect();
    run(count, &groups)
}

/// One rank makes calls of so many functions, none of which has a name.
fn many_functions(count: usize) -> Vec<u8> {
    let end = 10 * count + 20;
    let mut text = format!("#Paraver (01/01/2026 at 00:00):{end}_ns:1(1):1:1(1:1),0\n");
    for (number, begin) in (1_000..).zip((0..count).map(|call| 10 * call)) {
        writeln!(text, "2:1:1:1:1:{begin}:50000003:{number}").unwrap();
        writeln!(text, "2:1:1:1:1:{}:50000003:0", begin + 5).unwrap();
    }
    text.into_bytes()
}

/// How long this thread has run, if the system says so; else what the clock says.
fn processor_seconds(start: Instant) -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let ran_ns = told.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    ran_ns.map_or_else(|| start.elapsed().as_secs_f64(), |ns| ns / 1e9)
}

fn seconds_to_read(text: &[u8], ranks: usize) -> f64 {
    let start = Instant::now();
    let before = processor_seconds(start);
    let source = Cursor::new(text.to_vec());
    let trace = PrvTrace::from_reader(source, Path::new("many.prv")).unwrap();
    let seconds = processor_seconds(start) - before;
    assert_eq!(trace.tables().ranks as usize, ranks);
    seconds
}

/// The median of the ratios of pairs that were read one after the other.
fn ratio(quarter: &(Vec<u8>, usize), whole: &(Vec<u8>, usize)) -> f64 {
    let mut ratios: Vec<f64> = (0..ROUNDS)
        .map(|_| seconds_to_read(&whole.0, whole.1) / seconds_to_read(&quarter.0, quarter.1))
        .collect();
    ratios.sort_by(f64::total_cmp);
    ratios[ROUNDS / 2]
}

#[test]
fn eighty_thousand_communicators() {
    let text = |count| (many_communicators(count), 2);
    let ratio = ratio(&text(20_000), &text(80_000));
    assert!(ratio < LIMIT, "four times as many communicators took {ratio:.1} times as long");
}

#[test]
fn forty_thousand_ranks() {
    let text = |count| (many_ranks(count), count);
    let ratio = ratio(&text(10_000), &text(40_000));
    assert!(ratio < LIMIT, "four times as many ranks took {ratio:.1} times as long");
}

#[test]
fn more_functions_than_are_numbered() {
    let text = |count| (many_functions(count), 1);
    let ratio = ratio(&text(20_000), &text(80_000));
    assert!(ratio < LIMIT, "four times as many functions took {ratio:.1} times as long");
}
