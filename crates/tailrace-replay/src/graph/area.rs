//! How many ranks are in a file call: k(t), its integral, and the phases of I/O that it marks.

use crate::graph::Slab;
use crate::graph::chains::Chain;
use crate::graph::edges::{Keys, Merger, Turn};

/// A maximal stretch in which some rank is in a file call; gaps shorter than 1 % of the run are
/// bridged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IoPhase {
    pub begin: i64,
    pub end: i64,
    pub bytes_read: u64,
    pub bytes_written: u64,
    /// ∫k dt over the phase: time that ranks spent in file calls, summed.
    pub io: i64,
    /// Time with k > 0.
    pub busy: i64,
    pub ranks_in_io_max: u32,
}

impl IoPhase {
    /// Mean of k(t) over the phase.
    pub fn ranks_in_io_mean(&self) -> f64 {
        self.io as f64 / (self.end - self.begin).max(1) as f64
    }
}

/// k(t) and K(t) = ∫k dt, slab by slab. All times are nanoseconds since the window's begin.
pub(crate) struct Area {
    keys: Keys,
    merger: Merger,
    ranks: Vec<InRank>,
    now: Now,
    /// Gaps at least this long end a phase.
    gap: i64,
    phases: Vec<IoPhase>,
}

/// At the last edge.
#[derive(Clone, Copy, Debug, Default)]
struct Now {
    /// k, and K at `last`.
    ranks_in_io: i64,
    sum: i64,
    last: i64,
    /// Since when k > 0, where it is, and the most that it was since.
    since: i64,
    most: i64,
}

/// What K comes to in one rank's file calls.
#[derive(Clone, Copy, Debug, Default)]
struct InRank {
    /// K over all calls that are over, less K at the begin of the one that it is in.
    shared: i64,
    /// K at that begin, or 0.
    begin: i64,
    /// Calls of the slab that ended, those of them whose bytes are in a phase, and areas of the
    /// slab beside those at the ends.
    ended: usize,
    moved: usize,
    areas: usize,
}

impl Area {
    /// For a window of `runtime` nanoseconds.
    pub(crate) fn new(keys: Keys, runtime: i64, ranks: usize) -> Self {
        Self {
            keys,
            merger: Merger::default(),
            ranks: vec![InRank::default(); ranks],
            now: Now::default(),
            gap: (runtime / 100).max(1),
            phases: Vec::new(),
        }
    }

    /// The length of the window.
    pub(crate) fn runtime(&self) -> i64 {
        self.keys.runtime()
    }

    /// Takes the slabs' edges until `horizon`, and adds to each chain what K comes to at them.
    pub(crate) fn pass(&mut self, slabs: &mut [Slab], horizon: i64, chains: &mut [Chain]) {
        let after = self.keys.after(horizon);
        let until = |slab: &Slab| slab.edges.partition_point(|key| *key < after);
        let runs: Vec<&[u64]> = slabs
            .iter()
            .map(|slab| &slab.edges[..until(slab)])
            .filter(|run| !run.is_empty())
            .collect();
        let mut merger = std::mem::take(&mut self.merger);
        let keys = merger.merge(self.keys, &runs);
        // Nobody asks for areas in between where there are no vertices: file calls alone.
        let asked = slabs.iter().any(|slab| !slab.vertices.is_empty())
            || chains.iter().any(|chain| !chain.vertices.is_empty());
        if asked {
            self.take::<true>(keys, slabs, chains);
        } else {
            self.take::<false>(keys, slabs, chains);
            for (chain, of) in chains.iter_mut().zip(&mut self.ranks) {
                chain.shared[0] = of.shared + of.begin;
                chain.first_area = chain.first_area.wrapping_add((of.ended + of.areas) as u32);
            }
        }
        self.merger = merger;
        self.add_moved(slabs);
        for (slab, of) in slabs.iter_mut().zip(&mut self.ranks) {
            slab.edges.drain(..slab.edges.partition_point(|key| *key < after));
            slab.moved.drain(..of.ended);
            (of.ended, of.moved, of.areas) = (0, 0, 0);
        }
    }

    /// `ASKED`: each area is added to its rank's chain.
    fn take<const ASKED: bool>(&mut self, keys: &[u64], slabs: &[Slab], chains: &mut [Chain]) {
        let of_keys = self.keys;
        let mut now = self.now;
        for key in keys {
            let (time, turn, rank) = of_keys.parts(*key);
            now.sum += now.ranks_in_io * (time - now.last);
            now.last = time;
            let of = &mut self.ranks[rank as usize];
            if turn == Turn::Sample || turn == Turn::Total {
                let over = of.shared + of.begin;
                let areas = if turn == Turn::Sample {
                    &[of.shared + now.sum][..]
                } else {
                    &[now.sum, over]
                };
                of.areas += areas.len();
                if ASKED {
                    chains[rank as usize].shared.extend(areas);
                }
                continue;
            }
            // Who comes next is as good as random: no branch depends on whether a call begins or
            // ends.
            let begins = i64::from(turn == Turn::Begin);
            let ends = 1 - begins;
            of.shared += (ends - begins) * now.sum;
            of.begin = begins * now.sum;
            of.ended += ends as usize;
            if ASKED && turn == Turn::End {
                chains[rank as usize].shared.push(of.shared);
            }
            let fewer = now.ranks_in_io - ends;
            now.ranks_in_io = fewer + begins;
            now.most = now.most.max(now.ranks_in_io);
            if fewer == 0 {
                if turn == Turn::Begin { self.open(&mut now, slabs) } else { self.close(&now) }
            }
        }
        self.now = now;
    }

