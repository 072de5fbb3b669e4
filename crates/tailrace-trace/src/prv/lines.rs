//! The lines of a `.prv` or `.prv.gz`, from a buffer that is filled by large reads.

use std::io::{self, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use crate::TraceError;
use crate::error::printable;

/// One read of the file; lines that are longer make the buffer grow.
const CHUNK_BYTES: usize = 1 << 20;

/// A header that lists four million ranks fits; no sane event line comes near.
const LONGEST_LINE_BYTES: usize = 64 << 20;

/// Lends the lines of a text, many at once.
pub(super) struct Lines<R> {
    source: R,
    buffer: Vec<u8>,
    /// What is in the buffer and not yet lent.
    begin: usize,
    end: usize,
}

/// Why there is no next line.
#[derive(Debug)]
pub(super) enum Broken {
    Read(io::Error),
    TooLong,
}

/// The lines of a text that may be compressed, which its first bytes tell.
pub(super) fn inflate(
    mut source: impl Read + 'static,
    path: &Path,
) -> Result<Lines<Box<dyn Read>>, TraceError> {
    let mut magic = [0; 2];
    let read = read_fully(&mut source, &mut magic)
        .map_err(|cause| TraceError::system("read", path, &cause))?;
    let text = io::Cursor::new(magic).take(read as u64).chain(source);
    if magic != [0x1f, 0x8b] {
        return Ok(Lines::new(Box::new(text)));
    }
    let buffered = io::BufReader::with_capacity(CHUNK_BYTES, text);
    Ok(Lines::new(Box::new(MultiGzDecoder::new(buffered))))
}

fn read_fully(source: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match source.read(&mut buffer[filled..])? {
            0 => break,
            more => filled += more,
        }
    }
    Ok(filled)
}

impl<R: Read> Lines<R> {
    pub(super) fn new(source: R) -> Self {
        Self { source, buffer: vec![0; CHUNK_BYTES], begin: 0, end: 0 }
    }

    /// The next lines, whole and with their ends, as many as are in memory; `None` after the last
    /// one.
    pub(super) fn next_lines(&mut self) -> Result<Option<&[u8]>, Broken> {
        let mut searched = 0;
        loop {
            let unlent = &self.buffer[self.begin..self.end];
            if let Some(found) = memchr::memrchr(b'\n', &unlent[searched..]) {
                return Ok(Some(self.lend(searched + found + 1)));
            }
            searched = unlent.len();
            if !self.fill()? {
                return Ok(if searched == 0 { None } else { Some(self.lend_last()) });
            }
        }
    }

    fn lend(&mut self, length: usize) -> &[u8] {
        let lines = self.begin..self.begin + length;
        self.begin = lines.end;
        &self.buffer[lines]
    }

    /// The last line has an end, too, even if the text does not write it.
    fn lend_last(&mut self) -> &[u8] {
        self.buffer.truncate(self.end);
        self.buffer.push(b'\n');
        self.end += 1;
        self.lend(self.end - self.begin)
    }

    /// Reads more behind what is not yet lent; `false` at the end of the text.
    fn fill(&mut self) -> Result<bool, Broken> {
        self.buffer.copy_within(self.begin..self.end, 0);
        self.end -= self.begin;
        self.begin = 0;
        if self.end == self.buffer.len() {
            if self.end >= LONGEST_LINE_BYTES {
                return Err(Broken::TooLong);
            }
            self.buffer.resize(2 * self.end, 0);
        }
        let read = self.source.read(&mut self.buffer[self.end..]).map_err(Broken::Read)?;
        self.end += read;
        Ok(read > 0)
    }
}

impl Broken {
    pub(super) fn explain(self, path: &Path, line: u64) -> TraceError {
        let path = printable(path);
        match self {
            Self::Read(cause) => TraceError::new(
                format!("{path} cannot be read beyond line {line}: {cause}"),
                "copy the file again from where it was recorded; \
                 `gzip -t` checks whether a .gz is complete",
            ),
            Self::TooLong => TraceError::new(
                format!("line {line} of {path} is longer than {} MiB", LONGEST_LINE_BYTES >> 20),
                "check that this is a .prv file written by Extrae",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_longer_than_a_read_come_whole() {
        let long = vec![b'7'; 3 * CHUNK_BYTES + 5];
        let text = [b"a\r\n\n", long.as_slice(), b"\nlast"].concat();
        let mut lines = Lines::new(text.as_slice());
        assert_eq!(lines.next_lines().unwrap(), Some(b"a\r\n\n".as_slice()));
        assert_eq!(lines.next_lines().unwrap(), Some([long.as_slice(), b"\n"].concat().as_slice()));
        assert_eq!(lines.next_lines().unwrap(), Some(b"last\n".as_slice()));
        assert!(lines.next_lines().unwrap().is_none());
    }

    #[test]
    fn a_line_without_end_is_refused_before_memory_runs_out() {
        let mut lines = Lines::new(io::repeat(b'1'));
        assert!(matches!(lines.next_lines(), Err(Broken::TooLong)));
    }
}
