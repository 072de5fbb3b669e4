//! What calls leave for later calls of their rank.

use std::num::NonZeroU64;

use hashbrown::HashMap;
use tailrace_trace::event::Operation;

use crate::numbered::Numbered;

/// What a call that has begun remembers for its end: the numbers of its roles in the graph. One
/// number at most, so that it stays in registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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

/// What an init call prepared, and what became of its last start.
#[derive(Debug)]
pub(crate) struct Persistent {
    pub operation: Operation,
    pub active: Option<Role>,
}

/// Non-blocking operations between their start and their completion, by number.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    open: Numbered<Open>,
    persistent: HashMap<u64, Persistent>,
}

impl Requests {
    #[allow(clippy::inline_always)] // into the loop over rows
    #[inline(always)]
    pub(crate) fn start(&mut self, role: Role) {
        self.open.push(Open::of(role));
    }

    /// … a file call that others may be inside of.
    pub(crate) fn start_opaque_file(&mut self, role: Role) {
        self.open.push(Open::of(role).opaque_file());
    }

    pub(crate) fn prepare(&mut self, operation: Operation) {
        self.persistent.insert(self.open.next(), Persistent { operation, active: None });
        self.open.push(Open::PERSISTENT);
    }

    pub(crate) fn persistent(&mut self, number: u64) -> Option<&mut Persistent> {
        self.persistent.get_mut(&number)
    }

    pub(crate) fn is_opaque_file(&self, number: u64) -> bool {
        self.open.get(number).is_some_and(|open| open.is_opaque_file())
    }

    /// What is to be completed with the request; it is over, unless it may start again. `None`:
    /// there is no such request.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    pub(crate) fn complete(&mut self, number: u64) -> Option<Role> {
        match self.open.remove_unless(number, |open| *open == Open::PERSISTENT) {
            Some(open) => Some(open.role()),
            None => self.end_persistent(number),
        }
    }

    #[cold]
    fn end_persistent(&mut self, number: u64) -> Option<Role> {
        let persistent = self.persistent.get_mut(&number)?;
        Some(persistent.active.take().unwrap_or_default())
    }

    /// What is under way of the request; nobody waits for it.
    pub(crate) fn cancel(&mut self, number: u64) -> Role {
        if let Some(persistent) = self.persistent.get_mut(&number) {
            return persistent.active.as_mut().map(std::mem::take).unwrap_or_default();
        }
        match self.open.get_mut(number) {
            Some(open) if !open.is_opaque_file() => {
                std::mem::replace(open, Open::of(Role::Nothing)).role()
            }
            _ => Role::Nothing,
        }
    }

    /// … and there is no such request any more.
    pub(crate) fn free(&mut self, number: u64) -> Role {
        let open = self.open.remove(number);
        match self.persistent.remove(&number) {
            Some(persistent) => persistent.active.unwrap_or_default(),
            None => open.map(Open::role).unwrap_or_default(),
        }
    }

    /// Gives back memory where nothing recent is open.
    pub(crate) fn shrink(&mut self) {
        self.open.shrink();
    }
}

/// A request that is open: its role in one word, as a million may be open at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Open(NonZeroU64);

impl Open {
    const NOTHING: u64 = 1;
    const ONE: u64 = 2;
    const TWO: u64 = 3;
    const LATE_RECEIVE: u64 = 4;
    const SEND_AND_LATE_RECEIVE: u64 = 5;
    const FILE_WAIT: u64 = 6;
    const PERSISTENT: Self = Self(NonZeroU64::new(7).expect("it is not 0"));
    /// Above these, and below the role's number.
    const OPAQUE_FILE: u64 = 1 << 3;
    const BITS: u32 = 4;

    #[inline]
    fn of(role: Role) -> Self {
        let (kind, number) = match role {
            Role::Nothing => (Self::NOTHING, 0),
            Role::One(role) => (Self::ONE, role),
            Role::Two(send) => (Self::TWO, send),
            Role::LateReceive => (Self::LATE_RECEIVE, 0),
            Role::SendAndLateReceive(send) => (Self::SEND_AND_LATE_RECEIVE, send),
            Role::FileWait => (Self::FILE_WAIT, 0),
        };
        let word = number << Self::BITS | kind;
        Self(NonZeroU64::new(word).unwrap_or(NonZeroU64::MIN)) // kinds are not 0
    }

    fn opaque_file(self) -> Self {
        Self(self.0 | Self::OPAQUE_FILE)
    }

    fn is_opaque_file(self) -> bool {
        self.0.get() & Self::OPAQUE_FILE != 0
    }

    #[inline]
    fn role(self) -> Role {
        let (kind, number) = (self.0.get() & (Self::OPAQUE_FILE - 1), self.0.get() >> Self::BITS);
        match kind {
            Self::ONE => Role::One(number),
            Self::TWO => Role::Two(number),
            Self::LATE_RECEIVE => Role::LateReceive,
            Self::SEND_AND_LATE_RECEIVE => Role::SendAndLateReceive(number),
            Self::FILE_WAIT => Role::FileWait,
            _ => Role::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_holds_any_role() {
        assert_eq!(size_of::<Option<Open>>(), 8);
        let roles = [
            Role::Nothing,
            Role::One(0),
            Role::Two(7),
            Role::LateReceive,
            Role::SendAndLateReceive(1 << 50),
            Role::FileWait,
        ];
        for role in roles {
            let open = Open::of(role);
            assert_eq!((open.role(), open.is_opaque_file()), (role, false));
            assert_eq!(
                (open.opaque_file().role(), open.opaque_file().is_opaque_file()),
                (role, true)
            );
        }
    }

    #[test]
    fn what_is_persistent_completes_again_and_again_until_it_is_freed() {
        let mut requests = Requests::default();
        requests.prepare(Operation::Plain);
        requests.start(Role::One(5));
        for role in [Role::One(6), Role::One(7)] {
            requests.persistent(0).unwrap().active = Some(role);
            assert_eq!(requests.complete(0), Some(role));
        }
        assert_eq!((requests.complete(0), requests.free(0)), (Some(Role::Nothing), Role::Nothing));
        assert_eq!((requests.complete(0), requests.complete(1)), (None, Some(Role::One(5))));
        assert_eq!(requests.complete(1), None);
    }
}
