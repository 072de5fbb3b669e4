//! What becomes of a rank that has waited.

use crate::clocks::Clocks;
use crate::graph::chains::Chain;
use crate::graph::moment::Moment;
use crate::graph::trail::{Crossings, Lane, Latest};
use crate::graph::vertex::{Source, Vertex};
use crate::graph::wait_states::{Awaited, Wait, WaitStates};
use crate::options::CriticalPaths;

pub(crate) struct Follow<'a> {
    pub crossings: &'a mut Crossings,
    pub wait_states: &'a mut WaitStates,
}

impl Follow<'_> {
    /// The rank goes on no earlier than the source: mostly it would not anyway. `local`: what its
    /// own time comes to.
    #[allow(clippy::inline_always)] // into the loop over vertices
    #[inline(always)]
    pub(crate) fn one(
        self,
        chain: &mut Chain,
        (vertex, span, local): (&Vertex, (i64, i64), Clocks),
        awaited: Awaited,
        source: &Source,
    ) {
        if self.crossings.critical_paths == CriticalPaths::LeftOut {
            chain.wait_until(source.moment.clocks, local);
            return;
        }
        let since = span.0.max(chain.waited);
        let own = chain.ahead.clocks.plus(local);
        if source.at > since || !source.moment.clocks.is_until(own) {
            self.latest(chain, (vertex, span, local), awaited, &Latest::of(source));
        }
    }

    /// … and no earlier than the latest of what it waited for.
    #[inline]
    pub(crate) fn latest(
        self,
        chain: &mut Chain,
        (vertex, span, local): (&Vertex, (i64, i64), Clocks),
        awaited: Awaited,
        latest: &Latest,
    ) {
        if self.crossings.critical_paths == CriticalPaths::Followed {
            self.trails(chain, vertex, span, local, awaited, latest);
        }
        chain.wait_until(latest.clocks(), local);
    }

    /// Its trails lead from those for whom it waited.
    #[inline(never)]
    fn trails(
        self,
        chain: &mut Chain,
        vertex: &Vertex,
        (since, at): (i64, i64),
        local: Clocks,
        awaited: Awaited,
        latest: &Latest,
    ) {
        let rank = chain.rank;
        let Moment { clocks, trails } = &mut chain.ahead;
        let since = since.max(chain.waited);
        let Clocks { net, even, ideal } = clocks.plus(local);
        let deciding = latest.deciding([since, net, even, ideal]);
        if !self.crossings.too_many {
            self.crossings.cross((Lane::main(rank), at), trails, deciding);
        }
        if let Some(from) = deciding[0] {
            let (begin, end) = (since.max(0), from.at.min(at));
            chain.waited = end;
            let (cause, site) = (self.crossings.get(from.crossing).lane, vertex.site);
            self.wait_states.add(Wait { awaited, site, rank, cause, begin, end });
        }
    }
}
