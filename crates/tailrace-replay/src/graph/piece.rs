//! k(t), K(t) = ∫k dt and the phases of I/O over a piece of time by itself, so that pieces may be
//! taken at once.

use crate::graph::edges::{Keys, Merger, Turn};
use crate::graph::phases::IoPhase;
use crate::graph::sets::{self, Sets};

/// The begins and ends of a rank's file calls in a piece of time, and what those moved that end
/// there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run<'a> {
    pub keys: &'a [u64],
    pub moved: &'a [u64],
    /// The rank is in a file call before.
    pub is_inside: bool,
}

impl Run<'_> {
    /// Nothing is asked for in between: begins and ends alone, in turn.
    pub(crate) fn is_plain(&self, of: Keys) -> bool {
        let of_others = usize::from(self.is_inside_after(of)) + 2 * self.moved.len();
        self.keys.len() + usize::from(self.is_inside) == of_others
    }

    pub(crate) fn is_inside_after(&self, of: Keys) -> bool {
        let mut turns = self.keys.iter().rev().map(|key| of.parts(*key).1);
        let last = turns.find(|turn| matches!(turn, Turn::Begin | Turn::End));
        last.map_or(self.is_inside, |turn| turn == Turn::Begin)
    }

    /// How many areas are known of it.
    pub(crate) fn areas(&self, of: Keys) -> usize {
        if self.is_plain(of) {
            return self.moved.len();
        }
        let number = |key: &u64| match of.parts(*key).1 {
            Turn::Begin => 0,
            Turn::Sample | Turn::End => 1,
            Turn::Total => 2,
        };
        self.keys.iter().map(number).sum()
    }

    /// What comes before that time of a key, and the rest, of a run that is plain.
    pub(crate) fn split(self, cut: u64) -> (Self, Self) {
        let Self { keys, moved, is_inside } = self;
        let until = keys.partition_point(|key| *key < cut);
        let before = until + usize::from(is_inside); // every second one is an end
        let ((keys, later_keys), (moved, later)) =
            (keys.split_at(until), moved.split_at(before / 2));
        let first = Run { keys, moved, is_inside };
        (first, Run { keys: later_keys, moved: later, is_inside: before % 2 > 0 })
    }
}

/// What K comes to in one rank's file calls.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct InRank {
    /// K at the ends of calls, less K at their begins.
    pub shared: i64,
    /// K at the begin of the call that it is in, or 0.
    pub begin: i64,
}

/// At the last edge.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Now {
    /// k, and K at `last`.
    pub ranks_in_io: i64,
    pub sum: i64,
    pub last: i64,
    /// Since when k > 0, where it is, and the most that it was since.
    since: i64,
    most: i64,
}

/// What is the same for all pieces.
#[derive(Clone, Copy)]
pub(crate) struct Measure {
    pub keys: Keys,
    /// Gaps at least this long end a phase.
    pub gap: i64,
    /// Each area is kept.
    pub asked: bool,
}

/// What became of a piece; its memory is used again.
#[derive(Default)]
pub(crate) struct Piece {
    merger: Merger,
    pub now: Now,
    /// By rank; and what K over its calls came to at each of their ends, and wherever else it was
    /// asked for.
    pub ranks: Vec<InRank>,
    pub areas: Vec<Vec<i64>>,
    pub phases: Vec<IoPhase>,
    /// By rank: of the calls that ended, those whose bytes are in a phase.
    moved: Vec<usize>,
}

