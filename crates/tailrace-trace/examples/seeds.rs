//! Writes the inputs from which the fuzzer starts: `cargo run --example seeds -- RAW_STREAM TRACE
//! fuzz/corpus`. A raw stream is stored without its header, as the target `raw` wants it.
#![allow(clippy::print_stdout, clippy::print_stderr, clippy::exit)] // a tool of the developers

use std::path::Path;

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [stream, trace, corpus] = &arguments[..] else {
        eprintln!("seeds: name a raw stream, a trace and the directory of the corpus");
        std::process::exit(2)
    };
    for (target, bytes) in
        [("raw", std::fs::read(stream)?.split_off(4096)), ("packed", std::fs::read(trace)?)]
    {
        let directory = Path::new(corpus).join(target);
        std::fs::create_dir_all(&directory)?;
        std::fs::write(directory.join("seed"), bytes)?;
    }
    Ok(())
}
