//! Critical paths, and what those did whom others waited for.
//!
//! The graph says when a path comes to a rank and leaves it ([`crate::toggles`]), and from when to
//! when a rank kept others waiting. What the ranks did there is read from the trace again
//! ([`walk`]), from those ranks alone, and summed up ([`sums`]).

pub(crate) mod sums;
mod walk;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use hashbrown::HashSet;
use rayon::prelude::*;
use tailrace_trace::{Trace, TraceError};

use crate::accounts::timeline::State;
use crate::clocks::Clocks;
use crate::graph::trail::Lane;
use crate::graph::vertex::Site;
use crate::graph::wait_states::Wait;
use crate::path::sums::{Asked, Change, Doing, Times};
use crate::path::walk::Walk;
use crate::reduce::Rank;
use crate::reduce::digest::Digest;
use crate::reduce::thread::Finalize;
use crate::run::Results;

pub use crate::graph::moment::Replay;
pub use crate::graph::wait_states::{Awaited, WaitSum};

/// What a rank did on a critical path, or while others waited for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share {
    pub rank: u32,
    pub state: State,
    /// The call, where `state` is not [`State::Useful`].
    pub site: Site,
    /// Index into the trace's files, or [`crate::analysis::Span::NO_FILE`].
    pub file: u32,
    /// In nanoseconds.
    pub time: i64,
}

/// The longest chain of what waited for what: without it the run, or its replay, would have been
/// shorter. Its shares and `start` come to `runtime`, exactly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CriticalPath {
    pub replay: Replay,
    pub runtime: i64,
    /// From the window's begin to that of the rank on which the path begins.
    pub start: i64,
    /// How often it goes from one rank to another.
    pub crossings: u64,
    pub shares: Vec<Share>,
}

/// Time that ranks waited in a call, and for what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitState {
    pub awaited: Awaited,
    /// The call in which they waited.
    pub site: Site,
    /// What the ranks did meanwhile that they waited for; summed over those that waited.
    pub cause: Share,
}

/// All that there is to say of who held up whom.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dependences {
    /// By [`Replay`]; none of a run of one rank, or where a path has too many crossings.
    pub paths: Vec<CriticalPath>,
    /// All waits, by call.
    pub waits: Vec<(Awaited, Site, WaitSum)>,
    /// The longest of them by what they were for.
    pub causes: Vec<WaitState>,
}

/// # Errors
/// Where the trace is damaged.
pub(crate) fn dependences(
    trace: &dyn Trace,
    results: &mut Results<'_>,
) -> Result<Dependences, TraceError> {
    if results.ranks.len() < 2 {
        return Ok(Dependences::default());
    }
    let mut asked: Vec<Asked> = Vec::new();
    asked.resize_with(results.common.tables.locations.len(), Asked::default);
    let mut routes = Vec::new();
    if !results.graph.around.crossings.too_many {
        for replay in Replay::ALL {
            routes.push(ask_of_path(results, &mut asked, replay));
        }
    }
    add_waits_in_finalize(results);
    let questions = ask_of_waits(results, &mut asked);
    let answers = answer(trace, results, &mut asked)?;
    Ok(Dependences {
        paths: routes.iter().map(|route| critical_path(results, route, &answers)).collect(),
        waits: all_waits(results),
        causes: causes(&questions, &answers),
    })
}

/// What is known of a path without its stretches.
struct Route {
    replay: Replay,
    start: i64,
    end: Clocks,
    crossings: u64,
}

