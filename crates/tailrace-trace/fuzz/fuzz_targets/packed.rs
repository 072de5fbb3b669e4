//! Any bytes as a packed trace.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tailrace_trace::event::Event;
use tailrace_trace::{Batch, Columns};
use tailrace_trace_fuzz::packed;

fuzz_target!(|bytes: &[u8]| {
    let Ok(trace) = packed(bytes) else { return };
    let (mut batch, mut columns) = (Batch::default(), Columns::default());
    for location in 0..trace.tables().locations.len() {
        let (mut stream, mut reached_ns) = (trace.events(location), i64::MIN);
        while let Ok(true) = stream.next_columns(&mut columns) {
            assert!(reached_ns <= columns.begin_ns && columns.begin_ns <= columns.end_ns());
            reached_ns = columns.end_ns();
            columns.move_to(&mut batch);
            let shapes = batch.shapes.len();
            let sound = |event: &Event| (event.shape as usize) < shapes && event.begin <= event.end;
            assert!(batch.events.iter().all(sound));
        }
    }
});
