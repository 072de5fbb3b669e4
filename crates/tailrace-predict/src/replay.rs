//! Takes a run's steps again, in the order in which they happen now.
//!
//! Whoever is earliest goes on. Only file calls can get in each other's way, so a rank goes on by
//! itself until its next one, or until it waits for an instant that has not happened; and file
//! calls are made in order of the time at which they begin now. No rank that waits can come to one
//! earlier than that: whoever lets it go on is no earlier itself. Nobody waits in a circle: a wait is
//! for what happened before, as measured.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tailrace_replay::program::FileCall;

use crate::steps::{Awaited, GatheringId, MomentId, Step, Steps};

/// What takes the time of file calls.
pub trait FileSystem {
    /// When the call that the rank begins at `begin` ends. Calls come in order of `begin`.
    fn end(&mut self, rank: u32, begin: i64, call: &FileCall) -> i64;

    /// When a rank may end that has no more to do at `now`.
    fn rest(&mut self, _rank: u32, now: i64) -> i64 {
        now
    }
}

/// By how much what is not file calls takes longer than measured: 1 is as measured, 0 nothing.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    pub useful: f64,
    /// Of MPI: what waits take beyond what they wait for, and calls that wait for nobody.
    pub network: f64,
    pub mpi: f64,
    /// Of file calls that are not told one by one.
    pub io: f64,
}

impl Pace {
    pub const AS_MEASURED: Self = Self { useful: 1., network: 1., mpi: 1., io: 1. };
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RankTimes {
    pub useful: i64,
    /// When its last step ended.
    pub end: i64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    pub ranks: Vec<RankTimes>,
}

impl Replayed {
    pub fn runtime(&self) -> i64 {
        self.ranks.iter().map(|rank| rank.end).max().unwrap_or(0)
    }
}

const NOT_YET: i64 = i64::MIN;

/// Takes the steps at another pace and with another file system.
pub fn replay(steps: &Steps, pace: Pace, files: &mut dyn FileSystem) -> Replayed {
    let mut run = Run::new(steps, pace);
    run.all(files);
    for (rank, times) in run.times.iter_mut().enumerate() {
        times.end = files.rest(rank as u32, times.end).max(times.end);
    }
    Replayed { ranks: run.times }
}

#[derive(Clone, Debug, Default)]
struct Gathering {
    /// So many of the first have happened, and the latest of the first n, by n − 1.
    latest: Vec<i64>,
    waiters: Vec<u32>,
}

struct Run<'a> {
    steps: &'a Steps,
    pace: Pace,
    times: Vec<RankTimes>,
    /// By rank: the next step, and of a wait the next that it is for.
    next: Vec<usize>,
    awaited: Vec<u32>,
    moments: Vec<i64>,
    /// Who waits for the moment; most are waited for by one.
    waiters: hashbrown::HashMap<MomentId, Vec<u32>>,
    gatherings: Vec<Gathering>,
    /// Ranks that may go on.
    ready: Vec<u32>,
    calls: BinaryHeap<Reverse<(i64, u32)>>,
}

impl<'a> Run<'a> {
    fn new(steps: &'a Steps, pace: Pace) -> Self {
        let ranks = steps.ranks.len();
        let begin = |birth| RankTimes { end: birth, ..RankTimes::default() };
        Self {
            steps,
            pace,
            times: steps.ranks.iter().map(|rank| begin(rank.birth)).collect(),
            next: vec![0; ranks],
            awaited: vec![0; ranks],
            moments: vec![NOT_YET; steps.moments as usize],
            waiters: hashbrown::HashMap::new(),
            gatherings: vec![Gathering::default(); steps.gatherings.len()],
            ready: (0..ranks as u32).rev().collect(),
            calls: BinaryHeap::new(),
        }
    }

    fn all(&mut self, files: &mut dyn FileSystem) {
        loop {
            while let Some(rank) = self.ready.pop() {
                self.go_on(rank);
            }
            let Some(Reverse((begin, rank))) = self.calls.pop() else { break };
            self.file_call(rank, begin, files);
        }
        debug_assert!(self.is_over(), "ranks wait in a circle");
    }

    fn is_over(&self) -> bool {
        self.next.iter().zip(&self.steps.ranks).all(|(next, rank)| *next == rank.steps.len())
    }

