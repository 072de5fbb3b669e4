//! The records of one raw stream, read through a buffer of bounded size.

use std::fs::File;
use std::io::{Read, Take};
use std::path::PathBuf;

use crate::cursor::{Cursor, Damage};
use crate::error::TraceError;
use crate::wire::class;

use super::header::{HEADER_BYTES, Header};
use super::node_file::StreamFile;

/// A record's two first bytes and its longest payload with its length.
const RECORD_BYTES_MAX: usize = 2 + 2 + u16::MAX as usize;
const BUFFER_BYTES: usize = 1 << 20;

/// One record; gaps and durations in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Record<'a> {
    Call {
        shape: u8,
        gap: u64,
        duration: u64,
    },
    Enter {
        shape: u8,
        gap: u64,
    },
    Leave {
        shape: u8,
        gap: u64,
    },
    Define(Define<'a>),
    Clock {
        ticks: u64,
        monotonic_ns: u64,
        width_ticks: u32,
        realtime_ns: u64,
    },
    Name {
        function: u16,
        layer: u8,
        name: &'a [u8],
    },
    /// The path begins with so many bytes of the one before it in the stream.
    Path {
        file: u32,
        shared: u16,
        path: &'a [u8],
    },
    /// A file got another name.
    Renamed {
        file: u32,
        path: &'a [u8],
    },
    Module {
        number: u32,
        build_id: &'a [u8],
        name: &'a [u8],
    },
    /// Payload: see [`super::places`].
    Place {
        number: u32,
        payload: &'a [u8],
    },
    /// Payload: see [`super::communicator`].
    Communicator(&'a [u8]),
    Meta {
        key: &'a [u8],
        value: &'a [u8],
    },
    Note {
        key: &'a [u8],
        text: &'a [u8],
    },
    Counters {
        instructions: u64,
        cycles: u64,
    },
    /// Ticks and nanoseconds.
    Wait {
        begin: u64,
        end: u64,
        waited_ns: u64,
    },
    End,
}

/// Part of a shape's definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Define<'a> {
    pub shape: u8,
    pub function: u16,
    /// [`class::MORE`] for a continuation.
    pub class: u8,
    /// Words that this record and its continuations make up in all; of a continuation, its own.
    pub total: u64,
    /// From where it is called, where that stands before the words; else behind the last of them.
    pub place: Option<u32>,
    /// The words of this record, coded.
    pub words: &'a [u8],
}

pub(crate) struct Scan {
    path: PathBuf,
    file: Take<File>,
    pub header: Header,
    buffer: Vec<u8>,
    /// What of the buffer is yet to be read, and where in the file that begins.
    from: usize,
    position: u64,
    at_end_of_file: bool,
}

impl Scan {
    /// # Errors
    /// If the file cannot be read or has no header of a raw stream.
    pub(crate) fn open(stream: &StreamFile) -> Result<Self, TraceError> {
        let path = &stream.path;
        let mut file = stream.open()?;
        let mut head = Vec::with_capacity(HEADER_BYTES);
        let read = file.by_ref().take(HEADER_BYTES as u64).read_to_end(&mut head);
        read.map_err(|cause| TraceError::system("read", path, &cause))?;
        let header = Header::read(&head, path)?;
        let position = HEADER_BYTES as u64;
        Ok(Self {
            path: path.into(),
            file,
            header,
            buffer: Vec::new(),
            from: 0,
            position,
            at_end_of_file: false,
        })
    }

