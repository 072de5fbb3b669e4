//! Which of a rank's threads comes next in measured time: a tournament tree of losers.

use std::hint::select_unpredictable;

use crate::stamp::Stamps;

/// Order of steps that happen at the same nanosecond: what begins can be waited for by what ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Turn {
    Begin = 0,
    /// The end of a call that depends on nobody.
    End = 1,
    /// The end of a call that may depend on others' begins.
    DependentEnd = 2,
}

/// When a location's next step is due: time, turn and location, in one number that orders like
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Due(u64);

impl Due {
    pub(crate) const NEVER: Due = Due(u64::MAX);
}

/// Makes [`Due`]s.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Calendar {
    first: i64,
    last: i64,
    stamps: Stamps,
}

impl Calendar {
    /// For times from `first` to `last`; others are cut. `None` if they are too many for so many
    /// locations.
    pub(crate) fn new(first: i64, last: i64, locations: usize) -> Option<Self> {
        let span = last.checked_sub(first)?.checked_add(2)?;
        Some(Self { first, last, stamps: Stamps::new(span, locations)? })
    }

    #[inline]
    pub(crate) fn due(&self, time: i64, turn: Turn, location: usize) -> Due {
        let time = time.clamp(self.first, self.last.saturating_add(1)) - self.first;
        Due(self.stamps.stamp(time, turn as u8, location as u32))
    }

    #[inline]
    pub(crate) fn location(&self, due: Due) -> usize {
        self.stamps.who(due.0) as usize
    }

    /// The first time.
    pub(crate) fn first(&self) -> i64 {
        self.first
    }

    /// When it is due.
    pub(crate) fn time(&self, due: Due) -> i64 {
        self.stamps.time(due.0) + self.first
    }

    /// Whether it is due after the last time, or never.
    #[inline]
    pub(crate) fn is_over(&self, due: Due) -> bool {
        due == Due::NEVER || self.time(due) > self.last
    }
}

/// The location with the earliest due step, kept up to date as steps are taken.
pub(crate) struct Tournament {
    /// Losers of each match; `losers[0]` is the winner of all.
    losers: Vec<Due>,
    leaves: usize,
}

impl Tournament {
    /// `due[i]` belongs to location i (or is [`Due::NEVER`]).
    pub(crate) fn new(due: &[Due]) -> Self {
        let leaves = due.len().next_power_of_two().max(1);
        let mut winners = vec![Due::NEVER; 2 * leaves];
        winners[leaves..leaves + due.len()].copy_from_slice(due);
        let mut losers = vec![Due::NEVER; leaves];
        for node in (1..leaves).rev() {
            let (left, right) = (winners[2 * node], winners[2 * node + 1]);
            (winners[node], losers[node]) = (left.min(right), left.max(right));
        }
        losers[0] = winners[1];
        Self { losers, leaves }
    }

    /// The earliest due step.
    #[inline]
    pub(crate) fn first(&self) -> Due {
        self.losers[0]
    }

    /// The location of [`Tournament::first`], which is `location`, has taken its step; its next one
    /// is `due`.
    #[inline]
    pub(crate) fn replace_first(&mut self, location: usize, due: Due) {
        let mut node = (self.leaves + location) >> 1;
        let mut winner = due;
        while node > 0 {
            let loser = self.losers[node];
            // Who wins is as good as random: as a branch it would be mispredicted half of the time.
            let stays = winner < loser;
            self.losers[node] = Due(select_unpredictable(stays, loser.0, winner.0));
            winner = Due(select_unpredictable(stays, winner.0, loser.0));
            node >>= 1;
        }
        self.losers[0] = winner;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yields_all_steps_in_order_with_ties_by_turn_then_location() {
        let calendar = Calendar::new(-10, 100, 5).unwrap();
        let mut rest = [vec![9, 3, 1], vec![3, 3, 2], vec![8], vec![], vec![-7]];
        let mut next =
            |i: usize| rest[i].pop().map_or(Due::NEVER, |t| calendar.due(t, Turn::Begin, i));
        let first: Vec<Due> = (0..5).map(&mut next).collect();
        let mut tournament = Tournament::new(&first);
        let mut seen = Vec::new();
        while !calendar.is_over(tournament.first()) {
            let location = calendar.location(tournament.first());
            seen.push(location);
            tournament.replace_first(location, next(location));
        }
        assert_eq!(seen, [4, 0, 1, 0, 1, 1, 2, 0]); // at -7, 1, 2, 3, 3, 3, 8, 9
    }

    #[test]
    fn at_one_nanosecond_begins_come_before_ends() {
        let calendar = Calendar::new(0, 100, 16).unwrap();
        let order = [
            calendar.due(5, Turn::Begin, 9),
            calendar.due(5, Turn::End, 1),
            calendar.due(5, Turn::DependentEnd, 1),
            calendar.due(6, Turn::Begin, 0),
            calendar.due(101, Turn::Begin, 0),
            Due::NEVER,
        ];
        assert!(order.is_sorted());
        assert_eq!(
            order.map(|due| calendar.is_over(due)),
            [false, false, false, false, true, true]
        );
    }

    #[test]
    fn spans_that_no_run_has_are_refused() {
        assert!(Calendar::new(i64::MIN, i64::MAX, 1).is_none());
        assert!(Calendar::new(0, 1 << 58, 1 << 10).is_none());
        assert!(Calendar::new(0, 1 << 50, 1 << 10).is_some());
    }
}
