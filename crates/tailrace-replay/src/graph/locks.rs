//! Locks of windows: what is exclusive is granted when all others gave theirs back, a shared one
//! when the exclusive ones did.
//!
//! A library may ask for a lock long after the call that names it, and be granted it at any time
//! until something done under it is complete. So a rank is taken to wait where it locks, flushes
//! and unlocks, for whoever gave back before by measured time; and for whoever is giving back at
//! that moment, if that one locked first.

use hashbrown::HashMap;

use crate::graph::moment::CrossingId;
use crate::graph::replayed::{Answer, Waiter};
use crate::graph::trail::Latest;
use crate::graph::vertex::Source;

/// A window: its communicator, and which of that one's windows it is.
pub(crate) type WindowId = (u32, u32);

/// The rank at which a lock is; `None`: at all.
pub(crate) type Target = Option<u32>;

/// What a rank locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Lock {
    pub window: WindowId,
    pub target: Target,
    pub exclusive: bool,
}

#[derive(Clone, Copy, Debug)]
struct Held {
    rank: u32,
    /// Measured time at which it was asked for.
    began: i64,
    exclusive: bool,
    /// When giving it back began, and when it was given back.
    release: Option<Source>,
    released: Option<Source>,
}

#[derive(Debug, Default)]
struct Place {
    /// Locks that are held, and those given back that not all later waiters wait for, perhaps.
    held: Vec<Held>,
    /// The latest giving back that is settled, of all and of the exclusive ones.
    released: Latest,
    released_exclusive: Latest,
    /// Whether it is among the places where locks are held, perhaps.
    is_open: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Locks {
    windows: HashMap<WindowId, HashMap<Target, Place>>,
    /// Where some are held, perhaps.
    open: Vec<(WindowId, Target)>,
    /// What was asked for last.
    latest: Latest,
}

impl Locks {
    /// `rank` asks for a lock.
    pub(crate) fn lock(&mut self, lock: Lock, rank: u32, began: i64) {
        let Lock { window, target, exclusive } = lock;
        let place = self.windows.entry(window).or_default().entry(target).or_default();
        if !std::mem::replace(&mut place.is_open, true) {
            self.open.push((window, target));
        }
        place.held.push(Held { rank, began, exclusive, release: None, released: None });
    }

    /// It begins to give back what it holds there.
    pub(crate) fn release(&mut self, lock: Lock, source: Source) {
        if let Some(held) = self.held(lock, source.rank) {
            held.release = Some(source);
        }
    }

    /// … and has given it back.
    pub(crate) fn released(&mut self, lock: Lock, source: Source) {
        if let Some(held) = self.held(lock, source.rank) {
            held.released = Some(source);
        }
    }

    fn held(&mut self, lock: Lock, rank: u32) -> Option<&mut Held> {
        let place = self.windows.get_mut(&lock.window)?.get_mut(&lock.target)?;
        place.held.iter_mut().find(|held| held.rank == rank && held.released.is_none())
    }

