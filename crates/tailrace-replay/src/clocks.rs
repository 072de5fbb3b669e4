//! The three replayed clocks of a rank, carried side by side.

/// Replayed time since the window's begin, in nanoseconds; `even` is in units of 1/P ns, P being
/// the number of ranks, until [`Clocks::in_nanoseconds`]: so no time is lost to rounding, and sums
/// may be taken in any order. In nanoseconds `ideal ≤ even ≤ net ≤` the measured time, always.
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
    /// What local time alone comes to: `useful` nanoseconds outside of calls, `io` in file calls,
    /// and `shared`, the sum of ∫k dt over the same file calls.
    #[inline]
    pub(crate) fn of(useful: i64, io: i64, shared: i64, ranks: i64) -> Self {
        Self { net: useful + io, even: useful * ranks + shared, ideal: useful }
    }

    /// All three at the same moment.
    pub(crate) fn all(moment: i64, ranks: i64) -> Self {
        Self::of(moment, 0, 0, ranks)
    }

    /// Each clock at the later of two moments: what waiting comes to.
    #[inline]
    #[must_use]
    pub(crate) fn max(self, other: Self) -> Self {
        Self {
            net: self.net.max(other.net),
            even: self.even.max(other.even),
            ideal: self.ideal.max(other.ideal),
        }
    }

    /// No clock is later than the other's.
    #[inline]
    pub(crate) fn is_until(self, other: Self) -> bool {
        self.net <= other.net && self.even <= other.even && self.ideal <= other.ideal
    }

    #[inline]
    #[must_use]
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            net: self.net + other.net,
            even: self.even + other.even,
            ideal: self.ideal + other.ideal,
        }
    }

    #[inline]
    #[must_use]
    pub(crate) fn minus(self, other: Self) -> Self {
        Self {
            net: self.net - other.net,
            even: self.even - other.even,
            ideal: self.ideal - other.ideal,
        }
    }

    /// With `even` in whole nanoseconds.
    #[must_use]
    pub(crate) fn in_nanoseconds(self, ranks: i64) -> Self {
        Self { even: self.even.div_euclid(ranks), ..self }
    }
}
