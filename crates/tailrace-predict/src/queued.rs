//! Writes of several ranks to one file that are on their way: a client may look at each of them
//! before it sends the next.

use std::collections::VecDeque;

/// By when they have come, the first first.
#[derive(Debug, Default)]
pub(crate) struct Queued {
    calls: VecDeque<(f64, f64)>,
    count: f64,
}

impl Queued {
    /// How many there are.
    pub(crate) fn at(&mut self, now: f64) -> f64 {
        while let Some((_, calls)) = self.calls.pop_front_if(|(end, _)| *end <= now) {
            self.count -= calls;
        }
        self.count
    }

    /// More of them, which come no earlier than those before.
    pub(crate) fn put(&mut self, calls: f64, end: f64) {
        self.calls.push_back((end, calls));
        self.count += calls;
    }
}

#[cfg(test)]
mod tests {
    use super::Queued;

    #[test]
    fn what_has_come_is_on_its_way_no_more() {
        let mut queued = Queued::default();
        queued.put(1., 10.);
        queued.put(3., 20.);
        let mut at = |now| queued.at(now).round() as i64;
        assert_eq!([at(9.), at(10.), at(20.)], [4, 3, 0]);
    }
}
