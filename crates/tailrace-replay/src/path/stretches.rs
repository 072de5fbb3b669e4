//! The stretches of a critical path, read from its end.

use crate::clocks::Clocks;
use crate::graph::moment::Replay;
use crate::graph::trail::{Crossing, Lane};
use crate::run::Results;

/// Measured time of a lane on the path, nanoseconds since the window's begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub lane: Lane,
    pub begin: i64,
    pub end: i64,
}

/// What is known of a path without its stretches.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    pub replay: Replay,
    pub start: i64,
    pub end: Clocks,
    pub crossings: u64,
}

/// The path of `replay`, from the begin of some rank to the end of the last; its stretches in order
/// of time.
pub(crate) fn route(results: &Results<'_>, replay: Replay) -> (Route, Vec<Stretch>) {
    let ends = ends(results);
    let last = |&(rank, (end, alive)): &(usize, (Clocks, i64))| {
        let Clocks { net, even, ideal } = end;
        ([alive, net, even, ideal][replay as usize], std::cmp::Reverse(rank))
    };
    let found = ends.into_iter().enumerate().max_by_key(last);
    let (rank, (end, _)) = found.expect("there is more than one rank");
    let runtime = results.common.runtime();
    let mut stretches = Vec::new();
    let mut until = runtime;
    let mut id = results.graph.trails(rank)[replay as usize];
    let start = loop {
        let Crossing { before, lane, left, at } = *results.graph.crossings.get(id);
        let left = if replay == Replay::Measured { left.min(at) } else { left };
        // What is measured includes the transfer of what was waited for.
        let begin = if replay == Replay::Measured { left } else { at }.clamp(0, until);
        stretches.push(Stretch { lane, begin, end: until });
        if before == id {
            break begin;
        }
        (id, until) = (before, left.clamp(0, runtime));
    };
    stretches.reverse();
    let crossings = stretches.windows(2).filter(|two| two[0].lane.rank != two[1].lane.rank);
    let crossings = crossings.count() as u64;
    (Route { replay, start, end, crossings }, stretches)
}

/// By rank: its clocks at the window's end, and until when it is known to be alive.
fn ends(results: &Results<'_>) -> Vec<(Clocks, i64)> {
    let clocks = results.clocks();
    let alive = results.ranks.iter().map(|rank| match rank.main {
        Some(main) => rank.threads[main].last,
        None => i64::MIN,
    });
    clocks.into_iter().zip(alive).collect()
}
