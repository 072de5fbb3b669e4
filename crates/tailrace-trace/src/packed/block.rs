//! A block: some thousand events of one location, on the way to the file.

use std::sync::Arc;

use hashbrown::HashMap;

use crate::coded::CodedShape;
use crate::columns::{LONG, Long};
use crate::limits::SHAPE_WORDS_MAX;
use crate::words::has_tokens;

const RECENT: usize = 64;

pub struct Block {
    /// Where the time of the location stood when the block began.
    pub begin_ns: i64,
    /// Number of the next request when the block began.
    pub next_number: u64,
    reached_ns: i64,
    /// Of each event; some shapes may be in use no more.
    pub(super) shape_of: Vec<u32>,
    pub(super) gaps: Vec<u32>,
    pub(super) durations: Vec<u32>,
    pub(super) long: Vec<Long>,
    pub(super) shapes: Vec<Arc<CodedShape>>,
    known: HashMap<Arc<CodedShape>, u32>,
    /// Shapes seen lately, by their address: most events repeat one.
    recent: Vec<Option<(Arc<CodedShape>, u32)>>,
    words: usize,
    /// Words of shapes with tokens, counted at each use: a reader unpacks each.
    tokens: usize,
}

impl Block {
    pub fn new(begin_ns: i64, next_number: u64) -> Self {
        Self {
            begin_ns,
            next_number,
            reached_ns: begin_ns,
            shape_of: Vec::new(),
            gaps: Vec::new(),
            durations: Vec::new(),
            long: Vec::new(),
            shapes: Vec::new(),
            known: HashMap::new(),
            recent: vec![None; RECENT],
            words: 0,
            tokens: 0,
        }
    }

    /// Events.
    pub fn len(&self) -> usize {
        self.shape_of.len()
    }

    pub fn is_empty(&self) -> bool {
        self.shape_of.is_empty()
    }

    /// How many shapes its events have, and had before they got others.
    pub fn shapes(&self) -> usize {
        self.shapes.len()
    }

    #[inline]
    pub fn is_full(&self, events_max: usize) -> bool {
        self.len() >= events_max || self.words >= SHAPE_WORDS_MAX || self.tokens >= SHAPE_WORDS_MAX
    }

    /// Returns the index of the shape in the block.
    #[inline]
    pub fn push(&mut self, begin_ns: i64, end_ns: i64, shape: &Arc<CodedShape>) -> u32 {
        if has_tokens(shape.class) {
            self.tokens += shape.words.len();
        }
        let shape = self.index(shape);
        let (gap_ns, duration_ns) = (begin_ns - self.reached_ns, end_ns - begin_ns);
        self.reached_ns = end_ns;
        self.shape_of.push(shape);
        let [gap, duration] = [gap_ns, duration_ns].map(|time| u32::try_from(time).unwrap_or(LONG));
        if gap == LONG || duration == LONG {
            self.long.push(Long { row: self.gaps.len() as u32, gap_ns, duration_ns });
        }
        self.gaps.push(gap);
        self.durations.push(duration);
        shape
    }

    /// How many more events it takes, and how many words that name requests fill it.
    pub(crate) fn room(&self, events_max: usize) -> (usize, usize) {
        let events = if self.is_full(events_max) { 0 } else { events_max - self.len() };
        (events, SHAPE_WORDS_MAX.saturating_sub(self.tokens))
    }

    /// Events of shapes that are here already: their shapes, gaps and durations, none of them long,
    /// the moment that they reach, and their words that name requests.
    pub(crate) fn append(&mut self, columns: [&[u32]; 3], reached_ns: i64, tokens: usize) {
        let [shapes, gaps, durations] = columns;
        self.shape_of.extend_from_slice(shapes);
        self.gaps.extend_from_slice(gaps);
        self.durations.extend_from_slice(durations);
        self.reached_ns = reached_ns;
        self.tokens += tokens;
    }

    pub fn shape(&self, row: usize) -> &Arc<CodedShape> {
        &self.shapes[self.shape_of[row] as usize]
    }

    /// Gives an event that is here already another shape.
    pub fn replace(&mut self, row: usize, shape: CodedShape) {
        self.shape_of[row] = self.index(&Arc::new(shape));
    }

    #[inline]
    fn index(&mut self, shape: &Arc<CodedShape>) -> u32 {
        let slot = (Arc::as_ptr(shape) as usize >> 5) % RECENT;
        if let Some((known, index)) = &self.recent[slot]
            && Arc::ptr_eq(known, shape)
        {
            return *index;
        }
        let index = self.intern(shape);
        self.recent[slot] = Some((shape.clone(), index));
        index
    }

    fn intern(&mut self, shape: &Arc<CodedShape>) -> u32 {
        if let Some(&known) = self.known.get(shape) {
            return known;
        }
        let index = self.shapes.len() as u32;
        self.words += shape.words.len();
        self.shapes.push(shape.clone());
        self.known.insert(shape.clone(), index);
        index
    }
}
