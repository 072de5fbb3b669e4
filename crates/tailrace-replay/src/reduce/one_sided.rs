//! One-sided epochs: a post is a notice to each origin, a complete one to each target; start and
//! wait receive them.

use tailrace_trace::event::{Flow, OneSided};

use crate::graph::Channel;
use crate::graph::vertex::{Deed, Family, Sending};
use crate::reduce::Rank;
use crate::reduce::requests::Role;

impl Rank<'_> {
    pub(crate) fn begin_one_sided(&mut self, i: usize, kind: &OneSided, communicator: u32) -> Role {
        match kind {
            OneSided::Collective => {
                return self.enter_collective(i, communicator, Family::Window, Flow::All);
            }
            OneSided::Post(origins) => {
                self.notify(i, communicator, origins, Channel::POST);
                self.threads[i].exposure.insert(communicator, origins.clone());
            }
            OneSided::Start(targets) => {
                let posts = self.expect(i, communicator, targets, Channel::POST);
                self.threads[i].access.insert(communicator, (posts, targets.clone()));
            }
            OneSided::Complete => {
                let access = self.threads[i].access.get(&communicator);
                let targets = access.map(|(_, targets)| targets.clone()).unwrap_or_default();
                self.notify(i, communicator, &targets, Channel::COMPLETE);
            }
            OneSided::Wait | OneSided::Local => {}
        }
        Role::Nothing
    }

    /// Start may return before the posts came; Complete may not.
    pub(crate) fn end_one_sided(&mut self, i: usize, kind: &OneSided, communicator: u32) {
        match kind {
            OneSided::Start(_) if self.threads[i].main => {
                let access = self.threads[i].access.get(&communicator);
                for role in access.map(|(posts, _)| posts.clone()).unwrap_or_default() {
                    self.emit(i, Deed::Await { role });
                }
            }
            OneSided::Complete => {
                let (posts, _) = self.threads[i].access.remove(&communicator).unwrap_or_default();
                for post in posts {
                    self.finish_role(i, post);
                }
            }
            OneSided::Wait => {
                let origins = self.threads[i].exposure.remove(&communicator).unwrap_or_default();
                let completes = self.expect(i, communicator, &origins, Channel::COMPLETE);
                for complete in completes {
                    self.finish_role(i, complete);
                }
            }
            OneSided::Post(_) | OneSided::Start(_) | OneSided::Collective | OneSided::Local => {}
        }
    }

    fn notify(&mut self, i: usize, communicator: u32, ranks: &[u32], tag: i32) {
        for destination in ranks {
            let (source, destination) = (self.number, *destination);
            let channel = self.channel(Channel { communicator, tag, source, destination });
            self.emit(i, Deed::Send { channel, sending: Sending::Eager });
        }
    }

    fn expect(&mut self, i: usize, communicator: u32, ranks: &[u32], tag: i32) -> Vec<u64> {
        let destination = self.number;
        let one = |source: &u32| {
            let channel = Channel { communicator, tag, source: *source, destination };
            let channel = self.channel(channel);
            self.emit(i, Deed::Post { channel })
        };
        ranks.iter().map(one).collect()
    }
}
