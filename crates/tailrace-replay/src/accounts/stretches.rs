//! When ranks were in which routine: from the first call of an entry to its last.
//!
//! A routine was left where the next call comes from outside it. Where much time lies between two
//! calls from inside it, it may have been left as well, unless it went on in its code: there a
//! stretch ends, too.

use crate::accounts::edges::Edges;
use crate::accounts::levels::{Level, Levels, Relation, is_first};
use crate::accounts::pairs::Pair;

/// Stretches that a location keeps of a routine, and of all: what is entered more often is given
/// up, for good.
const MOST_OF_A_ROUTINE: usize = 1 << 11;
const MOST: usize = 1 << 13;
/// Rows of all routines.
const MOST_ROWS: usize = 1 << 15;
/// Where so much of the stretches may have been outside the routine, nothing is known of it.
const MOST_UNSURE: f64 = 0.1;

/// What was moved by file calls, and their time.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    io: i64,
    bytes: [u64; 2],
}

/// When a level of the path was entered, and what the location had moved before.
#[derive(Clone, Copy, Debug)]
struct Entered {
    begin: i64,
    before: Sums,
}

#[derive(Clone, Copy, Debug)]
struct Stretch {
    begin: i64,
    end: i64,
    sums: Sums,
}

/// A stretch of the run in which ranks that were in a routine overlap, with file calls in it. All
/// times are nanoseconds since the window's begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoutinePhase {
    /// Index among the routines.
    pub routine: u32,
    pub begin: i64,
    pub end: i64,
    pub ranks: u32,
    /// Summed over ranks.
    pub io: i64,
    pub bytes_read: u64,
    pub bytes_written: u64,
}

/// Of one location.
#[derive(Debug, Default)]
pub(crate) struct Stretches {
    /// Between two calls: at least so much is long.
    long: i64,
    sums: Sums,
    /// By level of the last path that is known, and where it led and when that call ended.
    entered: Vec<Entered>,
    last: u32,
    end: i64,
    /// The path of the call that began last is known.
    known: bool,
    /// By routine; `None`: given up.
    of: Vec<Option<Vec<Stretch>>>,
    kept: usize,
}

impl Stretches {
    pub(crate) fn new(levels: &Levels, runtime: i64) -> Self {
        let of = vec![Some(Vec::new()); levels.routines.len()];
        Self { long: (runtime / 100).max(1), of, ..Self::default() }
    }

    /// A call from `place` begins, so long after another one.
    #[inline]
    pub(crate) fn come(&mut self, levels: &Levels, pair: &mut Pair, begin: i64, time: i64) {
        pair.short += if time >= self.long { 0 } else { time };
        let long = begin - self.end >= self.long;
        pair.any_long |= long;
        if long || !pair.relation.whole || pair.before != self.last {
            self.change(levels, pair, begin, long);
        }
    }

    /// Whether no stretch that is kept begins or ends between calls from two places, shortly one
    /// after the other, whose paths share so many levels.
    pub(crate) fn keeps_nothing(
        &self,
        levels: &Levels,
        (before, place): (u32, u32),
        shared: usize,
    ) -> bool {
        let [before, place] = [before, place].map(|place| levels.of(place));
        let given_up = |level: &Level| self.of[level.routine as usize].is_none();
        let of = |path: &[Level]| !path.is_empty() && path[shared..].iter().all(given_up);
        of(before) && of(place)
    }

    /// Whether a call so long after the last, which was made at `before`, is shortly after it.
    #[inline]
    pub(crate) fn is_short(&self, before: u32, time: i64) -> bool {
        self.known && before == self.last && time < self.long
    }

    /// A call from a path of so many levels begins, and with it nothing that is kept.
    #[inline]
    pub(crate) fn pass(&mut self, levels: usize) {
        if self.entered.len() != levels {
            self.entered.resize(levels, Entered { begin: 0, before: Sums::default() });
        }
    }

    fn change(&mut self, levels: &Levels, pair: &Pair, begin: i64, long: bool) {
        let relation = if pair.before == self.last {
            pair.relation
        } else {
            // the calls between are not known
            let shared = Relation::of(levels.of(self.last), levels.of(pair.place)).shared;
            Relation { shared, ..Relation::default() }
        };
        self.go(levels, pair.place, if long { relation.ahead } else { relation.shared }, begin);
    }

    /// … and is over. Where its path is not known, it is as if it were not there.
    #[inline]
    pub(crate) fn ended(&mut self, place: u32, end: i64, io: i64, bytes: [u64; 2]) {
        if !self.known {
            return;
        }
        (self.last, self.end) = (place, end);
        self.sums.io += io;
        (0..2)
            .for_each(|way| self.sums.bytes[way] = self.sums.bytes[way].saturating_add(bytes[way]));
    }

    /// Of the last path so many levels, from the outermost, go on.
    pub(crate) fn go(&mut self, levels: &Levels, place: u32, on: usize, begin: i64) {
        let path = levels.of(place);
        self.known = !path.is_empty();
        if self.known {
            self.leave(levels, on);
            let entered = Entered { begin, before: self.sums };
            self.entered.resize(path.len(), entered);
        }
    }

