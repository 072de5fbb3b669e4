//! How each rank came to where it is: which waits decided when it went on, and whom it had waited
//! for. A critical path is such a trail, read from its end.
//!
//! Kept are the crossings that a trail may still lead over; what all that is still open has in
//! common is the path so far, and is kept until the end.

use crate::clocks::Clocks;
use crate::graph::moment::{CrossingId, Moment, REPLAYS};
use crate::graph::vertex::Source;

/// A thread of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lane {
    pub rank: u32,
    /// By the rank's own number, or [`Lane::MAIN`].
    pub thread: u32,
}

impl Lane {
    pub(crate) const MAIN: u32 = u32::MAX;

    pub(crate) fn main(rank: u32) -> Self {
        Self { rank, thread: Self::MAIN }
    }
}

/// Where a trail comes to a lane from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Crossing {
    /// The last one on the lane that it comes from; itself where a rank comes to life.
    pub before: CrossingId,
    pub lane: Lane,
    /// Measured times: when the other lane did what was waited for, and when this one went on. That
    /// may be earlier where replays need not keep the measured order.
    pub left: i64,
    pub at: i64,
}

/// Crossings at most; beyond, there is no path.
const MOST: usize = 1 << 23;
/// So many are not worth looking for what can go.
const FEW: usize = 1 << 16;

pub(crate) struct Crossings {
    list: Vec<Crossing>,
    /// How many were left after the last sweep.
    live: usize,
    pub too_many: bool,
}

impl Crossings {
    /// The first ones are the ranks' begins.
    pub(crate) fn new(begins: &[i64]) -> Self {
        let begin = |(rank, begin): (u32, &i64)| Crossing {
            before: rank,
            lane: Lane::main(rank),
            left: *begin,
            at: *begin,
        };
        let list: Vec<Crossing> = (0..).zip(begins).map(begin).collect();
        Self { live: list.len(), list, too_many: false }
    }

    pub(crate) fn get(&self, id: CrossingId) -> &Crossing {
        &self.list[id as usize]
    }

    /// `lane` goes on at `at`, having waited for `from`.
    #[inline]
    pub(crate) fn cross(&mut self, lane: Lane, at: i64, from: &From) -> CrossingId {
        let crossing = Crossing { before: from.crossing, lane, left: from.at, at };
        if self.list.last() != Some(&crossing) {
            self.list.push(crossing);
        }
        self.list.len() as CrossingId - 1
    }

    pub(crate) fn is_crowded(&self) -> bool {
        self.list.len() > 2 * self.live + FEW
    }

    /// Forgets the crossings to which no trail leads. `each` shows it the ends of all trails.
    pub(crate) fn sweep(&mut self, mut each: impl FnMut(&mut dyn FnMut(&mut CrossingId))) {
        const GONE: CrossingId = CrossingId::MAX;
        let mut names = vec![GONE; self.list.len()];
        each(&mut |id| names[*id as usize] = 0);
        for id in (0..self.list.len()).rev() {
            if names[id] != GONE {
                names[self.list[id].before as usize] = 0;
            }
        }
        let mut next = 0;
        for (id, name) in names.iter_mut().enumerate().filter(|(_, name)| **name != GONE) {
            *name = next;
            self.list[next as usize] = self.list[id];
            next += 1;
        }
        self.list.truncate(next as usize);
        for crossing in &mut self.list {
            crossing.before = names[crossing.before as usize];
        }
        each(&mut |id| *id = names[*id as usize]);
        self.live = self.list.len();
        self.too_many |= self.live > MOST;
    }
}

/// Whom a wait is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct From {
    /// Measured.
    pub at: i64,
    pub rank: u32,
    pub crossing: CrossingId,
}

/// The latest of some moments, by each replay, and whose they were.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Latest {
    moments: [i64; REPLAYS],
    from: [From; REPLAYS],
}

impl Latest {
    #[inline]
    pub(crate) fn of(source: &Source, moment: &Moment) -> Self {
        let Clocks { net, even, ideal } = moment.clocks;
        let from = |crossing| From { at: source.at, rank: source.rank, crossing };
        Self { moments: [source.at, net, even, ideal], from: moment.trails.map(from) }
    }

    /// Of equals the one on which all agree, whatever the order.
    #[inline]
    #[must_use]
    pub(crate) fn max(mut self, other: &Self) -> Self {
        for replay in 0..REPLAYS {
            let (one, two) = (&self.from[replay], &other.from[replay]);
            let order = self.moments[replay].cmp(&other.moments[replay]);
            if order.then_with(|| (one.at, one.rank).cmp(&(two.at, two.rank))).is_lt() {
                self.moments[replay] = other.moments[replay];
                self.from[replay] = *two;
            }
        }
        self
    }

    pub(crate) fn clocks(&self) -> Clocks {
        let [_, net, even, ideal] = self.moments;
        Clocks { net, even, ideal }
    }

    /// What decides, by replay, for one who would go on at `own` without waiting.
    #[inline]
    pub(crate) fn deciding(&self, own: [i64; REPLAYS]) -> [Option<&From>; REPLAYS] {
        std::array::from_fn(|replay| {
            (self.moments[replay] > own[replay]).then_some(&self.from[replay])
        })
    }

    /// The ends of its trails.
    pub(crate) fn crossings(&mut self) -> impl Iterator<Item = &mut CrossingId> {
        self.from.iter_mut().map(|from| &mut from.crossing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(crossing: CrossingId, at: i64) -> From {
        From { at, rank: 0, crossing }
    }

    #[test]
    fn a_crossing_that_decides_in_several_replays_is_kept_once() {
        let mut crossings = Crossings::new(&[0, 0]);
        let first = crossings.cross(Lane::main(1), 12, &from(0, 10));
        assert_eq!(crossings.cross(Lane::main(1), 12, &from(0, 10)), first);
        assert_ne!(crossings.cross(Lane::main(1), 12, &from(0, 9)), first);
    }

    #[test]
    fn a_sweep_keeps_what_trails_lead_over() {
        let mut crossings = Crossings::new(&[0, 5]);
        let dead = crossings.cross(Lane::main(1), 20, &from(0, 10));
        let first = crossings.cross(Lane::main(1), 30, &from(0, 25));
        let mut end = crossings.cross(Lane::main(0), 40, &from(first, 35));
        assert!(dead < first);
        crossings.sweep(|show| show(&mut end));
        let mut lanes = Vec::new();
        loop {
            let Crossing { before, lane, left, .. } = *crossings.get(end);
            lanes.push((lane.rank, left));
            if before == end {
                break;
            }
            end = before;
        }
        assert_eq!(lanes, [(0, 35), (1, 25), (0, 0)]);
        assert_eq!(crossings.list.len(), 3);
    }
}
