//! What calls that stay take by another method, on the file system that the run used, by arithmetic.

#[path = "../../tailrace-replay/tests/common/mod.rs"]
mod common;

use common::Case;
use tailrace_predict::simulate::{Method, Network};
use tailrace_predict::{Asked, Beyond, FileSystem, Kept, Outputs, Pace, replay, steps};
use tailrace_replay::Access;
use tailrace_replay::program::FileCall;

/// A nanosecond a byte, 100 for all else, and nobody is in anybody's way.
struct Plain;

impl FileSystem for Plain {
    fn end(&mut self, _rank: u32, begin: i64, call: &FileCall) -> i64 {
        begin + if call.access.direction().is_some() { call.bytes as i64 } else { 100 }
    }
}

/// Rank 1 sends 1000 bytes at 500, and rank 0 writes them behind 1000 of its own from 600 on.
fn serial(write_end: i64, close_end: i64) -> String {
    format!(
        "ranks 2
runtime 3000
0 0 100 open
0 500 600 receive from=1 bytes=1000
0 600 {write_end} write bytes=2000 distance=0
0 {write_end} {close_end} close
0 3000 3000 finalize
1 500 550 send to=0 bytes=1000
1 550 3000 finalize
"
    )
}

/// When each rank ends that writes its own part, where calls that stay take so many times what they
/// took beyond the model.
fn ends(text: &str, own: bool, scale: f64) -> Vec<i64> {
    ends_on([&mut Plain, &mut Plain], text, own, scale)
}

/// The same on another model, which comes twice: for the run, and for what it becomes.
fn ends_on(models: [&mut dyn FileSystem; 2], text: &str, own: bool, scale: f64) -> Vec<i64> {
    ends_with(models, text, own, scale, true)
}

/// `waits`: what calls took longer while their rank would have waited stays as well.
fn ends_with(
    models: [&mut dyn FileSystem; 2],
    text: &str,
    own: bool,
    scale: f64,
    waits: bool,
) -> Vec<i64> {
    let [of_run, after] = models;
    let case = Case::parse(text);
    let steps = steps(&case.trace, 1000).unwrap();
    let outputs = Outputs::of(&case.trace, &steps).unwrap();
    let network = Network { latency: 10., byte: 0.1, eager_limit_bytes: 1000 };
    let method = Some(Method::FilePerRank);
    let (piece_bytes, kept_bytes) = (i64::MAX, 0);
    let asked =
        Asked { method, aggregators: None, network, piece_bytes, by_calls: false, kept_bytes };
    let files = &case.trace.tables.files;
    let rebuilt = outputs.by(&asked, &steps, &[0, 0], files, &vec![true; files.len()]).unwrap();
    let beyond = Beyond::of(&steps, of_run, &vec![own; files.len()], waits);
    let mut kept = Kept::new(after, &beyond, &rebuilt.steps, scale);
    let replayed = replay(&rebuilt.steps, Pace::AS_MEASURED, &mut kept);
    replayed.ranks.iter().map(|rank| rank.end).collect()
}

#[test]
fn a_call_that_stays_takes_as_much_beyond_the_model_as_it_did() {
    // Closing took 400, where the model says 100, and all else what it says. Rank 0 writes 1000
    // bytes from 500 and closes for 400. Rank 1, which did neither, opens, writes and closes.
    let text = serial(2600, 3000);
    assert_eq!(ends(&text, true, 1.), [500 + 1000 + 400, 500 + 100 + 1000 + 100]);
    // a third of it where all is three times as fast
    assert_eq!(ends(&text, true, 1. / 3.), [500 + 1000 + 200, 1700]);
    // nothing is known of it on another file system
    assert_eq!(ends(&text, false, 1.), [500 + 1000 + 100, 1700]);
}

#[test]
fn what_other_calls_took_less_for_is_not_counted_twice() {
    // The write took 1850 of the 2000 that the model says, and closing 400 where it says 100: both
    // together 150 more, which is all that stays with closing. Rank 0 then computes for 150.
    let text = serial(2450, 2850);
    assert_eq!(ends(&text, true, 1.)[0], 500 + 1000 + 250 + 150);
    // together they took less than the model says: closing takes what it says
    let text = serial(2200, 2500);
    assert_eq!(ends(&text, true, 1.)[0], 500 + 1000 + 100 + 500);
}

