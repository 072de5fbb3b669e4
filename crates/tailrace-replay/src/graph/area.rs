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
    /// k, and K at `last`.
    ranks_in_io: u32,
    sum: i64,
    last: i64,
    /// Since when k > 0, where it is.
    since: i64,
    /// Gaps at least this long end a phase.
    gap: i64,
    phases: Vec<IoPhase>,
}

/// What K comes to in one rank's file calls.
#[derive(Clone, Copy, Debug, Default)]
struct InRank {
    /// K at the begin of the call that it is in.
    begin: i64,
    /// Over all calls that are over.
    shared: i64,
    /// Calls of the slab that ended, and areas of the slab.
    ended: usize,
    areas: usize,
}

impl Area {
    /// For a window of `runtime` nanoseconds.
    pub(crate) fn new(keys: Keys, runtime: i64, ranks: usize) -> Self {
        Self {
            keys,
            merger: Merger::default(),
            ranks: vec![InRank::default(); ranks],
            ranks_in_io: 0,
            sum: 0,
            last: 0,
            since: 0,
            gap: (runtime / 100).max(1),
            phases: Vec::new(),
        }
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
        let keys = merger.merge(&runs);
        // Nobody asks for areas in between where there are no vertices: file calls alone.
        let asked = slabs.iter().any(|slab| !slab.vertices.is_empty())
            || chains.iter().any(|chain| !chain.vertices.is_empty());
        if asked {
            self.take::<true>(keys, slabs, chains);
        } else {
            self.take::<false>(keys, slabs, chains);
            for (chain, of) in chains.iter_mut().zip(&mut self.ranks) {
                chain.shared[0] = of.shared;
                chain.first_area = chain.first_area.wrapping_add(of.areas as u32);
            }
        }
        self.merger = merger;
        for (slab, of) in slabs.iter_mut().zip(&mut self.ranks) {
            slab.edges.drain(..slab.edges.partition_point(|key| *key < after));
            slab.moved.drain(..of.ended);
            (of.ended, of.areas) = (0, 0);
        }
    }

    /// `ASKED`: each area is added to its rank's chain.
    fn take<const ASKED: bool>(&mut self, keys: &[u64], slabs: &[Slab], chains: &mut [Chain]) {
        for key in keys {
            let (time, turn, rank) = self.keys.parts(*key);
            self.sum += i64::from(self.ranks_in_io) * (time - self.last);
            self.last = time;
            let rank = rank as usize;
            match turn {
                Turn::Begin => {
                    self.ranks[rank].begin = self.sum;
                    self.enter(time);
                }
                Turn::Sample => {
                    let InRank { begin, shared, areas, .. } = &mut self.ranks[rank];
                    *areas += 1;
                    if ASKED {
                        chains[rank].shared.push(*shared + self.sum - *begin);
                    }
                }
                Turn::Total => {
                    let of = &mut self.ranks[rank];
                    of.areas += 2;
                    if ASKED {
                        chains[rank].shared.extend([self.sum, of.shared]);
                    }
                }
                Turn::End => {
                    let of = &mut self.ranks[rank];
                    of.shared += self.sum - of.begin;
                    of.areas += 1;
                    if ASKED {
                        chains[rank].shared.push(of.shared);
                    }
                    let moved = slabs[rank].moved[of.ended];
                    of.ended += 1;
                    self.leave(time, moved);
                }
            }
        }
    }

    /// The sum of K over each rank's file calls.
    pub(crate) fn shared(&self) -> impl Iterator<Item = i64> {
        self.ranks.iter().map(|rank| rank.shared)
    }

    pub(crate) fn phases(&self) -> &[IoPhase] {
        &self.phases
    }

    #[inline]
    fn enter(&mut self, now: i64) {
        self.ranks_in_io += 1;
        if self.ranks_in_io == 1 {
            self.open(now);
        }
        let phase = self.phases.last_mut().expect("a phase is open while a rank is in a file call");
        phase.ranks_in_io_max = phase.ranks_in_io_max.max(self.ranks_in_io);
    }

    /// `moved`: see [`Slab::moved`].
    #[inline]
    fn leave(&mut self, now: i64, moved: u64) {
        self.ranks_in_io -= 1;
        let phase = self.phases.last_mut().expect("a phase is open while a rank is in a file call");
        let (read, written) = if moved & 1 == 0 { (moved >> 1, 0) } else { (0, moved >> 1) };
        phase.bytes_read += read;
        phase.bytes_written += written;
        if self.ranks_in_io == 0 {
            phase.end = now;
            phase.io += self.sum;
            phase.busy += now - self.since;
        }
    }

    /// `io` holds −K(begin) until K(end) is added.
    fn open(&mut self, now: i64) {
        self.since = now;
        match self.phases.last_mut() {
            Some(phase) if now - phase.end < self.gap => phase.io -= self.sum,
            _ => self.phases.push(IoPhase {
                begin: now,
                end: now,
                io: -self.sum,
                ..IoPhase::default()
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::vertex::{Deed, Vertex};

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
        let vertex = Vertex { at: 0, useful: 0, io: 0, areas: 0, owns: 0, deed };
        let mut chains = [Chain::default(), Chain::default()];
        chains[0].vertices.push(vertex); // asks for areas
        area.pass(&mut slabs, 125, &mut chains);
        area.pass(&mut slabs, 1000, &mut chains);
        assert_eq!(chains[0].shared, [20, 30, 31]); // 10 + 2 · 10, then 1
        assert_eq!(chains[1].shared, [30, 40]);
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
