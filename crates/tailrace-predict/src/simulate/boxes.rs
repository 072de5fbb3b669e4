//! What a group of ranks has of a variable, in as few pieces as its tiles allow, none larger than a
//! buffer (kernels/gridio/boxes.c, aggregation.c).

use std::cmp::Ordering;

use super::tiles::{Runs, Tile};
use super::workload::Variable;

/// Along all dimensions but the last two, and along these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub start: [i64; 3],
    pub count: [i64; 3],
}

impl Piece {
    pub(super) fn elements(&self) -> i64 {
        self.count.iter().product()
    }

    pub(super) fn of(tile: &Tile, variable: &Variable) -> Self {
        let [y, x] = tile.cells(variable);
        let start = [0, tile.start[0], tile.start[1]];
        Self { start, count: [variable.outer(), y, x] }
    }

    /// Where it lies in the variable, which begins at `start`.
    pub(super) fn runs(&self, variable: &Variable, start: i64) -> Runs {
        let element = variable.element_bytes;
        let [whole_y, whole_x] = variable.sides();
        let (row, [outer, y, x]) = (whole_x * element, self.count);
        let layer = whole_y * row;
        let first = start + self.start[0] * layer + self.start[1] * row + self.start[2] * element;
        if x < whole_x {
            Runs::regular(first, x * element, [outer, y], [layer, row])
        } else if y < whole_y {
            Runs::regular(first, y * row, [outer, 1], [layer, 0])
        } else {
            Runs::single(first, outer * layer)
        }
    }
}

/// Of all ranks of a group, what lies side by side as one.
pub(super) fn merged(mut pieces: Vec<Piece>) -> Vec<Piece> {
    let mut before = 0;
    while pieces.len() > 1 && pieces.len() != before {
        before = pieces.len();
        for axis in [2, 1] {
            pieces = merged_along(pieces, axis);
        }
    }
    pieces.sort_unstable_by_key(|piece| piece.start);
    pieces
}

fn merged_along(mut pieces: Vec<Piece>, axis: usize) -> Vec<Piece> {
    let other = 3 - axis;
    let key = |piece: &Piece| (piece.start[other], piece.count[other]);
    pieces.sort_unstable_by_key(|piece| (key(piece), piece.start[axis]));
    let mut kept: Vec<Piece> = Vec::new();
    for piece in pieces {
        match kept.last_mut() {
            Some(last)
                if key(last) == key(&piece)
                    && last.start[axis] + last.count[axis] == piece.start[axis] =>
            {
                last.count[axis] += piece.count[axis];
            }
            _ => kept.push(piece),
        }
    }
    kept
}

/// In parts of at most so many elements, in the order of the file: cut along the first dimension
/// behind which everything fits.
pub(super) fn cut(piece: &Piece, variable: &Variable, most: i64, into: &mut Vec<Piece>) {
    let sizes: Vec<i64> = variable.dimensions.iter().map(|dimension| dimension.size).collect();
    let whole = &sizes[..sizes.len() - 2];
    let count: Vec<i64> = whole.iter().copied().chain(piece.count[1..].iter().copied()).collect();
    let (mut axis, mut inner) = (count.len() - 1, 1);
    while axis > 0 && inner * count[axis] <= most {
        inner *= count[axis];
        axis -= 1;
    }
    let step = (most / inner).max(1);
    let before: i64 = count[..axis].iter().product();
    for outside in 0..before {
        for begin in (0..count[axis]).step_by(step as usize) {
            let length = step.min(count[axis] - begin);
            into.push(part(piece, &count, axis, outside, (begin, length)));
        }
    }
}

/// The part that is the `outside`-th along the dimensions before the axis, and `begin` along it.
fn part(
    piece: &Piece,
    count: &[i64],
    axis: usize,
    outside: i64,
    (begin, length): (i64, i64),
) -> Piece {
    let y = count.len() - 2;
    let mut found = *piece;
    match axis.cmp(&y) {
        Ordering::Less => {
            let behind: i64 = count[axis + 1..y].iter().product();
            found.start[0] = (outside * count[axis] + begin) * behind;
            found.count[0] = length * behind;
        }
        Ordering::Equal => {
            (found.start[0], found.count[0]) = (outside, 1);
            (found.start[1], found.count[1]) = (piece.start[1] + begin, length);
        }
        Ordering::Greater => {
            (found.start[0], found.count[0]) = (outside / count[y], 1);
            (found.start[1], found.count[1]) = (piece.start[1] + outside % count[y], 1);
            (found.start[2], found.count[2]) = (piece.start[2] + begin, length);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::workload::Dimension;

    fn variable(sizes: &[i64]) -> Variable {
        let dimension =
            |size: &i64| Dimension { name: String::new(), size: *size, staggered: false };
        Variable {
            name: String::new(),
            units: String::new(),
            kind: String::new(),
            element_bytes: 1,
            every_step: true,
            tiled: true,
            dimensions: sizes.iter().map(dimension).collect(),
        }
    }

    fn piece(y: (i64, i64), x: (i64, i64)) -> Piece {
        Piece { start: [0, y.0, x.0], count: [6, y.1, x.1] }
    }

    #[test]
    fn tiles_of_a_row_become_one_piece_and_those_of_whole_rows_too() {
        let [left, right, below] = [((0, 2), (0, 3)), ((0, 2), (3, 1)), ((2, 2), (0, 4))];
        let pieces = vec![piece(left.0, left.1), piece(right.0, right.1)];
        assert_eq!(merged(pieces.clone()), [piece((0, 2), (0, 4))]);
        let all = [pieces, vec![piece(below.0, below.1)]].concat();
        assert_eq!(merged(all), [piece((0, 4), (0, 4))]);
    }

    #[test]
    fn a_piece_is_cut_where_what_lies_behind_fits() {
        let sizes = variable(&[2, 3, 4, 4]);
        let starts = |most| {
            let mut into = Vec::new();
            cut(&piece((0, 4), (0, 4)), &sizes, most, &mut into);
            into.iter().map(|part| (part.start, part.elements())).collect::<Vec<_>>()
        };
        assert_eq!(starts(96), [([0, 0, 0], 96)]);
        assert_eq!(starts(50), [([0, 0, 0], 48), ([3, 0, 0], 48)]);
        let layers = [0, 2, 3, 5].map(|z| ([z, 0, 0], if z == 0 || z == 3 { 32 } else { 16 }));
        assert_eq!(starts(40), layers);
        assert_eq!(starts(12)[..3], [([0, 0, 0], 12), ([0, 3, 0], 4), ([1, 0, 0], 12)]);
        assert_eq!(starts(3)[..3], [([0, 0, 0], 3), ([0, 0, 3], 1), ([0, 1, 0], 3)]);
    }
}
