//! One-sided epochs: a post is a notice to each origin, a complete one to each target; start and
//! wait receive them. Passive ones are locks.

use tailrace_trace::event::{Flow, OneSided};

use crate::graph::locks::{Lock, Target, WindowId};
use crate::graph::vertex::{Deed, Family, Sending};
use crate::graph::{Channel, Notice};
use crate::reduce::Rank;
use crate::reduce::requests::Role;

impl Rank<'_> {
    pub(crate) fn begin_one_sided(&mut self, i: usize, kind: &OneSided, window: WindowId) -> Role {
        match kind {
            OneSided::Collective => {
                return self.enter_collective(i, window.0, Family::Window, (Flow::All, 0));
            }
            OneSided::Post(origins) => {
                self.notify(i, window, origins, Notice::Post);
                self.threads[i].exposure.insert(window, origins.clone());
            }
            OneSided::Start(targets) => {
                let posts = self.expect(i, window, targets, Notice::Post);
                self.threads[i].access.insert(window, (posts, targets.clone()));
            }
            OneSided::Complete => {
                let access = self.threads[i].access.get(&window);
                let targets = access.map(|(_, targets)| targets.clone()).unwrap_or_default();
                self.notify(i, window, &targets, Notice::Complete);
            }
            OneSided::Lock { target, exclusive } => {
                let lock = self.lock(Lock { window, target: *target, exclusive: *exclusive });
                self.emit(i, Deed::Lock { lock });
            }
            OneSided::Unlock { target } => {
                let lock = self.lock_at(window, *target);
                self.emit(i, Deed::Release { lock });
            }
            OneSided::Wait | OneSided::Flush { .. } | OneSided::Local => {}
        }
        Role::Nothing
    }

    /// Start may return before the posts came; Complete may not.
    pub(crate) fn end_one_sided(&mut self, i: usize, kind: &OneSided, window: WindowId) {
        match kind {
            OneSided::Start(_) if self.threads[i].main => {
                let access = self.threads[i].access.get(&window);
                for role in access.map(|(posts, _)| posts.clone()).unwrap_or_default() {
                    self.emit(i, Deed::Await { role });
                }
            }
            OneSided::Complete => {
                let (posts, _) = self.threads[i].access.remove(&window).unwrap_or_default();
                for post in posts {
                    self.finish_role(i, post);
                }
            }
            OneSided::Wait => {
                let origins = self.threads[i].exposure.remove(&window).unwrap_or_default();
                for complete in self.expect(i, window, &origins, Notice::Complete) {
                    self.finish_role(i, complete);
                }
            }
            OneSided::Lock { target, .. } | OneSided::Flush { target } => {
                self.wait_for_lock(i, window, *target);
            }
            OneSided::Unlock { target } => {
                let lock = self.wait_for_lock(i, window, *target);
                self.emit(i, Deed::Released { lock });
            }
            OneSided::Post(_) | OneSided::Start(_) | OneSided::Collective | OneSided::Local => {}
        }
    }

    fn wait_for_lock(&mut self, i: usize, window: WindowId, target: Target) -> u32 {
        let lock = self.lock_at(window, target);
        if self.threads[i].main {
            self.emit(i, Deed::Granted { lock });
        }
        lock
    }

    /// Where it does not matter whether the lock is exclusive.
    fn lock_at(&mut self, window: WindowId, target: Target) -> u32 {
        self.lock(Lock { window, target, exclusive: false })
    }

    fn lock(&mut self, lock: Lock) -> u32 {
        let next = self.locks.len() as u32;
        *self.locks.entry(lock).or_insert_with(|| {
            self.slab.locks.push(lock);
            next
        })
    }

    fn notify(&mut self, i: usize, window: WindowId, ranks: &[u32], notice: Notice) {
        for destination in ranks {
            let channel = Channel::of_notice(window, self.number, *destination, notice);
            let channel = self.channel(channel);
            self.emit(i, Deed::Send { channel, sending: Sending::Eager });
        }
    }

    fn expect(&mut self, i: usize, window: WindowId, ranks: &[u32], notice: Notice) -> Vec<u64> {
        let one = |source: &u32| {
            let channel = self.channel(Channel::of_notice(window, *source, self.number, notice));
            self.emit_role(i, Deed::Post { channel })
        };
        ranks.iter().map(one).collect()
    }
}
