//! Prints a trace's run times and efficiencies, and how fast they were computed.
//!
//! `cargo run --release -p tailrace-replay --example metrics -- TRACE [--collectives-all]
//! [--no-paths] [--threads N] [--slab EVENTS]`
#![allow(clippy::print_stdout, clippy::print_stderr, clippy::exit)] // a tool of the developers

use std::path::PathBuf;
use std::time::Instant;

use tailrace_replay::{Analysis, CollectiveOrder, CriticalPaths, Options, analyze};
use tailrace_trace::TraceError;

struct Arguments {
    path: PathBuf,
    options: Options,
}

fn arguments() -> Result<Arguments, TraceError> {
    let usage = || {
        TraceError::new(
            "usage: metrics TRACE [--collectives-all] [--no-paths] [--threads N] [--slab EVENTS]",
            "",
        )
    };
    let mut words = std::env::args_os().skip(1);
    let path = PathBuf::from(words.next().ok_or_else(usage)?);
    let mut options = Options::default();
    while let Some(word) = words.next() {
        match word.to_str() {
            Some("--collectives-all") => options.collectives = CollectiveOrder::All,
            Some("--no-paths") => options.critical_paths = CriticalPaths::LeftOut,
            Some("--threads") => {
                let number = words.next().and_then(|word| word.to_str()?.parse().ok());
                options.threads = number.ok_or_else(usage)?;
            }
            Some("--slab") => {
                let number = words.next().and_then(|word| word.to_str()?.parse().ok());
                options.slab = number.ok_or_else(usage)?;
            }
            _ => return Err(usage()),
        }
    }
    Ok(Arguments { path, options })
}

fn main() -> std::process::ExitCode {
    match run() {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            std::process::ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), TraceError> {
    let Arguments { path, options } = arguments()?;
    let begin = Instant::now();
    let trace = tailrace_trace::open(&path)?;
    let opened = begin.elapsed().as_secs_f64();
    let begin = Instant::now();
    let analysis = analyze(&*trace, &options, &mut |_, _| true)?;
    print(&analysis);
    let (seconds, events) = (begin.elapsed().as_secs_f64(), trace.tables().capture.events);
    println!(
        "opened in {opened:.3} s, {events} events in {seconds:.3} s: {:.1} M events/s",
        events as f64 / seconds / 1e6
    );
    Ok(())
}

fn print(analysis: &Analysis) {
    let microseconds = |time: i64| time as f64 / 1000.0;
    let useful: i64 = analysis.ranks.iter().map(|rank| rank.useful).sum();
    let (mean, max) = (useful as f64 / analysis.ranks.len() as f64, analysis.useful_max() as f64);
    let (run, ideal) = (analysis.runtime as f64, analysis.ideal);
    println!("ranks            {}", analysis.ranks.len());
    println!("run time, µs     {:.2}", microseconds(analysis.runtime));
    println!("ideal network    {:.2}", microseconds(ideal.net));
    println!("… and even I/O   {:.2}", microseconds(ideal.even));
    println!("… and no I/O     {:.2}", microseconds(ideal.ideal));
    println!("useful, mean     {:.2}", mean / 1000.0);
    println!("useful, maximum  {:.2}", max / 1000.0);
    println!("load balance     {:.6}", mean / max);
    println!("serialization    {:.6}", max / ideal.ideal as f64);
    println!("I/O balance      {:.6}", ideal.even as f64 / ideal.net as f64);
    println!("I/O transfer     {:.6}", ideal.ideal as f64 / ideal.even as f64);
    println!("transfer         {:.6}", ideal.net as f64 / run);
    analysis.warnings.iter().for_each(|warning| println!("warning: {}", warning.message));
}
