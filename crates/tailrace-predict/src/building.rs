//! From what each rank did to steps: local time as measured, and waits without what they waited.
//!
//! A wait begins when the rank does nothing else any more, and ends when what it waits for has
//! happened, and its transfer later. The transfer is what the measured wait took beyond that, so
//! that steps that are taken in their measured time end when the run did, to the nanosecond.

use hashbrown::HashMap;
use tailrace_replay::program::{FileCall, Program, RankProgram};
use tailrace_replay::vertex::Vertex;
use tailrace_trace::Tables;

use crate::gatherings::Gatherings;
use crate::matching::{Dependence, Matching, Moment, Together};
use crate::short::ShortSends;
use crate::steps::{Awaited, GatheringId, MomentId, RankSteps, Step, Steps};

/// The steps of a program. A wait is for what happened before, as measured.
pub(crate) fn steps(tables: &Tables, program: Program) -> Steps {
    let matching = Matching::new(tables, &program);
    let runtime = program.runtime;
    let short = ShortSends::of(&matching, &program);
    let mut builder = Builder::new(&matching, short, runtime);
    let ranks = program.ranks.into_iter().enumerate();
    let ranks = ranks.map(|(rank, known)| builder.rank(rank, known)).collect();
    Steps {
        runtime,
        ranks,
        awaited: builder.awaited,
        moments: matching.moments.len() as u32,
        gatherings: builder.gatherings,
        gathered: builder.gathered,
    }
    .note_waits()
}

struct Builder<'a> {
    matching: &'a Matching<'a>,
    short: ShortSends,
    runtime: i64,
    awaited: Vec<Awaited>,
    gatherings: Gatherings,
    gathered: Vec<Option<GatheringId>>,
    gathering_of: HashMap<(u32, Together), GatheringId>,
}

/// A rank's steps as far as they are built.
struct Built {
    calls: Vec<FileCall>,
    steps: Vec<Step>,
    /// How far they tell its time.
    at: i64,
    useful: i64,
    /// Time in file calls, and how much of it is in calls that became steps of their own.
    io: i64,
    told: i64,
    call: usize,
}

impl<'a> Builder<'a> {
    fn new(matching: &'a Matching<'a>, short: ShortSends, runtime: i64) -> Self {
        Self {
            matching,
            short,
            runtime,
            awaited: Vec::new(),
            gatherings: Gatherings::default(),
            gathered: vec![None; matching.moments.len()],
            gathering_of: HashMap::new(),
        }
    }

    fn rank(&mut self, rank: usize, known: RankProgram) -> RankSteps {
        let RankProgram { birth, end, vertices, calls, useful, io, .. } = known;
        let Matching { moments, moments_of, .. } = self.matching;
        let mut own = moments_of[rank].clone().peekable();
        let mut built = Built::new(birth, calls, vertices.len());
        for (vertex, place) in vertices.iter().zip(0..) {
            if vertex.deed.waits() {
                let waiter = Moment { at: vertex.at, rank: rank as u32, place, tied: false };
                self.wait(&mut built, &waiter, vertex);
            } else if let Some(moment) = own.next_if(|id| moments[*id as usize].place == place) {
                built.go(vertex.at.min(self.runtime), (vertex.useful, vertex.io));
                built.steps.push(Step::Mark { moment });
            }
        }
        built.go(end.max(built.at), (useful, io));
        RankSteps { birth, steps: built.steps, calls: built.calls }
    }

    fn wait(&mut self, built: &mut Built, waiter: &Moment, vertex: &Vertex) {
        let awaited = self.awaited_by(waiter, vertex);
        let at = vertex.at.min(self.runtime);
        let since = vertex.since.clamp(built.at, at.max(built.at));
        built.go(since, (vertex.useful, vertex.io));
        let began = since.max(self.latest(&awaited));
        let transfer = at.saturating_sub(began).max(0);
        built.at = built.at.max(at);
        // A Waitall is one wait: what comes last is followed by the transfer.
        if let Some(Step::Wait { awaited: range, transfer: before }) = built.steps.last_mut()
            && since >= at
            && range.1 == self.awaited.len() as u32
        {
            self.awaited.extend(awaited);
            range.1 = self.awaited.len() as u32;
            let earlier = self.latest(&self.awaited[range.0 as usize..]);
            *before = (*before).min(at.saturating_sub(earlier).max(0));
            return;
        }
        let first = self.awaited.len() as u32;
        self.awaited.extend(awaited);
        let awaited = (first, self.awaited.len() as u32);
        built.steps.push(Step::Wait { awaited, transfer });
    }

    /// When the last of them had happened, as measured.
    fn latest(&self, awaited: &[Awaited]) -> i64 {
        let moment = |awaited: &Awaited| match *awaited {
            Awaited::Moment(moment) => moment,
            Awaited::Gathering { id, first } => self.gatherings.of(id)[first as usize - 1],
        };
        let moments = awaited.iter().map(|awaited| self.matching.moments[moment(awaited) as usize]);
        moments.map(|moment| moment.at.min(self.runtime)).max().unwrap_or(i64::MIN)
    }

