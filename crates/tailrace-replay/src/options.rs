//! What a user may choose about the analysis.

/// Which order collectives impose in the replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Collectives {
    /// Only where data flow: a broadcast makes the others wait for its root, a reduction the root for the others.
    #[default]
    Data,
    /// Dimemas' convention: every collective synchronizes all its ranks.
    All,
}

#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// A standard send of more bytes completes no earlier than its receive is posted.
    pub eager_limit_bytes: u64,
    pub collectives: Collectives,
    /// Columns of the timeline at most.
    pub bins: usize,
    /// How many of the longest calls to keep.
    pub longest: usize,
    /// Threads in all; 0: as many as there are cores. The result does not depend on it.
    pub threads: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { eager_limit_bytes: 32 * 1024, collectives: Collectives::Data, bins: 4096, longest: 20_000, threads: 0 }
    }
}
