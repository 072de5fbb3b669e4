//! What ranks do between two meetings: a list that each goes through by itself, and of which each
//! makes the calls that are its own, one after the other.

use tailrace_replay::Access;

use super::bursts::Burst;
use super::names::{Opened, Place};
use super::tiles::Runs;

/// ROMIO's buffers for what a rank moves by itself (ind_wr_buffer_size, ind_rd_buffer_size).
const SIEVE_WRITE_BYTES: i64 = 512 << 10;
const SIEVE_READ_BYTES: i64 = 4 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    Root,
    All,
    /// All but rank 0.
    Others,
}

impl Who {
    pub(super) fn includes(self, rank: u32) -> bool {
        match self {
            Self::Root => rank == 0,
            Self::All => true,
            Self::Others => rank > 0,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub who: Who,
    pub opened: Opened,
    pub what: What,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum What {
    Call {
        access: Access,
        place: Place,
        bytes: i64,
        offset: Option<i64>,
    },
    Header {
        access: Access,
    },
    /// The stream's variable at that step of the file, as far as it is the rank's.
    Data {
        access: Access,
        number: usize,
        step: u64,
    },
}

/// How far a rank has come.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cursor {
    pub item: u32,
    stage: u32,
    run: i64,
    within: i64,
}

impl Cursor {
    /// Whether the item's one call is still to be made.
    pub(super) fn once(&mut self) -> bool {
        self.stage += 1;
        self.stage == 1
    }

    pub(super) fn next_item(&mut self) {
        *self = Self { item: self.item + 1, ..Self::default() };
    }
}

/// The pieces that a rank moves of a variable, and through which file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pieces {
    pub access: Access,
    pub file: u32,
    pub runs: Runs,
    /// Through ROMIO, which moves pieces with gaps by way of a buffer with the gaps in it.
    pub is_sieved: bool,
    /// They are not all of the variable.
    pub is_part: bool,
    /// So many calls may be taken as one.
    pub most: i64,
    /// Where the file ends.
    pub end: i64,
}

impl Pieces {
    /// The next calls; none where all is moved.
    pub(super) fn next(&self, cursor: &mut Cursor) -> Option<Burst> {
        if cursor.run >= self.runs.len() {
            return None;
        }
        let is_single = self.runs.len() == 1;
        match (self.is_sieved && self.is_part, self.most > 1) {
            (true, _) if is_single && self.access == Access::Write => Some(self.locked(cursor)),
            (true, _) if is_single => Some(self.direct(cursor)),
            (true, false) => Some(self.sieved(cursor)),
            (true, true) => Some(self.all_sieved(cursor)),
            (false, _) => Some(self.direct(cursor)),
        }
    }

    /// One piece, which another's buffer may have in it.
    fn locked(&self, cursor: &mut Cursor) -> Burst {
        cursor.stage += 1;
        match cursor.stage {
            2 => self.burst(Access::Write, self.runs.start, self.runs.bytes, 1),
            1 => self.burst(Access::Lock, 0, 0, 1),
            _ => {
                cursor.run = 1;
                self.burst(Access::Lock, 0, 0, 1)
            }
        }
    }

    fn burst(&self, access: Access, offset: i64, bytes: i64, count: i64) -> Burst {
        let offset = (bytes > 0 || access == Access::Read).then_some(offset);
        Burst { access, file: self.file, offset, bytes, count, scattered: count > 1 }
    }

    fn direct(&self, cursor: &mut Cursor) -> Burst {
        let count = self.most.min(self.runs.len() - cursor.run);
        let offset = self.runs.offset(cursor.run);
        cursor.run += count;
        self.burst(self.access, offset, self.runs.bytes * count, count)
    }

    /// ADIOI_GEN_WriteStrided: each buffer is locked, read, written and unlocked; and
    /// ADIOI_GEN_ReadStrided, which only reads.
    fn sieved(&self, cursor: &mut Cursor) -> Burst {
        let buffer = if self.access == Access::Read { SIEVE_READ_BYTES } else { SIEVE_WRITE_BYTES };
        let begin = self.runs.offset(cursor.run) + cursor.within;
        let bytes = buffer.min(self.runs.end() - begin);
        if self.access == Access::Read {
            self.leave(cursor, begin + bytes);
            return self.burst(Access::Read, begin, bytes, 1);
        }
        let found = (self.end - begin).clamp(0, bytes);
        cursor.stage += 1;
        match cursor.stage {
            1 => self.burst(Access::Lock, 0, 0, 1),
            2 => {
                // what it finds too little of it asks for again
                cursor.stage += u32::from(found == 0 || found == bytes);
                self.burst(Access::Read, begin, found, 1)
            }
            3 => self.burst(Access::Read, begin + found, 0, 1),
            4 => self.burst(Access::Write, begin, bytes, 1),
            _ => {
                self.leave(cursor, begin + bytes);
                self.burst(Access::Lock, 0, 0, 1)
            }
        }
    }

    /// To the next buffer, which begins at `byte` or with the next piece.
    fn leave(&self, cursor: &mut Cursor, byte: i64) {
        cursor.stage = 0;
        cursor.run = self.runs.beyond(byte);
        let is_inside = cursor.run < self.runs.len();
        cursor.within = if is_inside { (byte - self.runs.offset(cursor.run)).max(0) } else { 0 };
    }

    /// All buffers at once: about as many, with about as many bytes.
    fn all_sieved(&self, cursor: &mut Cursor) -> Burst {
        let buffer = if self.access == Access::Read { SIEVE_READ_BYTES } else { SIEVE_WRITE_BYTES };
        let span = self.runs.end() - self.runs.start;
        let count = self.runs.len().min((span + buffer - 1) / buffer);
        let bytes = span.min(count * buffer);
        cursor.stage += 1;
        let access = match (self.access, cursor.stage) {
            (Access::Read, _) | (_, 2) => Access::Read,
            (_, 3) => Access::Write,
            _ => Access::Lock,
        };
        if self.access == Access::Read || cursor.stage == 4 {
            cursor.run = self.runs.len();
        }
        let moved = if access == Access::Lock { 0 } else { bytes };
        self.burst(access, self.runs.start, moved, count)
    }
}
