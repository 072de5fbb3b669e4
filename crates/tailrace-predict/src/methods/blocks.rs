//! In which blocks a library writes a file that one rank has alone, where it looks for each in the
//! file first: netCDF-3 reads the block that comes next before it fills it, which finds nothing
//! behind the file's end, and waits there for all that was written.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::families::Families;
use super::stretches::{Piece, Stretch};

/// By family: how large its blocks are, if it has any.
#[derive(Debug, Default)]
pub(super) struct Blocks(Vec<Option<i64>>);

impl Blocks {
    /// They are as large as most of a family's writes are, if a look for the next block follows most
    /// of these.
    pub(super) fn of(stretches: &[Vec<Stretch>], all: &Families) -> Self {
        let mut sizes: Vec<BTreeMap<i64, [usize; 2]>> = vec![BTreeMap::new(); all.list.len()];
        let is_mpi = |stretch: &&Stretch| all.list[stretch.family as usize].is_through_mpi;
        for stretch in stretches.iter().flatten().filter(|stretch| !is_mpi(stretch)) {
            for part in &stretch.parts {
                let found = sizes[stretch.family as usize].entry(part.bytes).or_default();
                found[0] += 1;
                found[1] += usize::from(!part.looks.is_empty());
            }
        }
        Self(sizes.iter().map(usual).collect())
    }

    /// Where there are none, who looks for something in a file goes on doing so.
    pub(super) fn leave_other_looks(&self, stretches: &mut [Vec<Stretch>]) {
        for stretch in stretches.iter_mut().flatten() {
            if self.0[stretch.family as usize].is_none() {
                stretch.parts.iter_mut().for_each(|part| part.looks.clear());
            }
        }
    }

    /// The pieces in blocks, which end at multiples of their size, and whether a look follows each.
    pub(super) fn cut<'a>(&self, family: u32, pieces: &'a [Piece]) -> (Cow<'a, [Piece]>, bool) {
        let Some(size) = self.0[family as usize] else { return (pieces.into(), false) };
        let mut found = Vec::new();
        for (begin, bytes) in pieces {
            let (mut at, end) = (*begin, begin + bytes);
            while at < end {
                let next = (at.div_euclid(size) + 1).saturating_mul(size).min(end);
                found.push((at, next - at));
                at = next;
            }
        }
        (found.into(), true)
    }
}

/// The size that most have, of which most are followed by a look.
fn usual(sizes: &BTreeMap<i64, [usize; 2]>) -> Option<i64> {
    let all: usize = sizes.values().map(|[count, _]| count).sum();
    let (size, [count, looks]) = sizes.iter().max_by_key(|(_, [count, _])| *count)?;
    (2 * count > all && 2 * looks > *count).then_some(*size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_writes_and_most_looks_decide() {
        let of = |sizes: &[(i64, [usize; 2])]| usual(&sizes.iter().copied().collect());
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[(64, [6, 5]), (7, [5, 0])]), Some(64));
        // half of the looks, or half of the writes, are not most
        assert_eq!(of(&[(64, [6, 3]), (7, [5, 0])]), None);
        assert_eq!(of(&[(64, [5, 5]), (7, [5, 0])]), None);
    }

    #[test]
    fn blocks_end_at_multiples_of_their_size() {
        let blocks = Blocks(vec![Some(64), None]);
        let (pieces, looks) = blocks.cut(0, &[(10, 130), (256, 64)]);
        assert_eq!((&*pieces, looks), (&[(10, 54), (64, 64), (128, 12), (256, 64)][..], true));
        let (pieces, looks) = blocks.cut(1, &[(10, 130)]);
        assert_eq!((&*pieces, looks), (&[(10, 130)][..], false));
    }
}
