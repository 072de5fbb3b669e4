//! Any bytes as Extrae's text: it is refused, or keeps the readers' promises.
#![no_main]

use std::io::Cursor;
use std::path::Path;

use libfuzzer_sys::fuzz_target;
use tailrace_trace::conforms;
use tailrace_trace::prv::PrvTrace;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(trace) = PrvTrace::from_reader(Cursor::new(bytes.to_vec()), Path::new("any.prv")) {
        conforms(&trace).expect("what was read keeps the promises");
    }
});
