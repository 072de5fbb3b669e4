//! Moments as replayed, and how they came about.

use crate::clocks::Clocks;

/// The run as measured, and its replays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Replay {
    Measured,
    Net,
    Even,
    Ideal,
}

impl Replay {
    pub const ALL: [Self; REPLAYS] = [Self::Measured, Self::Net, Self::Even, Self::Ideal];
}

pub(crate) const REPLAYS: usize = 4;

pub(crate) type CrossingId = u32;

/// Where nothing was crossed, not even a rank's begin.
pub(crate) const NOWHERE: CrossingId = CrossingId::MAX;

/// By [`Replay`]: the last crossing before.
pub(crate) type Trails = [CrossingId; REPLAYS];

/// A moment as replayed, or how far one is ahead of local time, and how it came to that.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub clocks: Clocks,
    pub trails: Trails,
}

impl Default for Moment {
    fn default() -> Self {
        Self::NOWHERE
    }
}

impl Moment {
    pub(crate) const NOWHERE: Self =
        Self { clocks: Clocks { net: 0, even: 0, ideal: 0 }, trails: [NOWHERE; REPLAYS] };

    /// The ends of its trails.
    pub(crate) fn ends(&mut self) -> impl Iterator<Item = (usize, &mut CrossingId)> {
        self.trails.iter_mut().enumerate().filter(|(_, trail)| **trail != NOWHERE)
    }

    /// Each clock at the later of two moments. What is measured goes with the ideal network.
    #[must_use]
    pub(crate) fn max(self, other: Self) -> Self {
        let Clocks { net, even, ideal } = self.clocks;
        let later = [other.clocks.net > net, other.clocks.even > even, other.clocks.ideal > ideal];
        let mut trails = self.trails;
        for replay in 0..REPLAYS {
            if later[replay.saturating_sub(1)] {
                trails[replay] = other.trails[replay];
            }
        }
        Self { clocks: self.clocks.max(other.clocks), trails }
    }
}