#[test]
fn what_calls_on_other_files_took_less_for_is_not_counted_twice() {
    // Closing took 300 more than the model says, and the write to the file after it 300 less, as if
    // it had found done what closing waited for: nothing stays.
    let run = |other: i64| {
        let next = 3000 + other;
        let text = serial(2600, 3000).replace("runtime 3000", "runtime 4000");
        let text = text.replace(
            "0 3000 3000 finalize",
            &format!("0 3000 {next} write bytes=500 file=1\n0 4000 4000 finalize"),
        );
        ends(&text.replace("1 550 3000", "1 550 4000"), true, 1.)[0]
    };
    // as the model says: closing keeps its 300, and 500 are computed behind the other write
    assert_eq!(run(500), 500 + 1000 + 400 + 500 + 500);
    assert_eq!(run(200), 500 + 1000 + 100 + 500 + 800);
}

#[test]
fn what_a_read_took_less_for_is_not_counted_twice() {
    // Closing took 300 more than the model says, and a read of the file afterwards 300 less, as if
    // the model had it wait for what closing waited for: nothing stays.
    let run = |read: i64| {
        let next = 3000 + read;
        let text = serial(2600, 3000).replace("runtime 3000", "runtime 4000");
        let text = text.replace(
            "0 3000 3000 finalize",
            &format!("0 3000 {next} read bytes=500\n0 4000 4000 finalize"),
        );
        ends(&text.replace("1 550 3000", "1 550 4000"), true, 1.)[0]
    };
    // as the model says: closing keeps its 300, and 500 are computed behind the read
    assert_eq!(run(500), 500 + 1000 + 400 + 500 + 500);
    assert_eq!(run(200), 500 + 1000 + 100 + 500 + 800);
}

#[test]
fn what_another_rank_took_longer_for_is_not_kept_by_this_one() {
    // Rank 0 closed for 300 more than the model says, and read 300 less long: nothing stays. Rank 1
    // closed a file for 300 more, which stays as it was.
    let text = serial(2600, 3000)
        .replace("runtime 3000", "runtime 4000")
        .replace("0 3000 3000 finalize", "0 3000 3200 read bytes=500 file=1\n0 4000 4000 finalize")
        .replace("1 550 3000", "1 600 1000 close file=2\n1 4000 4000");
    let (kept, plain) = (ends(&text, true, 1.), ends(&text, false, 1.));
    assert_eq!(kept, [plain[0], plain[1] + 300]);
    assert_eq!(plain[0], 500 + 1000 + 100 + 500 + 800);
}

/// Bytes are copied in no time and arrive 1000 later; closing any file waits for that, and takes nothing
/// by itself.
#[derive(Default)]
struct Behind {
    arrived: i64,
}

impl FileSystem for Behind {
    fn end(&mut self, _rank: u32, begin: i64, call: &FileCall) -> i64 {
        if call.access.direction().is_some() {
            self.arrived = begin + 1000;
            return begin;
        }
        begin.max(self.arrived)
    }
}

#[test]
fn who_waits_less_in_one_call_and_longer_in_the_next_waits_once() {
    // In the model closing waits for 1000 and what follows for nothing. In the run closing waited for
    // nothing, and the next call for 1100: of both together 100 stay, with the one that took longer.
    let text = serial(600, 600)
        .replace("0 3000 3000 finalize", "0 600 1700 close file=1\n0 3000 3000 finalize");
    let end = ends_on([&mut Behind::default(), &mut Behind::default()], &text, true, 1.)[0];
    // it writes at 500, and 1300 are computed behind it
    assert_eq!(end, 500 + 1000 + 100 + 1300);
}

/// As `Plain`, but for reads, which take no time.
struct Quick;

impl FileSystem for Quick {
    fn end(&mut self, rank: u32, begin: i64, call: &FileCall) -> i64 {
        let read = matches!(call.access, Access::Read);
        if read { begin } else { Plain.end(rank, begin, call) }
    }
}

#[test]
fn what_took_longer_while_its_rank_would_have_waited_may_cost_nothing() {
    // Closing took 300 more than the model says, and rank 0 then waited until rank 1, which reads
    // 2950, had sent: by the model it would have waited 300 more. Where reads take no time, rank 1
    // opens, writes its part and closes by 550 - 50 + 1200 = 1700, and has sent at 1750; rank 0 has
    // closed at 1600, and computes 450 behind the message. If closing keeps its 300, receiving takes its
    // 50 after that.
    let text = serial(2600, 3000)
        .replace("runtime 3000", "runtime 4000")
        .replace("0 3000 3000", "0 3000 3550 receive from=1 bytes=8\n0 4000 4000")
        .replace(
            "1 550 3000 finalize",
            "1 550 3500 read bytes=2950 file=1\n1 3500 3550 send to=0 bytes=8\n1 4000 4000 finalize",
        );
    let end = |waits| ends_with([&mut Plain, &mut Quick], &text, true, 1., waits)[0];
    assert_eq!(end(false), 1750 + 450);
    assert_eq!(end(true), 1900 + 50 + 450);
}
