//! How each rank came to where it is: which waits decided when it went on, and whom it had waited
//! for. A critical path is such a trail, read from its end.
//!
//! Kept are the crossings that a trail may still lead over; what all open trails of a replay have
//! in common is its path so far, of which only the stretches are kept ([`Route`]).

use hashbrown::HashMap;

use crate::clocks::Clocks;
use crate::graph::moment::{CrossingId, Moment, NOWHERE, REPLAYS, Replay, Trails};
use crate::graph::vertex::Source;
use crate::options::CriticalPaths;
use crate::toggles::Toggles;

/// A thread of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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

/// Where trails come to a lane from others: one wait decides in several replays, mostly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Crossing {
    pub lane: Lane,
    /// Measured: when the lane went on.
    pub at: i64,
    /// By [`Replay`]: the last one on the lane that its trail comes from; itself where a rank comes
    /// to life. Of a replay in which the wait did not decide they mean nothing.
    pub before: Trails,
    /// Measured: when that lane did what was waited for. That may be later than `at` where replays
    /// need not keep the measured order.
    pub left: [i64; REPLAYS],
}

/// Crossings at most; beyond, there is no path.
const MOST: usize = 1 << 22;
/// So many are not worth looking for what can go: they stay in the cache.
const FEW: usize = 1 << 12;

pub(crate) struct Crossings {
    list: Vec<Crossing>,
    /// How many were left after the last sweep.
    live: usize,
    pub critical_paths: CriticalPaths,
    pub too_many: bool,
    /// By [`Replay`].
    pub routes: [Route; REPLAYS],
}

impl Crossings {
    /// The first ones are the ranks' begins.
    pub(crate) fn new(begins: &[i64], runtime: i64, critical_paths: CriticalPaths) -> Self {
        let begin = |(rank, begin): (u32, &i64)| Crossing {
            lane: Lane::main(rank),
            at: *begin,
            before: [rank; REPLAYS],
            left: [*begin; REPLAYS],
        };
        let list: Vec<Crossing> = (0..).zip(begins).map(begin).collect();
        let routes = Replay::ALL.map(|replay| Route::new(replay, runtime));
        Self { live: list.len(), list, critical_paths, too_many: false, routes }
    }

    pub(crate) fn get(&self, id: CrossingId) -> &Crossing {
        &self.list[id as usize]
    }

    /// `lane` goes on at `at`, having waited for those that decide: its trails lead from them.
    #[inline]
    pub(crate) fn cross(
        &mut self,
        (lane, at): (Lane, i64),
        trails: &mut Trails,
        deciding: [Option<&From>; REPLAYS],
    ) {
        if self.critical_paths == CriticalPaths::LeftOut {
            return;
        }
        let id = self.list.len() as CrossingId;
        let (mut before, mut left) = ([NOWHERE; REPLAYS], [at; REPLAYS]);
        for (replay, from) in deciding.into_iter().enumerate() {
            if let Some(from) = from {
                (before[replay], left[replay]) = (from.crossing, from.at);
                trails[replay] = id;
            }
        }
        if before != [NOWHERE; REPLAYS] {
            self.list.push(Crossing { lane, at, before, left });
        }
    }

    /// `ends`: how many ends of trails a sweep has to look for, at most.
    pub(crate) fn is_crowded(&self, ends: usize) -> bool {
        self.list.len() > 2 * self.live + ends / 8 + FEW
    }

    /// Forgets the crossings to which no trail leads, and those that all trails of a replay lead
    /// over. `each` shows it the ends of all trails.
    pub(crate) fn sweep(&mut self, mut each: impl FnMut(&mut dyn FnMut(usize, &mut CrossingId))) {
        let mut trails = vec![0; self.list.len()];
        each(&mut |replay, id| trails[*id as usize] |= 1 << replay);
        for (replay, common) in self.common(&mut trails).into_iter().enumerate() {
            if let Some(common) = common {
                self.follow(replay, common);
            }
        }
        let mut names = vec![NOWHERE; self.list.len()];
        let mut next = 0;
        for id in (0..self.list.len()).filter(|id| trails[*id] != 0) {
            names[id] = next;
            let mut crossing = self.list[id];
            for (replay, before) in crossing.before.iter_mut().enumerate() {
                let leads_over = trails[id] >> replay & 1 > 0;
                let name = if leads_over { names[*before as usize] } else { NOWHERE };
                *before = if name == NOWHERE { next } else { name };
            }
            self.list[next as usize] = crossing;
            next += 1;
        }
        self.list.truncate(next as usize);
        each(&mut |_, id| *id = names[*id as usize]);
        for route in &mut self.routes {
            route.reached = route.reached.map(|id| names[id as usize]);
        }
        self.live = self.list.len();
        self.too_many |= self.live > MOST;
    }

