//! Replaying what is matched: a rank goes on until it waits for one that has to go on first.

use crate::clocks::Clocks;
use crate::graph::Graph;
use crate::graph::chains::Chain;
use crate::graph::moment::Moment;
use crate::graph::replayed::{Answer, Own, Pace};
use crate::graph::roles::Role;
use crate::graph::trail::{Crossings, From, Lane, Latest};
use crate::graph::vertex::{Deed, Vertex};
use crate::graph::wait_states::{Awaited, Wait};

/// How far a rank's replay came.
enum Reached {
    /// All that is matched.
    Everything,
    /// It waits for that rank.
    Needs(u32),
    /// It waits for what is not matched yet.
    Missing,
}

impl Graph<'_> {
    /// Replays all that is matched, as far as it depends on nothing that is not.
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
            let reached = self.advance(rank, false);
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
        let waiting = self.chains.iter().enumerate();
        let next = waiting
            .filter(|(_, chain)| chain.replayed < chain.matched)
            .min_by_key(|(rank, chain)| (chain.vertices[chain.replayed].at, *rank));
        if let Some((rank, _)) = next {
            self.advance(rank, true);
            self.replay();
        }
    }

    fn advance(&mut self, rank: usize, mut force: bool) -> Reached {
        while let Some(vertex) = self.chains[rank].next() {
            let answer = match vertex.deed {
                Deed::Await { role } | Deed::Finish { role } => self.answer(rank, &vertex, role),
                Deed::Probe { .. } => self.answer_probe(rank, &vertex),
                Deed::Granted { lock } => {
                    let lock = self.chains[rank].locks[lock as usize];
                    self.locks.granted(lock, &self.replayed.waiter(rank, &vertex, self.guarded))
                }
                Deed::OwnBegins { .. } | Deed::OwnEnds { .. } => {
                    let chain = &mut self.chains[rank];
                    chain.replayed += 1;
                    let (pace, crossings) = (&mut self.replayed.0[rank], &mut self.crossings);
                    pace.own_file_call(rank as u32, chain, &vertex, self.ranks, crossings);
                    continue;
                }
                Deed::Leave { role } | Deed::Cancel { role } | Deed::Free { role } => {
                    self.end_role(rank, &vertex, role);
                    self.chains[rank].replayed += 1;
                    continue;
                }
                _ => {
                    self.chains[rank].replayed += 1;
                    continue;
                }
            };
            let latest = match answer {
                Answer::After(latest) => latest,
                _ if force => {
                    self.forced += 1;
                    Latest::default()
                }
                Answer::Needs(other) => return Reached::Needs(other),
                Answer::Missing => return Reached::Missing,
            };
            force = false;
            self.go_on_after(rank, &vertex, &latest);
            self.chains[rank].replayed += 1;
            match vertex.deed {
                Deed::Finish { role } => self.end_role(rank, &vertex, role),
                Deed::Probe { .. } => drop(self.chains[rank].probed.pop_front()),
                _ => {}
            }
        }
        Reached::Everything
    }

    /// The rank goes on no earlier than the latest of what it waited for.
    #[inline]
    fn go_on_after(&mut self, rank: usize, vertex: &Vertex, latest: &Latest) {
        let local = self.chains[rank].local(vertex, self.ranks);
        let pace = &mut self.replayed.0[rank];
        let Moment { clocks, mut trails } = pace.ahead();
        let since = vertex.since.max(pace.waited);
        let Clocks { net, even, ideal } = clocks.plus(local);
        let deciding = latest.deciding([since, net, even, ideal]);
        for (trail, from) in trails.iter_mut().zip(deciding) {
            if let Some(from) = from.filter(|_| !self.crossings.too_many) {
                *trail = self.crossings.cross(Lane::main(rank as u32), vertex.at, from);
            }
        }
        pace.ahead.push(Moment { clocks: clocks.max(latest.clocks().minus(local)), trails });
        if let Some(from) = deciding[0] {
            let (begin, end) = (since.max(0), from.at.min(vertex.at));
            pace.waited = end;
            let cause = self.crossings.get(from.crossing).lane;
            let (rank, site) = (rank as u32, vertex.site);
            let awaited = self.awaited(rank, vertex);
            self.wait_states.add(Wait { awaited, site, rank, cause, begin, end });
        }
    }

    fn awaited(&self, rank: u32, vertex: &Vertex) -> Awaited {
        match vertex.deed {
            Deed::Await { role } | Deed::Finish { role } => {
                match self.chains[rank as usize].roles.get(role) {
                    Some(Role::Send(_)) => Awaited::Receiver,
                    Some(Role::Collective(_)) => Awaited::Others,
                    _ => Awaited::Sender,
                }
            }
            Deed::Granted { .. } => Awaited::Lock,
            _ => Awaited::Sender,
        }
    }

    #[inline]
    fn answer(&mut self, rank: usize, vertex: &Vertex, role: u64) -> Answer {
        let Self { chains, replayed, messages, collectives, .. } = self;
        let waiter = replayed.waiter(rank, vertex, self.guarded);
        match chains[rank].roles.get(role).copied() {
            Some(Role::Send(message)) => waiter.wait_for(messages.posted(message)),
            Some(Role::Receive(message)) => waiter.wait_for(messages.sent(message)),
            Some(Role::Collective(part)) if matches!(vertex.deed, Deed::Await { .. }) => {
                collectives.completed_entry(&part, &waiter)
            }
            Some(Role::Collective(part)) => collectives.dependency(&part, &waiter),
            Some(Role::Eager(_) | Role::Nothing) | None => Answer::After(Latest::default()),
        }
    }

    fn answer_probe(&self, rank: usize, vertex: &Vertex) -> Answer {
        let waiter = self.replayed.waiter(rank, vertex, self.guarded);
        match self.chains[rank].probed.front().copied().flatten() {
            Some(message) => waiter.wait_for(self.messages.sent(message)),
            None => Answer::After(Latest::default()),
        }
    }

    /// The rank is done with the role.
    #[inline]
    fn end_role(&mut self, rank: usize, vertex: &Vertex, number: u64) {
        match self.chains[rank].roles.remove(number) {
            Some(Role::Send(message) | Role::Eager(message)) => self.messages.sender_done(message),
            Some(Role::Receive(message)) => match vertex.deed {
                Deed::Cancel { .. } => self.messages.cancel_receive(message, vertex.at),
                Deed::Free { .. } => self.messages.free_receive(message, vertex.at),
                _ => self.messages.receiver_done(message, vertex.at),
            },
            Some(Role::Collective(part)) => self.collectives.leave(&part),
            Some(Role::Nothing) | None => {}
        }
    }
}