/// The path of `replay`, from the begin of some rank to the end of the last.
fn ask_of_path(results: &mut Results<'_>, asked: &mut [Asked], replay: Replay) -> Route {
    let ends = ends(results);
    let last = |&(rank, (end, busy)): &(usize, (Clocks, i64))| {
        let Clocks { net, even, ideal } = end;
        ([busy, net, even, ideal][replay as usize], Reverse(rank))
    };
    let found = ends.into_iter().enumerate().max_by_key(last);
    let (rank, (end, _)) = found.expect("there is more than one rank");
    let trail = results.graph.trails(rank)[replay as usize];
    let route = results.graph.around.crossings.finish(replay, trail);
    let (start, crossings) = (route.start.unwrap_or(0), route.crossings);
    for (lane, toggles) in route.take_toggles() {
        if let Some(location) = location(results, lane) {
            asked[location].paths[replay as usize] = toggles;
        }
    }
    Route { replay, start, end, crossings }
}

/// By rank: its clocks at the window's end, and until when the run waits for it: until MPI_Finalize,
/// or as long as it is known to be alive.
fn ends(results: &Results<'_>) -> Vec<(Clocks, i64)> {
    let clocks = results.clocks();
    let busy = results.ranks.iter().map(|rank| match rank.main.map(|main| &rank.threads[main]) {
        Some(thread) => thread.finalize.map_or(thread.last, |finalize| finalize.begin),
        None => i64::MIN,
    });
    clocks.into_iter().zip(busy).collect()
}

/// Those who leave MPI_Finalize no earlier than the last reaches it have waited there for that one.
fn add_waits_in_finalize(results: &mut Results<'_>) {
    let of = |rank: &Rank| rank.threads[rank.main?].finalize;
    let found = results.ranks.iter().enumerate();
    let found: Vec<(u32, Finalize)> =
        found.filter_map(|(rank, reduced)| Some((rank as u32, of(reduced)?))).collect();
    let last = found.iter().max_by_key(|&&(rank, finalize)| (finalize.begin, Reverse(rank)));
    let Some(&(last, Finalize { begin: end, .. })) = last else { return };
    for (rank, Finalize { waited, site, .. }) in found {
        let Some((begin, left)) = waited else { continue };
        if begin < end && end <= left {
            let (awaited, cause) = (Awaited::Others, Lane::main(last));
            let wait = Wait { awaited, site, rank, cause, begin, end };
            results.graph.around.wait_states.add(wait);
        }
    }
}

/// Of the longest waits; the questions by number.
fn ask_of_waits(results: &mut Results<'_>, asked: &mut [Asked]) -> Vec<(Awaited, Site)> {
    let waits = results.graph.around.wait_states.longest();
    let questions: HashSet<(Awaited, Site)> =
        waits.iter().map(|wait| (wait.awaited, wait.site)).collect();
    let mut questions: Vec<(Awaited, Site)> = questions.into_iter().collect();
    questions.sort_unstable();
    for wait in waits.iter().filter(|wait| wait.begin < wait.end) {
        let question = questions.binary_search(&(wait.awaited, wait.site));
        let question = ABOUT_WAITS + question.expect("it is one of them") as u32;
        if let Some(location) = location(results, wait.cause) {
            let changes = [(wait.begin, true), (wait.end, false)];
            let changes = changes.map(|(at, opens)| Change { at, question, opens });
            asked[location].changes.extend(changes);
        }
    }
    questions
}

/// The question what lies on a path, on ranks' main threads or on others.
fn about_path(replay: Replay, main: bool) -> u32 {
    2 * replay as u32 + u32::from(!main)
}

/// The first question about waits.
const ABOUT_WAITS: u32 = 2 * Replay::ALL.len() as u32;

/// By question, rank and what it did.
type Answers = BTreeMap<(u32, u32, Doing), i64>;

