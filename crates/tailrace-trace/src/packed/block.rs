//! A block: some thousand events of one location, on the way to the file.

use std::sync::Arc;

use hashbrown::HashMap;
use xxhash_rust::xxh3::xxh3_64;

use crate::coded::CodedShape;
use crate::cursor::{put_varint, put_word};
use crate::event::Part;
use crate::limits::SHAPE_WORDS_MAX;
use crate::words::has_tokens;

use super::column::Compressor;

/// Bytes of a block before its columns.
pub(super) const BLOCK_HEAD_BYTES: usize = 40;
/// A gap or duration that is written in the list of long ones.
pub(super) const LONG: u32 = u32::MAX;
const RECENT: usize = 64;

#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub begin_ns: i64,
    pub end_ns: i64,
    pub shape: u32,
}

pub struct Block {
    /// Where the time of the location stood when the block began.
    pub begin_ns: i64,
    /// Number of the next request when the block began.
    pub next_number: u64,
    pub rows: Vec<Row>,
    shapes: Vec<Arc<CodedShape>>,
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
            rows: Vec::new(),
            shapes: Vec::new(),
            known: HashMap::new(),
            recent: vec![None; RECENT],
            words: 0,
            tokens: 0,
        }
    }

    pub fn is_full(&self, events_max: usize) -> bool {
        self.rows.len() >= events_max
            || self.words >= SHAPE_WORDS_MAX
            || self.tokens >= SHAPE_WORDS_MAX
    }

    /// Returns the index of the shape in the block.
    #[inline]
    pub fn push(&mut self, begin_ns: i64, end_ns: i64, shape: &Arc<CodedShape>) -> u32 {
        if has_tokens(shape.class) {
            self.tokens += shape.words.len();
        }
        let shape = self.index(shape);
        self.rows.push(Row { begin_ns, end_ns, shape });
        shape
    }

    /// An event of a shape that is here already, with so many words if they are tokens.
    #[inline]
    pub(crate) fn push_again(&mut self, begin_ns: i64, end_ns: i64, shape: u32, tokens: u32) {
        self.tokens += tokens as usize;
        self.rows.push(Row { begin_ns, end_ns, shape });
    }

    pub fn shape(&self, row: usize) -> &Arc<CodedShape> {
        &self.shapes[self.rows[row].shape as usize]
    }

    /// Gives an event that is here already another shape.
    pub fn replace(&mut self, row: usize, shape: CodedShape) {
        self.rows[row].shape = self.index(&Arc::new(shape));
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

    /// The block's bytes, of the location with this number.
    pub fn encode(&self, location: u32, compressor: &mut Compressor) -> Vec<u8> {
        let mut bytes = vec![0; BLOCK_HEAD_BYTES];
        let (order, index) = self.used();
        compressor.put(&mut bytes, &self.shape_bytes(&order));
        let indices: Vec<u32> = self.rows.iter().map(|row| index[row.shape as usize]).collect();
        put_planes(&mut bytes, &indices, 2, compressor);
        let (gaps, long_gaps) = self.gaps();
        put_planes(&mut bytes, &gaps, 4, compressor);
        let (durations, long_durations) =
            split(self.rows.iter().map(|row| row.end_ns.wrapping_sub(row.begin_ns) as u64));
        put_planes(&mut bytes, &durations, 4, compressor);
        compressor.put(&mut bytes, &long_gaps);
        compressor.put(&mut bytes, &long_durations);
        compressor.put(&mut bytes, &self.place_bytes(&order));
        self.put_head(&mut bytes, location, order.len());
        bytes
    }

    fn put_head(&self, bytes: &mut [u8], location: u32, shapes: usize) {
        let whole = bytes.len() as u32;
        let words = [whole, location, self.rows.len() as u32, shapes as u32];
        for (place, word) in bytes[8..24].chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes[24..32].copy_from_slice(&self.begin_ns.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.next_number.to_le_bytes());
        let checksum = xxh3_64(&bytes[8..]);
        bytes[..8].copy_from_slice(&checksum.to_le_bytes());
    }

    /// The shapes that are still in use, by first use, and the new number of each.
    fn used(&self) -> (Vec<u32>, Vec<u32>) {
        const UNUSED: u32 = u32::MAX;
        let mut index = vec![UNUSED; self.shapes.len()];
        let mut order = Vec::new();
        for row in &self.rows {
            let number = &mut index[row.shape as usize];
            if *number == UNUSED {
                *number = order.len() as u32;
                order.push(row.shape);
            }
        }
        (order, index)
    }

    fn shape_bytes(&self, order: &[u32]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for &number in order {
            put_shape(&mut bytes, &self.shapes[number as usize]);
        }
        bytes
    }

    fn place_bytes(&self, order: &[u32]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for &number in order {
            put_varint(&mut bytes, self.shapes[number as usize].place.into());
        }
        bytes
    }

    fn gaps(&self) -> (Vec<u32>, Vec<u8>) {
        let mut cursor = self.begin_ns;
        split(self.rows.iter().map(|row| {
            let gap = row.begin_ns.wrapping_sub(cursor) as u64;
            cursor = row.end_ns;
            gap
        }))
    }
}

fn put_shape(bytes: &mut Vec<u8>, shape: &CodedShape) {
    bytes.push(match shape.part {
        Part::Call => 0,
        Part::Enter => 1,
        Part::Leave => 2,
    });
    put_varint(bytes, shape.function.into());
    bytes.push(shape.class);
    put_varint(bytes, shape.words.len() as u64);
    shape.words.iter().for_each(|&word| put_word(bytes, word));
}

/// 32-bit times, and as varints those that are longer.
fn split(times: impl Iterator<Item = u64>) -> (Vec<u32>, Vec<u8>) {
    let mut long = Vec::new();
    let short = times.map(|time| {
        if time < u64::from(LONG) {
            return time as u32;
        }
        put_varint(&mut long, time);
        LONG
    });
    (short.collect(), long)
}

/// One column for each byte of the numbers, the lowest first.
fn put_planes(bytes: &mut Vec<u8>, numbers: &[u32], planes: u32, compressor: &mut Compressor) {
    for plane in 0..planes {
        let column: Vec<u8> = numbers.iter().map(|number| (number >> (8 * plane)) as u8).collect();
        compressor.put(bytes, &column);
    }
}
