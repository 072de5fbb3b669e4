//! Reads all events of a trace and says how fast, on one thread:
//!
//!     cargo run --release --example scan -- TRACE
#![allow(clippy::print_stdout, clippy::print_stderr, clippy::exit)] // a tool of the developers

use std::path::Path;
use std::time::Instant;

use tailrace_trace::{Batch, Columns, EventStream, Trace, TraceError, open};

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
    let (mut batch, mut columns) = (Batch::default(), Columns::default());
    let by_event = time(trace, &mut |stream| {
        let more = stream.next_batch(&mut batch)?;
        let in_calls = batch.events.iter().map(|event| event.end - event.begin);
        Ok((more, batch.events.len(), in_calls.sum()))
    })?;
    let by_column = time(trace, &mut |stream| {
        let more = stream.next_columns(&mut columns)?;
        let long = columns.long.iter().map(|long| long.duration_ns).sum::<i64>();
        let short = columns.durations.iter().map(|&ns| i64::from(ns)).sum::<i64>();
        Ok((more, columns.len(), short + long))
    })?;
    println!("one by one {by_event}; as columns {by_column}");
    Ok(())
}

type Read<'a> = &'a mut dyn FnMut(&mut dyn EventStream) -> Result<(bool, usize, i64), TraceError>;

fn time(trace: &dyn Trace, read: Read) -> Result<String, TraceError> {
    let (started, mut events, mut in_calls_ns) = (Instant::now(), 0, 0);
    for location in 0..trace.tables().locations.len() {
        let mut stream = trace.events(location);
        while let (true, here, ns) = read(&mut *stream)? {
            (events, in_calls_ns) = (events + here, in_calls_ns + ns);
        }
    }
    let elapsed_s = started.elapsed().as_secs_f64();
    let rate = events as f64 / elapsed_s / 1e6;
    let whole_s = in_calls_ns as f64 / 1e9;
    Ok(format!("{events} events, {whole_s:.3} s in calls: {rate:.1} million a second"))
}
