//! How a group and its writer move a variable (kernels/gridio/aggregation.c): in batches that fit
//! its buffer.

use std::rc::Rc;

use hashbrown::HashMap;

use super::boxes::{Piece, cut, merged};
use super::tiles::Tiles;
use super::workload::Variable;

/// What the writer has in its buffer at once.
#[derive(Debug)]
pub(super) struct Batch {
    /// Offset and bytes of each piece, as they are moved.
    pub places: Vec<(i64, i64)>,
    /// Bytes that come from other ranks of the group, or go to them: about as many of each batch.
    pub exchanged: i64,
}

/// By writer: what its group has, and of the variable that it is at the batches.
#[derive(Debug, Default)]
pub(super) struct Plans {
    pieces: HashMap<(u32, [bool; 2]), Vec<Piece>>,
    current: HashMap<u32, Vec<Rc<Batch>>>,
}

/// Of which group and variable a plan is, and how the writer moves it.
pub(super) struct Wanted<'a> {
    pub members: std::ops::Range<u32>,
    pub variable: &'a Variable,
    /// Where the variable begins.
    pub start: i64,
    pub buffer_bytes: i64,
    /// Through ROMIO, which goes through a batch in the order of the file.
    pub is_sorted: bool,
}

impl Plans {
    /// The batch of that number; none behind the last. `is_new`: the writer comes to the variable.
    pub(super) fn batch(
        &mut self,
        (number, is_new): (u32, bool),
        tiles: &Tiles,
        wanted: &Wanted<'_>,
    ) -> Option<Rc<Batch>> {
        let writer = wanted.members.start;
        if is_new {
            let batches = self.batches(tiles, wanted);
            self.current.insert(writer, batches);
        }
        self.current.get(&writer).and_then(|batches| batches.get(number as usize)).cloned()
    }

    fn batches(&mut self, tiles: &Tiles, wanted: &Wanted<'_>) -> Vec<Rc<Batch>> {
        let variable = wanted.variable;
        let most = (wanted.buffer_bytes / variable.element_bytes).max(1);
        let mut parts = Vec::new();
        for piece in self.pieces(tiles, wanted) {
            cut(piece, variable, most, &mut parts);
        }
        let own = Piece::of(&tiles.at(wanted.members.start), variable).elements();
        let all: i64 = parts.iter().map(Piece::elements).sum();
        let mut batches = Vec::new();
        let mut first = 0;
        while first < parts.len() {
            let (mut count, mut elements) = (1, parts[first].elements());
            while let Some(next) = parts.get(first + count)
                && elements + next.elements() <= most
            {
                elements += next.elements();
                count += 1;
            }
            let others = elements as f64 * (all - own) as f64 / all as f64;
            let exchanged = others as i64 * variable.element_bytes;
            let places = places(&parts[first..first + count], wanted);
            batches.push(Rc::new(Batch { places, exchanged }));
            first += count;
        }
        batches
    }

    fn pieces(&mut self, tiles: &Tiles, wanted: &Wanted<'_>) -> &[Piece] {
        let variable = wanted.variable;
        let last = variable.dimensions.len() - 2;
        let staggered = [0, 1].map(|axis| variable.dimensions[last + axis].staggered);
        let pieces = self.pieces.entry((wanted.members.start, staggered)).or_insert_with(|| {
            let of_rank = |rank| Piece::of(&tiles.at(rank), variable);
            merged(wanted.members.clone().map(of_rank).collect())
        });
        for piece in pieces.iter_mut() {
            piece.count[0] = variable.outer();
        }
        pieces
    }
}

/// Pieces in the file, those that touch as one where they are sorted.
fn places(parts: &[Piece], wanted: &Wanted<'_>) -> Vec<(i64, i64)> {
    let mut found = Vec::new();
    for part in parts {
        let runs = part.runs(wanted.variable, wanted.start);
        found.extend((0..runs.len()).map(|number| (runs.offset(number), runs.bytes)));
    }
    if !wanted.is_sorted {
        return found;
    }
    found.sort_unstable();
    let mut joined: Vec<(i64, i64)> = Vec::with_capacity(found.len());
    for (offset, bytes) in found {
        match joined.last_mut() {
            Some(last) if last.0 + last.1 == offset => last.1 += bytes,
            _ => joined.push((offset, bytes)),
        }
    }
    joined
}
