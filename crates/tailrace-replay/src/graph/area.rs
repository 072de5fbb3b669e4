//! How many ranks are in a file call: k(t), its integral, and the phases of I/O that it marks.

use rayon::prelude::*;

use crate::graph::Slab;
use crate::graph::edges::{Edges, Keys, Turn, take_over};
use crate::graph::phases::IoPhase;
use crate::graph::piece::{InRank, Measure, Piece, Run};

/// A slab is not cut into pieces of fewer edges, and so many more for each rank, whose own are cut
/// and merged in each.
const FEW: usize = 1 << 12;
const FEW_OF_A_RANK: usize = 1 << 9;

/// k(t) and K(t) = ∫k dt, slab by slab. All times are nanoseconds since the window's begin.
pub(crate) struct Area {
    keys: Keys,
    /// K over each rank's calls that are over, less K at the begin of the one that it is in.
    ranks: Vec<InRank>,
    /// … and whether it is in one.
    is_inside: Vec<bool>,
    /// The last edge, and K there.
    reached: (i64, i64),
    gap: i64,
    phases: Vec<IoPhase>,
    /// What slabs are cut into: pieces that cores may take at once.
    pieces: Vec<Piece>,
}

/// What K comes to in a slab's file calls of a rank, wherever it was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Areas {
    pub sums: Vec<i64>,
    /// Where no vertex asks for any, only how many there are, and the last.
    pub passed: u32,
    pub last: i64,
}

impl Areas {
    /// Takes over what comes after: nothing was passed before it.
    pub(crate) fn append(&mut self, later: &mut Self) {
        take_over(&mut self.sums, &mut later.sums);
        (self.passed, self.last) = (std::mem::take(&mut later.passed), later.last);
    }
}

impl Area {
    /// For a window of `runtime` nanoseconds.
    pub(crate) fn new(keys: Keys, runtime: i64, ranks: usize) -> Self {
        Self {
            keys,
            ranks: vec![InRank::default(); ranks],
            is_inside: vec![false; ranks],
            reached: (0, 0),
            gap: (runtime / 100).max(1),
            phases: Vec::new(),
            pieces: Vec::new(),
        }
    }

    /// Takes the edges of each rank until `horizon`, and leaves what K comes to at them in the slab
    /// of the same time. `asked`: vertices from before may still ask for areas.
    pub(crate) fn pass(
        &mut self,
        edges: &mut [Edges],
        horizon: i64,
        asked: bool,
        slabs: &mut [Slab],
    ) {
        let threads = rayon::current_thread_index().map_or(1, |_| rayon::current_num_threads());
        let number: usize = edges.iter().map(|edges| edges.keys.len()).sum();
        // More than there are threads: the ranks may keep one of them.
        let few = FEW + FEW_OF_A_RANK * edges.len();
        let pieces = if threads > 1 { (number / few).min(8 * threads) } else { 1 };
        self.pass_in(pieces, (edges, horizon), asked, slabs);
    }

    /// … in so many pieces.
    fn pass_in(
        &mut self,
        pieces: usize,
        (edges, horizon): (&mut [Edges], i64),
        asked: bool,
        slabs: &mut [Slab],
    ) {
        let after = self.keys.after(horizon);
        let runs: Vec<Run<'_>> = edges
            .iter()
            .zip(&self.is_inside)
            .map(|(edges, is_inside)| self.run(edges, after, *is_inside))
            .collect();
        // Nobody asks for areas in between where there are no vertices: file calls alone.
        let asked = asked || slabs.iter().any(|slab| !slab.vertices.is_empty());
        let measure = Measure { keys: self.keys, gap: self.gap, asked };
        self.take(pieces, measure, &runs, slabs);
        let taken: Vec<(usize, usize)> =
            runs.iter().map(|run| (run.keys.len(), run.moved.len())).collect();
        for (edges, (keys, moved)) in edges.iter_mut().zip(taken) {
            edges.keys.drain(..keys);
            edges.moved.drain(..moved);
        }
    }

