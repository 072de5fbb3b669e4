//! What the graph knows of each rank: its vertices that are not replayed yet, and by how much its
//! clocks are ahead of its local time after each wait.

use std::collections::VecDeque;

use crate::clocks::Clocks;
use crate::graph::collectives::Part;
use crate::graph::locks::Lock;
use crate::graph::messages::MessageId;
use crate::graph::roles::Roles;
use crate::graph::vertex::{Source, Vertex};

/// What a role of a rank stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Role {
    /// A send that waits for its receive to be posted, and one that waits for nothing.
    Send(MessageId),
    Eager(MessageId),
    Receive(MessageId),
    Collective(Part),
    /// Not followed.
    Nothing,
}

/// One rank's part of the graph.
#[derive(Default)]
pub(crate) struct Chain {
    pub vertices: Vec<Vertex>,
    /// So many of `vertices` are matched, and so many of these replayed.
    pub matched: usize,
    pub replayed: usize,
    /// ∫k dt over the rank's file calls, by number of the area from `first_area` on.
    pub shared: Vec<i64>,
    pub first_area: u32,
    pub roles: Roles,
    /// Waits of the rank that were matched, and when the last of them was.
    pub waits: u32,
    pub last_wait: i64,
    /// Replayed time minus local time after each wait, from the `first`-th on, and before the next.
    pub ahead: Vec<Clocks>,
    pub first: u32,
    /// By the rank's own numbers of channels: the graph's.
    pub channels: Vec<u32>,
    /// By the rank's own numbers.
    pub locks: Vec<Lock>,
    /// Beside the main thread: what their file calls came to after each begin and end, from the
    /// `first_own`-th on; by thread the latest, and ∫k dt at its begin.
    pub own: Vec<Clocks>,
    pub first_own: u32,
    pub threads: Vec<Own>,
    /// By thread: the receive whose channel is not known yet.
    pub marks: Vec<Option<Source>>,
    /// Sends that were matched before their turn.
    pub sent: VecDeque<MessageId>,
    /// What the probes that are matched, but not replayed, found.
    pub probed: VecDeque<Option<MessageId>>,
}

impl Chain {
    /// What local time comes to at a vertex.
    #[inline]
    pub(crate) fn local(&self, vertex: &Vertex, ranks: i64) -> Clocks {
        let area = vertex.areas.wrapping_sub(self.first_area) as usize;
        let shared = self.shared.get(area).or(self.shared.last());
        Clocks::of(vertex.useful, vertex.io, shared.copied().unwrap_or(0), ranks)
    }

    /// Since the last wait that was replayed.
    #[inline]
    pub(crate) fn ahead(&self) -> Clocks {
        *self.ahead.last().expect("there is one before the first wait")
    }

    /// What the file calls of a thread came to, at the `number`-th begin or end of the rank; `None`
    /// if that is not replayed.
    fn own(&self, number: u32) -> Option<Clocks> {
        match number.checked_sub(self.first_own + 1) {
            Some(place) => self.own.get(place as usize).copied(),
            None => self.threads.iter().find(|own| own.number == number).map(|own| own.clocks),
        }
    }

    /// Forgets the waits that no source names any more.
    pub(crate) fn forget_waits(&mut self) {
        let last = self.ahead.len() - 1;
        self.ahead.drain(..last);
        self.first = self.first.wrapping_add(last as u32);
        self.first_own += self.own.len() as u32;
        self.own.clear();
    }

    /// Forgets the vertices that are replayed, and areas that no other names.
    pub(crate) fn forget_replayed(&mut self) {
        self.vertices.drain(..self.replayed);
        self.matched -= self.replayed;
        self.replayed = 0;
        let needed = self.vertices.first().map(|vertex| vertex.areas.wrapping_sub(self.first_area));
        let last = self.shared.len() - 1;
        let over = needed.map_or(last, |needed| last.min(needed as usize));
        self.shared.drain(..over);
        self.first_area = self.first_area.wrapping_add(over as u32);
    }
}

/// File calls of another thread than the main one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Own {
    /// What they came to at the last begin or end of one, and its number.
    pub clocks: Clocks,
    pub number: u32,
    /// ∫k dt at the last begin.
    pub begin: i64,
}

/// By rank.
pub(crate) struct Chains(pub Vec<Chain>);

impl Chains {
    /// The replayed time of a source, once it is known.
    #[inline]
    pub(crate) fn moment(&self, source: &Source) -> Option<Clocks> {
        if source.settled {
            return Some(source.clocks);
        }
        let chain = &self.0[source.rank as usize];
        let ahead = chain.ahead.get(source.waits.wrapping_sub(chain.first) as usize)?;
        let moment = source.clocks.plus(*ahead);
        if source.owns == 0 {
            return Some(moment);
        }
        Some(moment.max(chain.own(source.owns)?))
    }

    /// Makes a replayed time of the source; whether that can be told by now.
    #[inline]
    pub(crate) fn settle(&self, source: &mut Source) -> bool {
        match self.moment(source) {
            Some(clocks) => {
                (source.clocks, source.settled) = (clocks, true);
                true
            }
            None => false,
        }
    }
}

/// A vertex that waits, and what it may know.
pub(crate) struct Waiter<'a> {
    pub chains: &'a Chains,
    pub rank: u32,
    pub at: i64,
    /// It waits whatever the measured times say.
    pub whatever: bool,
}

/// What a waiter waits for.
pub(crate) enum Answer {
    /// The moments before which it does not go on.
    After(Clocks),
    /// That rank has to be replayed further first.
    Needs(u32),
    /// What has not been matched yet.
    Missing,
}

impl Waiter<'_> {
    /// The source's replayed time, or the rank that has to be replayed further first.
    #[inline]
    pub(crate) fn moment(&self, source: &Source) -> Result<Clocks, u32> {
        self.chains.moment(source).ok_or(source.rank)
    }

    /// Whether it can have waited for the source: it happened before, or at the same nanosecond
    /// but then not after a wait that itself may depend on this one. So no circle is possible.
    #[inline]
    pub(crate) fn counts(&self, source: &Source) -> bool {
        if source.at < self.at || self.whatever {
            return true;
        }
        source.at == self.at
            && if source.rank == self.rank {
                self.chains.moment(source).is_some()
            } else {
                !source.tied || source.rank < self.rank
            }
    }

    /// What it comes to to wait for a source that may be missing.
    #[inline]
    pub(crate) fn wait_for(&self, source: Option<Source>) -> Answer {
        match source {
            Some(source) if self.counts(&source) => {
                self.moment(&source).map_or_else(Answer::Needs, Answer::After)
            }
            None if self.whatever => Answer::Missing,
            _ => Answer::After(Clocks::default()),
        }
    }
}