    /// … and the others were left.
    pub(crate) fn leave(&mut self, levels: &Levels, on: usize) {
        let path = levels.of(self.last);
        for at in (on..self.entered.len()).rev() {
            // given up first: what is entered most often is soon
            if self.of[path[at].routine as usize].is_some() && is_first(path, at) {
                self.close(path[at], self.entered[at]);
            }
        }
        self.entered.truncate(on);
    }

    fn close(&mut self, level: Level, Entered { begin, before }: Entered) {
        let Some(stretches) = &mut self.of[level.routine as usize] else { return };
        let moved = |way: usize| self.sums.bytes[way] - before.bytes[way];
        let sums = Sums { io: self.sums.io - before.io, bytes: [moved(0), moved(1)] };
        stretches.push(Stretch { begin, end: self.end, sums });
        self.kept += 1;
        if stretches.len() > MOST_OF_A_ROUTINE {
            self.give_up(level.routine as usize);
        } else if self.kept > MOST {
            let length = |of: &Option<Vec<Stretch>>| of.as_ref().map_or(0, Vec::len);
            if let Some(most) = (0..self.of.len()).max_by_key(|i| length(&self.of[*i])) {
                self.give_up(most);
            }
        }
    }

    fn give_up(&mut self, routine: usize) {
        self.kept -= self.of[routine].take().map_or(0, |stretches| stretches.len());
    }
}

/// Where pairs of calls leave a routine's stretches in doubt.
#[derive(Debug)]
pub(crate) struct Doubts {
    /// By routine: it may have been left where it seemed to go on.
    left: Vec<bool>,
    /// … and for how long, in short times between calls.
    time: Vec<i64>,
}

impl Doubts {
    pub(crate) fn new(levels: &Levels) -> Self {
        let routines = levels.routines.len();
        Self { left: vec![false; routines], time: vec![0; routines] }
    }

    pub(crate) fn add(&mut self, levels: &Levels, edges: &Edges, pair: &Pair) {
        let place = levels.of(pair.place);
        let Relation { shared, ahead, .. } = pair.relation;
        let sure = edges.sure(levels.of(pair.before), place, shared);
        for at in (sure..shared).filter(|at| is_first(place, *at)) {
            let routine = place[at].routine as usize;
            self.left[routine] |= pair.any_long && at < ahead;
            self.time[routine] += pair.short;
        }
    }
}

/// Phases of the routines in `rows`, from the stretches of all locations.
pub(crate) fn phases(all: &[&Stretches], doubts: &Doubts, rows: &[u32]) -> Vec<RoutinePhase> {
    let mut phases = Vec::new();
    for (row, routine) in rows.iter().enumerate() {
        let routine = *routine as usize;
        if let Some(found) = of_routine(all, routine, doubts)
            && phases.len() + found.len() <= MOST_ROWS
        {
            phases.extend(
                found.into_iter().map(|phase| RoutinePhase { routine: row as u32, ..phase }),
            );
        }
    }
    phases
}

