//! Which part of the grid each rank has (kernels/solver/grid.c).

use super::workload::{Variable, Workload};

/// How the grid is shared out along y and x.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tiles {
    along: [i64; 2],
    size: [i64; 2],
    /// What each has at least, and how many have one cell more: they come first.
    least: [i64; 2],
    longer: [i64; 2],
}

/// A rank's part along y and x.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Tile {
    pub start: [i64; 2],
    pub count: [i64; 2],
    pub is_last: [bool; 2],
}

impl Tiles {
    /// None where some rank would have no cell.
    pub(super) fn of(workload: &Workload) -> Option<Self> {
        let [y, x] = workload.tiles.unwrap_or_else(|| balanced(workload.ranks));
        let along = [i64::from(y), i64::from(x)];
        let size = [workload.grid[1], workload.grid[2]];
        let fits = along[0] * along[1] == i64::from(workload.ranks)
            && along[0] <= size[0]
            && along[1] <= size[1];
        let [least, longer] = [i64::div_euclid, i64::rem_euclid]
            .map(|part| [0, 1].map(|axis| part(size[axis], along[axis].max(1))));
        fits.then_some(Self { along, size, least, longer })
    }

    pub(super) fn at(&self, rank: u32) -> Tile {
        let rank = i64::from(rank);
        let place = [rank / self.along[1], rank % self.along[1]];
        let start = [0, 1].map(|axis| self.begin(axis, place[axis]));
        let end = [0, 1].map(|axis| self.begin(axis, place[axis] + 1));
        Tile {
            start,
            count: [end[0] - start[0], end[1] - start[1]],
            is_last: [end[0] == self.size[0], end[1] == self.size[1]],
        }
    }

    fn begin(&self, axis: usize, tile: i64) -> i64 {
        self.least[axis] * tile + tile.min(self.longer[axis])
    }

    /// Ranks along y and x.
    pub(super) fn along(&self) -> [i64; 2] {
        self.along
    }

    /// Cells of the largest tile, along y and x.
    pub(super) fn largest(&self) -> [i64; 2] {
        self.at(0).count
    }
}

/// As Open MPI shares out ranks along two dimensions: prime factors, the largest first, to whichever
/// has fewer.
fn balanced(ranks: u32) -> [u32; 2] {
    let (mut left, mut factor, mut primes) = (ranks, 2, Vec::new());
    while factor * factor <= left {
        if left.is_multiple_of(factor) {
            primes.push(factor);
            left /= factor;
        } else {
            factor += 1;
        }
    }
    primes.push(left);
    let mut along = [1, 1];
    for prime in primes.into_iter().rev() {
        let fewer = usize::from(along[1] < along[0]);
        along[fewer] *= prime;
    }
    along.sort_unstable_by_key(|ranks| std::cmp::Reverse(*ranks));
    along
}

/// Equal pieces of a file at equal distances, at up to three levels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Runs {
    pub start: i64,
    pub bytes: i64,
    /// How many at each level, the innermost last, and how far apart.
    count: [i64; 2],
    stride: [i64; 2],
}

impl Runs {
    pub(super) fn single(start: i64, bytes: i64) -> Self {
        Self { start, bytes, count: [1, 1], stride: [0, 0] }
    }

    pub(super) fn regular(start: i64, bytes: i64, count: [i64; 2], stride: [i64; 2]) -> Self {
        Self { start, bytes, count, stride }
    }

    pub(super) fn len(&self) -> i64 {
        self.count[0] * self.count[1]
    }

    pub(super) fn offset(&self, number: i64) -> i64 {
        let (outer, inner) = (number / self.count[1], number % self.count[1]);
        self.start + outer * self.stride[0] + inner * self.stride[1]
    }

    /// The first that reaches beyond the byte; they ascend.
    pub(super) fn beyond(&self, byte: i64) -> i64 {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.offset(middle) + self.bytes > byte {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    }
}

impl Tile {
    /// Its cells of the variable along y and x: what is staggered has one more at the end.
    pub(super) fn cells(&self, variable: &Variable) -> [i64; 2] {
        let last = variable.dimensions.len() - 2;
        [0, 1].map(|axis| {
            let staggered = variable.dimensions[last + axis].staggered && self.is_last[axis];
            self.count[axis] + i64::from(staggered)
        })
    }

    pub(super) fn bytes(&self, variable: &Variable) -> i64 {
        let [y, x] = self.cells(variable);
        variable.outer() * y * x * variable.element_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::balanced;

    #[test]
    fn ranks_are_shared_out_as_open_mpi_does() {
        let expected =
            [(1, [1, 1]), (2, [2, 1]), (4, [2, 2]), (12, [4, 3]), (1 << 20, [1024, 1024])];
        for (ranks, along) in expected {
            assert_eq!(balanced(ranks), along);
        }
    }
}
