//! What the graph knows of each rank: its vertices that are not replayed yet, what they refer to,
//! and how far its replay came.

use crate::clocks::Clocks;
use crate::graph::area::Areas;
use crate::graph::collectives::Part;
use crate::graph::locks::Lock;
use crate::graph::moment::{CrossingId, Moment};
use crate::graph::replayed::{Front, Own};
use crate::graph::roles::Role;
use crate::graph::vertex::{Deed, Source, Vertex};
use crate::numbered::Numbered;

/// One rank's part of the graph.
pub(crate) struct Chain {
    pub rank: u32,
    /// So many of its vertices may be replayed, and so many are.
    pub until: usize,
    pub replayed: usize,
    /// Of the next one: how many of its waits are over, or whether it has entered.
    pub part: u32,
    /// Where it has entered.
    pub met: Option<Part>,
    /// ∫k dt over the rank's file calls, by number of the area from `first_area` on.
    pub shared: Vec<i64>,
    pub first_area: u32,
    pub roles: Numbered<Role>,
    /// By the rank's own numbers of channels: the graph's.
    pub channels: Vec<u32>,
    /// By the rank's own numbers.
    pub locks: Vec<Lock>,
    /// By thread: the receive whose channel is not known yet.
    pub marks: Vec<Option<Source>>,
    /// By how much replayed time is ahead of local time since the last wait, and when that was.
    pub ahead: Moment,
    pub last_wait: i64,
    /// Measured: until when the rank is known to have waited.
    pub waited: i64,
    /// By thread beside the main one.
    pub threads: Vec<Own>,
}

impl Chain {
    /// `ahead`: before the first wait.
    pub(crate) fn new(rank: u32, ahead: Moment) -> Self {
        Self {
            rank,
            until: 0,
            replayed: 0,
            part: 0,
            met: None,
            shared: vec![0],
            first_area: 0,
            roles: Numbered::default(),
            channels: Vec::new(),
            locks: Vec::new(),
            marks: Vec::new(),
            ahead,
            last_wait: i64::MIN,
            waited: i64::MIN,
            threads: Vec::new(),
        }
    }

    /// Vertices that may be replayed, and are not.
    pub(crate) fn waiting(&self) -> usize {
        self.until - self.replayed
    }

    /// When the vertex that comes next is due.
    pub(crate) fn due(&self, next: &Vertex) -> i64 {
        let has_entered = self.part > 0 && matches!(next.deed, Deed::Meet(_));
        if has_entered { next.since } else { next.at }
    }

    /// Where the vertex that comes next is due.
    #[inline]
    pub(crate) fn front(&self, next: &Vertex) -> Front {
        let enters = self.part == 0 && matches!(next.deed, Deed::Meet(_));
        let waits = next.deed.waits() && !enters;
        Front { at: self.due(next), tied: waits || self.last_wait == next.at }
    }

    /// What others may wait for at a vertex of the main thread.
    #[inline]
    pub(crate) fn source(&self, vertex: &Vertex, ranks: i64) -> Source {
        let Moment { clocks, trails } = self.ahead;
        let moment = Moment { clocks: clocks.plus(self.local(vertex, ranks)), trails };
        Source { moment, at: vertex.at, rank: self.rank, tied: self.last_wait == vertex.at }
    }

    /// How far the rank is ahead for who waits for another thread's vertex: no earlier than that
    /// thread's own file calls.
    pub(crate) fn ahead_of_own(&self, vertex: &Vertex, ranks: i64) -> Moment {
        let Some(own) = self.threads.iter().find(|own| own.number == vertex.owns) else {
            return self.ahead;
        };
        let Moment { clocks, trails } = own.moment;
        self.ahead.max(Moment { clocks: clocks.minus(self.local(vertex, ranks)), trails })
    }

    /// What local time comes to at a vertex.
    #[inline]
    pub(crate) fn local(&self, vertex: &Vertex, ranks: i64) -> Clocks {
        let area = vertex.areas.wrapping_sub(self.first_area) as usize;
        let shared = self.shared.get(area).copied().unwrap_or_else(|| self.last_shared());
        Clocks::of(vertex.useful, vertex.io, shared, ranks)
    }

    /// Whether that of its file calls is known which local time depends on there.
    pub(crate) fn knows_area_of(&self, vertex: &Vertex) -> bool {
        (vertex.areas.wrapping_sub(self.first_area) as usize) < self.shared.len()
    }

    #[cold]
    #[inline(never)]
    fn last_shared(&self) -> i64 {
        self.shared.last().copied().unwrap_or(0)
    }

    /// The rank goes on no earlier than that, at a vertex at which local time comes to `local`.
    #[inline]
    pub(crate) fn wait_until(&mut self, clocks: Clocks, local: Clocks) {
        let ahead = &mut self.ahead.clocks;
        *ahead = ahead.max(clocks.minus(local));
    }

    /// Takes over what ∫k dt comes to from there on.
    pub(crate) fn take_areas(&mut self, areas: &mut Areas) {
        self.shared.append(&mut areas.sums);
        let passed = std::mem::take(&mut areas.passed);
        if passed > 0 {
            // no vertex names any of those before
            self.first_area = self.first_area.wrapping_add(self.shared.len() as u32 - 1 + passed);
            self.shared.clear();
            self.shared.push(areas.last);
        }
    }

    /// The ends of all trails.
    pub(crate) fn crossings(&mut self) -> impl Iterator<Item = (usize, &mut CrossingId)> {
        let marks = self.marks.iter_mut().flatten().map(|source| &mut source.moment);
        let threads = self.threads.iter_mut().map(|own| &mut own.moment);
        let moments = marks.chain(threads).chain([&mut self.ahead]);
        moments.flat_map(Moment::ends)
    }

    /// Forgets those of its vertices that are replayed, and areas that no other names.
    pub(crate) fn forget_replayed(&mut self, vertices: &mut Vec<Vertex>) {
        vertices.drain(..self.replayed);
        self.until -= self.replayed;
        self.replayed = 0;
        let needed = vertices.first().map(|vertex| vertex.areas.wrapping_sub(self.first_area));
        let last = self.shared.len() - 1;
        let over = needed.map_or(last, |needed| last.min(needed as usize));
        self.shared.drain(..over);
        self.first_area = self.first_area.wrapping_add(over as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_that_nobody_asks_for_are_counted() {
        let mut chain = Chain::new(0, Moment::default());
        chain.take_areas(&mut Areas { sums: vec![10, 20], ..Areas::default() });
        assert_eq!((&chain.shared[..], chain.first_area), (&[0, 10, 20][..], 0));
        chain.take_areas(&mut Areas { passed: 3, last: 50, ..Areas::default() });
        assert_eq!((&chain.shared[..], chain.first_area), (&[50][..], 5)); // the fifth
        chain.take_areas(&mut Areas { sums: vec![60], ..Areas::default() });
        assert_eq!((&chain.shared[..], chain.first_area), (&[50, 60][..], 5));
    }
}