    fn awaited_by(&mut self, waiter: &Moment, vertex: &Vertex) -> Vec<Awaited> {
        match self.matching.dependence(waiter.rank as usize, waiter.place, vertex) {
            Dependence::Moments(mut moments) => {
                moments.retain(|moment| self.counts(waiter, *moment));
                moments.into_iter().map(Awaited::Moment).collect()
            }
            Dependence::Entries(instance) => {
                self.in_time(waiter, instance, Together::Entries).into_iter().collect()
            }
            Dependence::Complete(instance) => {
                self.once_complete(waiter, instance).into_iter().collect()
            }
            Dependence::Perhaps(moment, _) => {
                let is_met = self.short.waited(waiter.rank, waiter.place);
                let moment = Some(moment).filter(|moment| is_met && self.counts(waiter, *moment));
                moment.into_iter().map(Awaited::Moment).collect()
            }
            Dependence::Taker(instance) => {
                let root = self.matching.root(instance).filter(|root| self.counts(waiter, *root));
                root.map(Awaited::Moment)
                    .or_else(|| self.in_time(waiter, instance, Together::Entries))
                    .into_iter()
                    .collect()
            }
            Dependence::Served(instance) => match self.once_complete(waiter, instance) {
                // what was moved for others counts only where all came together
                None => Vec::new(),
                entries => {
                    let file_calls = self.in_time(waiter, instance, Together::FileCalls);
                    file_calls.into_iter().chain(entries).collect()
                }
            },
        }
    }

    /// All entries, if every rank has entered.
    fn once_complete(&mut self, waiter: &Moment, instance: u32) -> Option<Awaited> {
        let size = self.matching.size(instance);
        let entries = self.in_time(waiter, instance, Together::Entries);
        entries.filter(|e| matches!(e, Awaited::Gathering { first, .. } if *first >= size))
    }

    /// Those of them that the waiter can have waited for: they come first.
    fn in_time(&mut self, waiter: &Moment, instance: u32, what: Together) -> Option<Awaited> {
        let id = self.gathering(instance, what);
        let all = self.gatherings.of(id);
        let first = all.partition_point(|moment| self.counts(waiter, *moment)) as u32;
        (first > 0).then_some(Awaited::Gathering { id, first })
    }

    /// Whether the waiter can have waited for it: see `Waiter::counts` of the replay.
    fn counts(&self, waiter: &Moment, moment: MomentId) -> bool {
        let moment = &self.matching.moments[moment as usize];
        moment.at < waiter.at
            || moment.at == waiter.at
                && if moment.rank == waiter.rank {
                    moment.place < waiter.place
                } else {
                    !moment.tied || moment.rank < waiter.rank
                }
    }

    fn gathering(&mut self, instance: u32, what: Together) -> GatheringId {
        if let Some(id) = self.gathering_of.get(&(instance, what)) {
            return *id;
        }
        let together = self.matching.together(instance, what);
        let id = self.gatherings.push(&together);
        for moment in &together {
            self.gathered[*moment as usize] = Some(id);
        }
        self.gathering_of.insert((instance, what), id);
        id
    }
}

impl Built {
    fn new(birth: i64, calls: Vec<FileCall>, vertices: usize) -> Self {
        let steps = Vec::with_capacity(2 * vertices + calls.len());
        Self { calls, steps, at: birth, useful: 0, io: 0, told: 0, call: 0 }
    }

    /// Local time until `until`, at which the sums of useful time and file calls come to `sums`.
    fn go(&mut self, until: i64, sums: (i64, i64)) {
        let first = self.call;
        while self.call < self.calls.len() && self.calls[self.call].begin < until {
            self.call += 1;
        }
        let calls = &self.calls[first..self.call];
        let told: i64 = calls.iter().map(|call| call.end - call.begin).sum();
        self.told += told;
        let gaps = (until - self.at - told).max(0);
        let useful = (sums.0 - self.useful).clamp(0, gaps);
        let io = (sums.1 - self.told - self.io).clamp(0, gaps - useful);
        (self.useful, self.io) = (self.useful + useful, self.io + io);
        let mut shares = Shares { useful, io, all: gaps, taken: 0 };
        for (call, number) in calls.iter().zip(first as u32..) {
            shares.take(call.begin - self.at, &mut self.steps);
            self.steps.push(Step::File { call: number });
            self.at = self.at.max(call.end);
        }
        shares.take(until - self.at, &mut self.steps);
        self.at = self.at.max(until);
    }
}

/// Time between file calls, in parts of equal mixture: only their sums are known.
struct Shares {
    useful: i64,
    io: i64,
    all: i64,
    taken: i64,
}

impl Shares {
    fn take(&mut self, time: i64, steps: &mut Vec<Step>) {
        let before = self.taken;
        self.taken = (before + time.max(0)).min(self.all);
        if self.taken == before {
            return;
        }
        let until = |part: i64, taken: i64| {
            (i128::from(part) * i128::from(taken) / i128::from(self.all)) as i64
        };
        let [useful, io] =
            [self.useful, self.io].map(|part| until(part, self.taken) - until(part, before));
        steps.push(Step::Local { useful, io, mpi: self.taken - before - useful - io });
    }
}
