//! Vertices at which a rank waits: for whom, and what becomes of it.
//!
//! Mostly it is known for whom, and that takes few steps; the rest is apart.

use std::ops::Range;

use crate::clocks::Clocks;
use crate::graph::Around;
use crate::graph::chains::Chain;
use crate::graph::collectives::{Known, Part};
use crate::graph::follow::Follow;
use crate::graph::messages::FORESEEN;
use crate::graph::replay::Reached;
use crate::graph::replayed::{Answer, Waiter};
use crate::graph::roles::Role;
use crate::graph::trail::Latest;
use crate::graph::vertex::{Deed, Entry, Vertex};
use crate::graph::wait_states::Awaited;

/// Whether a wait for a role is over.
#[derive(Clone, Copy)]
enum Finished {
    Now,
    Later(Reached),
    /// That takes more to tell.
    InDoubt,
}

impl Around<'_> {
    /// The rank enters a collective, waits for it, and leaves, if it knows for what to wait; else
    /// why it does not.
    #[inline(never)]
    pub(crate) fn meet(
        &mut self,
        chain: &mut Chain,
        vertex: &Vertex,
        entry: &Entry,
        force: bool,
    ) -> Option<Reached> {
        // Not by way of the chain: it would be read before it is there.
        let met = match chain.part {
            0 => self.enter_to_meet(chain, vertex, entry),
            _ => chain.met,
        };
        if let Some(part) = met {
            let Self { collectives, ranks, crossings, wait_states, .. } = self;
            match collectives.known(&part, vertex.since) {
                Known::Latest(latest) => {
                    let follow = Follow { crossings, wait_states };
                    let (span, local) = ((vertex.at, vertex.since), chain.local(vertex, *ranks));
                    follow.latest(chain, (vertex, span, local), Awaited::Others, latest);
                }
                Known::SomeLack if self.is_patient && !force => {
                    (chain.met, chain.part) = (met, 1);
                    return Some(Reached::Missing);
                }
                Known::SomeLack | Known::InDoubt => {
                    let why = self.meet_in_doubt(chain, vertex, &part, force);
                    if why.is_some() {
                        (chain.met, chain.part) = (met, 1);
                        return why;
                    }
                }
            }
            self.collectives.leave(&part);
        }
        (chain.last_wait, chain.part) = (vertex.since, 0);
        None
    }

    /// … where not all are known to have entered before.
    #[inline(never)]
    fn meet_in_doubt(
        &mut self,
        chain: &mut Chain,
        vertex: &Vertex,
        part: &Part,
        force: bool,
    ) -> Option<Reached> {
        let Self { fronts, collectives, tables, ranks, crossings, wait_states, .. } = self;
        let (rank, at, whatever) = (chain.rank, vertex.since, !self.guarded);
        let waiter = Waiter { fronts, rank, at, whatever, is_patient: self.is_patient };
        let of = (vertex, (vertex.at, at), chain.local(vertex, *ranks));
        let follow = Follow { crossings, wait_states };
        match collectives.dependency(tables, part, &waiter) {
            Answer::Nothing => {}
            Answer::One(source) => {
                follow.latest(chain, of, Awaited::Others, &Latest::of(source));
            }
            Answer::After(latest) => follow.latest(chain, of, Awaited::Others, latest),
            Answer::Needs(other) => return self.does_not_wait(Reached::Needs(other), force),
            Answer::Missing => return self.does_not_wait(Reached::Missing, force),
        }
        None
    }

    /// The rank waits for roles one after another. The last is over as well, unless there is a
    /// reason why it is not.
    #[inline(never)]
    pub(crate) fn finish_all(
        &mut self,
        chain: &mut Chain,
        vertex: &Vertex,
        roles: Range<u64>,
        mut force: bool,
    ) -> Option<Reached> {
        let local = chain.local(vertex, self.ranks);
        let mut role = roles.start + u64::from(chain.part);
        while role < roles.end {
            let finished = self.finish(chain, (vertex, local), role);
            if !matches!(finished, Finished::Now) {
                let why = match finished {
                    Finished::Later(why) if !force => Some(why),
                    _ => self.wait(chain, vertex, Deed::Finish { role }, force),
                };
                if why.is_some() {
                    chain.part = (role - roles.start) as u32;
                    return why;
                }
                self.end_role(chain, vertex, role);
            }
            force = false;
            chain.last_wait = vertex.at;
            role += 1;
            if (role - roles.start).is_multiple_of(FORESEEN as u64) {
                self.foresee(chain, role..roles.end);
            }
        }
        chain.part = 0;
        None
    }

    /// Reads what the rank waits for next.
    #[inline(never)]
    fn foresee(&self, chain: &Chain, roles: Range<u64>) {
        let message = |role| match chain.roles.recent(role) {
            Some((_, Role::Receive(message))) => Some(*message),
            _ => None,
        };
        self.messages.foresee_messages(roles.take(FORESEEN).filter_map(message));
    }

    /// … for one, where that takes few steps: mostly it does.
    #[inline]
    fn finish(
        &mut self,
        chain: &mut Chain,
        (vertex, local): (&Vertex, Clocks),
        role: u64,
    ) -> Finished {
        let Self { fronts, messages, collectives, crossings, wait_states, .. } = self;
        let follow = Follow { crossings, wait_states };
        let span = (vertex.since, vertex.at);
        let Some((place, role)) = chain.roles.recent(role) else { return Finished::InDoubt };
        match *role {
            Role::Receive(message) => {
                if let Some(source) = messages.receive(message, vertex.at) {
                    follow.one(chain, (vertex, span, local), Awaited::Sender, source);
                } else {
                    let (sent, by) = messages.sender(message);
                    let is_behind = self.guarded && fronts[by as usize].at < vertex.at;
                    let later = !sent && is_behind && by != chain.rank;
                    let needs = Finished::Later(Reached::Needs(by));
                    return if later { needs } else { Finished::InDoubt };
                }
            }
            Role::Collective(part) => match collectives.known(&part, vertex.at) {
                Known::Latest(latest) => {
                    follow.latest(chain, (vertex, span, local), Awaited::Others, latest);
                    collectives.leave(&part);
                }
                Known::SomeLack if self.is_patient => {
                    return Finished::Later(Reached::Missing);
                }
                Known::SomeLack | Known::InDoubt => return Finished::InDoubt,
            },
            _ => return Finished::InDoubt,
        }
        chain.roles.remove_recent(place);
        Finished::Now
    }

    /// The rank waits until all have entered, and goes on in the collective.
    #[inline(never)]
    pub(crate) fn wait_inside(
        &mut self,
        chain: &mut Chain,
        vertex: &Vertex,
        role: u64,
        force: bool,
    ) -> Option<Reached> {
        let Self { collectives, ranks, crossings, wait_states, .. } = self;
        if let Some(Role::Collective(part)) = chain.roles.get(role) {
            if let Some(latest) = collectives.latest_entry_before(part, vertex.at) {
                let follow = Follow { crossings, wait_states };
                let (span, local) = ((vertex.since, vertex.at), chain.local(vertex, *ranks));
                follow.latest(chain, (vertex, span, local), Awaited::Others, latest);
                chain.last_wait = vertex.at;
                return None;
            }
            if self.is_patient && !force && !collectives.is_complete(part) {
                return Some(Reached::Missing);
            }
        }
        self.pass_wait(chain, vertex, force)
    }

    /// Any other vertex at which the rank waits.
    #[inline(never)]
    pub(crate) fn pass_wait(
        &mut self,
        chain: &mut Chain,
        vertex: &Vertex,
        force: bool,
    ) -> Option<Reached> {
        let why = self.wait(chain, vertex, vertex.deed, force);
        if why.is_none() {
            chain.last_wait = vertex.at;
        }
        why
    }

    /// The rank waits, if it knows for what; else why it does not.
    #[inline(never)]
    fn wait(
        &mut self,
        chain: &mut Chain,
        vertex: &Vertex,
        deed: Deed,
        force: bool,
    ) -> Option<Reached> {
        let Self { fronts, messages, collectives, locks, tables, .. } = self;
        let (rank, at, whatever) = (chain.rank, vertex.at, !self.guarded);
        let waiter = Waiter { fronts, rank, at, whatever, is_patient: self.is_patient };
        let role = match deed {
            Deed::Await { role } | Deed::Finish { role } => chain.roles.get(role),
            _ => None,
        };
        let (answer, awaited) = match (role, deed) {
            (Some(Role::Receive(message)), _) => {
                (messages.received(*message, &waiter), Awaited::Sender)
            }
            (Some(Role::Send(message)), _) => {
                (messages.taken(*message, &waiter), Awaited::Receiver)
            }
            (Some(Role::Collective(part)), Deed::Await { .. }) => {
                (collectives.completed_entry(tables, part, &waiter), Awaited::Others)
            }
            (Some(Role::Collective(part)), _) => {
                (collectives.dependency(tables, part, &waiter), Awaited::Others)
            }
            (_, Deed::Granted { lock }) => {
                (locks.granted(chain.locks[lock as usize], &waiter), Awaited::Lock)
            }
            (_, Deed::Probe { channel }) => {
                (messages.probed(chain.channels[channel as usize], &waiter), Awaited::Sender)
            }
            _ => return None,
        };
        let follow = Follow { crossings: &mut self.crossings, wait_states: &mut self.wait_states };
        let span = (vertex.since, vertex.at);
        match answer {
            Answer::Nothing => {}
            Answer::One(source) => {
                let local = chain.local(vertex, self.ranks);
                follow.one(chain, (vertex, span, local), awaited, source);
            }
            Answer::After(latest) => {
                let local = chain.local(vertex, self.ranks);
                follow.latest(chain, (vertex, span, local), awaited, latest);
            }
            Answer::Needs(other) => return self.does_not_wait(Reached::Needs(other), force),
            Answer::Missing => return self.does_not_wait(Reached::Missing, force),
        }
        None
    }

    /// Why the rank does not go on, unless that is given up.
    fn does_not_wait(&mut self, why: Reached, force: bool) -> Option<Reached> {
        self.forced += u64::from(force);
        (!force).then_some(why)
    }
}
