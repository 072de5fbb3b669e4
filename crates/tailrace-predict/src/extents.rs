//! Which bytes of a file are known: ranges that neither touch nor overlap.

use std::collections::BTreeMap;

#[derive(Clone, Debug, Default)]
pub(crate) struct Extents {
    /// The one range that there is, as in most files; empty where there is none, or several.
    only: (i64, i64),
    /// End by begin, where there are several.
    ranges: BTreeMap<i64, i64>,
}

impl Extents {
    pub(crate) fn add(&mut self, mut begin: i64, mut end: i64) {
        if begin >= end || self.ranges.is_empty() && self.lengthens_only(begin, end) {
            return;
        }
        self.part();
        // most writes go on where the last one ended
        if let Some((first, last)) = self.ranges.range_mut(..=end).next_back()
            && (*first..=*last).contains(&begin)
        {
            *last = end.max(*last);
            return;
        }
        let touching = self.ranges.range(..=end).rev();
        let touching: Vec<(i64, i64)> =
            touching.map(|(b, e)| (*b, *e)).take_while(|(_, e)| *e >= begin).collect();
        for (b, e) in touching {
            self.ranges.remove(&b);
            (begin, end) = (begin.min(b), end.max(e));
        }
        self.ranges.insert(begin, end);
    }

    /// Whether there is still only one range.
    fn lengthens_only(&mut self, begin: i64, end: i64) -> bool {
        let (first, last) = self.only;
        if first >= last {
            self.only = (begin, end);
        } else if begin <= last && first <= end {
            self.only = (first.min(begin), last.max(end));
        } else {
            return false;
        }
        true
    }

    /// The one range becomes one of several.
    fn part(&mut self) {
        let (begin, end) = std::mem::take(&mut self.only);
        if begin < end {
            self.ranges.insert(begin, end);
        }
    }

    pub(crate) fn cut(&mut self, at: i64) {
        self.only.1 = self.only.1.min(at);
        self.ranges.split_off(&at);
        if let Some((_, last)) = self.ranges.range_mut(..at).next_back() {
            *last = at.min(*last);
        }
    }

    /// How many bytes between `begin` and `end` are known.
    pub(crate) fn known(&self, begin: i64, end: i64) -> u64 {
        let shared = |(b, e): (i64, i64)| end.min(e).saturating_sub(begin.max(b)).max(0);
        let before = self.ranges.range(..begin).next_back();
        let ranges = before.into_iter().chain(self.ranges.range(begin..end.max(begin)));
        let several = ranges.map(|(b, e)| shared((*b, *e))).sum::<i64>();
        (shared(self.only) + several) as u64
    }
}

/// Bytes.
const PAGE: i64 = 4096;

/// The pages that lie there as a whole.
pub(crate) fn inner(begin: i64, end: i64) -> (i64, i64) {
    (begin.saturating_add(PAGE - 1).div_euclid(PAGE) * PAGE, end.div_euclid(PAGE) * PAGE)
}

/// The pages of which anything lies there.
pub(crate) fn outer(begin: i64, end: i64) -> (i64, i64) {
    let behind = end.saturating_add(PAGE - 1).div_euclid(PAGE) * PAGE;
    (begin.div_euclid(PAGE) * PAGE, behind)
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Extents {
        fn count(&self) -> u64 {
            u64::from(self.only.0 < self.only.1) + self.ranges.len() as u64
        }
    }

    #[test]
    fn ranges_that_touch_become_one() {
        let mut extents = Extents::default();
        extents.add(0, 10);
        extents.add(20, 30);
        assert_eq!([extents.known(2, 8), extents.known(8, 12), extents.known(5, 25)], [6, 2, 10]);
        extents.add(10, 20);
        assert_eq!([extents.known(-1, 31), extents.known(30, 40), extents.known(7, 7)], [30, 0, 0]);
        assert_eq!(extents.count(), 1);
    }

    #[test]
    fn what_is_cut_is_known_no_longer() {
        let mut extents = Extents::default();
        extents.add(0, 10);
        extents.add(20, 30);
        extents.cut(40);
        assert_eq!(extents.known(0, 40), 20);
        extents.cut(20);
        assert_eq!(extents.known(0, 40), 10);
        extents.cut(5);
        assert_eq!([extents.known(0, 40), extents.known(0, 5)], [5, 5]);
        extents.cut(0);
        assert_eq!(extents.known(-10, 40), 0);
    }

    #[test]
    fn a_range_that_goes_on_reaches_the_next() {
        let mut extents = Extents::default();
        extents.add(0, 10);
        extents.add(5, 15);
        extents.add(3, 4);
        assert_eq!([extents.known(0, 20), extents.count()], [15, 1]);
        extents.add(20, 30);
        extents.add(15, 20);
        assert_eq!([extents.known(0, 40), extents.count()], [30, 1]);
    }
}
