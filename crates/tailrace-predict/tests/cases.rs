//! The golden cases of the replay, by way of steps: as measured they take the run time, with an
//! ideal network T_net, and with an ideal file system too T_ideal. The engine found these another
//! way.

#[path = "../../tailrace-replay/tests/common/mod.rs"]
mod common;

use std::path::Path;

use common::Case;
use tailrace_predict::{Pace, Scaled, replay, run_times, steps};
use tailrace_replay::{CollectiveOrder, Options, analyze};

/// Cases that do what steps do not tell: a rank that waits in MPI for its own thread's file calls.
const BEYOND: [&str; 2] = ["thread-computes-between.txt", "thread-waited-for.txt"];

#[test]
fn steps_taken_as_measured_or_ideally_end_where_the_engine_says() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/replay/cases");
    let mut wrong = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.extension().is_none_or(|e| e != "txt") || BEYOND.contains(&name.as_str()) {
            continue;
        }
        let case = Case::parse(&std::fs::read_to_string(&path).unwrap());
        // by Dimemas' convention a run as measured may be impossible: steps are not taken by it
        let options = Options { collectives: CollectiveOrder::Data, ..case.options };
        let analysis = analyze(&case.trace, &options, &mut |_, _| true).unwrap();
        let steps = steps(&case.trace, options.eager_limit_bytes).unwrap();
        let network = Pace { network: 0., mpi: 0., ..Pace::AS_MEASURED };
        let found = [
            replay(&steps, Pace::AS_MEASURED, &mut Scaled::all(1.)).runtime(),
            replay(&steps, network, &mut Scaled::all(1.)).runtime(),
            replay(&steps, Pace { io: 0., ..network }, &mut Scaled::all(0.)).runtime(),
        ];
        let expected = [analysis.runtime, analysis.ideal.net, analysis.ideal.ideal];
        if found != expected || steps.runtime != analysis.runtime {
            wrong.push(format!("{name}: {found:?}, not {expected:?}"));
        }
        let paces = slower_and_faster();
        let one_by_one = paces.map(|(pace, mut files)| replay(&steps, pace, &mut files).runtime());
        let together = run_times(&steps, &paces);
        if together != one_by_one {
            wrong.push(format!("{name}: {together:?} together, {one_by_one:?} one by one"));
        }
    }
    wrong.sort();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// More than are carried side by side, each unlike the others.
fn slower_and_faster() -> [(Pace, Scaled); 11] {
    std::array::from_fn(|at| {
        let by = at as f64 / 4.;
        let pace = Pace { useful: 2. - by / 2., network: by, mpi: by / 3., io: 1.5 - by / 3. };
        (pace, Scaled { bytes: by, others: pace.io })
    })
}
