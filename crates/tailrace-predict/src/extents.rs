//! Which bytes of a file are known: ranges that neither touch nor overlap.

use std::collections::BTreeMap;

#[derive(Clone, Debug, Default)]
pub(crate) struct Extents {
    /// End by begin.
    ranges: BTreeMap<i64, i64>,
}

impl Extents {
    pub(crate) fn add(&mut self, mut begin: i64, mut end: i64) {
        if begin >= end {
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

    pub(crate) fn has(&self, begin: i64, end: i64) -> bool {
        let before = self.ranges.range(..=begin).next_back();
        before.is_some_and(|(_, known)| *known >= end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_touch_become_one() {
        let mut extents = Extents::default();
        extents.add(0, 10);
        extents.add(20, 30);
        assert!(extents.has(2, 8) && !extents.has(8, 12));
        extents.add(10, 20);
        assert!(extents.has(0, 30) && !extents.has(0, 31));
        assert_eq!(extents.ranges.len(), 1);
    }
}
