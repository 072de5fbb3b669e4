//! Whatever bytes a `.prv` has: it is refused in one sentence, or read into a trace that keeps the
//! readers' promises.

use std::io::{Cursor, Write};
use std::path::Path;

use flate2::{Compression, write::GzEncoder};
use tailrace_trace::prv::PrvTrace;
use tailrace_trace::{Trace, TraceError, conforms};

/// Mutants of each seed; the same ones in every run. `PRV_MUTANTS=1000000` makes a long search of
/// it.
const MUTANTS: u64 = 1500;

fn seeds() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/trace/data/prv");
    let paths =
        std::fs::read_dir(folder).expect("the cases are there").map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|e| e == "prv")).collect();
    paths.sort();
    paths.iter().map(|path| records_of(&std::fs::read_to_string(path).unwrap())).collect()
}

/// Without the comments, so that mutations hit what is read.
fn records_of(text: &str) -> Vec<u8> {
    let lines =
        text.lines().enumerate().filter(|(number, line)| *number == 0 || !line.starts_with('#'));
    lines.flat_map(|(_, line)| [line.as_bytes(), b"\n"].concat()).collect()
}

/// xorshift64.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }

    fn mutate(&mut self, text: &mut Vec<u8>) {
        let at = self.below(text.len());
        match self.below(7) {
            0 => text[at] = b"0123456789:\n#-c,()"[self.below(18)],
            1 => text[at] ^= 1 << self.below(8),
            2 => drop(text.remove(at)),
            3 => text.insert(at, b"0189:\n"[self.below(6)]),
            4 => text.truncate(at),
            5 => drop(text.splice(at..at, *b"9223372036854775807")),
            _ => self.swap_lines(text),
        }
        if text.is_empty() {
            text.push(b'\n');
        }
    }

    fn swap_lines(&mut self, text: &mut Vec<u8>) {
        let mut lines: Vec<Vec<u8>> =
            text.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        let (first, second) = (self.below(lines.len()), self.below(lines.len()));
        lines.swap(first, second);
        *text = lines.join(&b'\n');
    }
}

fn read(text: Vec<u8>) -> Result<PrvTrace, TraceError> {
    PrvTrace::from_reader(Cursor::new(text), Path::new("mutant.prv"))
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn the_seeds_are_read_and_keep_the_promises() {
    for seed in seeds() {
        conforms(&read(seed.clone()).unwrap()).unwrap();
        conforms(&read(gzip(&seed)).unwrap()).unwrap();
    }
}

#[test]
fn mutants_are_refused_in_a_sentence_or_read_well() {
    let mutants = std::env::var("PRV_MUTANTS").ok().and_then(|n| n.parse().ok()).unwrap_or(MUTANTS);
    let (mut refused, mut well) = (0, 0);
    for (number, seed) in seeds().into_iter().enumerate() {
        let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ number as u64);
        for _ in 0..mutants {
            let mut text = seed.clone();
            (0..=random.below(4)).for_each(|_| random.mutate(&mut text));
            match read(text) {
                Ok(trace) => {
                    conforms(&trace).unwrap();
                    well += 1;
                }
                Err(error) => {
                    assert!(
                        error.message.contains("mutant.prv") && !error.hint.is_empty(),
                        "{error}"
                    );
                    assert!(
                        !error.message.contains('\n') && !error.message.ends_with('.'),
                        "{error}"
                    );
                    refused += 1;
                }
            }
        }
    }
    assert!(
        refused > 100 && well > 100,
        "{refused} refused, {well} read: the mutations do not search"
    );
}

#[test]
fn a_cut_gzip_is_refused_with_the_line_that_was_reached() {
    let seed = seeds().swap_remove(0);
    let whole = gzip(&seed);
    let error = read(whole[..whole.len() / 2].to_vec()).err().expect("half a file is refused");
    assert!(error.message.starts_with("mutant.prv cannot be read beyond line "), "{error}");
}

#[test]
fn claims_do_not_cost_memory() {
    let header = "#Paraver (x):9_ns:1(1):1:1(4000000000:1),4000000000\n";
    let far = read(format!("{header}2:1:1:1:3999999999:1:1:1\n").into_bytes())
        .expect("a thread that the header allows");
    assert_eq!(far.tables().locations.len(), 2);
    let error = read(b"#Paraver (x):9_ns:1(1):1:4000000000(1:1)\n".to_vec()).err().unwrap();
    assert!(error.message.contains("claims more than a million tasks"), "{error}");
    let error = read(format!("{header}c:1:1:4000000000:1\n").into_bytes()).err().unwrap();
    assert!(error.message.contains("line 2"), "{error}");
}
