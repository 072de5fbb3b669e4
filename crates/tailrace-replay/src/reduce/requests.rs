//! What calls leave for later calls of their rank.

use tailrace_trace::event::Operation;

use crate::numbered::Numbered;

/// What a call that has begun remembers for its end: the numbers of its roles in the graph. One
/// number at most, so that it stays in registers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Role {
    #[default]
    Nothing,
    One(u64),
    /// A send, and a receive that has the next number.
    Two(u64),
    /// A receive whose source becomes known at its end.
    LateReceive,
    /// … and the send beside it.
    SendAndLateReceive(u64),
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

/// What is to be completed with a request; it is over, unless it may start again. `None`: there is
/// no such request.
#[allow(clippy::inline_always)] // into the loop over rows
#[inline(always)]
pub(crate) fn complete(requests: &mut Numbered<Request>, number: u64) -> Option<Role> {
    let stays = |request: &Request| matches!(request, Request::Persistent(_));
    match requests.remove_unless(number, stays) {
        Some(Request::Active(role) | Request::OpaqueFile(role)) => Some(role),
        _ => start_again(requests, number),
    }
}

#[cold]
fn start_again(requests: &mut Numbered<Request>, number: u64) -> Option<Role> {
    match requests.get_mut(number) {
        Some(Request::Persistent(persistent)) => Some(persistent.active.take().unwrap_or_default()),
        _ => None,
    }
}