    /// What the waiter had to wait for until its locks there were granted: those that it holds at
    /// the target or at all; without a target all that it holds.
    pub(crate) fn granted(&mut self, lock: Lock, waiter: &Waiter<'_>) -> Answer<'_> {
        let Some(places) = self.windows.get_mut(&lock.window) else { return Answer::Nothing };
        if !(0..).zip(waiter.fronts).all(|(rank, _)| waiter.has_reached(rank)) {
            return Answer::Missing;
        }
        // nobody waits at an earlier moment any more
        overlapping_mut(places, lock.target).for_each(|place| place.settle(waiter.at));
        let own = overlapping(places, lock.target).flat_map(|(at, place)| {
            let own = |held: &&Held| held.rank == waiter.rank && held.is_held(waiter);
            place.held.iter().filter(own).map(move |held| (at, *held))
        });
        self.latest = own.fold(Latest::default(), |latest, (at, held)| {
            latest.max(&before(places, at, &held, waiter))
        });
        Answer::After(&self.latest)
    }

    /// The ends of all trails.
    pub(crate) fn crossings(&mut self) -> impl Iterator<Item = (usize, &mut CrossingId)> {
        let places = self.windows.values_mut().flat_map(HashMap::values_mut);
        places.flat_map(|Place { held, released, released_exclusive, .. }| {
            let held = held.iter_mut().flat_map(|held| [&mut held.release, &mut held.released]);
            let held = held.flatten().flat_map(|source| source.moment.ends());
            held.chain(released.crossings()).chain(released_exclusive.crossings())
        })
    }

    /// All later waiters come after what is known by now: forgets who gave back.
    pub(crate) fn settle(&mut self) {
        self.open.retain(|(window, target)| {
            let place = self.windows.get_mut(window).and_then(|places| places.get_mut(target));
            place.is_some_and(|place| {
                place.settle(i64::MAX);
                place.is_open = !place.held.is_empty();
                place.is_open
            })
        });
    }
}

impl Place {
    /// All later waiters come after what was given back before that moment.
    fn settle(&mut self, moment: i64) {
        let Self { held, released, released_exclusive, .. } = self;
        held.retain(|held| {
            let Some(source) = held.released.filter(|source| source.at < moment) else {
                return true;
            };
            released.add(&source);
            if held.exclusive {
                released_exclusive.add(&source);
            }
            false
        });
    }
}

impl Held {
    /// Whether the lock is held at the waiter's moment.
    fn is_held(&self, waiter: &Waiter<'_>) -> bool {
        self.began <= waiter.at && self.released.is_none_or(|source| source.at >= waiter.at)
    }
}

/// Where locks exclude one at this target.
fn overlapping(
    places: &HashMap<Target, Place>,
    target: Target,
) -> impl Iterator<Item = (Target, &Place)> {
    let all = target.is_none().then(|| places.iter().map(|(at, place)| (*at, place)));
    let some = target.and_then(|_| places.get(&target)).map(|place| (target, place));
    let of_all = target.and_then(|_| places.get(&None)).map(|place| (None, place));
    all.into_iter().flatten().chain(some).chain(of_all)
}

fn overlapping_mut(
    places: &mut HashMap<Target, Place>,
    target: Target,
) -> impl Iterator<Item = &mut Place> {
    let is_one = move |at: &Target| target.is_none() || at.is_none() || *at == target;
    places.iter_mut().filter(move |(at, _)| is_one(at)).map(|(_, place)| place)
}

/// When those gave back that came before this lock at this target.
fn before(
    places: &HashMap<Target, Place>,
    target: Target,
    own: &Held,
    waiter: &Waiter<'_>,
) -> Latest {
    let mut latest = Latest::default();
    for (_, place) in overlapping(places, target) {
        let released = if own.exclusive { &place.released } else { &place.released_exclusive };
        latest = latest.max(released);
        for other in place.held.iter().filter(|other| own.exclusive || other.exclusive) {
            let first = (other.began, other.rank) < (own.began, own.rank);
            let source = match (other.released, other.release) {
                (Some(released), _) if waiter.counts(&released) => released,
                (_, Some(release))
                    if first && other.rank != own.rank && waiter.counts(&release) =>
                {
                    release
                }
                _ => continue,
            };
            latest = latest.and(&source);
        }
    }
    latest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::moment::Moment;
    use crate::graph::replayed::Front;

    #[test]
    fn what_was_given_back_before_a_waiter_is_not_kept_for_later_ones() {
        let mut locks = Locks::default();
        let lock = Lock { window: (0, 0), target: Some(1), exclusive: true };
        for epoch in 0..1000 {
            let at = 10 * epoch;
            let source = |at| Source { moment: Moment::default(), at, rank: 0, tied: false };
            locks.lock(lock, 0, at);
            let fronts = [Front::after(at + 5); 2];
            let (whatever, is_patient) = (false, false);
            let waiter = Waiter { fronts: &fronts, rank: 0, at: at + 5, whatever, is_patient };
            assert!(matches!(locks.granted(lock, &waiter), Answer::After(_)));
            locks.release(lock, source(at + 6));
            locks.released(lock, source(at + 7));
            assert_eq!(locks.windows[&(0, 0)][&Some(1)].held.len(), 1);
        }
        locks.settle();
        assert!(locks.open.is_empty());
    }
}
