//! Communicators between worlds: MPI_Comm_spawn, MPI_Comm_connect, and what is made of theirs.
//!
//! A process knows only the members of its own MPI_COMM_WORLD by their ranks. So each world has
//! half of such a communicator, and its own identity for it. Two halves of different worlds that
//! fill each other's gaps are one, in the order in which they were made.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::communicator::{OUTSIDE, RawCommunicator};
use super::merge::{Merge, Numbers, Seen};
use super::ranks::Image;
use super::survey::Survey;
use crate::tables::Tables;

/// In ranks of the run, but for those outside.
type Group = Vec<u32>;
type Mask = (Vec<bool>, Option<Vec<bool>>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Half {
    /// The first rank of its world.
    base: u32,
    identity: u64,
    members: Group,
    remote: Option<Group>,
}

/// Image, and number in the process.
type Places = Vec<(usize, u32)>;

/// Gives the communicators that were left out for their members outside their numbers in the run,
/// where the other half is found.
pub(super) fn join(
    images: &[Image],
    surveys: &[Survey],
    merge: &mut Merge,
    tables: &mut Tables,
    numbers: &mut [Numbers],
) {
    let halves = in_order(images, surveys, tables.ranks);
    let mut open: HashMap<Mask, VecDeque<usize>> = HashMap::new();
    let mut pairs = Vec::new();
    for (index, (half, _)) in halves.iter().enumerate() {
        let others = open.get_mut(&half.gaps());
        let other = others.and_then(|others| {
            let at = others.iter().position(|&other| halves[other].0.base != half.base)?;
            others.remove(at)
        });
        match other {
            Some(other) => pairs.push((other, index)),
            None => open.entry(half.known()).or_default().push_back(index),
        }
    }
    for (first, second) in pairs {
        let ((first, first_places), (second, second_places)) = (&halves[first], &halves[second]);
        let (members, remote) = first.filled(second);
        let seen = merge.intern(first.identity, members.clone(), remote.clone(), tables);
        let turned = match remote {
            Some(remote) => Seen { index: seen.index, members: remote, remote: Some(members) },
            None => seen.clone(),
        };
        for (places, seen) in [(first_places, &seen), (second_places, &turned)] {
            for &(image, number) in places {
                numbers[image].communicators.insert(number, seen.clone());
            }
        }
    }
}

/// Each half once, with where it is known; by world, and there in the order of their numbers.
fn in_order(images: &[Image], surveys: &[Survey], ranks: u32) -> Vec<(Half, Places)> {
    let mut found: HashMap<Half, (u32, Places)> = HashMap::new();
    for (index, image) in images.iter().enumerate().filter(|(_, image)| image.rank.is_some()) {
        for &stream in &image.streams {
            for (&number, raw) in &surveys[stream].communicators {
                let Some(half) = Half::of(raw, image.world_base, ranks) else { continue };
                let (first, places) = found.entry(half).or_insert((number, Vec::new()));
                *first = number.min(*first);
                places.push((index, number));
            }
        }
    }
    let mut halves: Vec<_> = found.into_iter().collect();
    halves.sort_by_key(|(half, (first, _))| (half.base, *first, half.identity));
    halves.into_iter().map(|(half, (_, places))| (half, places)).collect()
}

impl Half {
    /// `None` if nobody is outside, or somebody is no rank of the run.
    fn of(raw: &RawCommunicator, base: u32, ranks: u32) -> Option<Self> {
        let all = || raw.members.iter().chain(raw.remote.iter().flat_map(|remote| remote.iter()));
        let is_rank = |rank: u32| u64::from(rank) + u64::from(base) < u64::from(ranks);
        if !all().any(|&rank| rank == OUTSIDE)
            || !all().all(|&rank| rank == OUTSIDE || is_rank(rank))
        {
            return None;
        }
        let moved = |group: &[u32]| -> Group {
            group.iter().map(|&rank| if rank == OUTSIDE { OUTSIDE } else { rank + base }).collect()
        };
        let (members, remote) = (moved(&raw.members), raw.remote.as_deref().map(moved));
        Some(Self { base, identity: raw.identity, members, remote })
    }

    fn known(&self) -> Mask {
        let mask = |group: &Group| group.iter().map(|rank| *rank != OUTSIDE).collect();
        (mask(&self.members), self.remote.as_ref().map(mask))
    }

    /// What is known where this one is the other half: its remote group is the other's local one.
    fn gaps(&self) -> Mask {
        let mask = |group: &Group| group.iter().map(|rank| *rank == OUTSIDE).collect();
        match &self.remote {
            Some(remote) => (mask(remote), Some(mask(&self.members))),
            None => (mask(&self.members), None),
        }
    }

    fn filled(&self, other: &Self) -> (Arc<[u32]>, Option<Arc<[u32]>>) {
        let fill = |ours: &Group, theirs: &Group| -> Arc<[u32]> {
            ours.iter().zip(theirs).map(|(own, other)| *own.min(other)).collect()
        };
        match (&self.remote, &other.remote) {
            (Some(remote), Some(theirs)) => {
                (fill(&self.members, theirs), Some(fill(remote, &other.members)))
            }
            _ => (fill(&self.members, &other.members), None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn half(base: u32, members: &[u32], remote: Option<&[u32]>) -> Half {
        let remote = remote.map(<[u32]>::to_vec);
        Half { base, identity: 7, members: members.to_vec(), remote }
    }

    #[test]
    fn halves_fill_each_other() {
        let parent = half(0, &[0], Some(&[OUTSIDE, OUTSIDE]));
        let child = half(1, &[1, 2], Some(&[OUTSIDE]));
        assert_eq!(child.gaps(), parent.known());
        let (members, remote) = parent.filled(&child);
        assert_eq!((&members[..], remote.as_deref()), (&[0][..], Some(&[1, 2][..])));
        let (ours, theirs) = (half(0, &[0, OUTSIDE], None), half(1, &[OUTSIDE, 1], None));
        assert_eq!(theirs.gaps(), ours.known());
        assert_eq!(&ours.filled(&theirs).0[..], [0, 1]);
    }
}
