//! What calls leave for later calls of their rank.

use tailrace_trace::event::Operation;

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
