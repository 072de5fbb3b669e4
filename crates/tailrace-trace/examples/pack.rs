//! Packs a directory of raw streams: `cargo run --release --example pack -- DIR OUT.tailrace`.
#![allow(clippy::print_stdout, clippy::print_stderr, clippy::exit)] // a tool of the developers

use std::path::Path;

use tailrace_trace::pack;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [directory, output] = &arguments[..] else {
        eprintln!("pack: name a directory and an output");
        std::process::exit(2)
    };
    match pack(Path::new(directory), Path::new(output), &mut |_| {}) {
        Ok(summary) => println!("{summary:#?}"),
        Err(error) => {
            eprintln!("pack: {error}");
            std::process::exit(1)
        }
    }
}