    /// Until the rank's next file call, or a wait for what has not happened.
    fn go_on(&mut self, rank: u32) {
        let steps = &self.steps.ranks[rank as usize].steps;
        while let Some(step) = steps.get(self.next[rank as usize]) {
            match *step {
                Step::Local { useful, io, mpi } => self.local(rank, useful, io, mpi),
                Step::Mark { moment } => self.mark(rank, moment),
                Step::File { .. } => {
                    self.calls.push(Reverse((self.times[rank as usize].end, rank)));
                    return;
                }
                Step::Wait { awaited, transfer } => {
                    if !self.wait(rank, awaited, transfer) {
                        return;
                    }
                }
            }
            self.next[rank as usize] += 1;
        }
    }

    fn local(&mut self, rank: u32, useful: i64, io: i64, mpi: i64) {
        let times = &mut self.times[rank as usize];
        let useful = scaled(useful, self.pace.useful);
        let io = scaled(io, self.pace.io);
        let mpi = scaled(mpi, self.pace.mpi);
        times.useful += useful;
        times.end += useful + io + mpi;
    }

    fn file_call(&mut self, rank: u32, begin: i64, files: &mut dyn FileSystem) {
        let known = &self.steps.ranks[rank as usize];
        let place = &mut self.next[rank as usize];
        if let Step::File { call } = known.steps[*place] {
            let end = files.end(rank, begin, &known.calls[call as usize]).max(begin);
            self.times[rank as usize].end = end;
        }
        *place += 1;
        self.ready.push(rank);
    }

    fn mark(&mut self, rank: u32, moment: MomentId) {
        let now = self.times[rank as usize].end;
        self.moments[moment as usize] = now;
        if let Some(waiters) = self.waiters.remove(&moment) {
            self.ready.extend(waiters);
        }
        if let Some(gathering) = self.steps.gathered[moment as usize] {
            self.gather(gathering);
        }
    }

    fn gather(&mut self, id: GatheringId) {
        let members = &self.steps.gatherings[id as usize];
        let gathering = &mut self.gatherings[id as usize];
        let before = gathering.latest.len();
        while let Some(member) = members.get(gathering.latest.len()) {
            let at = self.moments[*member as usize];
            if at == NOT_YET {
                break;
            }
            let latest = gathering.latest.last().map_or(at, |latest| at.max(*latest));
            gathering.latest.push(latest);
        }
        if gathering.latest.len() > before {
            self.ready.append(&mut gathering.waiters);
        }
    }

    /// Whether all that the rank waits for has happened: then it goes on.
    fn wait(&mut self, rank: u32, (first, end): (u32, u32), transfer: i64) -> bool {
        let from = first + self.awaited[rank as usize];
        for place in from..end {
            if self.happened(self.steps.awaited[place as usize]).is_none() {
                self.awaited[rank as usize] = place - first;
                self.queue(rank, self.steps.awaited[place as usize]);
                return false;
            }
        }
        self.awaited[rank as usize] = 0;
        let range = &self.steps.awaited[first as usize..end as usize];
        let latest = range.iter().filter_map(|awaited| self.happened(*awaited)).max();
        let transfer = scaled(transfer, self.pace.network);
        let times = &mut self.times[rank as usize];
        times.end = times.end.max(latest.unwrap_or(NOT_YET)) + transfer;
        true
    }

    fn happened(&self, awaited: Awaited) -> Option<i64> {
        match awaited {
            Awaited::Moment(moment) => {
                Some(self.moments[moment as usize]).filter(|at| *at != NOT_YET)
            }
            Awaited::Gathering { id, first } => {
                self.gatherings[id as usize].latest.get(first as usize - 1).copied()
            }
        }
    }

    fn queue(&mut self, rank: u32, awaited: Awaited) {
        match awaited {
            Awaited::Moment(moment) => self.waiters.entry(moment).or_default().push(rank),
            Awaited::Gathering { id, .. } => self.gatherings[id as usize].waiters.push(rank),
        }
    }
}

/// Exact where nothing changes.
pub(crate) fn scaled(time: i64, by: f64) -> i64 {
    if (by - 1.).abs() < f64::EPSILON { time } else { (time as f64 * by).round() as i64 }
}