    /// The sum of K over each rank's file calls.
    pub(crate) fn shared(&self) -> impl Iterator<Item = i64> {
        self.ranks.iter().map(|rank| rank.shared)
    }

    pub(crate) fn phases(&self) -> &[IoPhase] {
        &self.phases
    }

    /// k is no longer 0. `io` holds −K(begin) until K(end) is added.
    #[cold]
    fn open(&mut self, now: &mut Now, slabs: &[Slab]) {
        (now.since, now.most) = (now.last, 1);
        match self.phases.last_mut() {
            Some(phase) if now.last - phase.end < self.gap => phase.io -= now.sum,
            _ => {
                self.add_moved(slabs);
                let (begin, end) = (now.last, now.last);
                self.phases.push(IoPhase { begin, end, io: -now.sum, ..IoPhase::default() });
            }
        }
    }

    /// k is 0 again.
    fn close(&mut self, now: &Now) {
        let phase = self.phases.last_mut().expect("a phase is open while a rank is in a file call");
        phase.end = now.last;
        phase.io += now.sum;
        phase.busy += now.last - now.since;
        phase.ranks_in_io_max = phase.ranks_in_io_max.max(now.most as u32);
    }

    /// What calls moved that ended and is in no phase yet is the last phase's.
    fn add_moved(&mut self, slabs: &[Slab]) {
        let Some(phase) = self.phases.last_mut() else { return };
        for (of, slab) in self.ranks.iter_mut().zip(slabs) {
            for moved in &slab.moved[of.moved..of.ended] {
                let writes = (moved & 1).wrapping_neg(); // all ones, or nothing
                phase.bytes_written += moved >> 1 & writes;
                phase.bytes_read += moved >> 1 & !writes;
            }
            of.moved = of.ended;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::moment::Moment;
    use crate::graph::vertex::{Deed, Site, Vertex};

    #[test]
    fn area_and_phases_follow_the_ranks_in_io() {
        let keys = Keys::new(1000, 2).unwrap(); // gaps of 10 ns and more end a phase
        let mut area = Area::new(keys, 1000, 2);
        let edges = |rank, calls: &[(i64, i64)]| -> Vec<u64> {
            let both = |(begin, end): &(i64, i64)| {
                [keys.key(*begin, Turn::Begin, rank), keys.key(*end, Turn::End, rank)]
            };
            calls.iter().flat_map(both).collect()
        };
        let mut slabs = [
            // 139: a gap of 9, the same phase; 150: a gap of 10, another
            Slab {
                edges: edges(0, &[(100, 120), (139, 140)]),
                moved: vec![15, 0],
                ..Slab::default()
            },
            Slab {
                edges: edges(1, &[(110, 130), (150, 160)]),
                moved: vec![0, 0],
                ..Slab::default()
            },
        ];
        slabs[0].edges.insert(1, keys.key(115, Turn::Sample, 0)); // 10 · 1 + 5 · 2
        let deed = Deed::Await { role: 0 };
        let (site, owns) = (Site::default(), 0);
        let vertex = Vertex { at: 0, since: 0, useful: 0, io: 0, areas: 0, owns, site, deed };
        let mut chains = [0, 1].map(|rank| Chain::new(rank, Moment::default()));
        chains[0].vertices.push(vertex); // asks for areas
        area.pass(&mut slabs, 125, &mut chains);
        area.pass(&mut slabs, 1000, &mut chains);
        assert_eq!(chains[0].shared, [0, 20, 30, 31]); // 10 + 2 · 10, then 1
        assert_eq!(chains[1].shared, [0, 30, 40]);
        assert_eq!(area.shared().collect::<Vec<_>>(), [31, 40]);
        let first = IoPhase {
            begin: 100,
            end: 140,
            bytes_read: 0,
            bytes_written: 7,
            io: 41,
            busy: 31,
            ranks_in_io_max: 2,
        };
        let second = IoPhase {
            begin: 150,
            end: 160,
            io: 10,
            busy: 10,
            ranks_in_io_max: 1,
            ..IoPhase::default()
        };
        assert_eq!(area.phases(), [first, second]);
    }
}
