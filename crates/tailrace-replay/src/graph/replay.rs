//! Replaying: a rank goes on until it waits for one that has to go on first.

use std::ops::Range;

use crate::clocks::Clocks;
use crate::graph::chains::Chain;
use crate::graph::moment::Moment;
use crate::graph::replayed::{Answer, Own, Waiter};
use crate::graph::roles::Role;
use crate::graph::trail::{Crossings, From, Lane, Latest};
use crate::graph::vertex::{Deed, Entry, Sending, Source, Vertex};
use crate::graph::wait_states::{Awaited, Wait, WaitStates};
use crate::graph::{Around, Graph};
use crate::options::CriticalPaths;

/// How far a rank's replay came.
enum Reached {
    /// All that there is.
    Everything,
    /// It waits for that rank.
    Needs(u32),
    /// It waits for others, or for what there is not yet.
    Missing,
}

impl Graph<'_> {
    /// Replays all that there is, as far as it depends on nothing that there is not.
    pub(crate) fn replay(&mut self) {
        // Whoever waits for others in turn gets on each time that one of them does.
        let mut got_on = true;
        while got_on && self.waiting() > 0 {
            got_on = false;
            for first in 0..self.chains.len() {
                got_on |= self.replay_rank(first);
            }
        }
    }

    /// Replays a rank, and before it those that it waits for, as far as that goes; whether any got
    /// on.
    fn replay_rank(&mut self, first: usize) -> bool {
        self.stack.push(first);
        self.under_way[first] = true;
        let (mut gave_up, mut got_on) = (None, false);
        while let Some(rank) = self.stack.last().copied() {
            let come = |chain: &Chain| (chain.replayed, chain.part);
            let before = come(&self.chains[rank]);
            let reached = self.around.advance(&mut self.chains[rank], false);
            if come(&self.chains[rank]) > before {
                (gave_up, got_on) = (None, true);
            }
            match reached {
                Reached::Needs(other)
                    if !self.under_way[other as usize] && gave_up != Some(other as usize) =>
                {
                    self.under_way[other as usize] = true;
                    self.stack.push(other as usize);
                }
                Reached::Needs(_) | Reached::Missing | Reached::Everything => {
                    self.under_way[rank] = false;
                    self.stack.pop();
                    gave_up = Some(rank);
                }
            }
        }
        got_on
    }

    /// Lets the earliest wait that cannot go on, by measured time, wait for what is known alone.
    pub(crate) fn force(&mut self) {
        let waiting = self.chains.iter().filter(|chain| chain.waiting() > 0);
        let due = |chain: &Chain| chain.due(&chain.vertices[chain.replayed]);
        let next = waiting.min_by_key(|chain| (due(chain), chain.rank));
        if let Some(rank) = next.map(|chain| chain.rank) {
            self.around.advance(&mut self.chains[rank as usize], true);
            self.replay();
        }
    }

    /// What was sent to receives by the time at which they are cancelled is known.
    pub(crate) fn cancel(&mut self) {
        let Self { chains, around, .. } = self;
        for (rank, role, at) in around.cancelled.drain(..) {
            match chains[rank].roles.remove(role) {
                Some(Role::Send(message) | Role::Eager(message)) => {
                    around.messages.sender_done(message);
                }
                Some(Role::Receive(message)) => around.messages.cancel_receive(message, at),
                Some(Role::Collective(part)) => around.collectives.leave(&part),
                Some(Role::Nothing) | None => {}
            }
        }
    }
}

