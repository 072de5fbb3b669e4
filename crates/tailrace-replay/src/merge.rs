//! Which location comes next in measured time: a tournament tree of losers.
//!
//! Each step of a location costs one walk from its leaf to the root, without unpredictable branches: the sweep takes
//! two steps per file call, so this walk decides how fast it is.

use std::hint::select_unpredictable;

/// Order of steps that happen at the same nanosecond: what begins can be waited for by what ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Turn {
    Begin = 0,
    /// The end of a call that depends on nobody.
    End = 1,
    /// The end of a call that may depend on others' begins.
    DependentEnd = 2,
}

/// When a location's next step is due; orders like the tuple of time, turn and location.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Due(u128);

/// Times beyond are cut: 36 years before and after the origin.
const FARTHEST: i64 = 1 << 60;

impl Due {
    pub const NEVER: Due = Due(u128::MAX);

    #[inline]
    pub fn new(time: i64, turn: Turn, location: u32) -> Self {
        let time = (time.clamp(-FARTHEST, FARTHEST) + FARTHEST) as u64;
        Self(u128::from(time << 2 | turn as u64) << 64 | u128::from(location))
    }

    #[inline]
    pub fn location(self) -> usize {
        self.0 as u32 as usize
    }

    /// The time that it was made from.
    #[inline]
    pub fn time(self) -> i64 {
        (self.0 >> 66) as i64 - FARTHEST
    }
}

/// The location with the earliest due step, kept up to date as steps are taken.
pub struct Tournament {
    /// Losers of each match; `losers[0]` is the winner of all.
    losers: Vec<Due>,
    leaves: usize,
}

impl Tournament {
    /// `due[i]` belongs to location i (or is [`Due::NEVER`]).
    pub fn new(due: &[Due]) -> Self {
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
    pub fn first(&self) -> Due {
        self.losers[0]
    }

    /// The location of [`Tournament::first`] has taken its step; its next one is `due`.
    #[inline]
    pub fn replace_first(&mut self, due: Due) {
        let mut node = (self.leaves + self.losers[0].location()) >> 1;
        let mut winner = due;
        while node > 0 {
            let loser = self.losers[node];
            let stays = winner < loser; // as good as random: a branch would be mispredicted half of the time
            self.losers[node] = select_unpredictable(stays, loser, winner);
            winner = select_unpredictable(stays, winner, loser);
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
        let mut rest = [vec![9, 3, 1], vec![3, 3, 2], vec![8], vec![], vec![-7]];
        let mut next = |i: usize| rest[i].pop().map_or(Due::NEVER, |t| Due::new(t, Turn::Begin, i as u32));
        let first: Vec<Due> = (0..5).map(&mut next).collect();
        let mut tournament = Tournament::new(&first);
        let mut seen = Vec::new();
        while tournament.first() != Due::NEVER {
            let due = tournament.first();
            seen.push((due.time(), due.location()));
            tournament.replace_first(next(due.location()));
        }
        assert_eq!(seen, [(-7, 4), (1, 0), (2, 1), (3, 0), (3, 1), (3, 1), (8, 2), (9, 0)]);
    }

    #[test]
    fn at_one_nanosecond_begins_come_before_ends() {
        assert!(Due::new(5, Turn::Begin, 9) < Due::new(5, Turn::End, 1));
        assert!(Due::new(5, Turn::End, 9) < Due::new(5, Turn::DependentEnd, 1));
        assert!(Due::new(5, Turn::DependentEnd, 9) < Due::new(6, Turn::Begin, 0));
    }
}
