//! What routines cost in all: the calls made from them, in files and in MPI, and the time between
//! these calls, which belongs to the deepest routine that both have in common.
//!
//! Paths do not say whether that routine returned in between and was entered again. The time
//! between two calls is a routine's for sure where the second lies behind the first in its code, and
//! where a routine that leaves after the first and enters with the second was never seen. What is
//! not sure is kept apart.

mod gaps;
mod ranks;
mod rows;

use std::sync::Arc;

use hashbrown::HashMap;
use tailrace_trace::event::Part;

use crate::accounts::edges::Edges;
use crate::accounts::levels::{Level, Levels, Relation, is_first};
use crate::accounts::made::{Call, Kind};
use crate::accounts::pairs::{Again, Pair, Pairs};
use crate::accounts::stretches::{Doubts, RoutinePhase, Stretches, phases};

pub(crate) use gaps::{again, before};
use ranks::Here;
pub(crate) use ranks::again_by_rank;
pub use ranks::{AgainRank, RoutineRank};

/// Rows that are kept, those with most time.
const MOST_ROWS: usize = 1 << 10;

/// What one routine cost, called from wherever, with all that it calls, of all ranks' main threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoutineAccount {
    /// A frame of it, as index into the trace's.
    pub frame: u32,
    /// Between calls, for sure in the routine; and where it may have been left in between.
    pub useful: i64,
    pub unsure: i64,
    /// In calls of MPI that are no file calls, and in file calls.
    pub mpi: i64,
    pub io: i64,
    pub mpi_calls: u64,
    /// Ranks that came to it, and how many of these receive data from others in it, once an entry
    /// or more often: where most do, ranks exchange data in it rather than collect them.
    pub ranks: u32,
    pub receivers: u32,
    /// How often it was entered at least, by the rank that entered it most.
    pub entries: u64,
    /// By ranks that read in it, or wrote: how often they entered it at least, and how many of these
    /// times they read, or wrote.
    pub entries_of: [u64; 2],
    pub entries_with: [u64; 2],
}

impl RoutineAccount {
    /// Without what is not sure.
    pub fn total(&self) -> i64 {
        self.useful + self.mpi + self.io
    }
}

/// Calls from one place, those inside them included.
#[derive(Clone, Copy, Debug, Default)]
struct Own {
    useful: i64,
    mpi: i64,
    io: i64,
    calls: u64,
    /// That read or wrote.
    moving: u64,
    mpi_calls: u64,
    receives: u64,
}

/// A call that no other is around.
#[derive(Clone, Copy, Debug, Default)]
struct Outer {
    place: u32,
    begin: i64,
    /// In file calls, and the one around the others: its depth, or 0, and its begin.
    io: i64,
    io_depth: u32,
    io_begin: i64,
    moves: [bool; 2],
    bytes: [u64; 2],
}

impl Outer {
    fn add(&mut self, call: &Call) {
        if let Some(way) = call.way {
            self.bytes[way] = self.bytes[way].saturating_add(call.bytes);
        }
    }
}

/// Of one location, filled block by block.
#[derive(Debug, Default)]
pub(crate) struct Routines {
    levels: Arc<Levels>,
    pairs: Pairs,
    /// By place.
    own: Vec<Own>,
    outer: Outer,
    depth: u32,
    at: i64,
    /// Place and end of the last call.
    last: Option<(u32, i64)>,
    /// Of the last path's levels, how many from the outermost have read, and written, since they
    /// were entered.
    moved: [usize; 2],
    first: u32,
    /// When the first call began.
    first_at: i64,
    stretches: Stretches,
}

impl Routines {
    /// Of threads beside the main one nothing is said.
    pub(crate) fn new(levels: &Arc<Levels>, main: bool, runtime: i64) -> Self {
        let levels = if main { Arc::clone(levels) } else { Arc::default() };
        let own = vec![Own::default(); levels.places()];
        let stretches = Stretches::new(&levels, runtime);
        Self { levels, own, stretches, ..Self::default() }
    }

