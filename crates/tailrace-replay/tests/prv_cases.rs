//! Every `.prv` in `tests/trace/data/prv` comes to the numbers that its comments derive.

use std::path::{Path, PathBuf};

use tailrace_replay::{Analysis, CollectiveOrder, Options, analyze};
use tailrace_trace::Trace;
use tailrace_trace::prv::PrvTrace;

struct Case {
    trace: PrvTrace,
    data: Analysis,
    all: Analysis,
}

impl Case {
    fn of(path: &Path) -> Self {
        let trace =
            PrvTrace::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let replay = |collectives| {
            analyze(&trace, &Options { collectives, ..Options::default() }, &mut |_, _| true)
                .expect("it is replayed")
        };
        let (data, all) = (replay(CollectiveOrder::Data), replay(CollectiveOrder::All));
        Self { trace, data, all }
    }

    fn value(&self, key: &str) -> String {
        let (analysis, tables) = (&self.data, self.trace.tables());
        let ranks = |value: fn(&tailrace_replay::analysis::RankAccount) -> i64| {
            join(analysis.ranks.iter().map(|rank| value(rank).to_string()), " ")
        };
        let counters = |value: fn(&tailrace_trace::tables::Counters) -> u64| {
            join(
                tables
                    .counters
                    .iter()
                    .map(|rank| rank.as_ref().map_or("none".into(), |c| value(c).to_string())),
                " ",
            )
        };
        match key {
            "runtime_ns" => analysis.runtime.to_string(),
            "ideal_network_ns" => analysis.ideal.net.to_string(),
            "ideal_network_all_ns" => self.all.ideal.net.to_string(),
            "ideal_network_even_io_ns" => analysis.ideal.even.to_string(),
            "ideal_ns" => analysis.ideal.ideal.to_string(),
            "useful_ns" => ranks(|rank| rank.useful),
            "io_ns" => ranks(|rank| rank.io),
            "mpi_ns" => ranks(|rank| rank.mpi),
            "ideal_rank_ns" => ranks(|rank| rank.clocks.net),
            "bytes_read" => ranks(|rank| rank.bytes_read as i64),
            "bytes_written" => ranks(|rank| rank.bytes_written as i64),
            "instructions" => counters(|c| c.instructions),
            "cycles" => counters(|c| c.cycles),
            "files" => self.files(),
            "notes" => tables.capture.notes.len().to_string(),
            _ => panic!("there is no key {key}"),
        }
    }

    /// All paths but the one that stands for MPI-IO's files.
    fn files(&self) -> String {
        let paths = self.trace.tables().files.iter().skip(1);
        join(paths.map(|file| String::from_utf8_lossy(&file.path).into_owned()), "|")
    }

    /// What holds for every trace.
    fn check_laws(&self, name: &str) {
        for (analysis, rank) in
            [&self.data, &self.all].iter().flat_map(|a| a.ranks.iter().map(move |rank| (a, rank)))
        {
            assert_eq!(
                rank.useful + rank.io + rank.mpi,
                analysis.runtime,
                "{name}: time is not conserved"
            );
        }
        // In Dimemas' convention a rank may wait for what came later, as measured.
        for (Analysis { ideal, .. }, most) in
            [(&self.data, self.data.runtime), (&self.all, i64::MAX)]
        {
            let chain = [ideal.ideal, ideal.even, ideal.net, most];
            assert!(chain.is_sorted(), "{name}: {ideal:?}");
        }
    }
}

fn join(parts: impl Iterator<Item = String>, separator: &str) -> String {
    parts.collect::<Vec<_>>().join(separator)
}

fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/trace/data/prv");
    let entries = std::fs::read_dir(&folder).expect("the cases are there");
    let paths = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "prv"));
    paths.collect()
}

#[test]
fn every_case_comes_to_the_numbers_that_it_derives() {
    let mut wrong = Vec::new();
    let cases = cases();
    assert!(cases.len() >= 10, "only {} cases", cases.len());
    for path in cases {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let case = Case::of(&path);
        case.check_laws(&name);
        let text = std::fs::read_to_string(&path).unwrap();
        let expected: Vec<_> = text
            .lines()
            .filter_map(|line| line.strip_prefix("# expect ")?.split_once(' '))
            .collect();
        assert!(expected.len() >= 5, "{name} expects next to nothing");
        for (key, value) in expected {
            let found = case.value(key);
            if found != value {
                wrong.push(format!("{name}: {key} is {found}, not {value}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
