//! A packed file, open for reading: tables in memory, blocks read when they are wanted.

use std::cell::RefCell;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use crate::error::TraceError;
use crate::tables::Tables;
use crate::words::Context;
use crate::{Batch, Columns, EventStream, Trace};

use super::decode::{Requests, decode};
use super::layout::{
    BlockPlace, Extent, FOOTER_BYTES, Footer, HEAD_BYTES, TABLES_BYTES_MAX, check_head, read_index,
    truncated,
};
use super::tables;

pub(crate) struct PackedTrace {
    path: PathBuf,
    file: File,
    tables: Tables,
    index: Vec<Vec<BlockPlace>>,
}

impl PackedTrace {
    /// # Errors
    /// If the file cannot be read, or its head, footer, tables or index are damaged. Blocks are
    /// checked when they are read.
    pub(crate) fn open(path: &Path) -> Result<Self, TraceError> {
        let file = File::open(path).map_err(|cause| TraceError::system("open", path, &cause))?;
        let length =
            file.metadata().map_err(|cause| TraceError::system("read", path, &cause))?.len();
        let head = read_at(&file, path, 0, (HEAD_BYTES as u64).min(length))?;
        check_head(&head, path)?;
        if length < (HEAD_BYTES + FOOTER_BYTES) as u64 {
            return Err(truncated(path, length));
        }
        let mut footer = [0; FOOTER_BYTES];
        footer.copy_from_slice(&read_at(
            &file,
            path,
            length - FOOTER_BYTES as u64,
            FOOTER_BYTES as u64,
        )?);
        let footer = Footer::read(&footer, length, path)?;
        let tables = read_tables(&file, path, &footer)?;
        let index = extent(&file, path, footer.index, "the index's checksum differs")?;
        let damaged =
            |at: usize, what| TraceError::malformed(path, footer.index.offset + at as u64, what);
        let index = read_index(&index, footer.tables.offset)
            .map_err(|damage| damaged(damage.at, damage.what))?;
        if index.len() != tables.locations.len() {
            return Err(damaged(0, "the index is not that of the tables' locations"));
        }
        Ok(Self { path: path.into(), file, tables, index })
    }
}

fn read_tables(file: &File, path: &Path, footer: &Footer) -> Result<Tables, TraceError> {
    let damaged = |what| TraceError::malformed(path, footer.tables.offset, what);
    let packed = extent(file, path, footer.tables, "the tables' checksum differs")?;
    if footer.tables_raw_bytes > TABLES_BYTES_MAX {
        return Err(damaged("the tables are too long"));
    }
    let decoder = zstd::stream::read::Decoder::with_buffer(&packed[..])
        .map_err(|_| damaged("the tables do not decompress"))?;
    let mut raw = Vec::new();
    // Read as it comes: a claimed length reserves nothing.
    let read =
        std::io::Read::read_to_end(&mut std::io::Read::take(decoder, TABLES_BYTES_MAX), &mut raw);
    if read.ok() != usize::try_from(footer.tables_raw_bytes).ok() {
        return Err(damaged("the tables do not decompress"));
    }
    tables::read(&raw).map_err(|damage| damaged(damage.what))
}

fn extent(file: &File, path: &Path, extent: Extent, differs: &str) -> Result<Vec<u8>, TraceError> {
    let bytes = read_at(file, path, extent.offset, extent.bytes)?;
    if xxh3_64(&bytes) == extent.checksum {
        Ok(bytes)
    } else {
        Err(TraceError::malformed(path, extent.offset, differs))
    }
}

/// Callers have checked that the file is long enough.
fn read_at(file: &File, path: &Path, offset: u64, bytes: u64) -> Result<Vec<u8>, TraceError> {
    let mut buffer = vec![0; bytes as usize];
    file.read_exact_at(&mut buffer, offset)
        .map_err(|cause| TraceError::system("read", path, &cause))?;
    Ok(buffer)
}

impl Trace for PackedTrace {
    fn tables(&self) -> &Tables {
        &self.tables
    }

    fn events(&self, location: usize) -> Box<dyn EventStream + Send + '_> {
        Box::new(PackedStream {
            trace: self,
            location: location as u32,
            rest: &self.index[location],
            reached_ns: i64::MIN,
        })
    }
}

struct PackedStream<'a> {
    trace: &'a PackedTrace,
    location: u32,
    rest: &'a [BlockPlace],
    reached_ns: i64,
}

thread_local! {
    /// For those who want events: one a thread.
    static COLUMNS: RefCell<Columns> = RefCell::default();
}

impl EventStream for PackedStream<'_> {
    fn next_batch(&mut self, batch: &mut Batch) -> Result<bool, TraceError> {
        batch.clear();
        COLUMNS.with_borrow_mut(|columns| {
            let more = self.next_columns(columns)?;
            columns.move_to(batch);
            Ok(more)
        })
    }

    fn next_columns(&mut self, columns: &mut Columns) -> Result<bool, TraceError> {
        self.next(columns, Requests::Named)
    }

    fn next_times(&mut self, columns: &mut Columns) -> Result<bool, TraceError> {
        self.next(columns, Requests::Ignored)
    }

    fn pass_over(&mut self, end_ns: i64) -> bool {
        let Some((_, rest)) = self.rest.split_first() else { return false };
        (self.rest, self.reached_ns) = (rest, end_ns);
        true
    }
}

impl PackedStream<'_> {
    fn next(&mut self, columns: &mut Columns, requests: Requests) -> Result<bool, TraceError> {
        let Some((place, rest)) = self.rest.split_first() else {
            columns.clear();
            return Ok(false);
        };
        self.rest = rest;
        let PackedTrace { path, file, tables, .. } = self.trace;
        let context = Context { tables, location: self.location };
        let bytes = read_at(file, path, place.offset, place.bytes.into())?;
        let decoded = decode(&bytes, (place.events, self.reached_ns), context, requests, columns);
        match decoded {
            Ok(()) => {
                self.reached_ns = columns.end_ns();
                Ok(true)
            }
            Err(damage) => {
                columns.clear();
                self.rest = &[];
                Err(TraceError::malformed(path, place.offset + damage.at as u64, damage.what))
            }
        }
    }
}