fn answer(
    trace: &dyn Trace,
    results: &Results<'_>,
    asked: &mut [Asked],
) -> Result<Answers, TraceError> {
    let common = results.common;
    let mut digests: Vec<&[Option<Digest>]> = vec![&[]; asked.len()];
    for rank in results.ranks.iter().filter(|rank| rank.locations.len() == 1) {
        digests[rank.locations[0]] = &rank.digests;
    }
    let walk = |(location, asked): (usize, &mut Asked)| {
        if asked.is_nothing() {
            return Ok(Times::default());
        }
        asked.changes.sort_unstable();
        Walk::new(common, location, asked).all(trace, digests[location])
    };
    let found: Vec<Result<Times, TraceError>> = match &results.pool {
        Some(pool) => pool.install(|| asked.par_iter_mut().enumerate().map(walk).collect()),
        None => asked.iter_mut().enumerate().map(walk).collect(),
    };
    let mut answers = Answers::new();
    for (location, times) in found.into_iter().enumerate() {
        let table = &common.tables.locations[location];
        for (question, doing, time) in times?.answers(|replay| about_path(replay, table.main)) {
            *answers.entry((question, table.rank, doing)).or_default() += time;
        }
    }
    Ok(answers)
}

fn location(results: &Results<'_>, lane: Lane) -> Option<usize> {
    let rank = results.ranks.get(lane.rank as usize)?;
    let thread = if lane.thread == Lane::MAIN { rank.main? } else { lane.thread as usize };
    rank.locations.get(thread).copied()
}

fn shares(answers: &Answers, question: u32) -> impl Iterator<Item = Share> {
    let all = (question, 0, Doing::FIRST)..(question + 1, 0, Doing::FIRST);
    answers.range(all).map(|(&(_, rank, Doing { state, site, file }), &time)| Share {
        rank,
        state,
        site,
        file,
        time,
    })
}

fn critical_path(results: &Results<'_>, route: &Route, answers: &Answers) -> CriticalPath {
    let Route { replay, start, crossings, .. } = *route;
    // Other threads' time counts in replays where it is in file calls.
    let on_path = |state: State, main: bool| match replay {
        Replay::Measured => true,
        Replay::Net | Replay::Even => state == State::Io || main && state == State::Useful,
        Replay::Ideal => main && state == State::Useful,
    };
    let of = |main| {
        let all = shares(answers, about_path(replay, main));
        all.filter(move |share| on_path(share.state, main))
    };
    let mut shares: Vec<Share> = of(true).chain(of(false)).collect();
    let ranks = i64::from(results.common.tables.ranks.max(1));
    let Clocks { net, even, ideal } = route.end.in_nanoseconds(ranks);
    let runtime = [results.common.runtime(), net, even, ideal][replay as usize];
    if replay == Replay::Even {
        scale_io(&mut shares, runtime - start);
    }
    CriticalPath { replay, runtime, start, crossings, shares }
}

/// Spread evenly, file calls take other times than measured: those on the path are taken to take
/// more, or less, in proportion.
fn scale_io(shares: &mut [Share], runtime: i64) {
    let of = |shares: &[Share], state| -> i64 {
        shares.iter().filter(|share| share.state == state).map(|share| share.time).sum()
    };
    let (useful, measured) = (of(shares, State::Useful), of(shares, State::Io));
    let (mut before, mut scaled) = (0, 0);
    for share in shares.iter_mut().filter(|share| share.state == State::Io) {
        before += share.time;
        let until = (i128::from(before) * i128::from(runtime - useful)
            / i128::from(measured.max(1))) as i64;
        share.time = until - scaled;
        scaled = until;
    }
}

fn all_waits(results: &Results<'_>) -> Vec<(Awaited, Site, WaitSum)> {
    let sums = &results.graph.around.wait_states.sums;
    let mut waits: Vec<_> =
        sums.iter().map(|&((awaited, site), sum)| (awaited, site, sum)).collect();
    waits.sort_unstable_by_key(|&(awaited, site, _)| (awaited, site));
    waits
}

fn causes(questions: &[(Awaited, Site)], answers: &Answers) -> Vec<WaitState> {
    let of_one = |(&(awaited, site), question)| {
        shares(answers, question).map(move |cause| WaitState { awaited, site, cause })
    };
    questions.iter().zip(ABOUT_WAITS..).flat_map(of_one).collect()
}
