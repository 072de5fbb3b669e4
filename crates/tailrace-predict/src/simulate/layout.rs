//! Where variables lie in a file (kernels/gridio/raw_layout.c).

use hashbrown::HashMap;

use super::tiles::Tile;
use super::workload::{Stream, Variable};

const PAGE_BYTES: i64 = 4096;
/// What the header's first lines may take.
const FIXED_LINES_BYTES: i64 = 256;

/// Offsets of a file that all ranks share, or of one rank's own.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub header_bytes: i64,
    first_step: i64,
    step_bytes: i64,
    /// Behind the header, or in a step; none where the file has no such variable.
    offsets: Vec<Option<i64>>,
}

impl Layout {
    pub(super) fn shared(stream: &Stream) -> Self {
        let header = stream.variables.iter().map(|variable| line(variable, None, 0)).sum();
        Self::new(stream, header, |variable| Some(variable.bytes()))
    }

    fn new(stream: &Stream, header_text: i64, bytes: impl Fn(&Variable) -> Option<i64>) -> Self {
        let (mut once, mut step, mut offsets) = (0, 0, Vec::new());
        for variable in &stream.variables {
            let place = if variable.every_step { &mut step } else { &mut once };
            let bytes = bytes(variable);
            offsets.push(bytes.map(|_| *place));
            *place += bytes.unwrap_or(0);
        }
        let header_bytes =
            (header_text + FIXED_LINES_BYTES + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
        Self { header_bytes, first_step: once, step_bytes: step, offsets }
    }

    /// Of the variable at that step in the file.
    pub(super) fn offset(&self, stream: &Stream, number: usize, step: u64) -> Option<i64> {
        let offset = self.offsets[number]? + self.header_bytes;
        let every_step = stream.variables[number].every_step;
        let behind = self.first_step + step as i64 * self.step_bytes;
        Some(offset + if every_step { behind } else { 0 })
    }
}

/// What of a tile its file depends on: how many cells, whether it is last along y and x, whether it
/// has what is not tiled, and how many digits its numbers have.
pub(super) type Kind = ([i64; 2], [bool; 2], bool, [u32; 4]);

/// The layouts of a file per rank: few differ by more than their header.
#[derive(Debug, Default)]
pub(super) struct Parts {
    layouts: HashMap<Kind, Layout>,
}

impl Parts {
    /// `has_wholes`: the rank's file has what is not tiled.
    pub(super) fn of(&mut self, stream: &Stream, tile: &Tile, has_wholes: bool) -> &Layout {
        self.layouts.entry(kind(tile, has_wholes)).or_insert_with(|| {
            let numbered = stream.variables.iter().zip(1..);
            let header = numbered
                .filter(|(variable, _)| variable.tiled || has_wholes)
                .map(|(variable, ordinal)| line(variable, Some(tile), ordinal))
                .sum();
            Layout::new(stream, header, |variable| {
                if variable.tiled {
                    Some(tile.bytes(variable))
                } else {
                    has_wholes.then(|| variable.bytes())
                }
            })
        })
    }
}

pub(super) fn kind(tile: &Tile, has_wholes: bool) -> Kind {
    let numbers = [tile.start[0], tile.start[1], tile.count[0], tile.count[1]];
    (tile.count, tile.is_last, has_wholes, numbers.map(digits))
}

fn digits(number: i64) -> u32 {
    number.max(1).ilog10() + 1
}

/// Characters of numbers, a blank before each.
fn numbers(list: impl IntoIterator<Item = i64>) -> i64 {
    list.into_iter().map(|number| i64::from(digits(number)) + 1).sum()
}

/// Characters of what the header says of a variable. `tile`: in that rank's own file.
fn line(variable: &Variable, tile: Option<&Tile>, ordinal: i64) -> i64 {
    let count = variable.dimensions.len();
    let tiled = if variable.tiled { "tiled" } else { "whole" };
    let when = if variable.every_step { "every_step" } else { "once" };
    let words = ["variable", &variable.name, &variable.units, &variable.kind, tiled, when];
    let mut length: i64 = words.iter().map(|word| word.len() as i64 + 1).sum();
    let sizes = || variable.dimensions.iter().map(|dimension| dimension.size);
    length += 2; // how many dimensions, and the line's end
    let part = tile.filter(|_| variable.tiled);
    if let Some(tile) = part {
        let cells = tile.cells(variable);
        let outer = || sizes().take(count - 2);
        let counts = || numbers(outer()) + numbers(cells);
        length += counts();
        length += "part 1\n".len() as i64 + numbers(sizes());
        length += "block\n".len() as i64 + numbers(outer().map(|_| 0)) + numbers(tile.start);
        length += counts();
    } else {
        length += numbers(sizes());
    }
    if tile.is_some() {
        length += "ordinal \n".len() as i64 + i64::from(digits(ordinal));
    }
    if count > 0 {
        let names = variable.dimensions.iter().map(|dimension| dimension.name.len() as i64 + 1);
        length += "dimensions\n".len() as i64 + names.sum::<i64>();
    }
    length
}