    /// By place of the later call, which may have several rows: what lay between calls that moved
    /// bytes, one after the other, from one place or one line.
    fn again(&self) -> impl Iterator<Item = (u32, Again)> {
        let own = |place: u32| self.own.get(place as usize).copied().unwrap_or_default();
        self.pairs.again(move |place| 2 * own(place).moving > own(place).calls)
    }

    #[inline]
    fn take(&mut self, call: &Call, begin: i64, end: i64) {
        if call.kind == Kind::Count {
            return;
        }
        // Where a reader breaks its promise of order, time stands still: sums stay in the window.
        let begin = begin.max(self.at);
        let end = end.max(begin);
        self.at = end;
        if self.depth == 0 {
            self.outer = Outer { place: call.place, begin, ..Outer::default() };
        }
        if let Some(way) = call.way {
            self.outer.moves[way] = true;
        }
        match call.part {
            Part::Call if call.kind == Kind::File && self.outer.io_depth == 0 => {
                self.outer.io += end - begin;
                self.outer.add(call);
            }
            Part::Call => {}
            Part::Enter => {
                self.depth += 1;
                if call.kind == Kind::File && self.outer.io_depth == 0 {
                    (self.outer.io_depth, self.outer.io_begin) = (self.depth, begin);
                }
            }
            Part::Leave => {
                if self.outer.io_depth == self.depth {
                    self.outer.io += end - self.outer.io_begin;
                    self.outer.io_depth = 0;
                    self.outer.add(call);
                }
                self.depth = self.depth.saturating_sub(1);
            }
        }
        if self.depth == 0 {
            self.end(call, end);
        }
    }

    /// The outermost call ended.
    #[inline]
    fn end(&mut self, call: &Call, end: i64) {
        let outer = self.outer;
        self.come_to(outer.place, outer.begin);
        let duration = end - outer.begin;
        let own = &mut self.own[outer.place as usize];
        own.calls += 1;
        own.moving += u64::from(outer.moves.contains(&true));
        own.io += outer.io;
        let rest = duration - outer.io;
        match call.kind {
            Kind::File | Kind::Elsewhere | Kind::Count => own.useful += rest,
            Kind::Mpi | Kind::MpiIo => {
                own.mpi += rest;
                own.mpi_calls += u64::from(call.kind == Kind::Mpi);
                own.receives += u64::from(call.receives);
            }
        }
        for way in 0..2 {
            if outer.moves[way] {
                self.moved[way] = self.levels.of(outer.place).len();
            }
        }
        self.stretches.ended(outer.place, end, outer.io, outer.bytes);
        self.last = Some((outer.place, end));
    }

    /// The time since the last call, and what was left and entered since.
    fn come_to(&mut self, place: u32, begin: i64) {
        let Some((before, end)) = self.last else {
            (self.first, self.first_at) = (place, begin);
            self.stretches.go(&self.levels, place, 0, begin);
            return;
        };
        let levels = &self.levels;
        let relation = || Relation::of(levels.of(before), levels.of(place));
        let pair = self.pairs.get(before, place, relation);
        pair.count += 1;
        pair.time += begin - end;
        self.stretches.come(levels, pair, begin, begin - end);
        for (way, moved) in self.moved.iter_mut().enumerate() {
            if *moved > pair.relation.shared {
                pair.left(way, *moved);
                *moved = pair.relation.shared;
            }
        }
    }

    /// The location's last call was taken: all is left.
    fn finish(&mut self) {
        let Some((before, _)) = self.last else { return };
        let mut end = Pair { before, place: Pair::END, count: 1, ..Pair::default() };
        (0..2).for_each(|way| end.left(way, self.moved[way]));
        self.pairs.rows.push(end);
        self.stretches.leave(&self.levels, 0);
    }
}

