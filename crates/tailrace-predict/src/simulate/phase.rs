//! What ranks do between two meetings: a list that each goes through by itself, and of which each
//! makes the calls that are its own, one after the other.

use hashbrown::HashMap;
use tailrace_replay::Access;
use tailrace_replay::program::Naming;

use super::bursts::Burst;
use super::names::{Opened, Place};
use super::tiles::Runs;

/// ROMIO's buffers for what a rank moves by itself (ind_wr_buffer_size, ind_rd_buffer_size).
const SIEVE_WRITE_BYTES: i64 = 512 << 10;
const SIEVE_READ_BYTES: i64 = 4 << 20;

/// The stage of a cursor behind the lock.
const LOCKED: u32 = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    Root,
    All,
    /// Those that open the file but for rank 0.
    Others,
    /// Of the aggregated method.
    Writers,
    /// ROMIO's.
    Aggregators,
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
    /// So many bytes from the begin of the file, which all ranks read together.
    Together {
        bytes: i64,
    },
    /// The stream's variable at that step of the file, as far as it is the rank's.
    Data {
        access: Access,
        number: usize,
        step: u64,
    },
}

/// How far a rank has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cursor {
    pub item: u32,
    /// Of a variable that is moved in parts: which, and whether it was exchanged.
    pub part: u32,
    pub is_exchanged: bool,
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

    /// Whether nothing of the item was moved yet.
    pub(super) fn is_new(&self) -> bool {
        *self == Self { item: self.item, ..Self::default() }
    }

    pub(super) fn next_item(&mut self) {
        *self = Self { item: self.item + 1, ..Self::default() };
    }

    pub(super) fn next_part(&mut self) {
        *self = Self { item: self.item, part: self.part + 1, ..Self::default() };
    }
}

/// Places in a file, in order.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Places<'a> {
    Regular(Runs),
    /// Offset and bytes of each.
    Listed(&'a [(i64, i64)]),
}

impl Places<'_> {
    fn len(&self) -> i64 {
        match self {
            Self::Regular(runs) => runs.len(),
            Self::Listed(list) => list.len() as i64,
        }
    }

    fn offset(&self, number: i64) -> i64 {
        match self {
            Self::Regular(runs) => runs.offset(number),
            Self::Listed(list) => list[number as usize].0,
        }
    }

    /// Of so many from that one on.
    fn bytes(&self, first: i64, count: i64) -> i64 {
        match self {
            Self::Regular(runs) => runs.bytes * count,
            Self::Listed(list) => {
                list[first as usize..(first + count) as usize].iter().map(|place| place.1).sum()
            }
        }
    }

    pub(super) fn all_bytes(&self) -> i64 {
        self.bytes(0, self.len())
    }

    /// Behind the last byte.
    fn end(&self) -> i64 {
        let last = self.len() - 1;
        self.offset(last) + self.bytes(last, 1)
    }

    /// The first that reaches beyond the byte.
    fn beyond(&self, byte: i64) -> i64 {
        match self {
            Self::Regular(runs) => runs.beyond(byte),
            Self::Listed(list) => list.partition_point(|place| place.0 + place.1 <= byte) as i64,
        }
    }
}

/// Where files end that are also read while they are written.
#[derive(Debug, Default)]
pub(crate) struct Ends(HashMap<u32, i64>);

impl Ends {
    pub(crate) fn of(&self, file: u32) -> i64 {
        self.0.get(&file).copied().unwrap_or(0)
    }

    pub(crate) fn follow(&mut self, burst: &Burst) {
        if burst.access == Access::Write {
            let end = self.0.entry(burst.file).or_insert(0);
            *end = (*end).max(burst.offset.unwrap_or(0) + burst.bytes);
        }
    }
}

/// What an aggregator of ROMIO moves at a time, of so many bytes from a start: offset and bytes.
/// `place`: which one it is of so many; `number`: how often it was its turn before. None where it
/// is done.
pub(crate) fn round(
    (start, all): (i64, i64),
    (place, aggregators): (i64, i64),
    buffer: i64,
    number: u32,
) -> Option<(i64, i64)> {
    let domain = (all + aggregators - 1) / aggregators;
    let begin = place * domain + i64::from(number) * buffer;
    let bytes = buffer.min(all.min((place + 1) * domain) - begin);
    (bytes > 0).then_some((start + begin, bytes))
}

