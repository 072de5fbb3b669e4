//! Published values of real traces: EPOCH on 1, 2 and 4 ranks (BSC's modelfactors and Dimemas).
//!
//! The traces are not part of the project: where `../shared/data/epoch` is absent beside the
//! checkout, the test says so.
#![allow(clippy::print_stderr)] // a note where the data are not there
#![allow(clippy::unreadable_literal)] // figures as they are printed

use std::path::{Path, PathBuf};

use tailrace_replay::{Analysis, CollectiveOrder, Options, analyze};
use tailrace_trace::Trace;
use tailrace_trace::prv::PrvTrace;
use tailrace_trace::tables::Counters;

struct Published {
    ranks: usize,
    runtime_us: f64,
    ideal_us: f64,
    useful_mean_us: f64,
    useful_max_us: f64,
    instructions: u64,
    cycles: u64,
    /// In percent.
    load_balance: f64,
    communication: f64,
    ipc_scalability: f64,
    instruction_scalability: f64,
    frequency_scalability: f64,
}

const PUBLISHED: [Published; 3] = [
    Published {
        ranks: 1,
        runtime_us: 21_898_659.14,
        ideal_us: 21_884_758.97,
        useful_mean_us: 21_882_362.82,
        useful_max_us: 21_882_362.82,
        instructions: 84_790_848_422,
        cycles: 45_294_421_893,
        load_balance: 100.0,
        communication: 99.925583,
        ipc_scalability: 100.0,
        instruction_scalability: 100.0,
        frequency_scalability: 100.0,
    },
    Published {
        ranks: 2,
        runtime_us: 11_528_373.56,
        ideal_us: 11_504_370.09,
        useful_mean_us: 11_456_696.18,
        useful_max_us: 11_484_151.34,
        instructions: 87_640_358_419,
        cycles: 46_855_679_955,
        load_balance: 99.760930,
        communication: 99.616405,
        ipc_scalability: 99.916598,
        instruction_scalability: 96.748633,
        frequency_scalability: 98.792129,
    },
    Published {
        ranks: 4,
        runtime_us: 6_082_352.21,
        ideal_us: 6_051_059.08,
        useful_mean_us: 5_921_167.02,
        useful_max_us: 5_999_910.80,
        instructions: 88_518_412_143,
        cycles: 47_406_198_069,
        load_balance: 98.687584,
        communication: 98.644580,
        ipc_scalability: 99.745711,
        instruction_scalability: 95.788940,
        frequency_scalability: 96.697961,
    },
];

fn folder() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/epoch");
    let there = folder.is_dir();
    if !there {
        eprintln!("SKIPPED: the published traces are not in {}", folder.display());
    }
    there.then_some(folder)
}

fn replay(trace: &PrvTrace, collectives: CollectiveOrder) -> Analysis {
    analyze(trace, &Options { collectives, ..Options::default() }, &mut |_, _| true)
        .expect("it is replayed")
}

fn close(what: &str, found: f64, published: f64, tolerance: f64) {
    assert!((found - published).abs() <= tolerance, "{what}: {found}, published {published}");
}

fn counters(trace: &PrvTrace) -> Counters {
    let ranks = trace.tables().counters.iter().map(|rank| rank.expect("every rank has counters"));
    ranks
        .reduce(|a, b| Counters {
            instructions: a.instructions + b.instructions,
            cycles: a.cycles + b.cycles,
        })
        .unwrap()
}

#[test]
fn ideal_run_times_and_efficiencies_are_the_published_ones() {
    let Some(folder) = folder() else { return };
    for published in &PUBLISHED {
        let trace =
            PrvTrace::open(&folder.join(format!("epoch_{}proc.prv.gz", published.ranks))).unwrap();
        let (all, data) =
            (replay(&trace, CollectiveOrder::All), replay(&trace, CollectiveOrder::Data));
        let micro = |ns: i64| ns as f64 / 1e3;
        close("T", micro(all.runtime), published.runtime_us, 0.0051); // published in hundredths
        close(
            "T_net as Dimemas",
            micro(all.ideal.net),
            published.ideal_us,
            1e-5 * published.ideal_us,
        );
        close("T_net", micro(data.ideal.net), published.ideal_us, 0.002 * published.ideal_us);
        let useful: Vec<f64> = all.ranks.iter().map(|rank| micro(rank.useful)).collect();
        let (mean, max) = (
            useful.iter().sum::<f64>() / useful.len() as f64,
            useful.iter().copied().fold(0.0, f64::max),
        );
        close("avg U", mean, published.useful_mean_us, 0.0051);
        close("max U", max, published.useful_max_us, 0.0051);
        close("load balance", 100.0 * mean / max, published.load_balance, 5e-6);
        close("communication", 100.0 * max / micro(all.runtime), published.communication, 5e-6);
        let ratio = |part: f64, whole: f64| 100.0 * part / whole;
        close(
            "serialization",
            ratio(max, micro(data.ideal.net)),
            ratio(max, published.ideal_us),
            0.1,
        );
        close(
            "transfer",
            ratio(micro(data.ideal.net), micro(data.runtime)),
            ratio(published.ideal_us, published.runtime_us),
            0.1,
        );
    }
}

#[test]
fn counters_are_the_published_ones_to_the_digit_and_so_are_the_scalabilities() {
    let Some(folder) = folder() else { return };
    let mut reference = None;
    for published in &PUBLISHED {
        let trace =
            PrvTrace::open(&folder.join(format!("epoch_{}proc.prv.gz", published.ranks))).unwrap();
        let found = counters(&trace);
        assert_eq!(
            found,
            Counters { instructions: published.instructions, cycles: published.cycles }
        );
        let useful_s = replay(&trace, CollectiveOrder::Data)
            .ranks
            .iter()
            .map(|rank| rank.useful as f64 / 1e9)
            .sum::<f64>();
        let (instructions, cycles) = (found.instructions as f64, found.cycles as f64);
        let now = [instructions, instructions / cycles, cycles / useful_s];
        let first = *reference.get_or_insert(now);
        close(
            "instruction scalability",
            100.0 * first[0] / now[0],
            published.instruction_scalability,
            1e-6,
        );
        close("IPC scalability", 100.0 * now[1] / first[1], published.ipc_scalability, 1e-6);
        close(
            "frequency scalability",
            100.0 * now[2] / first[2],
            published.frequency_scalability,
            1e-6,
        );
    }
}
