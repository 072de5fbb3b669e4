//! Any bytes as a raw stream: whatever packs must read back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tailrace_trace::{Batch, open, pack};

fuzz_target!(|bytes: &[u8]| {
    let directory = tempfile::tempdir_in("/dev/shm").expect("a place for the stream");
    // A header of zeros but for magic, version and the clock, unless the input is long enough to
    // bring its own.
    let mut stream = vec![0; 4096];
    stream[..8].copy_from_slice(b"TAILRAW\0");
    stream[8] = 1;
    stream[24..32].copy_from_slice(&1_000_000_000u64.to_le_bytes());
    stream.extend_from_slice(bytes);
    std::fs::write(directory.path().join("h.1.0.stream"), &stream).expect("space for the stream");
    let output = directory.path().join("out.tailrace");
    if pack(directory.path(), &output, &mut |_| {}).is_err() {
        return;
    }
    let trace = open(&output).expect("what was packed opens");
    let mut batch = Batch::default();
    for location in 0..trace.tables().locations.len() {
        let mut stream = trace.events(location);
        while stream.next_batch(&mut batch).expect("what was packed reads back") {}
    }
});
