//! Locks of windows: what is exclusive is granted when all others gave theirs back, a shared one
//! when the exclusive ones did.
//!
//! A library may ask for a lock long after the call that names it, and be granted it at any time
//! until something done under it is complete. So a rank is taken to wait where it locks, flushes
//! and unlocks, for whoever gave back before by measured time; and for whoever is giving back at
//! that moment, if that one locked first.

use hashbrown::HashMap;

use crate::clocks::Clocks;

/// A window: its communicator, and which of that one's windows it is.
pub(crate) type WindowId = (u32, u32);

/// The rank at which a lock is; `None`: at all.
pub(crate) type Target = Option<u32>;

#[derive(Clone, Copy, Debug)]
struct Held {
    rank: u32,
    /// Measured time at which it was asked for.
    began: i64,
    exclusive: bool,
    /// When giving it back began.
    releasing: Option<Clocks>,
}

#[derive(Debug, Default)]
struct Place {
    held: Vec<Held>,
    /// The latest giving back, of all and of the exclusive ones.
    released: Clocks,
    released_exclusive: Clocks,
}

#[derive(Debug, Default)]
pub(crate) struct Locks {
    windows: HashMap<WindowId, HashMap<Target, Place>>,
}

impl Locks {
    /// `rank` asks for a lock at measured time `began`.
    pub(crate) fn lock(
        &mut self,
        window: WindowId,
        target: Target,
        rank: u32,
        began: i64,
        exclusive: bool,
    ) {
        let place = self.windows.entry(window).or_default().entry(target).or_default();
        place.held.push(Held { rank, began, exclusive, releasing: None });
    }

    /// It begins to give it back.
    pub(crate) fn release(&mut self, window: WindowId, target: Target, rank: u32, now: Clocks) {
        if let Some(held) = self.held(window, target, rank) {
            held.releasing = Some(now);
        }
    }

    /// … and has given it back.
    pub(crate) fn released(&mut self, window: WindowId, target: Target, rank: u32, now: Clocks) {
        let Some(place) = self.windows.get_mut(&window).and_then(|places| places.get_mut(&target))
        else {
            return;
        };
        let Some(at) = place.held.iter().position(|held| held.rank == rank) else { return };
        let held = place.held.swap_remove(at);
        place.released = place.released.max(now);
        if held.exclusive {
            place.released_exclusive = place.released_exclusive.max(now);
        }
    }

    /// What the rank had to wait for until its locks there were granted: those that it holds at
    /// the target or at all; without a target all that it holds.
    pub(crate) fn granted(&self, window: WindowId, target: Target, rank: u32) -> Clocks {
        let Some(places) = self.windows.get(&window) else { return Clocks::default() };
        let meant = |at: Target| target.is_none() || at.is_none() || at == target;
        let own = places.iter().filter(|(at, _)| meant(**at)).flat_map(|(at, place)| {
            place.held.iter().filter(|held| held.rank == rank).map(|held| (*at, *held))
        });
        own.map(|(at, held)| before(places, at, held)).fold(Clocks::default(), Clocks::max)
    }

    fn held(&mut self, window: WindowId, target: Target, rank: u32) -> Option<&mut Held> {
        let place = self.windows.get_mut(&window)?.get_mut(&target)?;
        place.held.iter_mut().find(|held| held.rank == rank)
    }
}

/// When those gave back that came before this lock at this target.
fn before(places: &HashMap<Target, Place>, target: Target, own: Held) -> Clocks {
    let overlaps = |at: Target| target.is_none() || at.is_none() || at == target;
    let mut latest = Clocks::default();
    for (_, place) in places.iter().filter(|(at, _)| overlaps(**at)) {
        latest = latest.max(if own.exclusive { place.released } else { place.released_exclusive });
        let others = place.held.iter().filter(|other| {
            other.rank != own.rank
                && (own.exclusive || other.exclusive)
                && (other.began, other.rank) < (own.began, own.rank)
        });
        latest = others.filter_map(|other| other.releasing).fold(latest, Clocks::max);
    }
    latest
}
