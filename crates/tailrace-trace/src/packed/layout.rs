//! The frame of a packed file: its head, its footer, its index.

use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use crate::columns::EVENTS_MAX;
use crate::cursor::{Cursor, Damage, put_varint};
use crate::error::{TraceError, printable};

pub(crate) const MAGIC: &[u8; 8] = b"TAILRACE";
pub(crate) const END_MAGIC: &[u8; 8] = b"ECARLIAT";
pub(crate) const VERSION: u32 = 2;
pub(crate) const HEAD_BYTES: usize = 16;
pub(crate) const FOOTER_BYTES: usize = 80;
/// Where the footer's own checksum stands in it: it covers what is before.
const FOOTER_COVERED: usize = 64;
/// Bounds what a damaged file can claim for its tables and for one column.
pub(crate) const TABLES_BYTES_MAX: u64 = 1 << 27;
pub(crate) const FUNCTIONS_MAX: usize = 1 << 16;
pub(crate) const COLUMN_BYTES_MAX: usize = 1 << 24;
/// Words of the shapes with tokens of a block, counted as often as they are used.
pub(crate) const BLOCK_TOKENS_MAX: usize = 1 << 22;

/// A part of the file with its checksum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extent {
    pub offset: u64,
    pub bytes: u64,
    pub checksum: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Footer {
    pub tables: Extent,
    /// Length of the tables once decompressed.
    pub tables_raw_bytes: u64,
    pub index: Extent,
    pub file_bytes: u64,
}

/// Where a block stands; of a location in order of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockPlace {
    pub offset: u64,
    pub bytes: u32,
    pub events: u32,
}

pub(crate) fn head() -> [u8; HEAD_BYTES] {
    let mut head = [0; HEAD_BYTES];
    head[..8].copy_from_slice(MAGIC);
    head[8..12].copy_from_slice(&VERSION.to_le_bytes());
    head
}

/// # Errors
/// If the version is not known here, or the head is cut off.
pub(crate) fn check_head(head: &[u8], path: &Path) -> Result<(), TraceError> {
    if head.len() < HEAD_BYTES {
        return Err(truncated(path, head.len() as u64));
    }
    let version = u32::from_le_bytes([head[8], head[9], head[10], head[11]]);
    if version == VERSION {
        return Ok(());
    }
    let message = format!(
        "{} is a packed trace of version {version}; this Tailrace reads version {VERSION}",
        printable(path)
    );
    let hint = if version > VERSION {
        "update Tailrace"
    } else {
        "pack the run again, or record it again: traces of earlier versions are not read"
    };
    Err(TraceError::new(message, hint))
}

pub(crate) fn truncated(path: &Path, bytes: u64) -> TraceError {
    TraceError::new(
        format!(
            "{} was cut off: it ends at byte {bytes} without the footer of a packed trace",
            printable(path)
        ),
        "copy the file again from where it was recorded, or pack its raw directory again",
    )
}

impl Footer {
    pub(crate) fn bytes(&self) -> [u8; FOOTER_BYTES] {
        let words = [
            self.tables.offset,
            self.tables.bytes,
            self.tables.checksum,
            self.tables_raw_bytes,
            self.index.offset,
            self.index.bytes,
            self.index.checksum,
            self.file_bytes,
        ];
        let mut bytes = [0; FOOTER_BYTES];
        for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        let checksum = xxh3_64(&bytes[..FOOTER_COVERED]);
        bytes[FOOTER_COVERED..FOOTER_COVERED + 8].copy_from_slice(&checksum.to_le_bytes());
        bytes[FOOTER_BYTES - 8..].copy_from_slice(END_MAGIC);
        bytes
    }

    /// # Errors
    /// If the file of `file_bytes` does not end with a footer, or its footer is damaged.
    pub(crate) fn read(
        bytes: &[u8; FOOTER_BYTES],
        file_bytes: u64,
        path: &Path,
    ) -> Result<Self, TraceError> {
        if bytes[FOOTER_BYTES - 8..] != END_MAGIC[..] {
            return Err(truncated(path, file_bytes));
        }
        let at = file_bytes - FOOTER_BYTES as u64;
        let damaged = |what| TraceError::malformed(path, at, what);
        let mut from = Cursor::new(bytes);
        let footer = Self::fields(&mut from).map_err(|damage| damaged(damage.what))?;
        if from.u64().ok() != Some(xxh3_64(&bytes[..FOOTER_COVERED])) {
            return Err(damaged("the footer's checksum differs"));
        }
        let inside =
            |part: &Extent| part.offset.checked_add(part.bytes).is_some_and(|end| end <= at);
        if footer.file_bytes != file_bytes || !inside(&footer.tables) || !inside(&footer.index) {
            return Err(damaged("the footer belongs to a file of another length"));
        }
        Ok(footer)
    }

    fn fields(from: &mut Cursor) -> Result<Self, Damage> {
        let tables = Extent { offset: from.u64()?, bytes: from.u64()?, checksum: from.u64()? };
        let tables_raw_bytes = from.u64()?;
        let index = Extent { offset: from.u64()?, bytes: from.u64()?, checksum: from.u64()? };
        Ok(Self { tables, tables_raw_bytes, index, file_bytes: from.u64()? })
    }
}

pub(crate) fn put_index(index: &[Vec<BlockPlace>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_varint(&mut bytes, index.len() as u64);
    for blocks in index {
        put_varint(&mut bytes, blocks.len() as u64);
        for block in blocks {
            put_varint(&mut bytes, block.offset);
            put_varint(&mut bytes, block.bytes.into());
            put_varint(&mut bytes, block.events.into());
        }
    }
    bytes
}

/// The blocks of each location; all lie before `end`.
pub(crate) fn read_index(bytes: &[u8], end: u64) -> Result<Vec<Vec<BlockPlace>>, Damage> {
    const PLACE_BYTES_MIN: usize = 3;
    let mut from = Cursor::new(bytes);
    let locations = from.count(1)?;
    let mut index = Vec::with_capacity(locations);
    for _ in 0..locations {
        let blocks = from.count(PLACE_BYTES_MIN)?;
        let places: Result<Vec<BlockPlace>, Damage> =
            (0..blocks).map(|_| place(&mut from, end)).collect();
        index.push(places?);
    }
    Ok(index)
}

fn place(from: &mut Cursor, end: u64) -> Result<BlockPlace, Damage> {
    let (offset, bytes, events) = (from.varint()?, from.varint()?, from.varint()?);
    let inside = offset.checked_add(bytes).is_some_and(|block_end| block_end <= end);
    match (u32::try_from(bytes), u32::try_from(events)) {
        (Ok(bytes), Ok(events)) if inside && (1..=EVENTS_MAX).contains(&(events as usize)) => {
            Ok(BlockPlace { offset, bytes, events })
        }
        _ => Err(from.damage("the index names a block outside the file")),
    }
}
