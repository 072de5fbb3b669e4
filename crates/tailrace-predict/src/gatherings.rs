//! Instants of several ranks that others wait for together, in one list: a run has as many of these
//! as collective calls, and is copied for each change that makes other steps of it.

use std::ops::Range;

/// Names an instant of some rank that others may wait for.
pub(crate) type MomentId = u32;

/// Names instants of several ranks that others wait for together.
pub(crate) type GatheringId = u32;

/// The instants of each in order of measured time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gatherings {
    members: Vec<MomentId>,
    /// By gathering: where its members end, and the next one's begin.
    ends: Vec<u32>,
}

impl Gatherings {
    pub(crate) fn push(&mut self, members: &[MomentId]) -> GatheringId {
        self.members.extend(members);
        self.ends.push(self.members.len() as u32);
        self.ends.len() as GatheringId - 1
    }

    /// The places of its members among those of all.
    pub(crate) fn range(&self, id: GatheringId) -> Range<usize> {
        let end = self.ends[id as usize];
        let begin = id.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
        begin as usize..end as usize
    }

    pub(crate) fn of(&self, id: GatheringId) -> &[MomentId] {
        &self.members[self.range(id)]
    }

    pub(crate) fn count(&self) -> usize {
        self.ends.len()
    }

    /// Of all of them.
    pub(crate) fn members(&self) -> usize {
        self.members.len()
    }
}
