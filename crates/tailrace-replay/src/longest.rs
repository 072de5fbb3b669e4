//! The longest of many things that take time, exactly, in bounded memory.

use std::cmp::Reverse;

/// What takes some time.
pub(crate) trait Lasting {
    type Order: Ord;

    /// Begin and end.
    fn span(&self) -> (i64, i64);

    /// Between those that begin at once and last as long.
    fn order(&self) -> Self::Order;
}

/// The longest first.
fn by_length<T: Lasting>(one: &T) -> impl Ord + use<T> {
    let (begin, end) = one.span();
    (Reverse(end - begin), begin, one.order())
}

/// Keeps the `most` longest of all that are offered: twice as many are gathered, then the lesser
/// half is dropped.
#[derive(Debug)]
pub(crate) struct Longest<T> {
    most: usize,
    gathered: Vec<T>,
    threshold: i64,
}

impl<T: Lasting> Longest<T> {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, gathered: Vec::new(), threshold: if most == 0 { i64::MAX } else { 1 } }
    }

    /// Shorter ones are certain not to be among the longest.
    pub(crate) fn threshold(&self) -> i64 {
        self.threshold
    }

    /// Takes what may be among the longest, and leaves nothing.
    pub(crate) fn offer(&mut self, some: &mut Vec<T>) {
        some.drain(..).for_each(|one| self.take(one));
    }

    #[inline]
    pub(crate) fn take(&mut self, one: T) {
        let (begin, end) = one.span();
        if end - begin < self.threshold {
            return;
        }
        self.gathered.push(one);
        if self.gathered.len() >= 2 * self.most.max(1) {
            self.drop_lesser_half();
        }
    }

    /// The longest, in any order.
    pub(crate) fn all(mut self) -> Vec<T> {
        if self.gathered.len() > self.most {
            self.gathered.select_nth_unstable_by_key(self.most, by_length);
            self.gathered.truncate(self.most);
        }
        self.gathered
    }

    /// The longest, in order of begin.
    pub(crate) fn finish(mut self) -> Vec<T> {
        self.gathered.sort_unstable_by_key(by_length);
        self.gathered.truncate(self.most);
        self.gathered.sort_unstable_by_key(|one| {
            let (begin, end) = one.span();
            (begin, one.order(), Reverse(end))
        });
        self.gathered
    }

    #[cold]
    fn drop_lesser_half(&mut self) {
        let (_, last, _) = self.gathered.select_nth_unstable_by_key(self.most - 1, by_length);
        let (begin, end) = last.span();
        self.threshold = end - begin;
        self.gathered.truncate(self.most);
    }
}
