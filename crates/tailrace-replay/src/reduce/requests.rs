//! Requests of one thread by number: a short window of recent ones, and the few that outlive it.

use std::collections::VecDeque;

use hashbrown::HashMap;
use tailrace_trace::event::Operation;

/// What a call that has begun remembers for its end: the numbers of its roles in the graph.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Role {
    #[default]
    Nothing,
    One(u64),
    /// A send and a receive.
    Two(u64, u64),
    /// A receive whose source becomes known at its end; and the send beside it.
    LateReceive(Option<u64>),
    /// A Wait that completes only opaque file calls.
    FileWait,
}

/// A non-blocking operation between its start and its completion.
#[derive(Debug)]
pub(crate) enum Request {
    Active(Role),
    OpaqueFile(Role),
    Persistent(Box<Persistent>),
}

/// What an init call prepared, and what became of its last start.
#[derive(Debug)]
pub(crate) struct Persistent {
    pub operation: Operation,
    pub active: Option<Role>,
}

/// Numbers come in order; most requests are complete soon after they are started. Memory follows
/// the open ones.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    /// Number of the first in `recent`.
    first: u64,
    recent: VecDeque<Option<Request>>,
    open_recent: usize,
    /// Open requests, such as persistent ones, that others have long overtaken.
    old: HashMap<u64, Request>,
}

impl Requests {
    /// Takes the next number.
    pub(crate) fn push(&mut self, request: Request) {
        self.recent.push_back(Some(request));
        self.open_recent += 1;
        while self.recent.len() > 2 * self.open_recent + 64 {
            self.retire();
        }
    }

    pub(crate) fn get_mut(&mut self, number: u64) -> Option<&mut Request> {
        match number.checked_sub(self.first) {
            Some(place) => self.recent.get_mut(usize::try_from(place).ok()?)?.as_mut(),
            None => self.old.get_mut(&number),
        }
    }

    pub(crate) fn remove(&mut self, number: u64) -> Option<Request> {
        let Some(place) = number.checked_sub(self.first) else { return self.old.remove(&number) };
        let request = self.recent.get_mut(usize::try_from(place).ok()?)?.take()?;
        self.open_recent -= 1;
        while let Some(None) = self.recent.front() {
            self.recent.pop_front();
            self.first += 1;
        }
        Some(request)
    }

    fn retire(&mut self) {
        if let Some(Some(request)) = self.recent.pop_front() {
            self.old.insert(self.first, request);
            self.open_recent -= 1;
        }
        self.first += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_request_stays_while_a_million_others_pass() {
        let mut requests = Requests::default();
        requests.push(Request::OpaqueFile(Role::Nothing));
        for number in 1..1_000_000 {
            requests.push(Request::Active(Role::Nothing));
            assert!(matches!(requests.remove(number), Some(Request::Active(Role::Nothing))));
        }
        assert!(requests.recent.capacity() < 1000);
        assert!(matches!(requests.remove(0), Some(Request::OpaqueFile(Role::Nothing))));
        assert!(requests.remove(0).is_none() && requests.get_mut(1_000_000).is_none());
    }

    #[test]
    fn completion_in_any_order() {
        let mut requests = Requests::default();
        (0..100).for_each(|_| requests.push(Request::Active(Role::Nothing)));
        assert!((0..100).rev().all(|number| requests.remove(number).is_some()));
        requests.push(Request::OpaqueFile(Role::Nothing));
        assert!(matches!(requests.get_mut(100), Some(Request::OpaqueFile(Role::Nothing))));
    }
}