/// How all routines were seen to begin and to end.
fn edges(levels: &Levels, all: &[&mut Routines]) -> Edges {
    let mut edges = Edges::default();
    for routines in all {
        edges.begin(levels.of(routines.first), 0);
        for pair in &routines.pairs.rows {
            edges.end(levels.of(pair.before), pair.relation.shared);
            edges.begin(levels.of(pair.place), pair.relation.shared);
        }
    }
    edges
}

/// By routine, of all locations, those with most time first, and their phases; nothing where
/// something is missing.
pub(crate) fn accounts<'a>(
    all: impl Iterator<Item = (u32, &'a mut Routines)>,
    runtime: i64,
) -> (Vec<RoutineAccount>, Vec<RoutinePhase>, Vec<RoutineRank>) {
    let (ranks, mut all): (Vec<u32>, Vec<&mut Routines>) =
        all.filter(|(_, routines)| !routines.levels.is_empty()).unzip();
    for routines in &mut all {
        routines.finish();
    }
    let Some(levels) = all.first().map(|routines| Arc::clone(&routines.levels)) else {
        return Default::default();
    };
    if all.iter().any(|routines| routines.pairs.lost) {
        return Default::default();
    }
    let edges = edges(&levels, &all);
    let mut rows = vec![RoutineAccount::default(); levels.routines.len()];
    let mut by_rank = Vec::new();
    for (rank, routines) in ranks.into_iter().zip(&all) {
        let before: Vec<_> = rows.iter().map(|row| (row.useful, row.unsure)).collect();
        let moving = add(&levels, &edges, routines, &mut rows);
        by_rank.extend(ranks::since(&before, &rows, rank, moving));
    }
    rows.iter_mut().zip(&levels.routines).for_each(|(row, frame)| row.frame = *frame);
    let mut order: Vec<u32> = (0..rows.len() as u32).collect();
    order.retain(|routine| rows[*routine as usize].ranks > 0);
    order.sort_by_key(|routine| {
        let row = &rows[*routine as usize];
        (-row.total(), row.frame)
    });
    order.truncate(MOST_ROWS);
    let mut doubts = Doubts::new(&levels);
    let pairs = all.iter().flat_map(|routines| &routines.pairs.rows);
    pairs.for_each(|pair| doubts.add(&levels, &edges, pair));
    let stretches: Vec<&Stretches> = all.iter().map(|routines| &routines.stretches).collect();
    let phases = phases(&stretches, &doubts, &order);
    let by_rank = ranks::told(by_rank, &order, runtime);
    (order.into_iter().map(|routine| rows[routine as usize]).collect(), phases, by_rank)
}

/// The routines in which this one read or wrote, in order.
fn add(
    levels: &Levels,
    edges: &Edges,
    routines: &Routines,
    rows: &mut [RoutineAccount],
) -> Vec<u32> {
    let mut here: HashMap<u32, Here> = HashMap::new();
    for (place, own) in routines.own.iter().enumerate().filter(|(_, own)| own.calls > 0) {
        each(levels.of(place as u32), |_, routine| {
            let row = &mut rows[routine as usize];
            row.useful += own.useful;
            row.mpi += own.mpi;
            row.io += own.io;
            row.mpi_calls += own.mpi_calls;
            here.entry(routine).or_default().receives += own.receives;
        });
    }
    for pair in &routines.pairs.rows {
        let (before, place) = (levels.of(pair.before), levels.of(pair.place));
        let sure = edges.sure(before, place, pair.relation.shared);
        each(&place[..pair.relation.shared], |at, routine| {
            let row = &mut rows[routine as usize];
            let time = if at < sure { &mut row.useful } else { &mut row.unsure };
            *time += pair.time;
        });
        // Where nothing is shared, a path is not known to its beginning: nobody knows what was left.
        let left = if pair.relation.shared > 0 || pair.place == Pair::END { before } else { &[] };
        each(left, |at, routine| {
            if at >= pair.relation.shared.max(1) {
                let here = here.entry(routine).or_default();
                here.entries += pair.count;
                (0..2).for_each(|way| here.with[way] += pair.moved_at(way, at));
            }
        });
    }
    let moving = here.iter().filter(|(_, here)| here.moves()).map(|(routine, _)| *routine);
    let mut moving: Vec<u32> = moving.collect();
    moving.sort_unstable();
    here.into_iter().for_each(|(routine, here)| here.add_to(&mut rows[routine as usize]));
    moving
}