    /// By replay, the last crossing that all its trails lead over. `trails`: by crossing, a bit for
    /// each replay of which a trail ends there; then, of which one leads over it from there on.
    fn common(&self, trails: &mut [u8]) -> [Option<CrossingId>; REPLAYS] {
        let ends = |replay: usize| trails.iter().filter(|trail| *trail >> replay & 1 > 0).count();
        let mut open: [usize; REPLAYS] = std::array::from_fn(ends);
        let mut common = [None; REPLAYS];
        for id in (0..self.list.len()).rev() {
            let here = trails[id];
            for replay in (0..REPLAYS).filter(|replay| here >> replay & 1 > 0) {
                let before = self.list[id].before[replay] as usize;
                if before == id {
                    continue;
                }
                if open[replay] == 1 {
                    common[replay].get_or_insert(id as CrossingId);
                } else if trails[before] >> replay & 1 > 0 {
                    open[replay] -= 1;
                } else {
                    trails[before] |= 1 << replay;
                }
            }
        }
        common
    }

    /// The path of a replay goes on to a crossing.
    fn follow(&mut self, replay: usize, last: CrossingId) {
        let route = &mut self.routes[replay];
        let mut ids = Vec::new();
        let mut id = last;
        while route.reached != Some(id) {
            ids.push(id);
            let before = self.list[id as usize].before[replay];
            if before == id {
                break;
            }
            id = before;
        }
        ids.iter().rev().for_each(|id| route.cross(&self.list[*id as usize]));
        route.reached = Some(last);
    }

    /// The path of a replay ends with a crossing's lane, at the window's end.
    pub(crate) fn finish(&mut self, replay: Replay, last: CrossingId) -> &mut Route {
        self.follow(replay as usize, last);
        let route = &mut self.routes[replay as usize];
        route.leave(route.runtime);
        route.toggles.iter_mut().for_each(Toggles::finish);
        route.of_others.values_mut().for_each(Toggles::finish);
        route
    }
}

/// The path of a replay from its begin to where no trail may lead elsewhere any more.
#[derive(Debug)]
pub(crate) struct Route {
    replay: Replay,
    runtime: i64,
    /// The last crossing on it; the lane there, and since when.
    reached: Option<CrossingId>,
    lane: Option<(Lane, i64)>,
    /// When the first lane came to life.
    pub start: Option<i64>,
    /// How often it goes from rank to rank.
    pub crossings: u64,
    /// When it comes to each rank's main thread and leaves it, and to others.
    toggles: Vec<Toggles>,
    of_others: HashMap<Lane, Toggles>,
}

impl Route {
    fn new(replay: Replay, runtime: i64) -> Self {
        let (reached, lane, start) = (None, None, None);
        let (toggles, of_others) = (Vec::new(), HashMap::new());
        Self { replay, runtime, reached, lane, start, crossings: 0, toggles, of_others }
    }

    /// When it comes to each lane and leaves it; no more is known of it then.
    pub(crate) fn take_toggles(&mut self) -> impl Iterator<Item = (Lane, Toggles)> + use<> {
        let main = (0..).map(Lane::main).zip(std::mem::take(&mut self.toggles));
        main.chain(std::mem::take(&mut self.of_others))
    }

    fn toggles(&mut self, lane: Lane) -> &mut Toggles {
        if lane.thread != Lane::MAIN {
            return self.of_others.entry(lane).or_default();
        }
        let rank = lane.rank as usize;
        if self.toggles.len() <= rank {
            self.toggles.resize_with(rank + 1, Toggles::default);
        }
        &mut self.toggles[rank]
    }

    fn cross(&mut self, crossing: &Crossing) {
        let Crossing { lane, at, left, .. } = *crossing;
        let left = left[self.replay as usize];
        // What is measured includes the transfer of what was waited for.
        let (left, at) = match self.replay {
            Replay::Measured => (left.min(at), left.min(at)),
            _ => (left, at),
        };
        if let Some((before, _)) = self.lane {
            self.leave(left);
            self.crossings += u64::from(before.rank != lane.rank);
        }
        self.lane = Some((lane, at));
    }

    /// Of the present lane.
    fn leave(&mut self, left: i64) {
        let Some((lane, at)) = self.lane.take() else { return };
        let end = left.clamp(0, self.runtime);
        let begin = at.clamp(0, end);
        self.start.get_or_insert(begin);
        if begin < end {
            let toggles = self.toggles(lane);
            toggles.push(begin);
            toggles.push(end);
        }
    }
}

/// Whom a wait is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct From {
    /// Measured.
    pub at: i64,
    pub rank: u32,
    pub crossing: CrossingId,
}

impl From {
    const NOBODY: Self = Self { at: 0, rank: 0, crossing: NOWHERE };
}

