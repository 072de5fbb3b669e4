//! What a user may choose about the analysis.

use std::ops::RangeInclusive;

/// Which order collectives impose in the replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CollectiveOrder {
    /// Only where data flow: a broadcast makes the others wait for its root, a reduction the root
    /// for the others.
    #[default]
    Data,
    /// … and whoever sends a root more bytes than the eager limit waits for it, as with messages.
    /// Of who sends less, to a root or to one rank, the end is told.
    Rendezvous,
    /// Dimemas' convention: every collective synchronizes all its ranks.
    All,
}

/// Whether it is found out what lies on critical paths, and who waited for whom. For that much of
/// the trace is read again; run times and accounts are the same without.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CriticalPaths {
    #[default]
    Followed,
    LeftOut,
}

#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// A standard send of more bytes completes no earlier than its receive is posted.
    pub eager_limit_bytes: u64,
    pub collectives: CollectiveOrder,
    pub critical_paths: CriticalPaths,
    /// Columns of the timeline at most.
    pub bins: usize,
    /// How many of the longest calls to keep.
    pub longest: usize,
    /// Threads in all; 0: as many as there are cores. The result does not depend on it.
    pub threads: usize,
    /// Events that are taken at a time, about; 0: as many as suit the caches. The result does not
    /// depend on it.
    pub slab: u64,
}

impl Options {
    pub const EAGER_LIMIT_BYTES: u64 = 32 * 1024;
    pub const BINS: RangeInclusive<i64> = 1..=65_536;
    pub const LONGEST: RangeInclusive<i64> = 0..=10_000_000;
    pub const THREADS: RangeInclusive<i64> = 0..=1024;
}

impl Default for Options {
    fn default() -> Self {
        Self {
            eager_limit_bytes: Self::EAGER_LIMIT_BYTES,
            collectives: CollectiveOrder::Data,
            critical_paths: CriticalPaths::Followed,
            bins: 4096,
            longest: 20_000,
            threads: 0,
            slab: 0,
        }
    }
}
