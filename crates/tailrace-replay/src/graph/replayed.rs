//! How far ranks are replayed, and what a wait can know of others.

use crate::graph::moment::Moment;
use crate::graph::trail::Latest;
use crate::graph::vertex::{Deed, Source, Vertex};

/// File calls of another thread than the main one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Own {
    /// What they came to at the last begin or end of one, and its number.
    pub moment: Moment,
    pub number: u32,
    /// ∫k dt at the last begin.
    pub begin: i64,
}

/// What comes next of a rank: nothing before `at` is left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Front {
    pub at: i64,
    /// What others may wait for and happens at that nanosecond comes after a wait.
    pub tied: bool,
}

impl Front {
    /// Of a rank of which all is replayed that was handed over until `horizon`.
    pub(crate) fn after(horizon: i64) -> Self {
        Self { at: horizon.saturating_add(1), tied: false }
    }

    /// Of a rank that waits at a vertex, and has entered what it waits for.
    #[inline]
    pub(crate) fn of_wait(vertex: &Vertex) -> Self {
        let is_met = matches!(vertex.deed, Deed::Meet(_));
        Self { at: if is_met { vertex.since } else { vertex.at }, tied: true }
    }
}

/// A vertex that waits, and what it may know.
pub(crate) struct Waiter<'a> {
    /// By rank.
    pub fronts: &'a [Front],
    pub rank: u32,
    pub at: i64,
    /// It waits whatever the measured times say.
    pub whatever: bool,
    /// It waits until others come, as long as anybody gets on.
    pub is_patient: bool,
}

/// What a waiter waits for.
pub(crate) enum Answer<'a> {
    Nothing,
    One(&'a Source),
    /// The moments before which it does not go on.
    After(&'a Latest),
    /// That rank has to be replayed further first.
    Needs(u32),
    /// Others have to be, or what it waits for has not been handed over yet.
    Missing,
}

impl Waiter<'_> {
    /// Whether it can have waited for the source: it happened before, or at the same nanosecond
    /// but then not after a wait that itself may depend on this one. So no circle is possible.
    #[inline]
    pub(crate) fn counts(&self, source: &Source) -> bool {
        source.at < self.at || self.whatever || self.counts_at_once(source)
    }

    fn counts_at_once(&self, source: &Source) -> bool {
        source.at == self.at && (!source.tied || source.rank <= self.rank)
    }

    /// Whether all is known of the rank that counts by measured time.
    #[inline]
    pub(crate) fn has_reached(&self, other: u32) -> bool {
        let Front { at, tied } = self.fronts[other as usize];
        at > self.at || at == self.at && tied && other > self.rank || other == self.rank
    }

    /// What it comes to to wait for a source of `rank` that may be missing.
    #[inline]
    pub(crate) fn wait_for<'a>(
        &self,
        source: Option<&'a Source>,
        rank: impl Fn() -> u32,
    ) -> Answer<'a> {
        match source {
            Some(source) if self.counts(source) => Answer::One(source),
            Some(_) => Answer::Nothing,
            None if self.whatever => Answer::Missing,
            None if self.has_reached(rank()) => Answer::Nothing,
            None => Answer::Needs(rank()),
        }
    }
}
