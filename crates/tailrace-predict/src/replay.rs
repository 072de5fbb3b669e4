//! Takes a run's steps again, in the order in which they happen now.
//!
//! Whoever is earliest goes on. Only file calls can get in each other's way, so a rank goes on by
//! itself until its next one, or until it waits for an instant that has not happened; and file
//! calls are made in order of the time at which they begin now. No rank that waits can come to one
//! earlier than that: whoever lets it go on is no earlier itself. Nobody waits in a circle: a wait
//! is for what happened before, as measured.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tailrace_replay::program::FileCall;

use crate::steps::{Awaited, GatheringId, MomentId, Step, Steps};

/// What takes the time of file calls.
pub trait FileSystem {
    /// When the call that the rank begins at `begin` ends. Calls come in order of `begin`.
    fn end(&mut self, rank: u32, begin: i64, call: &FileCall) -> i64;

    /// The same of calls that are taken as one.
    fn end_together(&mut self, rank: u32, begin: i64, call: &FileCall, _together: Together) -> i64 {
        self.end(rank, begin, call)
    }

    /// When a rank may end that has no more to do at `now`.
    fn rest(&mut self, _rank: u32, now: i64) -> i64 {
        now
    }
}

/// So many calls of a kind, whose bytes lie no further apart than that.
#[derive(Clone, Copy, Debug)]
pub struct Together {
    pub calls: i64,
    pub reach: i64,
    /// They leave gaps, which nobody of their node fills meanwhile.
    pub is_scattered: bool,
    /// Each follows a call of another rank of their node.
    pub is_joined: bool,
}