impl Around<'_> {
    /// Replays a rank as far as that goes; `force`: its next wait is for what is known alone.
    fn advance(&mut self, chain: &mut Chain, mut force: bool) -> Reached {
        let vertices = std::mem::take(&mut chain.vertices);
        let mut reached = Reached::Everything;
        for vertex in &vertices[chain.replayed..chain.until] {
            if vertex.deed.waits() {
                let why = match vertex.deed {
                    Deed::Meet(entry) => self.meet(chain, vertex, &entry),
                    Deed::FinishAll { first, number } => {
                        self.finish_all(chain, vertex, first..first + u64::from(number), force)
                    }
                    deed => self.wait(chain, vertex, deed),
                };
                match why {
                    None => {}
                    Some(_) if force => self.forced += 1,
                    Some(why) => {
                        reached = why;
                        break;
                    }
                }
                force = false;
                match vertex.deed {
                    Deed::Meet(_) => self.leave_met(chain, vertex),
                    deed => {
                        chain.last_wait = vertex.at;
                        if let Deed::Finish { role } = deed {
                            self.end_role(chain, vertex, role);
                        }
                    }
                }
            } else {
                self.pass(chain, vertex);
            }
            chain.replayed += 1;
        }
        chain.vertices = vertices;
        self.fronts[chain.rank as usize] = chain.front(self.horizon);
        reached
    }

    /// The rank enters a collective and waits for it, if it knows for what; else why it does not.
    #[inline(never)] // what most waits are is small enough to stay in registers
    fn meet(&mut self, chain: &mut Chain, vertex: &Vertex, entry: &Entry) -> Option<Reached> {
        let Self { fronts, collectives, tables, ranks, crossings, wait_states, .. } = self;
        if chain.part == 0 {
            chain.roles.skip();
            chain.met = collectives.enter(tables, entry, chain.source(vertex, *ranks));
            chain.part = 1;
        }
        // Not copied: it would be read before it is there.
        let part = chain.met.as_ref()?;
        let at = vertex.since;
        let waiter = Waiter { fronts, rank: chain.rank, at, whatever: !self.guarded };
        let mut follow = Follow { ranks: *ranks, crossings, wait_states };
        let span = (vertex.at, at);
        let of_root;
        let latest = match collectives.dependency(tables, part, &waiter) {
            Answer::Nothing => return None,
            Answer::One(source) => {
                of_root = Latest::of(source);
                &of_root
            }
            Answer::After(latest) => latest,
            Answer::Needs(other) => return Some(Reached::Needs(other)),
            Answer::Missing => return Some(Reached::Missing),
        };
        let local = chain.local(vertex, *ranks);
        follow.latest(chain, (vertex, span, local), None, latest);
        None
    }

    /// … and leaves.
    #[inline]
    fn leave_met(&mut self, chain: &mut Chain, vertex: &Vertex) {
        (chain.last_wait, chain.part) = (vertex.since, 0);
        if let Some(part) = &chain.met {
            self.collectives.leave(part);
        }
    }

    /// The rank waits for roles one after another. The last is over as well, unless there is a
    /// reason why it is not.
    #[inline(never)]
    fn finish_all(
        &mut self,
        chain: &mut Chain,
        vertex: &Vertex,
        roles: Range<u64>,
        mut force: bool,
    ) -> Option<Reached> {
        for role in roles.skip(chain.part as usize) {
            match self.wait(chain, vertex, Deed::Finish { role }) {
                None => {}
                Some(_) if force => self.forced += 1,
                why => return why,
            }
            force = false;
            chain.last_wait = vertex.at;
            self.end_role(chain, vertex, role);
            chain.part += 1;
        }
        chain.part = 0;
        None
    }

    /// A vertex at which the rank does not wait.
    #[inline]
    fn pass(&mut self, chain: &mut Chain, vertex: &Vertex) {
        let Self { messages, collectives, locks, tables, ranks, .. } = self;
        let source = |chain: &Chain| chain.source(vertex, *ranks);
        match vertex.deed {
            Deed::Send { channel, sending } => {
                let waits =
                    matches!(sending, Sending::Rendezvous | Sending::InParts { rendezvous: true });
                let number = chain.channels[channel as usize];
                let message = messages.send(number, source(chain), waits);
                if matches!(sending, Sending::InParts { .. }) {
                    messages.send_in_parts(message);
                }
                match sending {
                    Sending::Eager => messages.sender_done(message),
                    Sending::Short | Sending::InParts { rendezvous: false } => {
                        chain.roles.push(Role::Eager(message));
                    }
                    Sending::Rendezvous | Sending::InParts { .. } => {
                        chain.roles.push(Role::Send(message));
                    }
                }
            }
            Deed::Ready { role } => {
                if let Some(Role::Send(message) | Role::Eager(message)) = chain.roles.get(role) {
                    messages.ready(*message, source(chain));
                }
            }
            Deed::Post { channel } => {
                let message = messages.post(chain.channels[channel as usize], source(chain));
                chain.roles.push(Role::Receive(message));
            }
            Deed::Mark { thread } => {
                let thread = thread as usize;
                if chain.marks.len() <= thread {
                    chain.marks.resize(thread + 1, None);
                }
                chain.marks[thread] = Some(source(chain));
            }
            Deed::LatePost { channel, thread } => {
                let mark = chain.marks.get_mut(thread as usize).and_then(Option::take);
                let mut source = mark.unwrap_or_else(|| source(chain));
                source.at = vertex.at;
                let message = messages.post(chain.channels[channel as usize], source);
                chain.roles.push(Role::Receive(message));
            }
            Deed::Enter(entry) => {
                // Not by way of an Option: it would be read before it is there.
                match collectives.enter(tables, &entry, source(chain)) {
                    Some(part) => chain.roles.push(Role::Collective(part)),
                    None => chain.roles.push(Role::Nothing),
                }
            }
            Deed::FileEnded { role } => {
                let source = source(chain);
                if let Some(Role::Collective(part)) = chain.roles.get_mut(role) {
                    collectives.file_call_ended(part, source);
                }
            }
            Deed::Lock { lock } => {
                locks.lock(chain.locks[lock as usize], chain.rank, vertex.at);
            }
            Deed::Release { lock } => locks.release(chain.locks[lock as usize], source(chain)),
            Deed::Released { lock } => locks.released(chain.locks[lock as usize], source(chain)),
            Deed::OwnBegins { .. } | Deed::OwnEnds { .. } => {
                chain.own_file_call(vertex, *ranks, &mut self.crossings);
            }
            Deed::Cancel { role } => {
                self.cancelled.push((chain.rank as usize, role, vertex.at));
            }
            Deed::Leave { role } | Deed::Free { role } => self.end_role(chain, vertex, role),
            Deed::Await { .. }
            | Deed::Finish { .. }
            | Deed::FinishAll { .. }
            | Deed::Meet(_)
            | Deed::Granted { .. }
            | Deed::Probe { .. } => {
                unreachable!("it waits")
            }
        }
    }

    /// The rank waits, if it knows for what; else why it does not.
    #[allow(clippy::inline_always)] // into the loop over vertices
    #[inline(always)]
    fn wait(&mut self, chain: &mut Chain, vertex: &Vertex, deed: Deed) -> Option<Reached> {
        let Self { fronts, messages, collectives, locks, tables, .. } = self;
        let waiter = Waiter { fronts, rank: chain.rank, at: vertex.at, whatever: !self.guarded };
        let role = match deed {
            Deed::Await { role } | Deed::Finish { role } => chain.roles.get(role).copied(),
            _ => None,
        };
        let answer = match (deed, &role) {
            (Deed::Granted { lock }, _) => locks.granted(chain.locks[lock as usize], &waiter),
            (Deed::Probe { channel }, _) => {
                messages.probed(chain.channels[channel as usize], &waiter)
            }
            (_, Some(Role::Receive(message))) => messages.received(*message, &waiter),
            (_, Some(Role::Send(message))) => messages.taken(*message, &waiter),
            (Deed::Await { .. }, Some(Role::Collective(part))) => {
                collectives.completed_entry(tables, part, &waiter)
            }
            (_, Some(Role::Collective(part))) => collectives.dependency(tables, part, &waiter),
            _ => Answer::Nothing,
        };
        let mut follow = Follow {
            ranks: self.ranks,
            crossings: &mut self.crossings,
            wait_states: &mut self.wait_states,
        };
        let span = (vertex.since, vertex.at);
        match answer {
            Answer::Nothing => {}
            Answer::One(source) => follow.one(chain, (vertex, span), role, source),
            Answer::After(latest) => {
                let local = chain.local(vertex, self.ranks);
                follow.latest(chain, (vertex, span, local), role, latest);
            }
            Answer::Needs(other) => return Some(Reached::Needs(other)),
            Answer::Missing => return Some(Reached::Missing),
        }
        None
    }

    /// The rank is done with the role.
    #[inline]
    fn end_role(&mut self, chain: &mut Chain, vertex: &Vertex, number: u64) {
        match chain.roles.remove(number) {
            Some(Role::Send(message) | Role::Eager(message)) => self.messages.sender_done(message),
            Some(Role::Receive(message)) => match vertex.deed {
                Deed::Free { .. } => self.messages.free_receive(message, vertex.at),
                _ => self.messages.receiver_done(message, vertex.at),
            },
            Some(Role::Collective(part)) => self.collectives.leave(&part),
            Some(Role::Nothing) | None => {}
        }
    }
}

