//! One-sided epochs: a post is a notice to each origin, a complete one to each target; start and
//! wait receive them. Passive ones are locks.

use tailrace_trace::event::{Flow, OneSided};

use crate::collectives::Family;
use crate::locks::{Target, WindowId};
use crate::messages::{Channel, MessageId, Notice};
use crate::requests::Role;
use crate::world::World;

impl World<'_> {
    pub(crate) fn begin_one_sided(&mut self, i: usize, kind: &OneSided, window: WindowId) -> Role {
        let rank = self.locations[i].rank;
        match kind {
            OneSided::Collective => {
                return self.enter_collective(i, window.0, Family::Window, Flow::All);
            }
            OneSided::Post(origins) => {
                self.notify(i, window, origins, Notice::Post);
                self.locations[i].exposure.insert(window, origins.clone());
            }
            OneSided::Start(targets) => {
                let posts = self.expect(i, window, targets, Notice::Post);
                self.locations[i].access.insert(window, (posts, targets.clone()));
            }
            OneSided::Complete => {
                let targets =
                    self.locations[i].access.get(&window).map(|(_, targets)| targets.clone());
                self.notify(i, window, &targets.unwrap_or_default(), Notice::Complete);
            }
            OneSided::Lock { target, exclusive } => {
                let began = self.locations[i].at;
                self.matching.locks.lock(window, *target, rank, began, *exclusive);
            }
            OneSided::Unlock { target } => {
                let now = self.clocks(i);
                self.matching.locks.release(window, *target, rank, now);
            }
            OneSided::Wait | OneSided::Flush { .. } | OneSided::Local => {}
        }
        Role::Nothing
    }

    /// Start may return before the posts came; Complete may not.
    pub(crate) fn end_one_sided(&mut self, i: usize, kind: &OneSided, window: WindowId) {
        match kind {
            OneSided::Start(_) => {
                let posts = self.locations[i].access.get(&window).map(|(posts, _)| posts.clone());
                posts
                    .unwrap_or_default()
                    .into_iter()
                    .for_each(|post| self.wait_for_notice(i, post));
            }
            OneSided::Complete => {
                let (posts, _) = self.locations[i].access.remove(&window).unwrap_or_default();
                self.take_notices(i, &posts);
            }
            OneSided::Wait => {
                let origins = self.locations[i].exposure.remove(&window).unwrap_or_default();
                let completes = self.expect(i, window, &origins, Notice::Complete);
                self.take_notices(i, &completes);
            }
            OneSided::Lock { target, .. } | OneSided::Flush { target } => {
                self.wait_for_lock(i, window, *target);
            }
            OneSided::Unlock { target } => {
                self.wait_for_lock(i, window, *target);
                let (rank, now) = (self.locations[i].rank, self.clocks(i));
                self.matching.locks.released(window, *target, rank, now);
            }
            OneSided::Post(_) | OneSided::Collective | OneSided::Local => {}
        }
    }

    fn wait_for_lock(&mut self, i: usize, window: WindowId, target: Target) {
        let granted = self.matching.locks.granted(window, target, self.locations[i].rank);
        self.locations[i].wait_for(granted);
    }

    fn notify(&mut self, i: usize, window: WindowId, ranks: &[u32], notice: Notice) {
        let (own, now) = (self.locations[i].rank, self.clocks(i));
        for rank in ranks {
            let notice =
                self.matching.messages.send(Channel::of_notice(window, own, *rank, notice), now);
            self.matching.messages.sender_done(notice);
        }
    }

    fn expect(
        &mut self,
        i: usize,
        window: WindowId,
        ranks: &[u32],
        notice: Notice,
    ) -> Vec<MessageId> {
        let (own, now) = (self.locations[i].rank, self.clocks(i));
        ranks
            .iter()
            .map(|rank| {
                self.matching.messages.post(Channel::of_notice(window, *rank, own, notice), now)
            })
            .collect()
    }

    fn wait_for_notice(&mut self, i: usize, notice: MessageId) {
        if let Some(sent) = self.matching.messages.sent(notice) {
            self.locations[i].wait_for(sent);
        }
    }

    fn take_notices(&mut self, i: usize, notices: &[MessageId]) {
        for notice in notices {
            self.wait_for_notice(i, *notice);
            self.matching.messages.receiver_done(*notice);
        }
    }
}
