//! What the graph knows of each rank: its vertices that are not replayed yet, and what they refer
//! to.

use std::collections::VecDeque;

use crate::clocks::Clocks;
use crate::graph::locks::Lock;
use crate::graph::messages::MessageId;
use crate::graph::moment::Trails;
use crate::graph::roles::Role;
use crate::graph::vertex::{Source, Vertex};
use crate::numbered::Numbered;

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
    pub roles: Numbered<Role>,
    /// Waits of the rank that were matched.
    pub waits: Waits,
    /// By the rank's own numbers of channels: the graph's.
    pub channels: Vec<u32>,
    /// By the rank's own numbers.
    pub locks: Vec<Lock>,
    /// By thread: the receive whose channel is not known yet.
    pub marks: Vec<Option<Source>>,
    /// Sends that were matched before their turn.
    pub sent: VecDeque<MessageId>,
    /// What the probes that are matched, but not replayed, found.
    pub probed: VecDeque<Option<MessageId>>,
}

/// How many waits there were, which wraps, and when the last of them was.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Waits {
    number: u32,
    last: i64,
}

impl Waits {
    #[must_use]
    pub(crate) fn and_one_at(self, at: i64) -> Self {
        Self { number: self.number.wrapping_add(1), last: at }
    }
}

impl Chain {
    /// What others may wait for at a vertex that comes after so many waits.
    #[inline]
    pub(crate) fn source(&self, vertex: &Vertex, rank: usize, waits: Waits, ranks: i64) -> Source {
        Source {
            clocks: self.local(vertex, ranks),
            at: vertex.at,
            rank: rank as u32,
            waits: waits.number,
            owns: vertex.owns,
            tied: waits.last == vertex.at,
            settled: false,
            trails: Trails::default(),
        }
    }

    /// What local time comes to at a vertex.
    #[inline]
    pub(crate) fn local(&self, vertex: &Vertex, ranks: i64) -> Clocks {
        let area = vertex.areas.wrapping_sub(self.first_area) as usize;
        let shared = self.shared.get(area).or(self.shared.last());
        Clocks::of(vertex.useful, vertex.io, shared.copied().unwrap_or(0), ranks)
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
