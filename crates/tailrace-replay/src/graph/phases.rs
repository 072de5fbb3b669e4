//! Phases of I/O.

/// A maximal stretch in which some rank is in a file call; gaps shorter than 1 % of the run are
/// bridged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IoPhase {
    pub begin: i64,
    pub end: i64,
    pub bytes_read: u64,
    pub bytes_written: u64,
    /// ∫k dt over the phase: time that ranks spent in file calls, summed.
    pub io: i64,
    /// Time with k > 0.
    pub busy: i64,
    pub ranks_in_io_max: u32,
}

impl IoPhase {
    /// Mean of k(t) over the phase.
    pub fn ranks_in_io_mean(&self) -> f64 {
        self.io as f64 / (self.end - self.begin).max(1) as f64
    }

    /// … and what calls moved that ended in it: see [`crate::graph::Slab::moved`].
    pub(crate) fn add_moved(&mut self, calls: &[u64]) {
        for moved in calls {
            let writes = (moved & 1).wrapping_neg(); // all ones, or nothing
            self.bytes_written += moved >> 1 & writes;
            self.bytes_read += moved >> 1 & !writes;
        }
    }

    /// Goes on with a later one.
    pub(crate) fn join(&mut self, later: &Self) {
        self.end = later.end;
        self.bytes_read += later.bytes_read;
        self.bytes_written += later.bytes_written;
        self.io += later.io;
        self.busy += later.busy;
        self.ranks_in_io_max = self.ranks_in_io_max.max(later.ranks_in_io_max);
    }
}
