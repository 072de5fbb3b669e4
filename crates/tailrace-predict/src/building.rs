//! From what each rank did to steps: local time as measured, and waits without what they waited.
//!
//! A wait begins when the rank does nothing else any more, and ends when what it waits for has
//! happened, and its transfer later. The transfer is what the measured wait took beyond that, so
//! that steps that are taken in their measured time end when the run did, to the nanosecond.

use hashbrown::HashMap;
use tailrace_replay::program::{FileCall, Program, RankProgram};
use tailrace_replay::vertex::{Deed, Vertex};
use tailrace_trace::Tables;

use crate::matching::{Dependence, Matching, Moment};
use crate::steps::{Awaited, GatheringId, MomentId, RankSteps, Step, Steps};

/// The steps of a program. `guarded`: a wait is for what happened before, as measured.
pub(crate) fn steps(tables: &Tables, program: Program, guarded: bool) -> Steps {
    let matching = Matching::new(tables, &program);
    let runtime = program.runtime;
    let mut builder = Builder::new(&matching, runtime, guarded);
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
}

struct Builder<'a> {
    matching: &'a Matching<'a>,
    runtime: i64,
    guarded: bool,
    awaited: Vec<Awaited>,
    gatherings: Vec<Vec<MomentId>>,
    gathered: Vec<Option<(GatheringId, u32)>>,
    gathering_of: HashMap<u32, GatheringId>,
}

/// How far a rank's steps tell its time.
struct Reached {
    at: i64,
    useful: i64,
    /// Time in file calls, and how much of it is in calls that became steps of their own.
    io: i64,
    told: i64,
    call: usize,
}

impl<'a> Builder<'a> {
    fn new(matching: &'a Matching<'a>, runtime: i64, guarded: bool) -> Self {
        Self {
            matching,
            runtime,
            guarded,
            awaited: Vec::new(),
            gatherings: Vec::new(),
            gathered: vec![None; matching.moments.len()],
            gathering_of: HashMap::new(),
        }
    }

    fn rank(&mut self, rank: usize, known: RankProgram) -> RankSteps {
        let RankProgram { birth, vertices, calls, useful, io, .. } = known;
        let mut reached = Reached { at: birth, useful: 0, io: 0, told: 0, call: 0 };
        let mut steps = Vec::with_capacity(2 * vertices.len() + calls.len());
        let mut posted: HashMap<u32, u32> = HashMap::new();
        for (place, vertex) in vertices.iter().enumerate() {
            if let Deed::Post { channel } | Deed::LatePost { channel, .. } = vertex.deed {
                *posted.entry(channel).or_default() += 1;
            }
            let place = place as u32;
            if vertex.deed.waits() {
                let dependence = self.matching.dependence(rank, vertex, &posted);
                self.wait(rank, place, vertex, &dependence, &calls, &mut reached, &mut steps);
            } else if let Some(moment) = self.matching.moment_of[rank].get(&place) {
                reached.go(
                    vertex.at.min(self.runtime),
                    (vertex.useful, vertex.io),
                    &calls,
                    &mut steps,
                );
                steps.push(Step::Mark { moment: *moment });
            }
        }
        reached.go(self.runtime, (useful, io), &calls, &mut steps);
        RankSteps { birth, steps, calls }
    }

    #[allow(clippy::too_many_arguments)] // a vertex, what is known of it, and where it goes
    fn wait(
        &mut self,
        rank: usize,
        place: u32,
        vertex: &Vertex,
        dependence: &Dependence,
        calls: &[FileCall],
        reached: &mut Reached,
        steps: &mut Vec<Step>,
    ) {
        let waiter = Moment { at: vertex.at, rank: rank as u32, place, tied: false };
        let awaited = self.awaited_by(&waiter, dependence);
        let at = vertex.at.min(self.runtime);
        let since = vertex.since.clamp(reached.at, at.max(reached.at));
        reached.go(since, (vertex.useful, vertex.io), calls, steps);
        let happened = awaited.iter().map(|awaited| self.happened(*awaited)).max();
        let began = since.max(happened.unwrap_or(i64::MIN));
        let transfer = at.saturating_sub(began).max(0);
        reached.at = reached.at.max(at);
        // A Waitall is one wait: what comes last is followed by the transfer.
        if let Some(Step::Wait { awaited: range, transfer: before }) = steps.last_mut()
            && since >= at
            && range.1 == self.awaited.len() as u32
        {
            self.awaited.extend(awaited);
            range.1 = self.awaited.len() as u32;
            let earlier = self.latest(*range);
            *before = (*before).min(at.saturating_sub(earlier).max(0));
            return;
        }
        let first = self.awaited.len() as u32;
        self.awaited.extend(awaited);
        let awaited = (first, self.awaited.len() as u32);
        steps.push(Step::Wait { awaited, transfer });
    }