/// `None` where they are not known.
fn of_routine(all: &[&Stretches], routine: usize, doubts: &Doubts) -> Option<Vec<RoutinePhase>> {
    let mut stretches: Vec<(usize, Stretch)> = Vec::new();
    for (rank, of) in all.iter().enumerate() {
        stretches.extend(of.of[routine].as_ref()?.iter().map(|stretch| (rank, *stretch)));
    }
    let time: i64 = stretches.iter().map(|(_, stretch)| stretch.end - stretch.begin).sum();
    if doubts.left[routine] || doubts.time[routine] as f64 > MOST_UNSURE * time as f64 {
        return None;
    }
    stretches.sort_by_key(|(_, stretch)| (stretch.begin, stretch.end));
    let mut phases: Vec<RoutinePhase> = Vec::new();
    let mut seen = vec![0; all.len()]; // by rank: the number of phases when it was counted last
    for (rank, Stretch { begin, end, sums }) in stretches {
        if phases.last().is_none_or(|phase| begin >= phase.end) {
            phases.push(RoutinePhase { begin, end, ..RoutinePhase::default() });
        }
        let number = phases.len();
        let phase = phases.last_mut().expect("there is one");
        phase.end = phase.end.max(end);
        phase.io += sums.io;
        phase.bytes_read = phase.bytes_read.saturating_add(sums.bytes[0]);
        phase.bytes_written = phase.bytes_written.saturating_add(sums.bytes[1]);
        phase.ranks += u32::from(seen[rank] != number);
        seen[rank] = number;
    }
    phases.retain(|phase| phase.io > 0 || phase.bytes_read + phase.bytes_written > 0);
    Some(phases)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::routines::accounts;
    use crate::accounts::routines::tests::{levels, taken};

    const HALO: &[(&str, u64)] = &[("main", 1), ("halo", 50)];
    const COUNT: &[(&str, u64)] = &[("main", 2), ("dump", 10)];
    const SEND: &[(&str, u64)] = &[("main", 2), ("dump", 20)];
    const PUT: &[(&str, u64)] = &[("main", 2), ("dump", 30)];
    const PATHS: &[&[(&str, u64)]] = &[HALO, COUNT, SEND, PUT];

    type Calls<'a> = &'a [(u32, i64, i64, u64)];

    /// Of dump, from what each rank called (place, begin, end, bytes written or 0 for MPI) in a run
    /// of 1,000 ns, of which 10 are long: begin, end, ranks, time in file calls and bytes.
    fn of(ranks: &[Calls<'_>]) -> Vec<(i64, i64, u32, i64, u64)> {
        let levels = levels(PATHS);
        let mut all: Vec<_> = ranks.iter().map(|calls| taken(&levels, calls)).collect();
        let all = all.iter_mut().zip(0..).map(|(routines, rank)| (rank, routines));
        let (rows, phases, _) = accounts(all, 1000);
        let is_dump = |phase: &&RoutinePhase| {
            let routine = &rows[phase.routine as usize];
            levels.of(2)[1].routine
                == levels.routines.iter().position(|f| *f == routine.frame).unwrap() as u32
        };
        let values = |p: &RoutinePhase| (p.begin, p.end, p.ranks, p.io, p.bytes_written);
        phases.iter().filter(is_dump).map(values).collect()
    }

    #[test]
    fn a_phase_goes_from_the_first_call_of_an_entry_to_its_last() {
        // twice: it counts, formats for 90, sends, writes; halo is called between
        let entry =
            |at| [(2, at, at + 10, 0), (3, at + 100, at + 120, 0), (4, at + 130, at + 140, 64)];
        let calls = [&[(1, 0, 5, 0)][..], &entry(100), &[(1, 300, 310, 0)], &entry(400)].concat();
        assert_eq!(of(&[&calls]), [(100, 240, 1, 10, 64), (400, 540, 1, 10, 64)]);
    }

    #[test]
    fn ranks_that_overlap_are_one_phase_and_without_file_calls_there_is_none() {
        let writer = [(1, 0, 5, 0), (2, 100, 110, 0), (4, 130, 140, 64), (1, 300, 310, 0)];
        let sender = [(1, 0, 5, 0), (3, 135, 160, 0), (1, 200, 210, 0), (3, 400, 410, 0)];
        assert_eq!(of(&[&writer, &sender]), [(100, 160, 2, 10, 64)]);
    }

    #[test]
    fn a_long_time_that_may_have_been_outside_ends_a_phase() {
        // nothing but computation between two entries
        let entry = |at| [(2, at, at + 10, 0), (4, at + 20, at + 30, 64)];
        let calls = [entry(100), entry(500)].concat();
        assert_eq!(of(&[&calls]), [(100, 130, 1, 10, 64), (500, 530, 1, 10, 64)]);
    }

    #[test]
    fn short_times_that_may_have_been_outside_leave_nothing_known_where_they_are_many() {
        // of 30 in dump, 5 to 9 between two entries: a loop inside would look the same
        let entry = |at| [(2, at, at + 10, 0), (4, at + 20, at + 30, 64)];
        let calls = [entry(100), entry(135), entry(174)].concat();
        assert_eq!(of(&[&calls]), []);
        let calls = [entry(100), entry(132), entry(500)].concat(); // 2 of 92
        assert_eq!(of(&[&calls]), [(100, 162, 1, 20, 128), (500, 530, 1, 10, 64)]);
    }

    #[test]
    fn nothing_is_known_where_it_was_seen_to_end_and_to_begin_as_it_seemed_to_go_on() {
        // either COUNT or PUT alone is what dump does: COUNT, PUT is two of them
        let halo = |at| (1, at, at + 1, 0);
        let (count, put) = (|at| (2, at, at + 1, 0), |at| (4, at, at + 1, 64));
        let calls = [halo(0), count(10), halo(20), put(30), halo(40), count(50), put(90)];
        assert_eq!(of(&[&calls]), []);
    }

    #[test]
    fn a_call_whose_path_is_not_known_is_as_if_it_were_not_there() {
        let calls = [(2, 100, 110, 0), (0, 112, 114, 7), (4, 116, 130, 64), (0, 500, 510, 7)];
        assert_eq!(of(&[&calls]), [(100, 130, 1, 14, 64)]);
    }

    #[test]
    fn what_is_entered_too_often_is_given_up() {
        let levels = levels(PATHS);
        let mut stretches = Stretches::new(&levels, 1000);
        for _ in 0..=MOST_OF_A_ROUTINE {
            stretches.go(&levels, 4, 0, 1);
            stretches.ended(4, 2, 1, [0, 8]);
            stretches.go(&levels, 1, 1, 3);
            stretches.ended(1, 4, 0, [0, 0]);
        }
        let dump = levels.of(4)[1].routine as usize;
        assert!(stretches.of[dump].is_none());
        assert_eq!(of_routine(&[&stretches], dump, &Doubts::new(&levels)), None);
        assert!(stretches.kept <= MOST);
    }
}
