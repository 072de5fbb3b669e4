//! Calls that are like others in the block that is being filled: most are.

use std::sync::Arc;

use crate::coded::{CodedShape, has_no_answer};
use crate::columns::LONG;
use crate::event::{Part, Progress};
use crate::wire::{class, file};
use crate::words::{has_tokens, progress};

use super::slot::Slot;

/// Slots of the table by which capture writes offsets.
const OFFSET_SLOTS: usize = 64;

/// What each further call of a shape number does.
#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::struct_excessive_bools)] // read one by one, in a loop that must be short
pub(super) struct Quick {
    known: bool,
    /// It moves data of a file: what is around it has to be looked at.
    moves_data: bool,
    /// It may complete a receive that waits to be told what it matched.
    completes: bool,
    pub starts: bool,
    /// Words that name requests.
    pub tokens: u32,
    /// Index of its shape in the block.
    pub index: u32,
    place: Option<PlaceInFile>,
    distance: i64,
}

/// Which bytes of which file a shape number is about, as its stream says it.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlaceInFile {
    /// Where the table of offsets has it.
    slot: usize,
    /// Index in the run.
    file: usize,
    /// From where the table expects it.
    distance: i64,
    bytes: i64,
}

pub(super) struct Quicks {
    by_number: [Quick; 256],
}

impl Quicks {
    pub(super) fn new() -> Self {
        Self { by_number: [Quick::default(); 256] }
    }

    pub(super) fn forget(&mut self, number: u8) {
        self.by_number[usize::from(number)].known = false;
    }

    pub(super) fn forget_all(&mut self) {
        self.by_number.iter_mut().for_each(|quick| quick.known = false);
    }

    #[inline]
    pub(super) fn get(&self, number: u8, nested: bool, matching: bool) -> Option<&Quick> {
        let quick = &self.by_number[usize::from(number)];
        let slow = !quick.known || nested && quick.moves_data || matching && quick.completes;
        (!slow).then_some(quick)
    }

    /// Of a call with this shape, unless more than the shape says what it is: control calls are
    /// looked at one by one, and the latest file is another at any time.
    pub(super) fn remember(
        &mut self,
        number: u8,
        slot: &Slot,
        shape: &Arc<CodedShape>,
        index: u32,
    ) {
        let usual = slot.coded[Part::Call as usize].as_ref();
        let known = shape.part == Part::Call
            && shape.class != class::CONTROL
            && !has_no_answer(shape)
            && !slot.latest
            && usual.is_some_and(|usual| Arc::ptr_eq(usual, shape));
        let place = slot.place_in_file(shape);
        self.by_number[usize::from(number)] = Quick {
            known,
            moves_data: shape.class == class::FILE,
            completes: shape.class == class::COMPLETE,
            starts: progress(shape.class, &shape.words) != Progress::Blocking,
            tokens: if has_tokens(shape.class) { shape.words.len() as u32 } else { 0 },
            index,
            place,
            distance: place.map_or(0, |_| shape.words[file::OFFSET]),
        };
    }
}

/// Rows that are put together at once.
pub(super) const ROWS: usize = 128;

/// Some rows on their way to a block.
pub(super) struct Rows {
    count: usize,
    shapes: [u32; ROWS],
    gaps: [u32; ROWS],
    durations: [u32; ROWS],
    /// Requests that they start, and words that name requests.
    pub started: u64,
    pub tokens: usize,
}

impl Default for Rows {
    fn default() -> Self {
        let (shapes, gaps, durations) = ([0; ROWS], [0; ROWS], [0; ROWS]);
        Self { count: 0, shapes, gaps, durations, started: 0, tokens: 0 }
    }
}

impl Rows {
    pub(super) fn clear(&mut self) {
        (self.count, self.started, self.tokens) = (0, 0, 0);
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Whether times are short enough: long ones are told elsewhere.
    #[inline]
    pub(super) fn takes(gap_ns: i64, duration_ns: i64) -> bool {
        (gap_ns as u64 | duration_ns as u64) < u64::from(LONG)
    }

    /// A row, if there is room for it.
    #[inline]
    pub(super) fn push(&mut self, gap_ns: i64, duration_ns: i64, quick: &Quick) {
        let at = self.count % ROWS;
        self.shapes[at] = quick.index;
        self.gaps[at] = gap_ns as u32;
        self.durations[at] = duration_ns as u32;
        self.started += u64::from(quick.starts);
        self.tokens += quick.tokens as usize;
        self.count += 1;
    }

    /// Shapes, gaps and durations.
    pub(super) fn columns(&self) -> [&[u32]; 3] {
        [&self.shapes, &self.gaps, &self.durations].map(|column| &column[..self.count])
    }
}

impl Slot {
    /// If its shape, coded so, has an offset.
    pub(super) fn place_in_file(&self, coded: &CodedShape) -> Option<PlaceInFile> {
        let has_offset = self.class == class::FILE
            && coded.class == class::FILE
            && coded.words[file::FLAGS] & file::HAS_OFFSET != 0;
        has_offset.then(|| PlaceInFile {
            slot: self.raw[file::FILE] as usize % OFFSET_SLOTS,
            file: coded.words[file::FILE] as usize,
            distance: self.raw[file::OFFSET],
            bytes: self.raw[file::BYTES],
        })
    }
}

/// Where the calls of a thread ended: by the table that capture has, and by file of the run.
pub(super) struct Offsets {
    expected: [i64; OFFSET_SLOTS],
    ends: Vec<i64>,
}

impl Offsets {
    pub(super) fn new(files: usize) -> Self {
        Self { expected: [0; OFFSET_SLOTS], ends: vec![0; files] }
    }

    /// How far from the end of the call before on its file a call begins that is entered.
    pub(super) fn peek(&self, place: &PlaceInFile) -> i64 {
        self.expected[place.slot].wrapping_add(place.distance).wrapping_sub(self.ends[place.file])
    }

    /// The same of one that returns, which is then the call before.
    pub(super) fn distance(&mut self, place: &PlaceInFile) -> i64 {
        let distance = self.peek(place);
        let end = self.expected[place.slot].wrapping_add(place.distance).wrapping_add(place.bytes);
        self.expected[place.slot] = end;
        self.ends[place.file] = end;
        distance
    }

    /// Whether the call has the distance that its shape says; if so it is then the call before.
    #[inline]
    pub(super) fn follow(&mut self, quick: &Quick) -> bool {
        let Some(place) = &quick.place else { return true };
        if self.peek(place) != quick.distance {
            return false;
        }
        self.distance(place);
        true
    }
}
