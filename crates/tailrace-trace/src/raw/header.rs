//! The first 4,096 bytes of a raw stream.

use std::path::Path;

use crate::cursor::{Cursor, Damage};
use crate::error::{TraceError, printable};

pub(crate) const MAGIC: &[u8; 8] = b"TAILRAW\0";
pub(crate) const VERSION: u32 = 1;
pub(crate) const HEADER_BYTES: usize = 4096;

/// The ticks of a stream count the processor's counter, or nanoseconds of CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum ClockKind {
    Counter,
    Monotonic,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub process: u32,
    pub thread: u32,
    /// This thread called MPI_Init, or is the main thread of a program without MPI.
    pub main: bool,
    pub ticks_per_s: u64,
    pub clock: ClockKind,
    pub event_cost_ps: u32,
    /// Ticks at the creation of the stream.
    pub start: u64,
    pub lost: u64,
    /// The call entered last: its begin in ticks and its function's number in the stream.
    pub in_flight: (u64, u64),
    /// Ticks of the last record when the stream ran out of space, else 0.
    pub full_at: u64,
    /// Closed in order, by the thread's or the process's exit.
    pub closed: bool,
    /// Ticks that capture took of the thread's time; 0 where that is not known.
    pub own_ticks: u64,
}

impl Header {
    /// # Errors
    /// If `bytes` is no header of a raw stream, or of a version that is not known here.
    pub(crate) fn read(bytes: &[u8], path: &Path) -> Result<Self, TraceError> {
        if bytes.len() < HEADER_BYTES {
            return Err(TraceError::malformed(
                path,
                bytes.len() as u64,
                "the header of a raw stream is incomplete",
            ));
        }
        if bytes[..8] != MAGIC[..] {
            return Err(TraceError::malformed(path, 0, "it does not begin as a raw stream does"));
        }
        let version = u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]);
        if version != VERSION {
            return Err(TraceError::new(
                format!(
                    "{} is a raw stream of version {version}; \
                     this Tailrace reads version {VERSION}",
                    printable(path)
                ),
                "pack it with the Tailrace that recorded it",
            ));
        }
        Self::fields(&bytes[12..])
            .map_err(|damage| TraceError::malformed(path, 12 + damage.at as u64, damage.what))
    }

    fn fields(bytes: &[u8]) -> Result<Self, Damage> {
        let mut from = Cursor::new(bytes);
        Ok(Self {
            process: from.u32()?,
            thread: from.u32()?,
            main: from.u32()? & 1 != 0,
            ticks_per_s: from.u64()?,
            clock: if from.u32()? == 1 { ClockKind::Counter } else { ClockKind::Monotonic },
            event_cost_ps: from.u32()?,
            start: from.u64()?,
            lost: from.u64()?,
            in_flight: (from.u64()?, from.u64()?),
            full_at: from.u64()?,
            closed: from.u64()? == 1,
            own_ticks: from.u64()?,
        })
    }
}