/// Each routine of a path once, with its outermost level.
fn each(path: &[Level], mut take: impl FnMut(usize, u32)) {
    for (at, level) in path.iter().enumerate().filter(|(at, _)| is_first(path, *at)) {
        take(at, level.routine);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use tailrace_trace::places::{CallPath, Frame, Places};

    use super::*;

    pub(super) const RUNTIME: i64 = 1000;

    /// Paths of `main` and what it calls, from the outermost: the function and where in it the path
    /// goes on. Place 1 is the first.
    pub(in crate::accounts) fn levels(paths: &[&[(&str, u64)]]) -> Arc<Levels> {
        let mut places = Places::default();
        for path in paths {
            let frame = |(function, address): &(&str, u64)| Frame {
                function: (*function).into(),
                module: "/model".into(),
                address: *address,
                ..Frame::default()
            };
            places.frames.extend(path.iter().rev().map(frame));
            let end = places.frames.len() as u32;
            let frames = (end - path.len() as u32..end).collect();
            places.paths.push(CallPath { frames, cut: false });
        }
        Arc::new(Levels::new(&places))
    }

    pub(super) fn mpi(place: u32) -> Call {
        Call { place, part: Part::Call, kind: Kind::Mpi, receives: false, way: None, bytes: 0 }
    }

    /// What becomes of calls: place, begin, end, and bytes that are written to a file, or 0 for a
    /// call of MPI.
    pub(in crate::accounts) fn taken(
        levels: &Arc<Levels>,
        calls: &[(u32, i64, i64, u64)],
    ) -> Routines {
        let mut routines = Routines::new(levels, true, RUNTIME);
        for (place, begin, end, bytes) in calls {
            let file = Call { kind: Kind::File, way: Some(1), bytes: *bytes, ..mpi(*place) };
            routines.take(&if *bytes > 0 { file } else { mpi(*place) }, *begin, *end);
        }
        routines
    }

    /// `calls`: place, begin, end and whether it writes a file. What `function` cost.
    fn of(
        paths: &[&[(&str, u64)]],
        calls: &[(u32, i64, i64, bool)],
        function: &str,
    ) -> RoutineAccount {
        let levels = levels(paths);
        let calls: Vec<_> = calls.iter().map(|c| (c.0, c.1, c.2, u64::from(c.3))).collect();
        let mut routines = taken(&levels, &calls);
        let names: Vec<&str> =
            paths.iter().flat_map(|path| path.iter().rev().map(|(name, _)| *name)).collect();
        let (rows, ..) = accounts(std::iter::once((0, &mut routines)), RUNTIME);
        *rows.iter().find(|row| names[row.frame as usize] == function).expect("it was called")
    }

    pub(super) const HALO: &[(&str, u64)] = &[("main", 1), ("halo", 50)];
    const COUNT: &[(&str, u64)] = &[("main", 2), ("dump", 10)];
    const SEND: &[(&str, u64)] = &[("main", 2), ("dump", 20)];
    pub(super) const PUT: &[(&str, u64)] = &[("main", 2), ("dump", 30)];

    #[test]
    fn time_between_two_calls_is_their_common_routine_s() {
        let paths = [HALO, COUNT, SEND, PUT];
        // twice: 10 computing, then in dump 3 of MPI, 7 formatting, 5 of MPI and 2 in a file
        let step = |at| {
            [
                (1, at, at, false),
                (2, at + 10, at + 13, false),
                (3, at + 20, at + 25, false),
                (4, at + 25, at + 27, true),
            ]
        };
        let calls: Vec<_> = [step(0), step(100)].concat();
        let dump = of(&paths, &calls, "dump");
        assert_eq!((dump.useful, dump.mpi, dump.io, dump.unsure), (14, 16, 4, 0));
        assert_eq!((dump.entries, dump.entries_of[1], dump.entries_with[1]), (2, 2, 2));
        assert_eq!((dump.mpi_calls, dump.ranks, dump.total()), (4, 1, 34));
    }

    #[test]
    fn a_routine_that_may_have_been_left_gets_nothing_for_sure() {
        // dump is entered twice with nothing but computation between
        let calls = [(1, 0, 0, false), (2, 10, 13, false), (4, 14, 15, true), (2, 90, 93, false)];
        let dump = of(&[HALO, COUNT, SEND, PUT], &calls, "dump");
        assert_eq!((dump.useful, dump.unsure), (1, 75));
        // a loop inside cannot be told from that
        let calls = [(1, 0, 0, false), (2, 10, 13, false), (2, 90, 93, false)];
        let dump = of(&[HALO, COUNT], &calls, "dump");
        assert_eq!((dump.useful, dump.unsure, dump.entries), (0, 77, 1));
    }

    #[test]
    fn a_later_site_is_no_proof_where_the_routine_was_seen_to_begin_with_it() {
        // either COUNT or PUT alone is what dump does: COUNT, PUT is two of them
        let calls = [
            (1, 0, 0, false),
            (2, 10, 11, false),
            (1, 20, 20, false),
            (4, 30, 31, true),
            (1, 40, 40, false),
            (2, 50, 51, false),
            (4, 90, 91, true),
        ];
        let dump = of(&[HALO, COUNT, SEND, PUT], &calls, "dump");
        assert_eq!((dump.useful, dump.unsure, dump.entries), (0, 39, 3));
    }

    #[test]
    fn a_recursion_counts_once() {
        let inner: &[(&str, u64)] = &[("main", 2), ("dump", 25), ("dump", 20)];
        let calls = [(1, 0, 0, false), (2, 10, 12, false), (3, 20, 25, false), (1, 30, 30, false)];
        let dump = of(&[HALO, COUNT, inner], &calls, "dump");
        assert_eq!((dump.useful, dump.mpi, dump.entries), (8, 7, 1));
    }

    #[test]
    fn of_a_path_without_its_beginning_nothing_is_concluded() {
        let calls = [(2, 10, 12, false), (0, 20, 21, false), (3, 30, 35, false)];
        let dump = of(&[HALO, COUNT, SEND], &calls, "dump");
        assert_eq!((dump.useful, dump.unsure, dump.mpi, dump.entries), (0, 0, 7, 1));
    }

    #[test]
    fn file_calls_inside_mpi_are_no_mpi() {
        let levels = levels(&[PUT]);
        let mut routines = Routines::new(&levels, true, RUNTIME);
        let mpiio = |part| Call { part, kind: Kind::MpiIo, ..mpi(1) };
        let file = Call { kind: Kind::File, ..mpi(1) };
        routines.take(&mpiio(Part::Enter), 10, 10);
        routines.take(&file, 12, 15);
        routines.take(&mpiio(Part::Leave), 20, 20);
        let row = accounts(std::iter::once((0, &mut routines)), RUNTIME).0[0];
        assert_eq!((row.mpi, row.io, row.mpi_calls), (7, 3, 0));
    }

    #[test]
    fn events_out_of_order_add_nothing() {
        let calls = [(2, 10, 20, false), (3, 5, 12, false), (3, 25, 22, false)];
        let dump = of(&[HALO, COUNT, SEND], &calls, "dump");
        assert_eq!((dump.useful + dump.unsure, dump.mpi), (5, 10));
    }
}