/// The pieces that a rank moves of a variable, and through which file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pieces<'a> {
    pub access: Access,
    pub file: u32,
    pub places: Places<'a>,
    /// Through ROMIO, which moves pieces with gaps by way of a buffer with the gaps in it.
    pub is_sieved: bool,
    /// They are not all of the variable.
    pub is_part: bool,
    /// So many calls may be taken as one.
    pub most: i64,
    /// Where the file ends.
    pub end: i64,
}

impl Pieces<'_> {
    /// The next calls; none where all is moved.
    pub(crate) fn next(&self, cursor: &mut Cursor) -> Option<Burst> {
        if cursor.run >= self.places.len() {
            return self.unlocked(cursor);
        }
        let is_single = self.places.len() == 1;
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
        if cursor.stage == LOCKED {
            return self.burst(Access::Lock, 0, 0, 1);
        }
        (cursor.run, cursor.stage) = (1, LOCKED);
        self.burst(Access::Write, self.places.offset(0), self.places.bytes(0, 1), 1)
    }

    fn burst(&self, access: Access, offset: i64, bytes: i64, count: i64) -> Burst {
        let offset = (bytes > 0 || access == Access::Read).then_some(offset);
        let (naming, reach, scattered) = (Naming::Stays, bytes, count > 1);
        Burst { access, naming, file: self.file, offset, bytes, count, reach, scattered }
    }

    fn direct(&self, cursor: &mut Cursor) -> Burst {
        let count = self.most.min(self.places.len() - cursor.run);
        let (offset, bytes) =
            (self.places.offset(cursor.run), self.places.bytes(cursor.run, count));
        cursor.run += count;
        let last = cursor.run - 1;
        let reach = self.places.offset(last) + self.places.bytes(last, 1) - offset;
        Burst { reach: reach.max(bytes), ..self.burst(self.access, offset, bytes, count) }
    }

    /// ADIOI_GEN_WriteStrided: all of it is locked, then each buffer read and written; and
    /// ADIOI_GEN_ReadStrided, which only reads.
    fn sieved(&self, cursor: &mut Cursor) -> Burst {
        let buffer = if self.access == Access::Read { SIEVE_READ_BYTES } else { SIEVE_WRITE_BYTES };
        let begin = self.places.offset(cursor.run) + cursor.within;
        let bytes = buffer.min(self.places.end() - begin);
        if self.access == Access::Read {
            self.leave(cursor, begin + bytes);
            return self.burst(Access::Read, begin, bytes, 1);
        }
        let found = (self.end - begin).clamp(0, bytes);
        cursor.stage += 1;
        match cursor.stage {
            LOCKED => self.burst(Access::Lock, 0, 0, 1),
            2 => {
                // what it finds too little of it asks for again
                cursor.stage += u32::from(found == 0 || found == bytes);
                self.burst(Access::Read, begin, found, 1)
            }
            3 => self.burst(Access::Read, begin + found, 0, 1),
            _ => {
                self.leave(cursor, begin + bytes);
                cursor.stage = LOCKED;
                self.burst(Access::Write, begin, bytes, 1)
            }
        }
    }

    /// What is locked is unlocked when all of it is moved.
    fn unlocked(&self, cursor: &mut Cursor) -> Option<Burst> {
        let is_locked = cursor.stage == LOCKED;
        cursor.stage = 0;
        is_locked.then(|| self.burst(Access::Lock, 0, 0, 1))
    }

    /// To the next buffer, which begins at `byte` or with the next piece.
    fn leave(&self, cursor: &mut Cursor, byte: i64) {
        cursor.run = self.places.beyond(byte);
        let is_inside = cursor.run < self.places.len();
        cursor.within = if is_inside { (byte - self.places.offset(cursor.run)).max(0) } else { 0 };
    }

    /// All buffers at once: about as many, with about as many bytes.
    fn all_sieved(&self, cursor: &mut Cursor) -> Burst {
        let buffer = if self.access == Access::Read { SIEVE_READ_BYTES } else { SIEVE_WRITE_BYTES };
        let span = self.places.end() - self.places.offset(0);
        let count = self.places.len().min((span + buffer - 1) / buffer);
        let bytes = span.min(count * buffer);
        cursor.stage += 1;
        let access = match (self.access, cursor.stage) {
            (Access::Read, _) | (_, 2) => Access::Read,
            (_, 3) => Access::Write,
            _ => return self.burst(Access::Lock, 0, 0, 1),
        };
        if access == self.access {
            (cursor.run, cursor.stage) =
                (self.places.len(), if access == Access::Write { LOCKED } else { 0 });
        }
        self.burst(access, self.places.offset(0), bytes, count)
    }
}