/// What becomes of a rank that has waited.
struct Follow<'a> {
    ranks: i64,
    crossings: &'a mut Crossings,
    wait_states: &'a mut WaitStates,
}

impl Follow<'_> {
    /// The rank goes on no earlier than the source: mostly it would not anyway.
    #[allow(clippy::inline_always)] // into the loop over vertices
    #[inline(always)]
    fn one(
        &mut self,
        chain: &mut Chain,
        (vertex, span): (&Vertex, (i64, i64)),
        role: Option<Role>,
        source: &Source,
    ) {
        let local = chain.local(vertex, self.ranks);
        let since = span.0.max(chain.waited);
        let own = chain.ahead.clocks.plus(local);
        if source.at > since || !source.moment.clocks.is_until(own) {
            self.latest(chain, (vertex, span, local), role, &Latest::of(source));
        }
    }

    /// … and no earlier than the latest of what it waited for. `local`: what its own time comes to.
    fn latest(
        &mut self,
        chain: &mut Chain,
        (vertex, (since, at), local): (&Vertex, (i64, i64), Clocks),
        role: Option<Role>,
        latest: &Latest,
    ) {
        let rank = chain.rank;
        let Moment { clocks, trails } = &mut chain.ahead;
        if self.crossings.critical_paths == CriticalPaths::LeftOut {
            *clocks = clocks.max(latest.clocks().minus(local));
            return;
        }
        let since = since.max(chain.waited);
        let Clocks { net, even, ideal } = clocks.plus(local);
        let deciding = latest.deciding([since, net, even, ideal]);
        if !self.crossings.too_many {
            for (trail, from) in trails.iter_mut().zip(deciding) {
                if let Some(from) = from {
                    *trail = self.crossings.cross(Lane::main(rank), at, from);
                }
            }
        }
        *clocks = clocks.max(latest.clocks().minus(local));
        if let Some(from) = deciding[0] {
            let (begin, end) = (since.max(0), from.at.min(at));
            chain.waited = end;
            let cause = self.crossings.get(from.crossing).lane;
            let (awaited, site) = (awaited(vertex.deed, role), vertex.site);
            self.wait_states.add(Wait { awaited, site, rank, cause, begin, end });
        }
    }
}

