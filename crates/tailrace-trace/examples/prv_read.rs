//! How fast a `.prv` is read: `cargo run --release -p tailrace-trace --example prv_read --
//! TRACE.prv`.
#![allow(clippy::print_stdout, clippy::print_stderr, clippy::exit)] // a tool of the developers

use std::path::Path;
use std::time::Instant;

use tailrace_trace::Trace;
use tailrace_trace::prv::PrvTrace;

fn main() {
    let Some(path) = std::env::args_os().nth(1) else {
        eprintln!("usage: prv_read TRACE.prv");
        std::process::exit(2);
    };
    let start = Instant::now();
    let trace = PrvTrace::open(Path::new(&path)).unwrap_or_else(|error| {
        eprintln!("{error}");
        std::process::exit(1);
    });
    let seconds = start.elapsed().as_secs_f64();
    let megabytes = std::fs::metadata(&path).map_or(0, |file| file.len()) as f64 / 1e6;
    println!(
        "{megabytes:.0} MB, {} events, {:.0} MB/s",
        trace.tables().capture.events,
        megabytes / seconds
    );
}
