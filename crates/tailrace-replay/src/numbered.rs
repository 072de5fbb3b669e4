//! Things that are numbered in order and are soon over: a short window of recent ones, and the few
//! that outlive it.

use std::collections::VecDeque;

use hashbrown::HashMap;

/// Requests of a thread, roles of a rank. Memory follows the open ones.
#[derive(Debug)]
pub(crate) struct Numbered<T> {
    /// Number of the first in `recent`.
    first: u64,
    recent: VecDeque<Option<T>>,
    open_recent: usize,
    /// Open ones, such as persistent requests, that others have long overtaken.
    old: HashMap<u64, T>,
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        let (recent, old) = (VecDeque::new(), HashMap::new());
        Self { first: 0, recent, open_recent: 0, old }
    }
}

impl<T> Numbered<T> {
    /// Takes the next number.
    #[inline]
    pub(crate) fn push(&mut self, thing: T) {
        self.recent.push_back(Some(thing));
        self.open_recent += 1;
        while self.recent.len() > 2 * self.open_recent + 64 {
            self.retire();
        }
    }

    #[inline]
    pub(crate) fn get(&self, number: u64) -> Option<&T> {
        match number.checked_sub(self.first) {
            Some(place) => self.recent.get(usize::try_from(place).ok()?)?.as_ref(),
            None => self.old.get(&number),
        }
    }

    pub(crate) fn get_mut(&mut self, number: u64) -> Option<&mut T> {
        match number.checked_sub(self.first) {
            Some(place) => self.recent.get_mut(usize::try_from(place).ok()?)?.as_mut(),
            None => self.old.get_mut(&number),
        }
    }

    #[inline]
    pub(crate) fn remove(&mut self, number: u64) -> Option<T> {
        let Some(place) = number.checked_sub(self.first) else { return self.old.remove(&number) };
        let thing = self.recent.get_mut(usize::try_from(place).ok()?)?.take()?;
        self.open_recent -= 1;
        while let Some(None) = self.recent.front() {
            self.recent.pop_front();
            self.first += 1;
        }
        Some(thing)
    }

    fn retire(&mut self) {
        if let Some(Some(thing)) = self.recent.pop_front() {
            self.old.insert(self.first, thing);
            self.open_recent -= 1;
        }
        self.first += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_thing_stays_while_a_million_others_pass() {
        let mut things = Numbered::default();
        things.push("old");
        for number in 1..1_000_000 {
            things.push("new");
            assert_eq!(things.get(number), Some(&"new"));
            assert_eq!(things.remove(number), Some("new"));
        }
        assert!(things.recent.capacity() < 1000);
        assert_eq!(things.get_mut(0), Some(&mut "old"));
        assert_eq!(things.remove(0), Some("old"));
        assert_eq!((things.remove(0), things.get(1_000_000)), (None, None));
    }

    #[test]
    fn over_in_any_order() {
        let mut things = Numbered::default();
        (0..100).for_each(|number| things.push(number));
        assert!((0..100).rev().all(|number| things.remove(number) == Some(number)));
        things.push(100);
        assert_eq!(things.get(100), Some(&100));
    }
}