    /// Where the next record begins, bytes from the start of the file.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Whole records and what follows them, at least a few while there are more.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn ahead(&mut self) -> Result<&[u8], TraceError> {
        if self.buffer.len() - self.from < RECORD_BYTES_MAX && !self.at_end_of_file {
            self.refill()?;
        }
        Ok(&self.buffer[self.from..])
    }

    /// Goes on behind so many bytes of [`Scan::ahead`], which were read there.
    pub(crate) fn advance(&mut self, bytes: usize) {
        self.from += bytes;
        self.position += bytes as u64;
    }

    /// The next record; `None` at the first zero byte at a record's place, and at the end of the
    /// file.
    ///
    /// # Errors
    /// If the file cannot be read or a record is none; what was read before it is good.
    #[inline]
    pub(crate) fn next_record(&mut self) -> Result<Option<Record<'_>>, TraceError> {
        self.ahead()?;
        let rest = &self.buffer[self.from..];
        match record(rest) {
            Ok(None) => Ok(None),
            Ok(Some((record, bytes))) => {
                self.from += bytes;
                self.position += bytes as u64;
                Ok(Some(record))
            }
            Err(damage) => Err(TraceError::malformed(
                &self.path,
                self.position + damage.at as u64,
                damage.what,
            )),
        }
    }

    #[cold]
    fn refill(&mut self) -> Result<(), TraceError> {
        self.buffer.drain(..self.from);
        self.from = 0;
        let wanted = (BUFFER_BYTES - self.buffer.len()) as u64;
        let read = self.file.by_ref().take(wanted).read_to_end(&mut self.buffer);
        let read = read.map_err(|cause| TraceError::system("read", &self.path, &cause))?;
        self.at_end_of_file = (read as u64) < wanted;
        Ok(())
    }
}

/// A *call* as it is read most of the time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlainCall {
    pub shape: u8,
    pub gap: u64,
    pub duration: u64,
    pub bytes: usize,
}

/// Bytes that [`plain_call`] looks at, whatever it finds.
const PLAIN_BYTES: usize = 25;
/// The bits of so many bytes.
const MASKS: [u64; 16] = {
    let mut masks = [u64::MAX; 16];
    let mut bytes = 0;
    while bytes < 8 {
        masks[bytes] = (1 << (8 * bytes)) - 1;
        bytes += 1;
    }
    masks
};

/// The record at `at`, if it is a *call* and does not stand at the very end: read without a branch
/// that depends on its lengths.
#[inline(always)]
#[allow(clippy::inline_always)] // two loops live on it
pub(crate) fn plain_call(bytes: &[u8], at: usize) -> Option<PlainCall> {
    let record: &[u8; PLAIN_BYTES] = bytes.get(at..)?.first_chunk()?;
    let (gap_bytes, duration_bytes) = (usize::from(record[1] & 15), usize::from(record[1] >> 4));
    if !(1..=239).contains(&record[0]) || gap_bytes > 8 || duration_bytes > 8 {
        return None;
    }
    let word = |at: usize| {
        let mut word = [0; 8];
        word.copy_from_slice(&record[at..at + 8]);
        u64::from_le_bytes(word)
    };
    Some(PlainCall {
        shape: record[0],
        gap: word(2) & MASKS[gap_bytes],
        duration: word(2 + gap_bytes) & MASKS[duration_bytes],
        bytes: 2 + gap_bytes + duration_bytes,
    })
}

/// The record at the start of `bytes` and its length.
#[inline]
fn record(bytes: &[u8]) -> Result<Option<(Record<'_>, usize)>, Damage> {
    let mut from = Cursor::new(bytes);
    if bytes.first().is_none_or(|&head| head == 0) {
        return Ok(None);
    }
    let (head, lengths) = (from.u8()?, from.u8()?);
    let record = match head {
        1..=239 => {
            let gap = ticks(&mut from, lengths & 15)?;
            Record::Call { shape: head, gap, duration: ticks(&mut from, lengths >> 4)? }
        }
        245 => Record::Enter { shape: from.u8()?, gap: ticks(&mut from, lengths)? },
        246 => Record::Leave { shape: from.u8()?, gap: ticks(&mut from, lengths)? },
        _ => {
            let length = from.u16()?;
            definition(head, from.take(length.into())?)?
        }
    };
    Ok(Some((record, from.at())))
}