    fn latest(&self, range: (u32, u32)) -> i64 {
        let range = &self.awaited[range.0 as usize..range.1 as usize];
        range.iter().map(|awaited| self.happened(*awaited)).max().unwrap_or(i64::MIN)
    }

    /// When that was, as measured.
    fn happened(&self, awaited: Awaited) -> i64 {
        let at = |moment: MomentId| self.matching.moments[moment as usize].at.min(self.runtime);
        match awaited {
            Awaited::Moment(moment) => at(moment),
            Awaited::Gathering { id, entries } => {
                at(self.gatherings[id as usize][entries as usize - 1])
            }
        }
    }

    fn awaited_by(&mut self, waiter: &Moment, dependence: &Dependence) -> Vec<Awaited> {
        let entries = dependence.entries.and_then(|instance| {
            let id = self.gathering(instance);
            let all = &self.gatherings[id as usize];
            let entries = all.partition_point(|moment| self.counts(waiter, *moment));
            let complete = entries as u32 >= self.matching.size(instance);
            (entries > 0 && (complete || !dependence.if_complete))
                .then_some(Awaited::Gathering { id, entries: entries as u32 })
        });
        // what was read for others counts only where all came together
        let moments =
            if dependence.if_complete && entries.is_none() { &[] } else { &dependence.moments[..] };
        let moments = moments.iter().filter(|moment| self.counts(waiter, **moment));
        let moments = moments.map(|moment| Awaited::Moment(*moment));
        moments.chain(entries).collect()
    }

    /// Whether the waiter can have waited for it: see `Waiter::counts` of the replay.
    fn counts(&self, waiter: &Moment, moment: MomentId) -> bool {
        let moment = &self.matching.moments[moment as usize];
        if moment.at < waiter.at || !self.guarded {
            return true;
        }
        moment.at == waiter.at
            && if moment.rank == waiter.rank {
                moment.place < waiter.place
            } else {
                !moment.tied || moment.rank < waiter.rank
            }
    }

    fn gathering(&mut self, instance: u32) -> GatheringId {
        if let Some(id) = self.gathering_of.get(&instance) {
            return *id;
        }
        let id = self.gatherings.len() as GatheringId;
        let moments = &self.matching.moments;
        let mut entries = self.matching.entries(instance);
        entries.sort_unstable_by_key(|entry| {
            let Moment { at, rank, tied, .. } = moments[*entry as usize];
            (at, tied, rank)
        });
        for (place, entry) in entries.iter().enumerate() {
            self.gathered[*entry as usize] = Some((id, place as u32));
        }
        self.gatherings.push(entries);
        self.gathering_of.insert(instance, id);
        id
    }
}

impl Reached {
    /// Local time until `until`, at which the sums of useful time and file calls come to `sums`.
    fn go(&mut self, until: i64, sums: (i64, i64), calls: &[FileCall], steps: &mut Vec<Step>) {
        let first = self.call;
        while self.call < calls.len() && calls[self.call].begin < until {
            self.call += 1;
        }
        let calls = &calls[first..self.call];
        let told: i64 = calls.iter().map(|call| call.end - call.begin).sum();
        self.told += told;
        let gaps = (until - self.at - told).max(0);
        let useful = (sums.0 - self.useful).clamp(0, gaps);
        let io = (sums.1 - self.told - self.io).clamp(0, gaps - useful);
        (self.useful, self.io) = (self.useful + useful, self.io + io);
        let mut shares = Shares { of: [useful, io, gaps - useful - io], all: gaps, taken: 0 };
        for (number, call) in calls.iter().enumerate() {
            shares.take(call.begin - self.at, steps);
            steps.push(Step::File { call: (first + number) as u32 });
            self.at = self.at.max(call.end);
        }
        shares.take(until - self.at, steps);
        self.at = self.at.max(until);
    }
}

/// Time between file calls, in parts of equal mixture: only their sums are known.
struct Shares {
    of: [i64; 3],
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
            [0, 1].map(|i| until(self.of[i], self.taken) - until(self.of[i], before));
        steps.push(Step::Local { useful, io, mpi: self.taken - before - useful - io });
    }
}
