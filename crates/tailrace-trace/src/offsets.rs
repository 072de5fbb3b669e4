//! Offsets in a file, told as distances from where the location's previous call on that file ended.

use std::collections::HashMap;

/// Where each file's next call is expected to begin; one per location, fed with its events in
/// order, those of part `Enter` by [`Follower::peek`] and [`Follower::offset_within`]: they tell
/// the offset but move nothing.
#[derive(Clone, Debug, Default)]
pub struct Follower {
    /// The file used last, kept at hand.
    last: (u32, i64),
    others: HashMap<u32, i64>,
}

impl Follower {
    /// The offset in `file` of a call of `bytes` that begins `distance` after the end of the one
    /// before.
    pub fn offset(&mut self, file: u32, distance: i64, bytes: u64) -> i64 {
        let expected = self.expected(file);
        let offset = expected.wrapping_add(distance);
        *expected = offset.wrapping_add(bytes as i64);
        offset
    }

    /// The distance to write down for a call of `bytes` at `offset`; the inverse of
    /// [`Follower::offset`].
    pub fn distance(&mut self, file: u32, offset: i64, bytes: u64) -> i64 {
        let expected = self.expected(file);
        let distance = offset.wrapping_sub(*expected);
        *expected = offset.wrapping_add(bytes as i64);
        distance
    }

    /// The offset of a call that was entered and did not end yet.
    pub fn offset_within(&mut self, file: u32, distance: i64) -> i64 {
        self.expected(file).wrapping_add(distance)
    }

    /// The distance to write down for a call at `offset` that was entered and did not end yet.
    pub fn peek(&mut self, file: u32, offset: i64) -> i64 {
        offset.wrapping_sub(*self.expected(file))
    }

    fn expected(&mut self, file: u32) -> &mut i64 {
        if self.last.0 != file {
            let wanted = self.others.remove(&file).unwrap_or(0);
            let (before, expected) = std::mem::replace(&mut self.last, (file, wanted));
            self.others.insert(before, expected);
        }
        &mut self.last.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequential_writes_have_distance_zero_and_come_back() {
        let calls = [(7, 100, 8), (7, 108, 8), (3, 0, 1), (7, 116, 8), (7, 0, 8)];
        let mut writer = Follower::default();
        let distances = calls.map(|(file, offset, bytes)| writer.distance(file, offset, bytes));
        assert_eq!(distances, [100, 0, 0, 0, -124]);
        assert_eq!((writer.peek(7, 8), writer.peek(7, 9)), (0, 1));
        let mut reader = Follower::default();
        for ((file, offset, bytes), distance) in calls.into_iter().zip(distances) {
            assert_eq!(reader.offset_within(file, distance), offset);
            assert_eq!(reader.offset(file, distance, bytes), offset);
        }
    }
}
