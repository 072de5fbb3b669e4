//! The three replayed clocks of a rank, carried side by side.

/// Nanoseconds of replayed time since the window's begin. `ideal ≤ even ≤ net ≤` the measured time,
/// always.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clocks {
    /// Ideal network: messages cost nothing, file calls last as long as measured.
    pub net: i64,
    /// Ideal network, and the work of file calls spread evenly over all ranks.
    pub even: i64,
    /// Ideal network and ideal file system: file calls cost nothing.
    pub ideal: i64,
}

impl Clocks {
    /// All three at the same moment.
    pub fn all(moment: i64) -> Self {
        Self { net: moment, even: moment, ideal: moment }
    }

    /// Each clock at the later of two moments: what waiting comes to.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self {
            net: self.net.max(other.net),
            even: self.even.max(other.even),
            ideal: self.ideal.max(other.ideal),
        }
    }

    /// All three moved by the same time.
    #[must_use]
    pub fn plus(self, duration: i64) -> Self {
        Self { net: self.net + duration, even: self.even + duration, ideal: self.ideal + duration }
    }
}
