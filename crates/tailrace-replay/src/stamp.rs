//! Instants as numbers that order like their times, then what happens, then who it happens to.

/// How many bits who it happens to takes: that depends on how many there are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamps {
    bits: u32,
}

impl Stamps {
    /// `None` if `span` nanoseconds are too many for so many: 2⁶⁰ (36 years) divided by the next
    /// power of two is what fits; sums over all of them do, too.
    pub(crate) fn new(span: i64, number: usize) -> Option<Self> {
        let bits = number.next_power_of_two().trailing_zeros();
        let fits = span >= 0 && (span as u64).leading_zeros() > 2 + bits;
        fits.then_some(Self { bits })
    }

    /// `turn`: 0 to 3, what comes first of what happens at the same nanosecond.
    #[inline]
    pub(crate) fn stamp(self, time: i64, turn: u8, who: u32) -> u64 {
        ((time as u64) << 2 | u64::from(turn)) << self.bits | u64::from(who)
    }

    /// How many bits say who it happens to.
    pub(crate) fn bits(self) -> u32 {
        self.bits
    }

    #[inline]
    pub(crate) fn time(self, stamp: u64) -> i64 {
        (stamp >> self.bits >> 2) as i64
    }

    #[inline]
    pub(crate) fn turn(self, stamp: u64) -> u8 {
        (stamp >> self.bits & 3) as u8
    }

    #[inline]
    pub(crate) fn who(self, stamp: u64) -> u32 {
        (stamp & !(u64::MAX << self.bits)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_order_by_time_then_turn_then_who() {
        let stamps = Stamps::new(1000, 5).unwrap();
        let order = [(5, 0, 4), (5, 1, 0), (5, 2, 0), (5, 2, 3), (6, 0, 0)];
        let order = order.map(|(time, turn, who)| stamps.stamp(time, turn, who));
        assert!(order.is_sorted());
        let last = order[3];
        assert_eq!((stamps.time(last), stamps.turn(last), stamps.who(last)), (5, 2, 3));
    }

    #[test]
    fn spans_that_no_run_has_are_refused() {
        assert!(Stamps::new(i64::MAX, 1).is_none() && Stamps::new(-1, 1).is_none());
        assert!(Stamps::new(1 << 58, 1 << 10).is_none());
        assert!(Stamps::new(1 << 50, 1 << 10).is_some());
    }
}
