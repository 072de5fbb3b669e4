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
    bar: Bar,
}

/// What is certain not to be among the longest: what is shorter, or as long and begins later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bar {
    pub length: i64,
    pub begin: i64,
}

impl Bar {
    /// What takes any time meets it.
    pub(crate) const LOWEST: Self = Self { length: 1, begin: i64::MAX };
    /// Nothing does.
    pub(crate) const HIGHEST: Self = Self { length: i64::MAX, begin: i64::MIN };

    #[inline]
    pub(crate) fn is_met_by(self, begin: i64, end: i64) -> bool {
        let length = end - begin;
        length > self.length || length == self.length && begin <= self.begin
    }
}

impl<T: Lasting> Longest<T> {
    pub(crate) fn new(most: usize) -> Self {
        let bar = if most == 0 { Bar::HIGHEST } else { Bar::LOWEST };
        Self { most, gathered: Vec::new(), bar }
    }

    pub(crate) fn bar(&self) -> Bar {
        self.bar
    }

    /// Takes what may be among the longest, and leaves nothing.
    pub(crate) fn offer(&mut self, some: &mut Vec<T>) {
        some.drain(..).for_each(|one| self.take(one));
    }

    #[inline]
    pub(crate) fn take(&mut self, one: T) {
        let (begin, end) = one.span();
        if !self.bar.is_met_by(begin, end) {
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
        self.bar = Bar { length: end - begin, begin };
        self.gathered.truncate(self.most);
    }
}