/// An integer of so many bytes.
#[inline]
fn ticks(from: &mut Cursor, bytes: u8) -> Result<u64, Damage> {
    if bytes > 8 {
        return Err(from.damage("a time has more than 8 bytes"));
    }
    let mut value = [0; 8];
    value[..bytes.into()].copy_from_slice(from.take(bytes.into())?);
    Ok(u64::from_le_bytes(value))
}

/// The records whose length is written out. Payloads may grow at their end.
fn definition(head: u8, payload: &[u8]) -> Result<Record<'_>, Damage> {
    let mut from = Cursor::new(payload);
    Ok(match head {
        240 => Record::Define(define(&mut from)?),
        241 => Record::Clock {
            ticks: from.u64()?,
            monotonic_ns: from.u64()?,
            width_ticks: from.u32()?,
            realtime_ns: from.u64()?,
        },
        242 => Record::Name { function: from.u16()?, layer: from.u8()?, name: from.rest() },
        243 => Record::Path { file: from.u32()?, shared: 0, path: from.rest() },
        244 => Record::Communicator(payload),
        247 => pair(payload).map(|(key, value)| Record::Meta { key, value })?,
        248 => pair(payload).map(|(key, text)| Record::Note { key, text })?,
        249 => Record::Counters { instructions: from.u64()?, cycles: from.u64()? },
        250 => Record::End,
        251 => Record::Wait { begin: from.u64()?, end: from.u64()?, waited_ns: from.u64()? },
        252 => {
            let (number, bytes) = (from.u32()?, from.u8()?);
            Record::Module { number, build_id: from.take(bytes.into())?, name: from.rest() }
        }
        253 => Record::Place { number: from.u32()?, payload: from.rest() },
        254 => Record::Path { file: from.u32()?, shared: from.u16()?, path: from.rest() },
        255 => Record::Renamed { file: from.u32()?, path: from.rest() },
        _ => return Err(Damage { at: 0, what: "no record begins so" }),
    })
}

/// Class 255: the class, the place and the number of words follow, of which the payload holds
/// as many as fit. Class 254 brings more.
fn define<'a>(from: &mut Cursor<'a>) -> Result<Define<'a>, Damage> {
    let (shape, function, class) = (from.u8()?, from.u16()?, from.u8()?);
    if class == class::LONG {
        let class = from.u8()?;
        let place = u32::try_from(from.varint()?).ok();
        let total = from.varint()?;
        return Ok(Define { shape, function, class, total, place, words: from.rest() });
    }
    let total = from.u8()?.into();
    Ok(Define { shape, function, class, total, place: None, words: from.rest() })
}

/// A key, a zero byte, a value.
fn pair(payload: &[u8]) -> Result<(&[u8], &[u8]), Damage> {
    let zero = payload.iter().position(|&byte| byte == 0);
    let zero = zero.ok_or(Damage { at: 0, what: "a key has no value" })?;
    Ok((&payload[..zero], &payload[zero + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_the_same_read_either_way() {
        let mut noise = 88_172_645_463_325_252_u64;
        for _ in 0..20_000 {
            let mut bytes = [0; PLAIN_BYTES];
            for byte in &mut bytes {
                noise ^= noise << 13;
                noise ^= noise >> 7;
                noise ^= noise << 17;
                *byte = noise as u8;
            }
            let plain =
                plain_call(&bytes, 0).map(|call| (call.shape, call.gap, call.duration, call.bytes));
            let whole = match record(&bytes) {
                Ok(Some((Record::Call { shape, gap, duration }, bytes))) => {
                    Some((shape, gap, duration, bytes))
                }
                _ => None,
            };
            assert_eq!(plain, whole, "{bytes:?}");
        }
        assert!(plain_call(&[1; PLAIN_BYTES - 1], 0).is_none(), "what is cut is left to others");
    }
}