impl Together {
    pub fn one(bytes: u64) -> Self {
        let reach = i64::try_from(bytes).unwrap_or(i64::MAX);
        Self { calls: 1, reach, is_scattered: false, is_joined: false }
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

/// A moment that has not happened, and nobody waits for. Those that come next say which rank does;
/// what is later is a time.
const NOT_YET: i64 = i64::MIN;
const FIRST_WAITS: i64 = NOT_YET + 1;
const LAST_WAITS: i64 = FIRST_WAITS + u32::MAX as i64;
/// No rank, in a list of those that wait.
const NOBODY: u32 = u32::MAX;

/// Takes the steps at another pace and with another file system.
pub fn replay(steps: &Steps, pace: Pace, files: &mut dyn FileSystem) -> Replayed {
    let mut run = Run::new(steps, [pace]);
    run.all([&mut *files]);
    debug_assert!(run.is_over(), "ranks wait in a circle");
    let times = |(rank, clocks): (usize, &Clocks<1>)| RankTimes {
        useful: clocks.useful[0],
        end: files.rest(rank as u32, clocks.end[0]).max(clocks.end[0]),
    };
    Replayed { ranks: run.clocks.iter().enumerate().map(times).collect() }
}

/// As many paces as one walk through the steps carries side by side.
const SIDE_BY_SIDE: usize = 8;

/// The run time at each of these paces, on file systems in which calls do not get in each other's
/// way: then nothing depends on who goes on first.
pub fn run_times<F: FileSystem + Copy>(steps: &Steps, paces: &[(Pace, F)]) -> Vec<i64> {
    let mut found = Vec::with_capacity(paces.len());
    for some in paces.chunks(SIDE_BY_SIDE) {
        let each: [_; SIDE_BY_SIDE] = std::array::from_fn(|at| some[at.min(some.len() - 1)]);
        let mut files = each.map(|(_, files)| files);
        let mut run = Run::new(steps, each.map(|(pace, _)| pace));
        run.all(files.each_mut().map(|files| files as &mut dyn FileSystem));
        debug_assert!(run.is_over(), "ranks wait in a circle");
        let latest = |at: usize| run.clocks.iter().map(|clocks| clocks.end[at]).max().unwrap_or(0);
        found.extend((0..some.len()).map(latest));
    }
    found
}

/// By rank: when each of its steps begins.
pub(crate) fn begins(steps: &Steps, files: &mut dyn FileSystem) -> Vec<Vec<i64>> {
    let mut run = Run::new(steps, [Pace::AS_MEASURED]);
    run.begins = Some(vec![Vec::new(); steps.ranks.len()]);
    run.all([files]);
    run.begins.unwrap_or_default()
}

/// Whether nobody waits for who waits for them: that is the same whatever file calls take, and in
/// which order they are made.
pub(crate) fn is_possible(steps: &Steps) -> bool {
    let mut run = Run::new(steps, [Pace::AS_MEASURED]);
    while let Some(rank) = run.ready.pop() {
        while run.go_on(rank).is_some() {
            run.next[rank as usize] += 1;
        }
    }
    run.is_over()
}

/// When each rank is done that does nothing but these calls, one after the other.
pub fn served(files: &mut dyn FileSystem, ranks: &[Vec<FileCall>]) -> Vec<i64> {
    let mut ends = vec![0; ranks.len()];
    let mut waiting: BinaryHeap<Reverse<(i64, usize, usize)>> =
        (0..ranks.len()).map(|rank| Reverse((0, rank, 0))).collect();
    while let Some(Reverse((begin, rank, place))) = waiting.pop() {
        ends[rank] = begin;
        if let Some(call) = ranks[rank].get(place) {
            let end = files.end(rank as u32, begin, call).max(begin);
            waiting.push(Reverse((end, rank, place + 1)));
        }
    }
    ends
}

/// An instant at each of N paces.
type Instants<const N: usize> = [i64; N];

#[derive(Clone, Copy, Debug)]
struct Clocks<const N: usize> {
    useful: Instants<N>,
    end: Instants<N>,
}

impl<const N: usize> Clocks<N> {
    fn local(&mut self, paces: &[Pace; N], [useful, io, mpi]: [i64; 3]) {
        for (at, pace) in paces.iter().enumerate() {
            let useful = scaled(useful, pace.useful);
            self.useful[at] += useful;
            self.end[at] += useful + scaled(io, pace.io) + scaled(mpi, pace.mpi);
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Gathering {
    /// So many of the first have happened.
    happened: u32,
    /// The first rank that waits for it.
    waiter: u32,
}

/// At N paces at once; file calls come in order of the first.
struct Run<'a, const N: usize> {
    steps: &'a Steps,
    paces: [Pace; N],
    clocks: Vec<Clocks<N>>,
    /// By rank: the next step, and of a wait the next that it is for.
    next: Vec<usize>,
    awaited: Vec<u32>,
    /// When each happened; of what has not, the first that waits for it stands at the first pace.
    moments: Vec<Instants<N>>,
    gatherings: Vec<Gathering>,
    /// By member of a gathering: the latest of it and those before it.
    latest: Vec<Instants<N>>,
    /// By rank: who else waits for the same, since a rank waits for one thing at a time.
    next_waiter: Vec<u32>,
    /// Ranks that may go on.
    ready: Vec<u32>,
    calls: BinaryHeap<Reverse<(i64, u32)>>,
    /// When the steps began, for who wants to know.
    begins: Option<Vec<Vec<i64>>>,
}

impl<'a, const N: usize> Run<'a, N> {
    fn new(steps: &'a Steps, paces: [Pace; N]) -> Self {
        let ranks = steps.ranks.len();
        let begin = |birth| Clocks { useful: [0; N], end: [birth; N] };
        Self {
            steps,
            paces,
            clocks: steps.ranks.iter().map(|rank| begin(rank.birth)).collect(),
            next: vec![0; ranks],
            awaited: vec![0; ranks],
            moments: vec![[NOT_YET; N]; steps.moments as usize],
            gatherings: vec![Gathering { happened: 0, waiter: NOBODY }; steps.gatherings.count()],
            latest: vec![[0; N]; steps.gatherings.members()],
            next_waiter: vec![NOBODY; ranks],
            ready: (0..ranks as u32).rev().collect(),
            calls: BinaryHeap::new(),
            begins: None,
        }
    }

    fn all(&mut self, mut files: [&mut dyn FileSystem; N]) {
        loop {
            while let Some(rank) = self.ready.pop() {
                if let Some(call) = self.go_on(rank) {
                    self.calls.push(Reverse(call));
                }
            }
            let Some(Reverse((_, rank))) = self.calls.pop() else { break };
            self.file_calls(rank, &mut files);
        }
    }

    /// Of whoever is earliest: first of that rank, as long as nobody else may go on.
    fn file_calls(&mut self, mut rank: u32, files: &mut [&mut dyn FileSystem; N]) {
        loop {
            self.file_call(rank, files);
            let Some(mut call) = self.go_on(rank) else { return };
            if !self.ready.is_empty() {
                self.calls.push(Reverse(call));
                return;
            }
            // one exchange in the heap in place of a push and a pop
            if let Some(mut first) = self.calls.peek_mut()
                && first.0 < call
            {
                std::mem::swap(&mut first.0, &mut call);
            }
            rank = call.1;
        }
    }

    fn is_over(&self) -> bool {
        self.next.iter().zip(&self.steps.ranks).all(|(next, rank)| *next == rank.steps.len())
    }

    /// Until the rank's next file call, which is answered with when it begins, or until a wait for
    /// what has not happened.
    fn go_on(&mut self, rank: u32) -> Option<(i64, u32)> {
        let all = self.steps;
        let steps = &all.ranks[rank as usize].steps;
        let (mut clocks, mut next) = (self.clocks[rank as usize], self.next[rank as usize]);
        let mut call = None;
        while let Some(step) = steps.get(next) {
            let begin = clocks.end[0];
            match *step {
                Step::Local { useful, io, mpi } => clocks.local(&self.paces, [useful, io, mpi]),
                Step::Mark { moment } => self.mark(moment, clocks.end),
                Step::File { .. } => {
                    call = Some((begin, rank));
                    break;
                }
                Step::Wait { awaited, transfer } => {
                    let Some(end) = self.wait(rank, awaited, clocks.end) else { break };
                    clocks.end = std::array::from_fn(|at| {
                        end[at] + scaled(transfer, self.paces[at].network)
                    });
                }
            }
            next += 1;
            self.began(rank, begin);
        }
        self.clocks[rank as usize] = clocks;
        self.next[rank as usize] = next;
        call
    }

    fn began(&mut self, rank: u32, begin: i64) {
        if let Some(begins) = &mut self.begins {
            begins[rank as usize].push(begin);
        }
    }

    fn file_call(&mut self, rank: u32, files: &mut [&mut dyn FileSystem; N]) {
        let known = &self.steps.ranks[rank as usize];
        let ends = &mut self.clocks[rank as usize].end;
        let (begin, next) = (ends[0], &mut self.next[rank as usize]);
        if let Step::File { call } = known.steps[*next] {
            let call = &known.calls[call as usize];
            for (end, files) in ends.iter_mut().zip(files) {
                *end = files.end(rank, *end, call).max(*end);
            }
        }
        *next += 1;
        self.began(rank, begin);
    }

    fn mark(&mut self, moment: MomentId, at: Instants<N>) {
        let known = &mut self.moments[moment as usize];
        let waiter = waiter(known[0]);
        *known = at;
        self.wake(waiter);
        if let Some(gathering) = self.steps.gathered[moment as usize] {
            self.gather(gathering);
        }
    }

    fn wake(&mut self, mut waiter: u32) {
        while waiter != NOBODY {
            self.ready.push(waiter);
            waiter = self.next_waiter[waiter as usize];
        }
    }

    fn gather(&mut self, id: GatheringId) {
        let (members, places) = (self.steps.gatherings.of(id), self.steps.gatherings.range(id));
        let before = self.gatherings[id as usize].happened as usize;
        let latest = &mut self.latest[places];
        let mut happened = before;
        while let Some(member) = members.get(happened) {
            let at = self.moments[*member as usize];
            if at[0] <= LAST_WAITS {
                break;
            }
            latest[happened] = if happened == 0 { at } else { later(at, latest[happened - 1]) };
            happened += 1;
        }
        if happened > before {
            let waiter = std::mem::replace(&mut self.gatherings[id as usize].waiter, NOBODY);
            self.gatherings[id as usize].happened = happened as u32;
            self.wake(waiter);
        }
    }

    /// When all has happened that the rank waits for since `came`. None where something has not:
    /// then it is woken.
    fn wait(
        &mut self,
        rank: u32,
        (first, end): (u32, u32),
        came: Instants<N>,
    ) -> Option<Instants<N>> {
        let range = &self.steps.awaited[first as usize..end as usize];
        let known = self.awaited[rank as usize] as usize;
        let mut latest = came;
        for (awaited, place) in range[known..].iter().zip(known as u32..) {
            let Some(at) = self.happened(*awaited) else {
                self.awaited[rank as usize] = place;
                self.queue(rank, *awaited);
                return None;
            };
            latest = later(latest, at);
        }
        self.awaited[rank as usize] = 0;
        Some(range[..known].iter().filter_map(|each| self.happened(*each)).fold(latest, later))
    }

    fn happened(&self, awaited: Awaited) -> Option<Instants<N>> {
        match awaited {
            Awaited::Moment(moment) => {
                Some(self.moments[moment as usize]).filter(|at| at[0] > LAST_WAITS)
            }
            Awaited::Gathering { id, first } => {
                let has = self.gatherings[id as usize].happened >= first;
                let last = || self.steps.gatherings.range(id).start + first as usize - 1;
                has.then(|| self.latest[last()])
            }
        }
    }

    fn queue(&mut self, rank: u32, awaited: Awaited) {
        let before = match awaited {
            Awaited::Moment(moment) => {
                let known = &mut self.moments[moment as usize][0];
                let before = waiter(*known);
                *known = FIRST_WAITS + i64::from(rank);
                before
            }
            Awaited::Gathering { id, .. } => {
                std::mem::replace(&mut self.gatherings[id as usize].waiter, rank)
            }
        };
        self.next_waiter[rank as usize] = before;
    }
}

/// Who waits for a moment that has not happened.
fn waiter(at: i64) -> u32 {
    if (FIRST_WAITS..=LAST_WAITS).contains(&at) { (at - FIRST_WAITS) as u32 } else { NOBODY }
}

fn later<const N: usize>(one: Instants<N>, other: Instants<N>) -> Instants<N> {
    std::array::from_fn(|at| one[at].max(other[at]))
}

/// Exact where nothing changes.
pub(crate) fn scaled(time: i64, by: f64) -> i64 {
    if (by - 1.).abs() < f64::EPSILON { time } else { rounded(time as f64 * by) }
}

/// Nanoseconds, 36 years: nothing is predicted to end later, so that times can be added up.
pub(crate) const LATEST: i64 = 1 << 60;

pub(crate) fn added(now: i64, more: i64) -> i64 {
    now.saturating_add(more).min(now.max(LATEST))
}

/// So many nanoseconds as a whole number.
pub(crate) fn span(time: f64) -> i64 {
    rounded(time.min(LATEST as f64))
}

/// The nearest whole number, halves away from zero. It is what `f64::round` gives, which is a call
/// into the C library wherever not every processor has an instruction for it.
pub(crate) fn rounded(number: f64) -> i64 {
    let whole = number as i64;
    let rest = number - whole as f64;
    whole.saturating_add(i64::from(rest >= 0.5)).saturating_sub(i64::from(rest <= -0.5))
}

#[cfg(test)]
mod tests {
    use super::rounded;

    #[test]
    fn numbers_are_rounded_as_the_language_does() {
        let half = 4_503_599_627_370_495.5; // the largest with a fraction
        let numbers = [0., 0.3, 0.5, 0.7, 1.5, 2.5, 0.499_999_999_999_999_94, half, half + 0.5];
        let large = [1e18, 9.3e18, f64::INFINITY, f64::MAX, f64::MIN_POSITIVE, f64::NAN];
        for number in numbers.into_iter().chain(large) {
            for signed in [number, -number] {
                assert_eq!(rounded(signed), signed.round() as i64, "{signed}");
            }
        }
    }
}
