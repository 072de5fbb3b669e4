//! Traces from untrusted places: one sentence with its place, never a panic, a hang, or memory
//! without bound.

mod support;

use std::path::Path;

use support::{Stream, pack};
use tailrace_trace::{Batch, Columns, TraceError, conforms, open};

/// Small, but with everything that a trace may hold.
fn sample(directory: &Path) {
    for rank in 0..2u32 {
        let mut stream = Stream::rank(rank, 2, 1000);
        stream
            .note("mmap", "/data/in")
            .communicator(4, 99, rank as i32, 0, 2)
            .path(0, b"/scratch/\xff<b>")
            .path(1, b"/other")
            .path_beside(2, 3, b"ly");
        // A module without a build-id, a function of a script, and a path through both.
        stream
            .record(252, b"\x01\0\0\0\0/no/such/program")
            .record(252, b"\x02\0\0\0\x02id/a.py\0step")
            .record(253, &[1, 0, 0, 0, 0, 2, 12, 1, 0x80, 1, 0, 9])
            .record(253, &[2, 0, 0, 0, 1, 9, 9, 2, 13]);
        for (number, layer, name) in [
            (1, 0, "MPI_Init"),
            (2, 0, "MPI_Irecv"),
            (3, 0, "MPI_Wait"),
            (4, 1, "MPI_File_write_all"),
            (5, 2, "pwrite"),
            (6, 0, "MPI_Post"),
        ] {
            stream.name(number, layer, name);
        }
        stream.define(1, 1, 10, &[0, 0]).call(1, 1, 500);
        stream.define(2, 2, 3, &[4, -2, -1, 64, 1, -2, -1]).define(3, 3, 5, &[0, 1, 1, 0, 7]);
        stream
            .define(4, 4, 1, &[3, 3, 0, 4096, 0, 0, 4])
            .define(5, 5, 1, &[3, 1, 0, 4096, 0, 0, -1])
            .define(6, 6, 9, &[4, 4, 0, 0, 0, 1, 1]);
        // The pwrite again, from place 1; place 3 was never defined.
        stream.record(240, &[7, 5, 0, 1, 7, 6, 2, 0, 16, 0, 0, 1, 1]).call(7, 1, 1);
        stream.record(240, &[8, 5, 0, 1, 7, 6, 2, 0, 16, 0, 0, 1, 3]).call(8, 1, 1);
        for i in 0..200u64 {
            stream.call(2, 10 + i % 3, 20).call(3, 5, 7_000_000_000 * u64::from(i == 77) + 9);
            stream.enter(4, 3).call(5, 2, 100 + i).leave(4, 1).call(6, 1, 1);
        }
        stream.clock(1_000_000, 1_000_000).record(249, &[7; 16]).save(directory, 0);
    }
}

/// Reads everything, which keeps the readers' promises; an error must say where and what to do.
fn read_all(path: &Path) -> Result<u64, TraceError> {
    conforms(&*open(path)?)
}

fn complaint(path: &Path) -> String {
    let error = read_all(path).expect_err("a damaged trace");
    assert!(!error.message.contains('\n') && !error.message.ends_with('.'), "{error}");
    assert!(error.message.contains(&*path.to_string_lossy()) && !error.hint.is_empty(), "{error}");
    error.message
}

#[test]
fn every_cut_and_every_flipped_bit_is_noticed() {
    let directory = tempfile::tempdir().unwrap();
    sample(directory.path());
    let path = pack(directory.path());
    assert_eq!(read_all(&path).unwrap(), 2406);
    let good = std::fs::read(&path).unwrap();
    for length in (0..good.len()).step_by(7) {
        std::fs::write(&path, &good[..length]).unwrap();
        complaint(&path);
    }
    // Bytes 12..16 of the head are reserved.
    for at in (0..good.len()).filter(|at| !(12..16).contains(at)) {
        let mut bad = good.clone();
        bad[at] ^= 1 << (at % 8);
        std::fs::write(&path, &bad).unwrap();
        complaint(&path);
    }
}

#[test]
fn foreign_newer_and_empty_files_are_told_apart() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.tailrace");
    let mut newer = b"TAILRACE".to_vec();
    newer.extend([9, 0, 0, 0, 0, 0, 0, 0]);
    for (bytes, part) in [
        (&b""[..], "is empty"),
        (b"\x7fELF something", "is not a trace"),
        (&newer, "version 9"),
        (b"TAILRACE\x01", "was cut off: it ends at byte 9"),
        (b"TAILRAW\0", "is a raw stream"),
    ] {
        std::fs::write(&path, bytes).unwrap();
        let message = complaint(&path);
        assert!(message.contains(part), "{message}");
    }
    let error = read_all(directory.path()).unwrap_err();
    assert!(error.message.contains("is a directory"), "{error}");
    assert!(read_all(&directory.path().join("none")).unwrap_err().message.contains("cannot read"));
}

