//! Ranks with files of their own make the same calls one after the other, each on its file, where
//! their tiles are alike: these are found once for all that follow one another.

use super::bursts::Burst;
use super::layout::Kind;
use super::names::Place;
use super::phase::{Cursor, Item};

/// What a rank's next calls depend on, beside the items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State {
    pub kind: Kind,
    pub is_root: bool,
    pub cursor: Cursor,
}

/// Calls that were taken last.
#[derive(Clone, Copy, Debug)]
struct Taken {
    before: State,
    burst: Burst,
    /// They are on the rank's own file.
    is_own: bool,
    is_last: bool,
    after: Cursor,
}

/// What some rank did, of one list of items.
#[derive(Debug, Default)]
pub(super) struct Alike {
    last: Option<Taken>,
}

impl Alike {
    /// What a rank in that state does next, and whether it is known to be its last; and how far it
    /// has come then. None where no other was in that state just before.
    pub(super) fn of(
        &self,
        rank: u32,
        state: State,
        items: &[Item],
    ) -> Option<(Burst, bool, Cursor)> {
        let taken = self.last.filter(|taken| taken.before == state)?;
        let mut burst = taken.burst;
        if taken.is_own {
            burst.file = items.first()?.opened.file(Place::Part, rank);
        }
        Some((burst, taken.is_last, taken.after))
    }

    /// What the rank did in that state; the items are all of one file.
    pub(super) fn keep(
        &mut self,
        rank: u32,
        before: State,
        items: &[Item],
        (burst, is_last, after): (Burst, bool, Cursor),
    ) {
        let own = items.first().map(|item| item.opened.file(Place::Part, rank));
        let is_own = own == Some(burst.file);
        self.last = Some(Taken { before, burst, is_own, is_last, after });
    }
}