    /// The edges before a key.
    fn run<'s>(&self, edges: &'s Edges, after: u64, is_inside: bool) -> Run<'s> {
        let (keys, later) = edges.keys.split_at(edges.keys.partition_point(|key| *key < after));
        let later = later.iter().filter(|key| self.keys.parts(**key).1 == Turn::End).count();
        Run { keys, moved: &edges.moved[..edges.moved.len() - later], is_inside }
    }

    fn take(&mut self, pieces: usize, measure: Measure, runs: &[Run<'_>], slabs: &mut [Slab]) {
        let cuts = self.cuts(pieces, runs);
        let mut pieces = std::mem::take(&mut self.pieces);
        pieces.resize_with(pieces.len().max(cuts.len() + 1), Piece::default);
        let (keys, mut later) = (self.keys, runs.to_vec());
        let mut work = Vec::with_capacity(cuts.len() + 1);
        for (piece, i) in pieces.iter_mut().zip(0..=cuts.len()) {
            let runs = match cuts.get(i) {
                Some(cut) => {
                    let split = later.iter().map(|run| run.split(*cut));
                    let (runs, rest) = split.unzip();
                    later = rest;
                    runs
                }
                None => std::mem::take(&mut later),
            };
            let time = |cut: &u64| keys.parts(*cut).0;
            if i == 0 {
                piece.begin(self.reached, &runs, self.ranks.iter().copied());
            } else {
                // what came before is added later
                let ranks = runs.iter().map(|_| InRank::default());
                piece.begin((time(&cuts[i - 1]), 0), &runs, ranks);
            }
            work.push((piece, runs, cuts.get(i).map(time)));
        }
        let take = |(piece, runs, end): &mut (&mut Piece, Vec<Run<'_>>, Option<i64>)| {
            piece.take(measure, runs, *end);
        };
        if work.len() > 1 {
            work.par_iter_mut().with_max_len(1).for_each(take);
        } else {
            work.iter_mut().for_each(take);
        }
        for (i, (piece, runs, _)) in work.into_iter().enumerate() {
            self.add(piece, &runs, (i == 0, measure.asked), slabs);
        }
        self.pieces = pieces;
    }

    /// Times at which to cut what has to be taken, as keys.
    fn cuts(&self, pieces: usize, runs: &[Run<'_>]) -> Vec<u64> {
        if pieces < 2 || !runs.iter().all(|run| run.is_plain(self.keys)) {
            return Vec::new();
        }
        let longest = runs.iter().map(|run| run.keys).max_by_key(|keys| keys.len());
        let longest = longest.unwrap_or_default();
        let cut = |i| longest.get(i * longest.len() / pieces).map(|key| self.keys.at_time_of(*key));
        let mut cuts: Vec<u64> = (1..pieces).filter_map(cut).collect();
        cuts.dedup();
        cuts
    }

    /// Adds what became of a piece; `is_first`: K and its sums were carried on, else they began
    /// with 0.
    fn add(
        &mut self,
        piece: &mut Piece,
        runs: &[Run<'_>],
        (is_first, asked): (bool, bool),
        slabs: &mut [Slab],
    ) {
        let (reached, sum) = if is_first { (self.reached.0, 0) } else { self.reached };
        for (rank, run) in runs.iter().enumerate() {
            let InRank { shared, begin } = piece.ranks[rank];
            let (was, is) = (run.is_inside, run.is_inside_after(self.keys));
            let (before, of) = (self.ranks[rank], &mut self.ranks[rank]);
            // of the areas
            let base = if is_first { 0 } else { before.shared + sum * i64::from(was) };
            of.shared = base + shared - sum * i64::from(is);
            of.begin = match (is_first, is, run.keys.is_empty()) {
                (true, ..) => begin,
                (false, false, _) => 0,
                (false, true, true) => before.begin,
                (false, true, false) => sum + begin,
            };
            self.is_inside[rank] = is;
            let areas = &mut slabs[rank].areas;
            if asked {
                areas.sums.extend(piece.areas[rank].drain(..).map(|area| base + area));
            } else {
                areas.last = of.shared + of.begin;
                areas.passed += run.areas(self.keys) as u32;
            }
        }
        self.reached = (piece.now.last.max(reached), sum + piece.now.sum);
        for later in piece.phases.drain(..) {
            match self.phases.last_mut() {
                Some(phase) if later.begin - phase.end < self.gap => phase.join(&later),
                _ => self.phases.push(later),
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::sets;
    use crate::graph::vertex::{Deed, Site, Vertex};

    #[test]
    fn area_and_phases_follow_the_ranks_in_io() {
        let keys = Keys::new(1000, 2).unwrap(); // gaps of 10 ns and more end a phase
        let mut area = Area::new(keys, 1000, 2);
        let of_calls = |rank, calls: &[(i64, i64)]| -> Vec<u64> {
            let both = |(begin, end): &(i64, i64)| {
                [keys.key(*begin, Turn::Begin, rank), keys.key(*end, Turn::End, rank)]
            };
            calls.iter().flat_map(both).collect()
        };
        let mut edges = [
            // 139: a gap of 9, the same phase; 150: a gap of 10, another
            Edges { keys: of_calls(0, &[(100, 120), (139, 140)]), moved: vec![15, 0] },
            Edges { keys: of_calls(1, &[(110, 130), (150, 160)]), moved: vec![0, 0] },
        ];
        edges[0].keys.insert(1, keys.key(115, Turn::Sample, 0)); // 10 · 1 + 5 · 2
        let deed = Deed::Await { role: 0 };
        let (site, owns) = (Site::default(), 0);
        let vertex = Vertex { at: 0, since: 0, useful: 0, io: 0, areas: 0, owns, site, deed };
        let mut slabs = [Slab::default(), Slab::default()];
        slabs[0].vertices.push(vertex); // asks for areas
        area.pass(&mut edges, 125, false, &mut slabs);
        slabs[0].vertices.clear();
        area.pass(&mut edges, 1000, true, &mut slabs);
        assert_eq!(slabs[0].areas.sums, [20, 30, 31]); // 10 + 2 · 10, then 1
        assert_eq!(slabs[1].areas.sums, [30, 40]);
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

    /// Calls of a rank until 10,000, as good as random; some have no duration, and some begin where
    /// the one before ends.
    fn calls(keys: Keys, rank: u32, gap: i64) -> Edges {
        let mut noise = 88_172_645_463_325_252_u64 + u64::from(rank);
        let mut below = |below: i64| {
            noise ^= noise << 13;
            noise ^= noise >> 7;
            noise ^= noise << 17;
            (noise % below as u64) as i64
        };
        let (mut edges, mut at) = (Edges::default(), 0);
        loop {
            let begin = at + below(gap);
            at = begin + below(20);
            if at > 10_000 {
                return edges;
            }
            edges.keys.extend(keys.call(rank, (begin, at)));
            edges.moved.push(below(100) as u64);
        }
    }

    #[test]
    fn pieces_give_what_the_whole_gives() {
        let keys = Keys::new(10_000, 3).unwrap();
        for (gap, asked) in [(30, true), (30, false), (3_000, true), (3_000, false)] {
            let of = |pieces| {
                let mut area = Area::new(keys, 10_000, 3);
                let mut edges = [0, 1, 2].map(|rank| calls(keys, rank, gap));
                let mut slabs: [Slab; 3] = Default::default();
                for until in [2_000, 2_001, 7_777, 10_000] {
                    area.pass_in(pieces, (&mut edges, until), asked, &mut slabs);
                }
                assert!(edges.iter().all(|edges| edges.keys.is_empty() && edges.moved.is_empty()));
                let areas = slabs.map(|slab| slab.areas);
                (area.shared().collect::<Vec<i64>>(), areas, area.phases().to_vec())
            };
            for pieces in [2, 3, 7, 100] {
                assert_eq!(of(pieces), of(1), "{pieces} pieces, gaps until {gap}");
            }
        }
    }
    #[test]
    fn few_ranks_come_to_what_they_come_to_among_many() {
        let keys = Keys::new(10_000, 16).unwrap();
        for gap in [30, 3_000] {
            let of = |ranks: usize| {
                let mut area = Area::new(keys, 10_000, ranks);
                let mut edges: Vec<Edges> = (0..3).map(|rank| calls(keys, rank, gap)).collect();
                edges.resize_with(ranks, Edges::default);
                let mut slabs = Vec::new();
                slabs.resize_with(ranks, Slab::default);
                let mut passed = Vec::new();
                for until in [1, 2_000, 2_001, 2_003, 7_777, 10_000] {
                    area.pass(&mut edges, until, false, &mut slabs);
                    passed.extend(slabs[..3].iter().map(|slab| slab.areas.clone()));
                }
                (area.shared().take(3).collect::<Vec<i64>>(), passed, area.phases().to_vec())
            };
            assert_eq!(of(3), of(1 + sets::FEW), "gaps until {gap}");
        }
    }
}
