//! The roles of one rank by number: a short window of recent ones, and the few that outlive it.

use std::collections::VecDeque;

use hashbrown::HashMap;

use crate::graph::collectives::Part;
use crate::graph::messages::MessageId;

/// What a role of a rank stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Role {
    /// A send that waits for its receive to be posted, and one that waits for nothing.
    Send(MessageId),
    Eager(MessageId),
    Receive(MessageId),
    Collective(Part),
    /// Not followed.
    Nothing,
}

/// Numbers come in order; most roles are over soon after they began. Memory follows the open ones.
#[derive(Debug, Default)]
pub(crate) struct Roles {
    /// Number of the first in `recent`.
    first: u64,
    recent: VecDeque<Option<Role>>,
    open_recent: usize,
    /// Open roles, such as those of ranks that died, that others have long overtaken.
    old: HashMap<u64, Role>,
}

impl Roles {
    /// Takes the next number.
    #[inline]
    pub(crate) fn push(&mut self, role: Role) {
        self.recent.push_back(Some(role));
        self.open_recent += 1;
        while self.recent.len() > 2 * self.open_recent + 64 {
            self.retire();
        }
    }

    #[inline]
    pub(crate) fn get(&self, number: u64) -> Option<Role> {
        match number.checked_sub(self.first) {
            Some(place) => *self.recent.get(usize::try_from(place).ok()?)?,
            None => self.old.get(&number).copied(),
        }
    }

    #[inline]
    pub(crate) fn remove(&mut self, number: u64) {
        let Some(place) = number.checked_sub(self.first) else {
            self.old.remove(&number);
            return;
        };
        let role = usize::try_from(place).ok().and_then(|place| self.recent.get_mut(place));
        if role.and_then(Option::take).is_some() {
            self.open_recent -= 1;
        }
        while let Some(None) = self.recent.front() {
            self.recent.pop_front();
            self.first += 1;
        }
    }

    fn retire(&mut self) {
        if let Some(Some(role)) = self.recent.pop_front() {
            self.old.insert(self.first, role);
            self.open_recent -= 1;
        }
        self.first += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_role_stays_while_a_million_others_pass() {
        let mut roles = Roles::default();
        roles.push(Role::Send(7));
        for number in 1..1_000_000 {
            roles.push(Role::Nothing);
            assert!(matches!(roles.get(number), Some(Role::Nothing)));
            roles.remove(number);
        }
        assert!(roles.recent.capacity() < 1000);
        assert!(matches!(roles.get(0), Some(Role::Send(7))));
        roles.remove(0);
        assert!(roles.get(0).is_none() && roles.get(1_000_000).is_none());
    }

    #[test]
    fn over_in_any_order() {
        let mut roles = Roles::default();
        (0..100).for_each(|_| roles.push(Role::Nothing));
        for number in (0..100).rev() {
            assert!(roles.get(number).is_some());
            roles.remove(number);
        }
        roles.push(Role::Receive(1));
        assert!(matches!(roles.get(100), Some(Role::Receive(1))));
    }
}
