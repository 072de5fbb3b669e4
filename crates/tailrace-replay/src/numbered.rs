//! Things that are numbered in order and are soon over: a short window of recent ones, and the few
//! that outlive it.

use hashbrown::HashMap;

/// Requests of a thread, roles of a rank. Memory follows the open ones.
#[derive(Debug)]
pub(crate) struct Numbered<T> {
    /// The number of the first that is recent, and the next number.
    first: u64,
    next: u64,
    /// Those between, each where its number's last bits say; as long as a power of two, or nothing.
    recent: Vec<Option<T>>,
    open_recent: u64,
    /// Open ones, such as persistent requests, that others have long overtaken.
    old: HashMap<u64, T>,
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Self { first: 0, next: 0, recent: Vec::new(), open_recent: 0, old: HashMap::new() }
    }
}

impl<T> Numbered<T> {
    /// Takes the next number.
    #[allow(clippy::inline_always)] // what is passed on is read before it is there
    #[inline(always)]
    pub(crate) fn push(&mut self, thing: T) {
        if self.next - self.first == self.recent.len() as u64 {
            self.make_room();
        }
        let place = self.place(self.next);
        self.recent[place] = Some(thing);
        self.next += 1;
        self.open_recent += 1;
    }

    /// The next number.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// Leaves out the next number.
    #[inline]
    pub(crate) fn skip(&mut self) {
        if self.open_recent == 0 {
            (self.first, self.next) = (self.next + 1, self.next + 1);
            return;
        }
        if self.next - self.first == self.recent.len() as u64 {
            self.make_room();
        }
        self.next += 1;
    }

    #[inline]
    pub(crate) fn get(&self, number: u64) -> Option<&T> {
        if self.is_recent(number) {
            self.recent.get(self.place(number))?.as_ref()
        } else {
            self.old.get(&number)
        }
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, number: u64) -> Option<&mut T> {
        if self.is_recent(number) {
            let place = self.place(number);
            self.recent.get_mut(place)?.as_mut()
        } else {
            self.old.get_mut(&number)
        }
    }

    /// Of a recent thing also where it is.
    #[inline]
    pub(crate) fn recent(&self, number: u64) -> Option<(usize, &T)> {
        if !self.is_recent(number) {
            return None;
        }
        let place = self.place(number);
        self.recent.get(place)?.as_ref().map(|thing| (place, thing))
    }

    /// … which is over.
    #[inline]
    pub(crate) fn remove_recent(&mut self, place: usize) {
        self.recent[place] = None;
        self.open_recent -= 1;
        self.pass_over();
    }

    #[inline]
    fn pass_over(&mut self) {
        while self.first < self.next && self.recent[self.place(self.first)].is_none() {
            self.first += 1;
        }
    }

    #[inline]
    pub(crate) fn remove(&mut self, number: u64) -> Option<T> {
        self.remove_unless(number, |_| false)
    }

    #[allow(clippy::inline_always)]
    #[inline(always)]
    pub(crate) fn remove_unless(&mut self, number: u64, stays: impl Fn(&T) -> bool) -> Option<T> {
        if !self.is_recent(number) {
            return self.remove_old(number, stays);
        }
        let place = self.place(number);
        let thing = self.recent.get_mut(place)?.take_if(|thing| !stays(thing))?;
        self.open_recent -= 1;
        self.pass_over();
        Some(thing)
    }

    #[cold]
    fn remove_old(&mut self, number: u64, stays: impl Fn(&T) -> bool) -> Option<T> {
        if self.old.get(&number).is_some_and(stays) { None } else { self.old.remove(&number) }
    }

    /// Gives back memory where nothing recent is open.
    pub(crate) fn shrink(&mut self) {
        if self.open_recent == 0 {
            (self.first, self.recent) = (self.next, Vec::new());
        }
    }

    #[inline]
    fn is_recent(&self, number: u64) -> bool {
        number.wrapping_sub(self.first) < self.next - self.first
    }

    #[inline]
    fn place(&self, number: u64) -> usize {
        number as usize & self.recent.len().wrapping_sub(1)
    }

    /// For one more: by what is open and has long been overtaken, or more memory.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self) {
        let before = self.first;
        while self.next - self.first > 2 * self.open_recent + 64 {
            self.retire();
        }
        if self.first == before {
            self.grow();
        }
    }

    fn grow(&mut self) {
        let before = std::mem::take(&mut self.recent);
        let mask = before.len().wrapping_sub(1);
        self.recent.resize_with((2 * before.len()).max(16), || None);
        let first = self.first as usize;
        let in_order = before.into_iter().enumerate();
        for (at, thing) in in_order {
            let number = first + (at.wrapping_sub(first) & mask);
            let place = self.place(number as u64);
            self.recent[place] = thing;
        }
    }

    fn retire(&mut self) {
        let place = self.place(self.first);
        if let Some(thing) = self.recent[place].take() {
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
        // Of one or two open things 66 or 68 may be recent: room for 64 is too little.
        assert_eq!(things.recent.len(), 128);
        assert_eq!(things.get_mut(0), Some(&mut "old"));
        assert_eq!(things.remove(0), Some("old"));
        assert_eq!((things.remove(0), things.get(1_000_000)), (None, None));
    }

    #[test]
    fn what_is_left_out_is_never_there() {
        let mut things = Numbered::default();
        things.push(0);
        for number in (1..1000).step_by(2) {
            things.skip();
            things.push(number + 1);
            assert_eq!((things.get(number), things.get(number + 1)), (None, Some(&(number + 1))));
            assert_eq!(things.remove(number + 1), Some(number + 1));
        }
        assert_eq!((things.remove(0), things.remove(1)), (Some(0), None));
        things.skip();
        things.push(7);
        assert_eq!(things.remove(1002), Some(7));
    }

    #[test]
    fn no_memory_is_kept_for_what_is_over() {
        let mut things = Numbered::default();
        (0..100).for_each(|number| things.push(number));
        things.shrink();
        assert_eq!(things.get(99), Some(&99));
        (0..100).for_each(|number| assert_eq!(things.remove(number), Some(number)));
        things.shrink();
        assert_eq!(things.recent.capacity(), 0);
        things.skip();
        things.push(101);
        assert_eq!((things.get(100), things.get(101)), (None, Some(&101)));
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
