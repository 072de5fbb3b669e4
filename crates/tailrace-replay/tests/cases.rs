//! Small programs whose run times follow by arithmetic: each file of `tests/replay/cases` states it
//! beside the numbers.

mod common;

use std::path::{Path, PathBuf};

use common::Case;
use tailrace_replay::analysis::{Analysis, FileAccount, RankAccount};
use tailrace_replay::{Options, analyze};

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
        _ => panic!("unknown fact {fact} of a file"),
    }
}

/// What is not as the case states.
fn differences(name: &str, case: &Case) -> Vec<String> {
    let mut differences = Vec::new();
    let analysis = replay(case, &case.options);
    for facts in &case.expected {
        for (fact, expected) in
            facts.iter().filter(|(fact, _)| !["rank", "file"].contains(&fact.as_str()))
        {
            let found = match (facts.get("rank"), facts.get("file")) {
                (Some(rank), _) => of_rank(&analysis.ranks[*rank as usize], fact),
                (_, Some(row)) => of_file(&analysis.files[*row as usize], fact),
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
