//! Replaying: a rank goes on until it waits for one that has to go on first.

use crate::clocks::Clocks;
use crate::graph::chains::Chain;
use crate::graph::moment::Moment;
use crate::graph::replayed::{Answer, Own, Waiter};
use crate::graph::roles::Role;
use crate::graph::trail::{Crossings, From, Lane, Latest};
use crate::graph::vertex::{Deed, Sending, Source, Vertex};
use crate::graph::wait_states::{Awaited, Wait, WaitStates};
use crate::graph::{Around, Graph};

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
        let mut before = usize::MAX;
        let mut waiting = self.waiting();
        // Whoever waits for others in turn gets on each time that one of them does.
        while (1..before).contains(&waiting) {
            (0..self.chains.len()).for_each(|first| self.replay_rank(first));
            before = std::mem::replace(&mut waiting, self.waiting());
        }
    }

    /// Replays a rank, and before it those that it waits for, as far as that goes.
    fn replay_rank(&mut self, first: usize) {
        self.stack.push(first);
        self.under_way[first] = true;
        let mut gave_up = None;
        while let Some(rank) = self.stack.last().copied() {
            let before = self.chains[rank].replayed;
            let reached = self.around.advance(&mut self.chains[rank], false);
            if self.chains[rank].replayed > before {
                gave_up = None;
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
    }

    /// Lets the earliest wait that cannot go on, by measured time, wait for what is known alone.
    pub(crate) fn force(&mut self) {
        let waiting = self.chains.iter().filter(|chain| chain.waiting() > 0);
        let next = waiting.min_by_key(|chain| (chain.vertices[chain.replayed].at, chain.rank));
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
                match self.wait(chain, vertex) {
                    None => {}
                    Some(_) if force => self.forced += 1,
                    Some(why) => {
                        reached = why;
                        break;
                    }
                }
                force = false;
                chain.last_wait = vertex.at;
                if let Deed::Finish { role } = vertex.deed {
                    self.end_role(chain, vertex, role);
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
            | Deed::Granted { .. }
            | Deed::Probe { .. } => {
                unreachable!("it waits")
            }
        }
    }

    /// The rank waits, if it knows for what; else why it does not.
    #[inline]
    fn wait(&mut self, chain: &mut Chain, vertex: &Vertex) -> Option<Reached> {
        let Self { fronts, messages, collectives, locks, tables, .. } = self;
        let waiter = Waiter { fronts, rank: chain.rank, at: vertex.at, whatever: !self.guarded };
        let role = match vertex.deed {
            Deed::Await { role } | Deed::Finish { role } => chain.roles.get(role).copied(),
            _ => None,
        };
        let answer = match (vertex.deed, &role) {
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
        match answer {
            Answer::Nothing => {}
            Answer::One(source) => follow.one(chain, vertex, role, source),
            Answer::After(latest) => {
                let local = chain.local(vertex, self.ranks);
                follow.latest(chain, (vertex, local), role, latest);
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
    #[inline]
    fn one(&mut self, chain: &mut Chain, vertex: &Vertex, role: Option<Role>, source: &Source) {
        let local = chain.local(vertex, self.ranks);
        let since = vertex.since.max(chain.waited);
        let own = chain.ahead.clocks.plus(local);
        if source.at > since || !source.moment.clocks.is_until(own) {
            self.latest(chain, (vertex, local), role, &Latest::of(source));
        }
    }

    /// … and no earlier than the latest of what it waited for. `local`: what its own time comes to.
    fn latest(
        &mut self,
        chain: &mut Chain,
        (vertex, local): (&Vertex, Clocks),
        role: Option<Role>,
        latest: &Latest,
    ) {
        let rank = chain.rank;
        let Moment { clocks, trails } = &mut chain.ahead;
        let since = vertex.since.max(chain.waited);
        let Clocks { net, even, ideal } = clocks.plus(local);
        let deciding = latest.deciding([since, net, even, ideal]);
        if !self.crossings.too_many {
            for (trail, from) in trails.iter_mut().zip(deciding) {
                if let Some(from) = from {
                    *trail = self.crossings.cross(Lane::main(rank), vertex.at, from);
                }
            }
        }
        *clocks = clocks.max(latest.clocks().minus(local));
        if let Some(from) = deciding[0] {
            let (begin, end) = (since.max(0), from.at.min(vertex.at));
            chain.waited = end;
            let cause = self.crossings.get(from.crossing).lane;
            let awaited = awaited(vertex.deed, role);
            self.wait_states.add(Wait { awaited, site: vertex.site, rank, cause, begin, end });
        }
    }
}

fn awaited(deed: Deed, role: Option<Role>) -> Awaited {
    match (deed, role) {
        (Deed::Granted { .. }, _) => Awaited::Lock,
        (_, Some(Role::Send(_))) => Awaited::Receiver,
        (_, Some(Role::Collective(_))) => Awaited::Others,
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
