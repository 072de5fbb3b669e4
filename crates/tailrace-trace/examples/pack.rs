//! Packs a directory of raw streams, by all processors or so many threads:
//!
//!     cargo run --release --example pack -- DIR OUT.tailrace [THREADS]
#![allow(clippy::print_stdout, clippy::print_stderr, clippy::exit)] // a tool of the developers

use std::path::Path;

use tailrace_trace::pack::{pack, pack_with};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let ([directory, output] | [directory, output, _]) = &arguments[..] else {
        eprintln!("pack: name a directory and an output");
        std::process::exit(2)
    };
    let (directory, output) = (Path::new(directory), Path::new(output));
    let threads = arguments.get(2).and_then(|threads| threads.parse().ok());
    let packed = match threads {
        Some(threads) => pack_with(directory, output, threads, &mut |_| {}),
        None => pack(directory, output, &mut |_| {}),
    };
    match packed {
        Ok(summary) => println!("{summary:#?}"),
        Err(error) => {
            eprintln!("pack: {error}");
            std::process::exit(1)
        }
    }
}
