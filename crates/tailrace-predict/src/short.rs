//! Which short sends waited for their receivers. An MPI decides that by sizes and ways of its own
//! (4 KiB within a node is as usual as 64), and the run shows it: of a receiver that came late, the
//! sender was let go before, or just then.

use hashbrown::{HashMap, HashSet};
use tailrace_replay::program::Program;
use tailrace_replay::vertex::Vertex;

use crate::matching::{Dependence, Matching, Way};

/// Nanoseconds: a receiver that comes so much later than its sender is late; no short send takes as
/// long by itself.
const LATE: i64 = 20_000;

/// One of a way waited for so many that went on, if any did: sizes may differ on a way.
const ENOUGH: u32 = 4;

/// Those that waited, by rank and place of the vertex at which they end.
#[derive(Debug)]
pub(crate) struct ShortSends {
    waited: HashSet<(u32, u32)>,
}

/// Of a way: how many ends show one thing or the other.
#[derive(Default)]
struct Votes {
    waited: u32,
    went_on: u32,
}

/// A short send that ends in a wait.
struct Sent {
    place: u32,
    /// When its receiver came.
    met: i64,
    way: Way,
}

impl ShortSends {
    /// A send waited if its end says so, and enough of those on its way: one that lost its processor
    /// looks as if it had. Where its own end does not show it, it did what most did there; where no
    /// end does, it did not wait.
    pub(crate) fn of(matching: &Matching<'_>, program: &Program) -> Self {
        let mut votes: HashMap<Way, Votes> = HashMap::new();
        let (mut seen, mut open) = (Vec::new(), Vec::new());
        for (rank, known) in program.ranks.iter().enumerate() {
            let mut first = 0;
            let together = |one: &Vertex, next: &Vertex| {
                one.deed.waits() && next.deed.waits() && one.at == next.at
            };
            for wait in known.vertices.chunk_by(together) {
                let (sent, latest) = ends(matching, rank, first, wait);
                for each in sent {
                    let key = (rank as u32, each.place);
                    let Some(waited) = shows(&each, wait[0].since, wait[0].at, latest) else {
                        open.push((key, each.way));
                        continue;
                    };
                    let votes = votes.entry(each.way).or_default();
                    if waited {
                        votes.waited += 1;
                        seen.push((key, each.way));
                    } else {
                        votes.went_on += 1;
                    }
                }
                first += wait.len() as u32;
            }
        }
        seen.retain(|(_, way)| votes[way].waited * ENOUGH >= votes[way].went_on);
        open.retain(|(_, way)| votes.get(way).is_some_and(|way| way.waited > way.went_on));
        Self { waited: seen.into_iter().chain(open).map(|(key, _)| key).collect() }
    }

    pub(crate) fn waited(&self, rank: u32, place: u32) -> bool {
        self.waited.contains(&(rank, place))
    }
}

/// The short sends that end in a wait, and the last of all that this may have been for.
fn ends(matching: &Matching<'_>, rank: usize, first: u32, wait: &[Vertex]) -> (Vec<Sent>, i64) {
    let (mut sent, mut latest) = (Vec::new(), i64::MIN);
    let mut came = |at: i64, end: i64| latest = latest.max(if at <= end { at } else { i64::MIN });
    for (vertex, place) in wait.iter().zip(first..).filter(|(vertex, _)| vertex.deed.waits()) {
        match matching.dependence(rank, place, vertex) {
            Dependence::Perhaps(moment, way) => {
                let met = matching.moments[moment as usize].at;
                came(met, vertex.at);
                sent.push(Sent { place, met, way });
            }
            Dependence::Moments(moments) => {
                let moments = moments.iter().map(|moment| matching.moments[*moment as usize].at);
                moments.for_each(|at| came(at, vertex.at));
            }
            // for others of a collective: nothing else can be told from when it ended
            _ => came(vertex.at, vertex.at),
        }
    }
    (sent, latest)
}

/// Whether it waited: its receiver was late, and it went on before; or nothing that it may have
/// waited for came later.
fn shows(sent: &Sent, begin: i64, end: i64, latest: i64) -> Option<bool> {
    match sent.met {
        met if met <= begin.saturating_add(LATE) => None,
        met if met > end => Some(false),
        met if met == latest => Some(true),
        _ => None,
    }
}