impl Piece {
    /// At `last`, K being `sum` there.
    pub(crate) fn begin(
        &mut self,
        (last, sum): (i64, i64),
        runs: &[Run<'_>],
        ranks: impl Iterator<Item = InRank>,
    ) {
        let ranks_in_io = runs.iter().filter(|run| run.is_inside).count() as i64;
        self.now = Now { ranks_in_io, sum, last, since: last, most: ranks_in_io };
        self.ranks.clear();
        self.ranks.extend(ranks);
        self.areas.resize_with(self.ranks.len(), Vec::new);
        self.phases.clear();
        self.moved.clear();
        self.moved.resize(runs.len(), 0);
        if ranks_in_io > 0 {
            self.phases.push(IoPhase { begin: last, end: last, io: -sum, ..IoPhase::default() });
        }
    }

    /// Takes the runs, by rank; `end`: when the next piece begins.
    pub(crate) fn take(&mut self, of: Measure, runs: &[Run<'_>], end: Option<i64>) {
        let mut merger = std::mem::take(&mut self.merger);
        let keys = runs.iter().map(|run| run.keys).filter(|keys| !keys.is_empty());
        let keys = merger.merge(of.keys, &keys.collect::<Vec<_>>());
        match (of.asked, runs.iter().all(|run| run.is_plain(of.keys))) {
            (false, true) if runs.len() <= sets::FEW => {
                let (keys, later) = keys.split_at(settled(of.keys, keys, runs));
                self.pass_sets(of, keys, runs);
                self.pass::<false, true>(of, later, runs);
            }
            (true, true) => self.pass::<true, true>(of, keys, runs),
            (true, false) => self.pass::<true, false>(of, keys, runs),
            (false, true) => self.pass::<false, true>(of, keys, runs),
            (false, false) => self.pass::<false, false>(of, keys, runs),
        }
        self.merger = merger;
        let is_outside = runs.iter().map(|run| !run.is_inside_after(of.keys));
        for (rank, _) in self.ranks.iter_mut().zip(is_outside).filter(|(_, outside)| *outside) {
            rank.begin = 0;
        }
        let now = &mut self.now;
        if let Some(end) = end {
            now.sum += now.ranks_in_io * (end - now.last);
            now.last = end;
        }
        if now.ranks_in_io > 0 {
            // The next piece goes on with it.
            let now = *now;
            self.close(&now);
        }
        self.add_moved(runs, |run| run.moved.len());
    }

    /// `ASKED`: each area is kept; `PLAIN`: nothing is asked for in between.
    fn pass<const ASKED: bool, const PLAIN: bool>(
        &mut self,
        of: Measure,
        keys: &[u64],
        runs: &[Run<'_>],
    ) {
        // In registers: `open` and `close` get a copy.
        let Now { mut ranks_in_io, mut sum, mut last, mut since, mut most } = self.now;
        for key in keys {
            let (time, turn, rank) = of.keys.words(*key);
            sum += ranks_in_io * (time - last);
            last = time;
            let rank = rank as usize;
            if !PLAIN && (turn == Turn::Sample as u8 || turn == Turn::Total as u8) {
                if ASKED {
                    self.answer(rank, of.keys.parts(*key).1, sum);
                }
                continue;
            }
            // Who comes next is as good as random: no branch depends on whether a call begins or
            // ends.
            let ends = i64::from(turn >> 1);
            let begins = ends - 1; // all bits, or none
            let of_rank = &mut self.ranks[rank];
            of_rank.shared += (sum ^ begins) - begins;
            // Of a call that is over it is not asked for where all is plain.
            of_rank.begin = if PLAIN { sum } else { sum & begins };
            if ASKED && ends != 0 {
                self.areas[rank].push(of_rank.shared);
            }
            let fewer = ranks_in_io - ends;
            ranks_in_io = fewer - begins;
            most = most.max(ranks_in_io);
            if fewer == 0 {
                let now = Now { ranks_in_io, sum, last, since, most };
                if ends == 0 {
                    (since, most) = (last, 1);
                    self.open(now, of, runs);
                } else {
                    self.close(&now);
                }
            }
        }
        self.now = Now { ranks_in_io, sum, last, since, most };
    }

    /// … of few ranks, from the piece's begin on: nothing is asked for in between, and nobody is in
    /// a call that begins here and goes on.
    #[inline(never)] // a loop over all file calls
    fn pass_sets(&mut self, of: Measure, keys: &[u64], runs: &[Run<'_>]) {
        if keys.is_empty() {
            return;
        }
        let mut sets = Sets::new(runs.iter().map(|run| run.is_inside));
        let (mut last, begin) = (self.now.last, self.now.sum);
        for key in keys {
            let (time, _, rank) = of.keys.parts(*key);
            let mut passed = time - last;
            if sets.are_outside() && (passed >= of.gap || self.phases.is_empty()) {
                self.settle(&mut sets, last);
                self.open(Now { last: time, ..self.now }, of, runs);
                passed = 0;
            }
            sets.pass(passed, rank);
            last = time;
        }
        self.settle(&mut sets, last);
        for (rank, (of_rank, run)) in self.ranks.iter_mut().zip(runs).enumerate() {
            of_rank.shared += begin * i64::from(run.is_inside);
            of_rank.shared -= self.now.sum * i64::from(sets.is_inside(rank));
        }
    }

    /// What has passed until `last` is the ranks' and the phase's.
    fn settle(&mut self, sets: &mut Sets, last: i64) {
        let stretch = sets.take();
        for (rank, area) in self.ranks.iter_mut().zip(stretch.areas) {
            rank.shared += area;
        }
        let (sum, most) = (self.now.sum + stretch.io, i64::from(sets.number()));
        self.now = Now { ranks_in_io: most, sum, last, since: last, most };
        if let Some(phase) = self.phases.last_mut() {
            phase.busy += stretch.busy;
            phase.ranks_in_io_max = phase.ranks_in_io_max.max(stretch.most);
            if sets.are_outside() {
                (phase.end, phase.io) = (last, phase.io + sum);
            }
        }
    }

    #[cold]
    fn answer(&mut self, rank: usize, turn: Turn, sum: i64) {
        let InRank { shared, begin } = self.ranks[rank];
        if turn == Turn::Sample {
            self.areas[rank].push(shared + sum);
        } else {
            self.areas[rank].extend([sum, shared + begin]);
        }
    }

    /// k is no longer 0. `io` holds −K(begin) until K(end) is added.
    #[cold]
    fn open(&mut self, now: Now, of: Measure, runs: &[Run<'_>]) {
        match self.phases.last_mut() {
            Some(phase) if now.last - phase.end < of.gap => phase.io -= now.sum,
            _ => {
                let until = of.keys.after(now.last - 1);
                let ended = |run: &Run<'_>| {
                    let before = run.keys[..run.keys.partition_point(|key| *key < until)].iter();
                    before.filter(|key| of.keys.parts(**key).1 == Turn::End).count()
                };
                self.add_moved(runs, ended);
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

    /// What those calls moved that have `ended` and are in no phase yet is the last phase's.
    fn add_moved<'r>(&mut self, runs: &[Run<'r>], ended: impl Fn(&Run<'r>) -> usize) {
        let Some(phase) = self.phases.last_mut() else { return };
        for (moved, run) in self.moved.iter_mut().zip(runs) {
            let until = ended(run);
            phase.add_moved(&run.moved[*moved..until]);
            *moved = until;
        }
    }
}

/// How many of the merged keys come before the begin of any call that goes on at the runs' end.
fn settled(of: Keys, merged: &[u64], runs: &[Run<'_>]) -> usize {
    let going_on = runs.iter().filter(|run| run.is_inside_after(of));
    let first = going_on.filter_map(|run| run.keys.last()).min();
    first.map_or(merged.len(), |first| {
        let time = of.at_time_of(*first);
        merged.partition_point(|key| *key < time)
    })
}
