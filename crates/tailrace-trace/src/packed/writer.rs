//! Writes a packed file under a temporary name and gives it its own when it is complete.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use crate::error::TraceError;
use crate::tables::Tables;

use super::layout::{BlockPlace, Extent, Footer, TABLES_BYTES_MAX, head, put_index};
use super::tables;

const TABLES_LEVEL: i32 = 9;

pub struct Writer {
    path: PathBuf,
    temporary: PathBuf,
    file: BufWriter<File>,
    written: u64,
    index: Vec<Vec<BlockPlace>>,
    finished: bool,
}

impl Writer {
    /// Begins the file for so many locations, readable by its owner only.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn create(path: &Path, locations: usize) -> Result<Self, TraceError> {
        let temporary = temporary_name(path);
        let file = create_private(&temporary)
            .map_err(|cause| TraceError::system("create", &temporary, &cause))?;
        let (file, index) = (BufWriter::with_capacity(1 << 20, file), vec![Vec::new(); locations]);
        let mut writer =
            Self { path: path.into(), temporary, file, written: 0, index, finished: false };
        writer.append(&head())?;
        Ok(writer)
    }

    /// Appends a location's next block, as [`super::block::Block::encode`] made it.
    ///
    /// # Errors
    /// If the disk is full.
    pub fn block(
        &mut self,
        location: usize,
        events: usize,
        bytes: &[u8],
    ) -> Result<(), TraceError> {
        let place =
            BlockPlace { offset: self.written, bytes: bytes.len() as u32, events: events as u32 };
        self.index[location].push(place);
        self.append(bytes)
    }

    /// Writes tables, index and footer, and moves the file to its place. Returns its length.
    ///
    /// # Errors
    /// If the disk is full.
    pub fn finish(mut self, tables: &Tables) -> Result<u64, TraceError> {
        let raw = tables::put(tables);
        if raw.len() as u64 > TABLES_BYTES_MAX {
            return Err(TraceError::new(
                format!(
                    "the names of files and communicators of this run take {} bytes, \
                     more than a trace can hold",
                    raw.len()
                ),
                "record a shorter part of the run",
            ));
        }
        let packed =
            zstd::bulk::compress(&raw, TABLES_LEVEL).map_err(|cause| self.failed(&cause))?;
        let tables = self.extent(&packed)?;
        let index = self.extent(&put_index(&self.index))?;
        let file_bytes = self.written + super::layout::FOOTER_BYTES as u64;
        let footer = Footer { tables, tables_raw_bytes: raw.len() as u64, index, file_bytes };
        self.append(&footer.bytes())?;
        self.file.flush().map_err(|cause| self.failed(&cause))?;
        self.file.get_ref().sync_all().map_err(|cause| self.failed(&cause))?;
        std::fs::rename(&self.temporary, &self.path).map_err(|cause| self.failed(&cause))?;
        self.finished = true;
        Ok(file_bytes)
    }

    fn extent(&mut self, bytes: &[u8]) -> Result<Extent, TraceError> {
        let extent =
            Extent { offset: self.written, bytes: bytes.len() as u64, checksum: xxh3_64(bytes) };
        self.append(bytes)?;
        Ok(extent)
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), TraceError> {
        self.file.write_all(bytes).map_err(|cause| self.failed(&cause))?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    fn failed(&self, cause: &std::io::Error) -> TraceError {
        TraceError::system("write", &self.path, cause)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if !self.finished {
            // Whatever went wrong is being reported already; a left-over cannot make that worse.
            let _ = std::fs::remove_file(&self.temporary);
        }
    }
}

/// In the same directory, so that renaming is one step; with the process's number, so that two
/// packers do not meet.
fn temporary_name(path: &Path) -> PathBuf {
    let mut name = path.file_name().map(std::ffi::OsStr::to_os_string).unwrap_or_default();
    name.push(format!(".{}.part", std::process::id()));
    path.with_file_name(name)
}

fn create_private(path: &Path) -> std::io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}