/// xorshift: the same mutations each time.
struct Noise(u64);

impl Noise {
    fn below(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below.max(1) as u64) as usize
    }

    fn mutate(&mut self, bytes: &mut Vec<u8>, from: usize) {
        for _ in 0..=self.below(4) {
            let at = from + self.below(bytes.len() - from);
            match self.below(4) {
                0 => bytes[at] = self.below(256) as u8,
                1 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][self.below(5)],
                2 => drop(bytes.drain(at..bytes.len().min(at + self.below(9)))),
                _ => bytes.insert(at, self.below(256) as u8),
            }
        }
    }
}

/// Raw streams have no checksum: a mutated one is packed as far as it makes sense, and what comes
/// out is a good trace.
#[test]
fn mutated_raw_streams_pack_to_good_traces() {
    let directory = tempfile::tempdir().unwrap();
    sample(directory.path());
    let path = directory.path().join("raw/node.100.0.stream");
    let good = std::fs::read(&path).unwrap();
    let output = directory.path().join("out.tailrace");
    let (mut noise, mut packed) = (Noise(88_172_645_463_325_252), 0);
    for _ in 0..300 {
        let mut bad = good.clone();
        // Most changes to where the records are, some to the header.
        let from = if noise.below(10) == 0 { 8 } else { support::HEADER_BYTES };
        noise.mutate(&mut bad, from);
        std::fs::write(&path, &bad).unwrap();
        if tailrace_trace::pack(directory.path(), &output, &mut |_| {}).is_ok() {
            read_all(&output).unwrap();
            packed += 1;
        }
    }
    assert!(packed > 200, "only {packed} of 300 mutations could be packed");
}

/// Blocks follow each other from the head on, each with its length in bytes 8..12: their checksums
/// are made good, so that what is behind them is reached.
fn mend_blocks(bytes: &mut [u8], end: usize) {
    let (mut at, head) = (16, 40);
    while at + head <= end {
        let length = u32::from_le_bytes(bytes[at + 8..at + 12].try_into().unwrap()) as usize;
        if length < head || length > end - at {
            return;
        }
        let checksum = xxhash_rust::xxh3::xxh3_64(&bytes[at + 8..at + length]).to_le_bytes();
        bytes[at..at + 8].copy_from_slice(&checksum);
        at += length;
    }
}

/// Blocks that say what they like, with checksums that are right: read or refused, and what was
/// read keeps the promises but those on how many events there are and how they nest.
#[test]
fn mutated_blocks_are_read_or_refused() {
    let directory = tempfile::tempdir().unwrap();
    sample(directory.path());
    let path = pack(directory.path());
    let good = std::fs::read(&path).unwrap();
    let footer = good.len() - 80;
    let tables = u64::from_le_bytes(good[footer..footer + 8].try_into().unwrap()) as usize;
    let (mut noise, mut refused, mut read) = (Noise(362_436_069_362_436_069), 0, 0);
    for _ in 0..1500 {
        let mut bad = good.clone();
        for _ in 0..=noise.below(4) {
            let at = 16 + noise.below(tables - 16);
            bad[at] = match noise.below(3) {
                0 => noise.below(256) as u8,
                1 => [0, 1, 0x7f, 0x80, 0xff][noise.below(5)],
                _ => bad[at] ^ 1 << noise.below(8),
            };
        }
        mend_blocks(&mut bad, tables);
        std::fs::write(&path, &bad).unwrap();
        let trace = open(&path).unwrap();
        for location in 0..2 {
            let (mut stream, mut columns) = (trace.events(location), Columns::default());
            let mut reached_ns = i64::MIN;
            loop {
                match stream.next_columns(&mut columns) {
                    Ok(true) => read += 1,
                    Ok(false) => break,
                    Err(error) => {
                        assert!(error.message.contains("damaged at byte"), "{error}");
                        refused += 1;
                        break;
                    }
                }
                assert!(reached_ns <= columns.begin_ns && columns.begin_ns <= columns.end_ns());
                reached_ns = columns.end_ns();
                let sound = |&shape: &u16| usize::from(shape) < columns.shapes.len();
                assert!(columns.shape_of.iter().all(sound));
                columns.move_to(&mut Batch::default());
            }
        }
    }
    assert!(refused > 300 && read > 300, "{refused} refused, {read} read");
}
