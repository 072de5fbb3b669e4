//! One file per node: the streams that `capture/node.c` or `tailrace collect` has put into it.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Take};
use std::path::{Path, PathBuf};

use crate::error::{TraceError, printable};

const MAGIC: &[u8; 8] = b"TAILNODE";
const VERSION: u32 = 1;
const FILE_HEADER_BYTES: u64 = 16;
const ENTRY_HEADER_BYTES: u64 = 16;
const NAME_BYTES_MAX: u64 = 255;

/// A raw stream: a file of its own, or a part of a node's.
#[derive(Clone, Debug)]
pub(crate) struct StreamFile {
    /// Of a part, the name that it had below that of the node's file.
    pub path: PathBuf,
    part: Option<Part>,
}

#[derive(Clone, Debug)]
struct Part {
    file: PathBuf,
    offset: u64,
    bytes: u64,
}

impl StreamFile {
    pub(super) fn whole(path: PathBuf) -> Self {
        Self { path, part: None }
    }

    /// # Errors
    /// If it cannot be opened.
    pub(super) fn open(&self) -> Result<Take<File>, TraceError> {
        let path = self.part.as_ref().map_or(&self.path, |part| &part.file);
        let mut file = open(path)?;
        let Some(part) = &self.part else { return Ok(file.take(u64::MAX)) };
        file.seek(SeekFrom::Start(part.offset))
            .map_err(|cause| TraceError::system("read", path, &cause))?;
        Ok(file.take(part.bytes))
    }

    /// How much there is of a part; of a whole file more than of any.
    pub(super) fn bytes(&self) -> u64 {
        self.part.as_ref().map_or(u64::MAX, |part| part.bytes)
    }
}

fn open(path: &Path) -> Result<File, TraceError> {
    File::open(path).map_err(|cause| TraceError::system("open", path, &cause))
}

/// The streams in a node's file, in its order. What stands behind damage is noted as lost.
///
/// # Errors
/// If it cannot be read or is no such file.
pub(super) fn streams_in(
    path: &Path,
    notes: &mut Vec<String>,
) -> Result<Vec<StreamFile>, TraceError> {
    let failed = |cause: &std::io::Error| TraceError::system("read", path, cause);
    let mut file = open(path)?;
    let length = file.metadata().map_err(|cause| failed(&cause))?.len();
    let mut header = [0; FILE_HEADER_BYTES as usize];
    file.read_exact(&mut header).map_err(|cause| failed(&cause))?;
    if header[..8] != *MAGIC || header[8..12] != VERSION.to_le_bytes() {
        return Err(TraceError::new(
            format!("{} is not a node's file of raw streams", printable(path)),
            "pip install --upgrade tailrace, where a newer version has written it",
        ));
    }
    let (mut streams, mut at) = (Vec::new(), FILE_HEADER_BYTES);
    while at < length {
        let Some((name, bytes)) = entry(&mut file, length - at) else {
            notes.push(format!("{} is damaged at byte {at}: the rest is lost", printable(path)));
            break;
        };
        let offset = at + ENTRY_HEADER_BYTES + name.len() as u64;
        if bytes > length - offset {
            notes.push(format!("{} ends within {name}", printable(path)));
        }
        let part = Part { file: path.into(), offset, bytes: bytes.min(length - offset) };
        streams.push(StreamFile { path: path.join(&name), part: Some(part) });
        at = offset.saturating_add(bytes);
        file.seek(SeekFrom::Start(at)).map_err(|cause| failed(&cause))?;
    }
    Ok(streams)
}

/// The entry's name and size; `None` where it is none.
fn entry(file: &mut File, left: u64) -> Option<(String, u64)> {
    let mut header = [0; ENTRY_HEADER_BYTES as usize];
    file.read_exact(&mut header).ok()?;
    let bytes = u64::from_le_bytes(header[..8].try_into().ok()?);
    let name_bytes = u64::from_le_bytes(header[8..].try_into().ok()?);
    if name_bytes > NAME_BYTES_MAX || ENTRY_HEADER_BYTES + name_bytes > left {
        return None;
    }
    let mut name = vec![0; name_bytes as usize];
    file.read_exact(&mut name).ok()?;
    let name = String::from_utf8(name).ok()?;
    (name.ends_with(".stream") && !name.contains('/')).then_some((name, bytes))
}
