//! A column: bytes that are all the same, plain, or compressed, whichever is shortest.

use crate::cursor::{Cursor, Damage, put_varint};

use super::layout::COLUMN_BYTES_MAX;

const CONSTANT: u8 = 0;
const PLAIN: u8 = 1;
const ZSTD: u8 = 2;
/// Higher levels gain a few per cent on byte planes and take several times as long.
const LEVEL: i32 = 1;

pub(super) struct Compressor {
    zstd: zstd::bulk::Compressor<'static>,
    buffer: Vec<u8>,
}

impl Compressor {
    /// # Errors
    /// If there is no memory for the compressor.
    pub(super) fn new() -> std::io::Result<Self> {
        Ok(Self { zstd: zstd::bulk::Compressor::new(LEVEL)?, buffer: Vec::new() })
    }

    /// Appends `column` to `to`.
    pub(super) fn put(&mut self, to: &mut Vec<u8>, column: &[u8]) {
        let first = column.first().copied().unwrap_or(0);
        if column.iter().all(|&byte| byte == first) {
            return put(to, CONSTANT, column.len(), &[first]);
        }
        self.buffer.resize(zstd::zstd_safe::compress_bound(column.len()), 0);
        match self.zstd.compress_to_buffer(column, &mut self.buffer[..]) {
            Ok(bytes) if bytes < column.len() => put(to, ZSTD, column.len(), &self.buffer[..bytes]),
            _ => put(to, PLAIN, column.len(), column),
        }
    }
}

impl Compressor {
    /// Appends a column that compressing would not make shorter.
    pub(super) fn put_plain(to: &mut Vec<u8>, column: &[u8]) {
        put(to, PLAIN, column.len(), column);
    }
}

fn put(to: &mut Vec<u8>, encoding: u8, raw_bytes: usize, stored: &[u8]) {
    to.push(encoding);
    put_varint(to, raw_bytes as u64);
    put_varint(to, stored.len() as u64);
    to.extend_from_slice(stored);
}

pub(super) struct Decompressor {
    zstd: zstd::bulk::Decompressor<'static>,
}

impl Decompressor {
    /// # Errors
    /// If there is no memory for the decompressor.
    pub(super) fn new() -> std::io::Result<Self> {
        Ok(Self { zstd: zstd::bulk::Decompressor::new()? })
    }

    /// Replaces `column` by the next one, which must have `expected` bytes where that is given.
    pub(super) fn get(
        &mut self,
        from: &mut Cursor,
        column: &mut Vec<u8>,
        expected: Option<usize>,
    ) -> Result<(), Damage> {
        let (encoding, claimed) = (from.u8()?, from.varint()?);
        let stored = from.string()?;
        let raw_bytes = usize::try_from(claimed).ok().filter(|&bytes| bytes <= COLUMN_BYTES_MAX);
        let raw_bytes = raw_bytes.ok_or(from.damage("a column is too long"))?;
        if expected.is_some_and(|expected| expected != raw_bytes) {
            return Err(from.damage("a column is not as long as its block"));
        }
        match (encoding, stored) {
            (CONSTANT, &[byte]) => fill(column, raw_bytes, byte),
            (PLAIN, _) if stored.len() == raw_bytes => {
                column.clear();
                column.extend_from_slice(stored);
            }
            (ZSTD, _) => {
                column.resize(raw_bytes, 0);
                let bytes = self.zstd.decompress_to_buffer(stored, &mut column[..]);
                if bytes.ok() != Some(raw_bytes) {
                    return Err(from.damage("a column does not decompress"));
                }
            }
            _ => return Err(from.damage("a column has no such encoding")),
        }
        Ok(())
    }
}

fn fill(column: &mut Vec<u8>, bytes: usize, byte: u8) {
    column.clear();
    column.resize(bytes, byte);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_come_back_and_are_short() {
        let noise: Vec<u8> =
            (0..5000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        let few: Vec<u8> = (0..5000).map(|i| (i * i % 7) as u8).collect();
        for (column, bytes_max) in [(vec![7; 5000], 8), (few, 3000), (noise, 5010), (vec![], 8)] {
            let mut bytes = Vec::new();
            Compressor::new().unwrap().put(&mut bytes, &column);
            assert!(bytes.len() <= bytes_max, "{} > {bytes_max}", bytes.len());
            let mut back = Vec::new();
            Decompressor::new()
                .unwrap()
                .get(&mut Cursor::new(&bytes), &mut back, Some(column.len()))
                .unwrap();
            assert_eq!(back, column);
        }
    }

    #[test]
    fn a_few_bytes_claim_no_memory() {
        let mut bytes = vec![CONSTANT];
        put_varint(&mut bytes, 1 << 40);
        bytes.extend([1, 0]);
        assert!(
            Decompressor::new()
                .unwrap()
                .get(&mut Cursor::new(&bytes), &mut Vec::new(), None)
                .is_err()
        );
    }
}