/// The latest of some moments, by each replay, and whose they were.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Latest {
    moments: [i64; REPLAYS],
    from: [From; REPLAYS],
}

impl Default for Latest {
    fn default() -> Self {
        Self::NOTHING
    }
}

impl Latest {
    pub(crate) const NOTHING: Self = Self { moments: [0; REPLAYS], from: [From::NOBODY; REPLAYS] };

    #[inline]
    pub(crate) fn of(source: &Source) -> Self {
        let Source { moment: Moment { clocks, trails }, at, rank, .. } = *source;
        let Clocks { net, even, ideal } = clocks;
        let from = |crossing| From { at, rank, crossing };
        Self { moments: [at, net, even, ideal], from: trails.map(from) }
    }

    /// … and one more.
    #[inline]
    #[must_use]
    pub(crate) fn and(mut self, source: &Source) -> Self {
        self.add(source);
        self
    }

    /// … in place.
    #[inline]
    pub(crate) fn add(&mut self, source: &Source) {
        let Source { moment: Moment { clocks, trails }, at, rank, .. } = *source;
        let Clocks { net, even, ideal } = clocks;
        let moments = [at, net, even, ideal];
        for replay in 0..REPLAYS {
            let (moment, from) = (&mut self.moments[replay], &mut self.from[replay]);
            let later = *moment < moments[replay];
            if later || *moment == moments[replay] && (from.at, from.rank) < (at, rank) {
                *moment = moments[replay];
                *from = From { at, rank, crossing: trails[replay] };
            }
        }
    }

    /// … of many in place, where nobody asks whose the moments were; when the last was, as measured.
    #[inline]
    pub(crate) fn add_moments<'a>(&mut self, sources: impl Iterator<Item = &'a Source>) -> i64 {
        let [before, mut net, mut even, mut ideal] = self.moments;
        let mut at = i64::MIN;
        for source in sources {
            at = at.max(source.at);
            net = net.max(source.moment.clocks.net);
            even = even.max(source.moment.clocks.even);
            ideal = ideal.max(source.moment.clocks.ideal);
        }
        self.moments = [before.max(at), net, even, ideal];
        at
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
    pub(crate) fn crossings(&mut self) -> impl Iterator<Item = (usize, &mut CrossingId)> {
        let ends = self.from.iter_mut().map(|from| &mut from.crossing);
        ends.enumerate().filter(|(_, crossing)| **crossing != NOWHERE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(crossing: CrossingId, at: i64) -> From {
        From { at, rank: 0, crossing }
    }

    /// A rank's main thread goes on, having waited in all replays for what came from a crossing.
    fn cross(crossings: &mut Crossings, rank: u32, at: i64, from: From) -> CrossingId {
        let mut trails = [NOWHERE; REPLAYS];
        crossings.cross((Lane::main(rank), at), &mut trails, [Some(&from); REPLAYS]);
        assert_eq!(trails, [trails[0]; REPLAYS]);
        trails[0]
    }

    #[test]
    fn a_wait_that_decides_in_several_replays_is_one_crossing() {
        let mut crossings = Crossings::new(&[0, 0], 100, CriticalPaths::Followed);
        let (mut trails, late) = ([0, 1, 0, 1], from(0, 10));
        crossings.cross((Lane::main(1), 12), &mut trails, [None; REPLAYS]);
        assert_eq!((trails, crossings.list.len()), ([0, 1, 0, 1], 2));
        let deciding = [Some(&late), None, None, Some(&late)];
        crossings.cross((Lane::main(1), 12), &mut trails, deciding);
        assert_eq!((trails, crossings.list.len()), ([2, 1, 0, 2], 3));
    }

    #[test]
    fn a_sweep_keeps_what_trails_lead_over() {
        let mut crossings = Crossings::new(&[0, 5], 100, CriticalPaths::Followed);
        let dead = cross(&mut crossings, 1, 20, from(0, 10));
        let first = cross(&mut crossings, 1, 30, from(0, 25));
        let mut ends = [cross(&mut crossings, 0, 40, from(first, 35)), first];
        assert!(dead < first);
        crossings.sweep(|show| ends.iter_mut().for_each(|end| show(1, end)));
        assert_eq!(crossings.list.len(), 2);
        let Crossing { lane, left, before, .. } = *crossings.get(ends[0]);
        assert_eq!((lane.rank, left[1], crossings.get(ends[0]).before[1]), (0, 35, ends[1]));
        assert_eq!(before[0], ends[0]); // no trail of that replay leads over it
        let route = crossings.finish(Replay::Net, ends[0]);
        let toggles = |rank: usize| route.toggles[rank].iter().collect::<Vec<i64>>();
        assert_eq!((toggles(0), toggles(1)), (vec![0, 25, 40, 100], vec![30, 35]));
        assert_eq!((route.start, route.crossings), (Some(0), 2));
    }
}