fn awaited(deed: Deed, role: Option<Role>) -> Awaited {
    match (deed, role) {
        (Deed::Granted { .. }, _) => Awaited::Lock,
        (_, Some(Role::Send(_))) => Awaited::Receiver,
        (Deed::Meet(_), _) | (_, Some(Role::Collective(_))) => Awaited::Others,
        _ => Awaited::Sender,
    }
}

impl Chain {
    /// A file call of another thread than the main one begins, when whatever it waited for before
    /// was there; or it ends. K counts the ranks whose main threads are in file calls.
    fn own_file_call(&mut self, vertex: &Vertex, ranks: i64, crossings: &mut Crossings) {
        let (thread, ended) = match vertex.deed {
            Deed::OwnBegins { thread } => (thread as usize, None),
            Deed::OwnEnds { thread, duration } => (thread as usize, Some(duration)),
            _ => return,
        };
        if self.threads.len() <= thread {
            self.threads.resize(thread + 1, Own::default());
        }
        let total = vertex.areas.wrapping_sub(self.first_area) as usize + 1;
        let total = self.shared.get(total).copied().unwrap_or(0);
        let local = self.local(vertex, ranks);
        let Moment { clocks, trails } = self.ahead;
        let own = &mut self.threads[thread];
        match ended {
            None => {
                let lane = Lane { rank: self.rank, thread: thread as u32 };
                let cross = |crossing| {
                    let from = From { at: vertex.at, rank: self.rank, crossing };
                    crossings.cross(lane, vertex.at, &from)
                };
                let main = Moment { clocks: clocks.plus(local), trails: trails.map(cross) };
                let is_first = own.number == 0;
                own.moment = if is_first { main } else { own.moment.max(main) };
                own.begin = total;
            }
            Some(duration) => {
                own.moment.clocks.net += duration;
                own.moment.clocks.even += (total - own.begin + duration).min(duration * ranks);
            }
        }
        own.number = vertex.owns;
    }
}