impl Pace {
    /// A file call of another thread than the main one begins, when whatever it waited for before
    /// was there; or it ends. K counts the ranks whose main threads are in file calls.
    fn own_file_call(
        &mut self,
        rank: u32,
        chain: &Chain,
        vertex: &Vertex,
        ranks: i64,
        crossings: &mut Crossings,
    ) {
        let (thread, ended) = match vertex.deed {
            Deed::OwnBegins { thread } => (thread as usize, None),
            Deed::OwnEnds { thread, duration } => (thread as usize, Some(duration)),
            _ => return,
        };
        if self.threads.len() <= thread {
            self.threads.resize(thread + 1, Own::default());
        }
        let total = vertex.areas.wrapping_sub(chain.first_area) as usize + 1;
        let total = chain.shared.get(total).copied().unwrap_or(0);
        let Moment { clocks, trails } = self.ahead();
        let own = &mut self.threads[thread];
        match ended {
            None => {
                let lane = Lane { rank, thread: thread as u32 };
                let cross = |crossing| {
                    let from = From { at: vertex.at, rank, crossing };
                    crossings.cross(lane, vertex.at, &from)
                };
                let clocks = clocks.plus(chain.local(vertex, ranks));
                let main = Moment { clocks, trails: trails.map(cross) };
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
        self.own.push(own.moment);
    }
}

impl Chain {
    #[inline]
    fn next(&self) -> Option<Vertex> {
        (self.replayed < self.matched).then(|| self.vertices[self.replayed])
    }
}
