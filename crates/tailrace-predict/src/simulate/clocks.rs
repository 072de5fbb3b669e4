//! Where each rank is in time, and what makes ranks wait for each other.

use super::network::Network;
use crate::replay::added;

#[derive(Debug)]
pub(super) struct Clocks {
    pub at: Vec<i64>,
    network: Network,
}

const ROOT: usize = 0;

impl Clocks {
    pub(super) fn new(ranks: u32, network: Network) -> Self {
        Self { at: vec![0; ranks as usize], network }
    }

    fn ranks(&self) -> u32 {
        self.at.len() as u32
    }

    pub(super) fn latest(&self) -> i64 {
        self.at.iter().copied().max().unwrap_or(0)
    }

    /// All go on `after` the last has come.
    pub(super) fn meet_for(&mut self, after: i64) {
        let then = added(self.latest(), after);
        self.at.fill(then);
    }

    pub(super) fn meet(&mut self) {
        self.meet_for(self.network.meeting(self.ranks()));
    }

    /// All tell all so many bytes.
    pub(super) fn meet_over(&mut self, bytes: i64) {
        let ranks = self.ranks();
        self.meet_for(self.network.meeting(ranks) + self.network.moving(bytes * i64::from(ranks)));
    }

    /// Rank 0 tells all others.
    pub(super) fn broadcast(&mut self, bytes: i64) {
        let told = added(self.at[ROOT], self.network.broadcast(self.ranks(), bytes));
        for at in &mut self.at[ROOT + 1..] {
            *at = told.max(*at);
        }
    }

    /// Rank 0 hears of all.
    pub(super) fn report(&mut self) {
        self.at[ROOT] = self.latest();
    }

    /// Rank 0 gets what all others have, of which the largest piece is `largest`.
    pub(super) fn gather(&mut self, bytes: i64, largest: i64) {
        let got = added(self.latest(), self.network.transfer(bytes));
        let waits = largest > self.network.eager_limit_bytes;
        if self.ranks() == 1 {
            return;
        }
        for at in &mut self.at[ROOT + 1..] {
            *at = if waits { got } else { added(*at, self.network.transfer(largest)) };
        }
        self.at[ROOT] = got;
    }

    /// Rank 0 sends each its piece.
    pub(super) fn scatter(&mut self, bytes: i64) {
        let sent = added(self.at[ROOT], self.network.transfer(bytes));
        if self.ranks() == 1 {
            return;
        }
        for at in &mut self.at {
            *at = sent.max(*at);
        }
    }
}
