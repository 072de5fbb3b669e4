//! Opens a trace by what is in it, not by what it is called.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::error::printable;
use crate::packed::{PackedTrace, layout};
use crate::prv::{self, PrvTrace};
use crate::raw::header;
use crate::{Trace, TraceError};

/// Bytes by which every format is recognized.
const HEAD_BYTES: u64 = 64;
const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b];

/// One format that can be read.
pub struct Format {
    pub name: &'static str,
    /// Whether a file that begins so (fewer than 64 bytes if it is shorter) is of this format.
    pub recognizes: fn(&[u8]) -> bool,
    pub open: fn(&Path) -> Result<Box<dyn Trace>, TraceError>,
}

/// A new format is one more line.
pub const FORMATS: &[Format] = &[
    Format {
        name: "tailrace",
        recognizes: |head| head.starts_with(layout::MAGIC),
        open: |path| Ok(Box::new(PackedTrace::open(path)?)),
    },
    Format {
        name: "prv",
        recognizes: |head| head.starts_with(prv::MAGIC) || head.starts_with(GZIP_MAGIC),
        open: |path| Ok(Box::new(PrvTrace::open(path)?)),
    },
];

/// Opens the trace at `path`, whatever its format.
///
/// # Errors
/// If it cannot be read, is of no format known here, or is damaged where its reader looks first.
pub fn open(path: &Path) -> Result<Box<dyn Trace>, TraceError> {
    (recognize(path)?.open)(path)
}

/// The format of the file at `path`.
///
/// # Errors
/// If it cannot be read or is of no format known here.
pub fn recognize(path: &Path) -> Result<&'static Format, TraceError> {
    if path.is_dir() {
        return Err(is_directory(path));
    }
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut head));
    read.map_err(|cause| TraceError::system("read", path, &cause))?;
    FORMATS.iter().find(|format| (format.recognizes)(&head)).ok_or_else(|| foreign(path, &head))
}

fn is_directory(path: &Path) -> TraceError {
    TraceError::new(
        format!("{} is a directory, not a trace", printable(path)),
        "name the .tailrace file in it; pack the raw streams of a run first",
    )
}

fn foreign(path: &Path, head: &[u8]) -> TraceError {
    let path = printable(path);
    if head.is_empty() {
        return TraceError::new(
            format!("{path} is empty"),
            "record the run again, or copy the file again",
        );
    }
    if head.starts_with(header::MAGIC) {
        return TraceError::new(
            format!("{path} is a raw stream, one thread of a run"),
            "name the .tailrace file of the run; it holds all streams together",
        );
    }
    let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
    TraceError::new(
        format!("{path} is not a trace in any supported format"),
        format!("supported formats: {}", names.join(", ")),
    )
}
