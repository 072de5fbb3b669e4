//! What the fuzz targets share: checksums are made good, so that what is behind them is reached, too.

use std::io::Write;

use tailrace_trace::{Trace, TraceError, open};
use xxhash_rust::xxh3::xxh3_64;

const FOOTER_BYTES: usize = 80;
const HEAD_BYTES: usize = 16;

/// The bytes as a packed trace, mended.
///
/// # Errors
/// Where they are none all the same.
pub fn packed(bytes: &[u8]) -> Result<Box<dyn Trace>, TraceError> {
    let mut bytes = bytes.to_vec();
    mend(&mut bytes);
    let mut file = tempfile::NamedTempFile::new_in("/dev/shm").expect("a place for the trace");
    file.write_all(&bytes).expect("space for the trace");
    open(file.path())
}

/// Head, footer and the checksums of tables, index and the block that follows the head.
fn mend(bytes: &mut Vec<u8>) {
    if bytes.len() < HEAD_BYTES + FOOTER_BYTES {
        return;
    }
    bytes[..8].copy_from_slice(b"TAILRACE");
    bytes[8..12].copy_from_slice(&2u32.to_le_bytes());
    let footer = bytes.len() - FOOTER_BYTES;
    for part in [0, 32] {
        let word = |at: usize| {
            let bytes = &bytes[footer + at..footer + at + 8];
            u64::from_le_bytes(bytes.try_into().expect("8 bytes"))
        };
        let (from, length) = (word(part) as usize, word(part + 8) as usize);
        if let Some(covered) = from.checked_add(length).and_then(|end| bytes.get(from..end)) {
            let checksum = xxh3_64(covered).to_le_bytes();
            bytes[footer + part + 16..footer + part + 24].copy_from_slice(&checksum);
        }
    }
    mend_blocks(bytes, footer);
    let length = bytes.len() as u64;
    bytes[footer + 56..footer + 64].copy_from_slice(&length.to_le_bytes());
    let checksum = xxh3_64(&bytes[footer..footer + 64]).to_le_bytes();
    bytes[footer + 64..footer + 72].copy_from_slice(&checksum);
    bytes[footer + 72..].copy_from_slice(b"ECARLIAT");
}

/// Blocks follow each other from the head on, each with its length in bytes 8..12.
fn mend_blocks(bytes: &mut [u8], end: usize) {
    let mut at = HEAD_BYTES;
    while at + 40 <= end {
        let length = bytes[at + 8..at + 12].try_into().expect("4 bytes");
        let length = u32::from_le_bytes(length) as usize;
        if length < 40 || length > end - at {
            return;
        }
        let checksum = xxh3_64(&bytes[at + 8..at + length]).to_le_bytes();
        bytes[at..at + 8].copy_from_slice(&checksum);
        at += length;
    }
}
