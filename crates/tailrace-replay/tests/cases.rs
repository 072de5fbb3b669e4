//! Small programs whose run times follow by arithmetic: each file of `tests/replay/cases` states it
//! beside the numbers.

mod common;

use std::path::{Path, PathBuf};

use common::{Case, wrong_paths};
use tailrace_replay::analysis::{
    Analysis, CriticalPath, Dependences, FileAccount, RankAccount, Share,
};
use tailrace_replay::{CriticalPaths, Options, analyze};

fn files() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/replay/cases");
    let mut files: Vec<PathBuf> = std::fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "txt"))
        .collect();
    files.sort();
    files
}

fn replay(case: &Case, options: &Options) -> Analysis {
    analyze(&case.trace, options, &mut |_, _| true).unwrap()
}

/// What a case may state about the run.
fn of_run(analysis: &Analysis, fact: &str) -> i64 {
    let sum = |value: fn(&RankAccount) -> i64| analysis.ranks.iter().map(value).sum();
    match fact {
        "runtime" => analysis.runtime,
        "net" => analysis.ideal.net,
        "even" => analysis.ideal.even,
        "ideal" => analysis.ideal.ideal,
        "mpiio" => sum(|rank| rank.mpiio),
        "posix" => sum(|rank| rank.posix_in_mpiio),
        "between" => sum(|rank| rank.between),
        "overlapped" => sum(|rank| rank.overlapped_io),
        "overlapped-mpi" => sum(|rank| rank.others.mpi),
        "overlapped-calls" => sum(|rank| rank.others.mpi_calls as i64),
        "overlapped-bytes" => {
            sum(|rank| (rank.others.bytes + rank.others.bytes_of_processes) as i64)
        }
        "any-waited-useful" => analysis.any_waited[0],
        "any-waited-io" => analysis.any_waited[1],
        "any-waited-mpi" => analysis.any_waited[2],
        "phases" => analysis.io_phases.len() as i64,
        _ => panic!("unknown fact {fact}"),
    }
}

/// What a case may state about a rank.
fn of_rank(rank: &RankAccount, fact: &str) -> i64 {
    match fact {
        "useful" => rank.useful,
        "io" => rank.io,
        "mpi" => rank.mpi,
        "net" => rank.clocks.net,
        "even" => rank.clocks.even,
        "ideal" => rank.clocks.ideal,
        "read" => rank.bytes_read as i64,
        "written" => rank.bytes_written as i64,
        "waited-useful" => rank.waited.unwrap()[0],
        "waited-io" => rank.waited.unwrap()[1],
        "waited-mpi" => rank.waited.unwrap()[2],
        _ => panic!("unknown fact {fact} of a rank"),
    }
}

/// What a case may state about a file.
fn of_file(file: &FileAccount, fact: &str) -> i64 {
    match fact {
        "ranks" => i64::from(file.ranks),
        "mpiio" => file.total.mpiio,
        "written" => file.total.bytes[1] as i64,
        "writes" => file.total.calls[1] as i64,
        "write" => file.total.time[1],
        "small-writes" => file.total.patterns[1].small as i64,
        "empty-writes" => file.total.patterns[1].empty as i64,
        _ => panic!("unknown fact {fact} of a file"),
    }
}

/// What a case may state about a critical path, or what lies of it on a rank.
fn of_path(path: &CriticalPath, rank: Option<&i64>, fact: &str) -> i64 {
    match fact {
        "start" => path.start,
        "crossings" => path.crossings as i64,
        _ => of_shares(path.shares.iter(), rank, fact),
    }
}

/// … or about waits.
fn of_waits(dependences: &Dependences, awaited: i64, rank: Option<&i64>, fact: &str) -> i64 {
    let waits = dependences.waits.iter().filter(|(of, ..)| *of as i64 == awaited);
    match fact {
        "number" => waits.map(|(.., sum)| sum.number as i64).sum(),
        "time" => waits.map(|(.., sum)| sum.time).sum(),
        _ => {
            let causes = dependences.causes.iter().filter(|cause| cause.awaited as i64 == awaited);
            of_shares(causes.map(|cause| &cause.cause), rank, fact)
        }
    }
}

fn of_shares<'a>(shares: impl Iterator<Item = &'a Share>, rank: Option<&i64>, state: &str) -> i64 {
    let of =
        |share: &&Share| i64::from(share.rank) == *rank.unwrap() && share.state.name() == state;
    shares.filter(of).map(|share| share.time).sum()
}

/// What facts are about.
const OF: [&str; 4] = ["rank", "file", "path", "waits"];

/// What is not as the case states.
fn differences(name: &str, case: &Case) -> Vec<String> {
    let analysis = replay(case, &case.options);
    let mut differences: Vec<String> =
        wrong_paths(&analysis).into_iter().map(|wrong| format!("{name}: {wrong}")).collect();
    for facts in &case.expected {
        for (fact, expected) in facts.iter().filter(|(fact, _)| !OF.contains(&fact.as_str())) {
            let [rank, file, path, waits] = OF.map(|of| facts.get(of));
            let found = match (rank, file, path, waits) {
                (.., Some(path), _) => {
                    of_path(&analysis.dependences.paths[*path as usize], rank, fact)
                }
                (.., Some(waits)) => of_waits(&analysis.dependences, *waits, rank, fact),
                (Some(rank), ..) => of_rank(&analysis.ranks[*rank as usize], fact),
                (_, Some(row), ..) => of_file(&analysis.files[*row as usize], fact),
                _ => of_run(&analysis, fact),
            };
            if found != *expected {
                differences
                    .push(format!("{name}: {fact} is {found}, not {expected}, of {facts:?}"));
            }
        }
    }
    let codes: Vec<&str> = analysis.warnings.iter().map(|warning| warning.code).collect();
    if codes != case.warnings {
        differences.push(format!("{name}: warns {:?}", analysis.warnings));
    }
    differences
}

#[test]
fn cases_come_to_what_arithmetic_says() {
    let files = files();
    assert!(files.len() >= 20, "the cases are not where they should be");
    let of_file = |file: &PathBuf| {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        differences(&name, &Case::parse(&std::fs::read_to_string(file).unwrap()))
    };
    let differences: Vec<String> = files.iter().flat_map(of_file).collect();
    assert!(differences.is_empty(), "\n{}", differences.join("\n"));
}

#[test]
fn threads_and_slabs_change_nothing() {
    for file in files() {
        let case = Case::parse(&std::fs::read_to_string(&file).unwrap());
        let alone = format!("{:?}", replay(&case, &Options { threads: 1, ..case.options }));
        for slab in [1, 5, 1 << 16] {
            let options = Options { threads: 4, slab, ..case.options };
            assert_eq!(alone, format!("{:?}", replay(&case, &options)), "{}", file.display());
        }
    }
}

#[test]
fn without_paths_all_else_is_the_same() {
    let mut with_paths = 0;
    for file in files() {
        let case = Case::parse(&std::fs::read_to_string(&file).unwrap());
        let mut with = replay(&case, &case.options);
        let options = Options { critical_paths: CriticalPaths::LeftOut, ..case.options };
        let without = format!("{:?}", replay(&case, &options));
        with_paths += usize::from(!with.dependences.paths.is_empty());
        with.dependences = Dependences::default();
        assert_eq!(format!("{with:?}"), without, "{}", file.display());
    }
    assert!(with_paths > 20);
}
