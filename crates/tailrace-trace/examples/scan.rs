//! Reads all events of a trace and says how fast, on one thread:
//!
//!     cargo run --release --example scan -- TRACE
#![allow(clippy::print_stdout, clippy::print_stderr, clippy::exit)] // a tool of the developers

use std::path::Path;
use std::time::Instant;

use tailrace_trace::{Batch, Trace, TraceError, open};

fn main() {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("scan: name a trace");
        std::process::exit(2)
    };
    if let Err(error) = open(Path::new(&path)).and_then(|trace| scan(trace.as_ref())) {
        eprintln!("scan: {error}");
        std::process::exit(1)
    }
}

fn scan(trace: &dyn Trace) -> Result<(), TraceError> {
    let (started, mut events, mut in_calls_ns) = (Instant::now(), 0u64, 0i64);
    let mut batch = Batch::default();
    for location in 0..trace.tables().locations.len() {
        let mut stream = trace.events(location);
        while stream.next_batch(&mut batch)? {
            events += batch.events.len() as u64;
            in_calls_ns += batch.events.iter().map(|event| event.end - event.begin).sum::<i64>();
        }
    }
    let elapsed_s = started.elapsed().as_secs_f64();
    let rate = events as f64 / elapsed_s / 1e6;
    println!(
        "{events} events in {elapsed_s:.3} s: {rate:.1} million a second; {:.3} s in calls",
        in_calls_ns as f64 / 1e9
    );
    Ok(())
}
