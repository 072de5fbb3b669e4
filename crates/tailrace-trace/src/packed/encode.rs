//! From a block to its bytes.

use hashbrown::HashMap;
use xxhash_rust::xxh3::xxh3_64;

use crate::coded::CodedShape;
use crate::cursor::{put_varint, put_word};
use crate::event::Part;

use super::block::Block;
use super::column::Compressor;
use super::times::{Rows, TimesOut};

/// Bytes of a block before its columns.
pub(super) const BLOCK_HEAD_BYTES: usize = 40;
/// Events from which on a shape has its own times; those of rarer ones are told by function.
const EVENTS_OF_A_GROUP: u32 = 64;

/// Makes bytes of blocks; keep one and use it again.
pub struct Encoder {
    compressor: Compressor,
    times: TimesOut,
    /// Of each event.
    group_of: Vec<u32>,
    plane: Vec<u8>,
}

/// The shapes of a block as they are written.
#[derive(Default)]
struct Used {
    /// By first use.
    order: Vec<u32>,
    /// Of each shape of the block its place in that order, and how many events it has.
    number: Vec<u32>,
    events: Vec<u32>,
}

const UNUSED: u32 = u32::MAX;

impl Used {
    fn of(block: &Block) -> Self {
        let mut used = Self {
            order: Vec::new(),
            number: vec![UNUSED; block.shapes.len()],
            events: vec![0; block.shapes.len()],
        };
        // A loop of one call has one run, which is counted at once.
        for run in block.shape_of.chunk_by(|before, after| before == after) {
            let shape = run[0] as usize;
            used.events[shape] += run.len() as u32;
            if used.number[shape] == UNUSED {
                used.number[shape] = used.order.len() as u32;
                used.order.push(shape as u32);
            }
        }
        used
    }

    /// Of each shape of the block the group of its times, and how many groups there are.
    fn groups(&self, block: &Block) -> (Vec<u32>, usize) {
        let (mut groups, mut count) = (vec![0; block.shapes.len()], 0);
        let mut rare: HashMap<(Part, u16), u32> = HashMap::new();
        let mut next = || {
            count += 1;
            count - 1
        };
        for &shape in &self.order {
            let (place, of) = (shape as usize, &block.shapes[shape as usize]);
            groups[place] = if self.events[place] >= EVENTS_OF_A_GROUP {
                next()
            } else {
                *rare.entry((of.part, of.function)).or_insert_with(&mut next)
            };
        }
        (groups, count as usize)
    }
}

impl Encoder {
    /// # Errors
    /// If there is no memory for the compressor.
    pub fn new() -> std::io::Result<Self> {
        Ok(Self {
            compressor: Compressor::new()?,
            times: TimesOut::default(),
            group_of: Vec::new(),
            plane: Vec::new(),
        })
    }

    /// The block's bytes, of the location with this number.
    pub fn encode(&mut self, block: &Block, location: u32) -> Vec<u8> {
        let mut bytes = vec![0; BLOCK_HEAD_BYTES];
        let used = Used::of(block);
        let shapes = || used.order.iter().map(|&shape| &block.shapes[shape as usize]);
        let (mut of_shapes, mut places) = (Vec::new(), Vec::new());
        for shape in shapes() {
            put_shape(&mut of_shapes, shape);
            put_varint(&mut places, shape.place.into());
        }
        self.compressor.put(&mut bytes, &of_shapes);
        self.compressor.put(&mut bytes, &places);
        for shift in [0, 8] {
            let number = |&shape: &u32| (used.number[shape as usize] >> shift) as u8;
            self.plane.clear();
            self.plane.extend(block.shape_of.iter().map(number));
            self.compressor.put(&mut bytes, &self.plane);
        }
        self.put_times(&mut bytes, block, &used);
        head(&mut bytes, block, location, used.order.len());
        bytes
    }

    fn put_times(&mut self, bytes: &mut Vec<u8>, block: &Block, used: &Used) {
        let (groups, count) = used.groups(block);
        self.group_of.clear();
        self.group_of.extend(block.shape_of.iter().map(|&shape| groups[shape as usize]));
        self.times.put(&Rows {
            gaps: &block.gaps,
            durations: &block.durations,
            long: &block.long,
            group_of: &self.group_of,
            groups: count,
        });
        let mut of_shapes = Vec::new();
        used.order
            .iter()
            .for_each(|&shape| put_varint(&mut of_shapes, groups[shape as usize].into()));
        let TimesOut { groups, bits, listed_gaps, listed_durations, .. } = &self.times;
        self.compressor.put(bytes, groups);
        self.compressor.put(bytes, &of_shapes);
        Compressor::put_plain(bytes, bits);
        self.compressor.put(bytes, listed_gaps);
        self.compressor.put(bytes, listed_durations);
    }
}

fn head(bytes: &mut [u8], block: &Block, location: u32, shapes: usize) {
    let length = bytes.len() as u32;
    for (at, word) in [(8, length), (12, location), (16, block.len() as u32), (20, shapes as u32)] {
        bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
    }
    bytes[24..32].copy_from_slice(&block.begin_ns.to_le_bytes());
    bytes[32..40].copy_from_slice(&block.next_number.to_le_bytes());
    let checksum = xxh3_64(&bytes[8..]);
    bytes[..8].copy_from_slice(&checksum.to_le_bytes());
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::wire::class;

    /// Every byte of a block, as `docs/reference/internals/trace.md` says.
    #[test]
    fn a_block_spelled_out() {
        let shape = |function, place| {
            let (part, words) = (Part::Call, vec![-1]);
            Arc::new(CodedShape { part, function, class: class::PLAIN, place, words })
        };
        let (first, second) = (shape(300, 0), shape(2, 5));
        let mut block = Block::new(1_000, 7);
        for (begin_ns, end_ns, shape) in
            [(1_010, 1_015, &first), (1_025, 1_029, &second), (1_040, 1_045, &first)]
        {
            block.push(begin_ns, end_ns, shape);
        }
        let bytes = Encoder::new().unwrap().encode(&block, 3);
        assert_eq!(bytes[8..24], [97, 0, 0, 0, 3, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0]);
        assert_eq!(bytes[24..40], [0xe8, 3, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0]);
        let columns: &[&[u8]] = &[
            // shapes: call, function 300 = 2 * 128 + 44, class 0, 1 word: -1 is 1; then function 2
            &[1, 11, 11, 0, 0xac, 2, 0, 1, 1, 0, 2, 0, 1, 1],
            // places 0 and 5
            &[1, 2, 2, 0, 5],
            // indices 0, 1, 0, low bytes; their high bytes are all 0
            &[1, 3, 3, 0, 1, 0],
            &[0, 3, 1, 0],
            // a group for each function: gaps 10 and 11 in 1 bit, durations 5 in none; 10 and 4
            &[1, 8, 8, 10, 1, 5, 0, 10, 0, 4, 0],
            // the shapes are of group 0 and 1
            &[1, 2, 2, 0, 1],
            // bits of the gaps: 0 of the first event, 1 of the third
            &[1, 1, 1, 0b10],
            // nothing is listed
            &[0, 0, 1, 0],
            &[0, 0, 1, 0],
        ];
        assert_eq!(bytes[40..], columns.concat());
    }
}
