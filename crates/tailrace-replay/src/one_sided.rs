//! One-sided epochs: a post is a notice to each origin, a complete one to each target; start and
//! wait receive them.

use tailrace_trace::event::{Flow, OneSided};

use crate::collectives::Family;
use crate::messages::{Channel, MessageId};
use crate::requests::Role;
use crate::world::World;

impl World<'_> {
    pub(crate) fn begin_one_sided(&mut self, i: usize, kind: &OneSided, communicator: u32) -> Role {
        match kind {
            OneSided::Collective => {
                return self.enter_collective(i, communicator, Family::Window, Flow::All);
            }
            OneSided::Post(origins) => {
                self.notify(i, communicator, origins, Channel::POST);
                self.locations[i].exposure.insert(communicator, origins.clone());
            }
            OneSided::Start(targets) => {
                let posts = self.expect(i, communicator, targets, Channel::POST);
                self.locations[i].access.insert(communicator, (posts, targets.clone()));
            }
            OneSided::Complete => {
                let targets =
                    self.locations[i].access.get(&communicator).map(|(_, targets)| targets.clone());
                self.notify(i, communicator, &targets.unwrap_or_default(), Channel::COMPLETE);
            }
            OneSided::Wait | OneSided::Local => {}
        }
        Role::Nothing
    }

    /// Start may return before the posts came; Complete may not.
    pub(crate) fn end_one_sided(&mut self, i: usize, kind: &OneSided, communicator: u32) {
        match kind {
            OneSided::Start(_) => {
                let posts =
                    self.locations[i].access.get(&communicator).map(|(posts, _)| posts.clone());
                posts
                    .unwrap_or_default()
                    .into_iter()
                    .for_each(|post| self.wait_for_notice(i, post));
            }
            OneSided::Complete => {
                let (posts, _) = self.locations[i].access.remove(&communicator).unwrap_or_default();
                self.take_notices(i, &posts);
            }
            OneSided::Wait => {
                let origins = self.locations[i].exposure.remove(&communicator).unwrap_or_default();
                let completes = self.expect(i, communicator, &origins, Channel::COMPLETE);
                self.take_notices(i, &completes);
            }
            OneSided::Post(_) | OneSided::Collective | OneSided::Local => {}
        }
    }

    fn notify(&mut self, i: usize, communicator: u32, ranks: &[u32], tag: i32) {
        let (own, now) = (self.locations[i].rank, self.clocks(i));
        for rank in ranks {
            let notice =
                self.matching.messages.send(Channel::new(communicator, own, *rank, tag), now);
            self.matching.messages.sender_done(notice);
        }
    }

    fn expect(&mut self, i: usize, communicator: u32, ranks: &[u32], tag: i32) -> Vec<MessageId> {
        let (own, now) = (self.locations[i].rank, self.clocks(i));
        ranks
            .iter()
            .map(|rank| {
                self.matching.messages.post(Channel::new(communicator, *rank, own, tag), now)
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
