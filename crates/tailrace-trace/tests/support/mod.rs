//! Raw streams put together byte by byte, as `docs/reference/internals/trace.md` says.
#![allow(dead_code)] // every test file uses another part of it

use std::path::{Path, PathBuf};

use tailrace_trace::event::{Event, Shape};
use tailrace_trace::{Batch, Trace};

pub(crate) const HEADER_BYTES: usize = 4096;

/// A raw stream in the making. Its clock has one tick a nanosecond unless the header says
/// otherwise.
pub(crate) struct Stream {
    pub bytes: Vec<u8>,
}

impl Stream {
    /// A closed stream of the main thread that starts at `start` ticks.
    pub(crate) fn new(process: u32, thread: u32, start: u64) -> Self {
        let mut bytes = vec![0; HEADER_BYTES];
        bytes[..8].copy_from_slice(b"TAILRAW\0");
        let mut stream = Self { bytes };
        stream
            .u32_at(8, 1)
            .u32_at(12, process)
            .u32_at(16, thread)
            .u32_at(20, u32::from(thread == 0));
        stream
            .u64_at(24, 1_000_000_000)
            .u32_at(32, 2)
            .u32_at(36, 25_000)
            .u64_at(40, start)
            .u64_at(80, 1);
        stream
    }

    /// The main thread of an MPI rank on one node.
    pub(crate) fn rank(rank: u32, ranks: u32, start: u64) -> Self {
        let mut stream = Self::new(100 + rank, 0, start);
        stream
            .meta("rank", &rank.to_string())
            .meta("ranks", &ranks.to_string())
            .meta("host", "node")
            .meta("node", "n");
        stream.clock(start, start);
        stream
    }

    pub(crate) fn u32_at(&mut self, at: usize, value: u32) -> &mut Self {
        self.bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        self
    }

    pub(crate) fn u64_at(&mut self, at: usize, value: u64) -> &mut Self {
        self.bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        self
    }

    pub(crate) fn record(&mut self, head: u8, payload: &[u8]) -> &mut Self {
        self.bytes.extend([head, 0]);
        self.bytes.extend((payload.len() as u16).to_le_bytes());
        self.bytes.extend(payload);
        self
    }

    pub(crate) fn meta(&mut self, key: &str, value: &str) -> &mut Self {
        self.record(247, format!("{key}\0{value}").as_bytes())
    }

    pub(crate) fn note(&mut self, key: &str, text: &str) -> &mut Self {
        self.record(248, format!("{key}\0{text}").as_bytes())
    }

    pub(crate) fn clock(&mut self, ticks: u64, monotonic_ns: u64) -> &mut Self {
        let payload = [
            &ticks.to_le_bytes()[..],
            &monotonic_ns.to_le_bytes(),
            &20u32.to_le_bytes(),
            &monotonic_ns.to_le_bytes(),
        ];
        self.record(241, &payload.concat())
    }

    pub(crate) fn name(&mut self, function: u16, layer: u8, name: &str) -> &mut Self {
        let payload = [&function.to_le_bytes()[..], &[layer], name.as_bytes()];
        self.record(242, &payload.concat())
    }

    pub(crate) fn path(&mut self, file: u32, path: &[u8]) -> &mut Self {
        self.record(243, &[&file.to_le_bytes()[..], path].concat())
    }

    /// One that begins with so many bytes of the path before it.
    pub(crate) fn path_beside(&mut self, file: u32, shared: u16, path: &[u8]) -> &mut Self {
        self.record(254, &[&file.to_le_bytes()[..], &shared.to_le_bytes(), path].concat())
    }

    pub(crate) fn renamed(&mut self, file: u32, name: &[u8]) -> &mut Self {
        self.record(255, &[&file.to_le_bytes()[..], name].concat())
    }

    /// A communicator of one run of ranks with step 1.
    pub(crate) fn communicator(
        &mut self,
        number: u32,
        identity: u64,
        own: i32,
        first: u32,
        count: u32,
    ) -> &mut Self {
        let mut payload = number.to_le_bytes().to_vec();
        payload.extend(identity.to_le_bytes());
        payload.push(0);
        payload.extend(own.to_le_bytes());
        for word in &[1, first, 1, count] {
            payload.extend(word.to_le_bytes());
        }
        self.record(244, &payload)
    }

    pub(crate) fn define(
        &mut self,
        shape: u8,
        function: u16,
        class: u8,
        words: &[i64],
    ) -> &mut Self {
        let mut payload = vec![shape];
        payload.extend(function.to_le_bytes());
        payload.extend([class, words.len() as u8]);
        for &word in words {
            put_word(&mut payload, word);
        }
        self.record(240, &payload)
    }

    pub(crate) fn call(&mut self, shape: u8, gap: u64, duration: u64) -> &mut Self {
        let (gap, duration) = (shortest(gap), shortest(duration));
        self.bytes.extend([shape, gap.len() as u8 | (duration.len() as u8) << 4]);
        self.bytes.extend(gap);
        self.bytes.extend(duration);
        self
    }

    pub(crate) fn enter(&mut self, shape: u8, gap: u64) -> &mut Self {
        self.edge(245, shape, gap)
    }

    pub(crate) fn leave(&mut self, shape: u8, gap: u64) -> &mut Self {
        self.edge(246, shape, gap)
    }

    fn edge(&mut self, head: u8, shape: u8, gap: u64) -> &mut Self {
        let gap = shortest(gap);
        self.bytes.extend([head, gap.len() as u8, shape]);
        self.bytes.extend(gap);
        self
    }

    /// Writes `DIR/raw/node.PROCESS.NUMBER.stream` with the reserved zeros behind the records.
    pub(crate) fn save(&self, directory: &Path, number: u32) -> PathBuf {
        let process = u32::from_le_bytes(self.bytes[12..16].try_into().unwrap());
        std::fs::create_dir_all(directory.join("raw")).unwrap();
        let path = directory.join(format!("raw/node.{process}.{number}.stream"));
        std::fs::write(&path, [&self.bytes[..], &[0; 512]].concat()).unwrap();
        path
    }
}

fn shortest(value: u64) -> Vec<u8> {
    value.to_le_bytes()[..(71 - (value | 1).leading_zeros() as usize) >> 3].to_vec()
}

pub(crate) fn put_word(to: &mut Vec<u8>, word: i64) {
    let mut coded = ((word << 1) ^ (word >> 63)) as u64;
    while coded >= 0x80 {
        to.push(coded as u8 | 0x80);
        coded >>= 7;
    }
    to.push(coded as u8);
}

/// Packs `DIR` to `DIR/run.tailrace`, which keeps the readers' promises.
pub(crate) fn pack(directory: &Path) -> PathBuf {
    let path = directory.join("run.tailrace");
    tailrace_trace::pack(directory, &path, &mut |_| {}).unwrap();
    tailrace_trace::conforms(&*tailrace_trace::open(&path).unwrap()).unwrap();
    path
}

/// All events of a location with their shapes.
pub(crate) fn events(trace: &dyn Trace, location: usize) -> Vec<(Event, Shape)> {
    let mut stream = trace.events(location);
    let mut batch = Batch::default();
    let mut all = Vec::new();
    while stream.next_batch(&mut batch).unwrap() {
        all.extend(
            batch.events.iter().map(|event| (*event, batch.shapes[event.shape as usize].clone())),
        );
    }
    all
}
