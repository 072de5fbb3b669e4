//! When a path comes to a thread and leaves it, for as long as a run lasts.

/// Moments in order, in four bytes each where no long time lies between them.
#[derive(Debug, Default)]
pub(crate) struct Toggles {
    /// From each to the next; what is longer than a word follows [`LONG`] in two.
    words: Vec<u32>,
    last: i64,
    /// Those that came too late: replays need not keep the measured order.
    loose: Vec<i64>,
}

const LONG: u32 = u32::MAX;

impl Toggles {
    pub(crate) fn push(&mut self, at: i64) {
        let Ok(passed) = u64::try_from(at - self.last) else {
            self.loose.push(at);
            return;
        };
        match u32::try_from(passed) {
            Ok(passed) if passed != LONG => self.words.push(passed),
            _ => self.words.extend([LONG, (passed >> 32) as u32, passed as u32]),
        }
        self.last = at;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// There are no more of them.
    pub(crate) fn finish(&mut self) {
        if !self.loose.is_empty() {
            let mut all: Vec<i64> = self.iter().chain(self.loose.iter().copied()).collect();
            all.sort_unstable();
            *self = Self::default();
            for at in all {
                self.push(at);
            }
        }
    }

    pub(crate) fn iter(&self) -> Moments<'_> {
        Moments { words: self.words.iter(), at: 0 }
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Moments<'a> {
    words: std::slice::Iter<'a, u32>,
    at: i64,
}

impl Iterator for Moments<'_> {
    type Item = i64;

    #[inline]
    fn next(&mut self) -> Option<i64> {
        let passed = match *self.words.next()? {
            LONG => i64::from(*self.words.next()?) << 32 | i64::from(*self.words.next()?),
            passed => passed.into(),
        };
        self.at += passed;
        Some(self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_come_in_order_however_far_apart_and_however_late() {
        let moments = [0, 7, 7, 1 << 32, (1 << 32) - 1, 1 << 60, 3];
        let mut toggles = Toggles::default();
        for at in moments {
            toggles.push(at);
        }
        toggles.finish();
        let mut sorted = moments;
        sorted.sort_unstable();
        assert_eq!(toggles.iter().collect::<Vec<i64>>(), sorted);
    }
}
