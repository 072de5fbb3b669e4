//! Vertices at which a rank does not wait: what others may wait for.
//!
//! Each kind that is frequent has a function of its own, so that what it needs stays in registers.

use crate::graph::Around;
use crate::graph::chains::Chain;
use crate::graph::collectives::Part;
use crate::graph::moment::Moment;
use crate::graph::replayed::Own;
use crate::graph::roles::Role;
use crate::graph::trail::{Crossings, From, Lane};
use crate::graph::vertex::{Deed, Entry, Sending, Source, Vertex};

impl Around<'_> {
    /// Messages leave and receives are posted: so many vertices, as many as follow one another.
    #[inline(never)]
    pub(crate) fn exchange(&mut self, chain: &mut Chain, vertices: &[Vertex]) -> usize {
        let mut taken = 0;
        for vertex in vertices {
            match vertex.deed {
                Deed::Send { .. } | Deed::Post { .. } if vertex.owns != 0 => {
                    self.pass_beside(chain, vertex);
                }
                Deed::Send { channel, sending } => {
                    let channel = chain.channels[channel as usize];
                    let source = || chain.source(vertex, self.ranks);
                    if sending == Sending::Eager {
                        self.messages.send_away(channel, source);
                    } else {
                        let source = source();
                        self.send_and_wait(chain, (channel, sending), source);
                    }
                }
                Deed::Post { channel } => {
                    let channel = chain.channels[channel as usize];
                    let source = || chain.source(vertex, self.ranks);
                    let message = self.messages.post(channel, source);
                    chain.roles.push(Role::Receive(message));
                }
                _ => break,
            }
            taken += 1;
        }
        taken
    }

    /// A message leaves of which the sender knows more later.
    #[inline(never)]
    fn send_and_wait(
        &mut self,
        chain: &mut Chain,
        (channel, sending): (u32, Sending),
        source: Source,
    ) {
        let waits = matches!(sending, Sending::Rendezvous | Sending::InParts { rendezvous: true });
        let message = self.messages.send(channel, || source, waits);
        if matches!(sending, Sending::InParts { .. }) {
            self.messages.send_in_parts(message);
        }
        chain.roles.push(if waits { Role::Send(message) } else { Role::Eager(message) });
    }

    #[inline(never)]
    pub(crate) fn enter(&mut self, chain: &mut Chain, vertex: &Vertex, entry: &Entry) {
        if vertex.owns != 0 {
            return self.pass_beside(chain, vertex);
        }
        // Not by way of an Option: it would be read before it is there.
        let source = || chain.source(vertex, self.ranks);
        match self.collectives.enter(self.tables, entry, source) {
            Some(part) => chain.roles.push(Role::Collective(part)),
            None => chain.roles.push(Role::Nothing),
        }
    }

    /// … to wait for it at the same vertex.
    #[allow(clippy::inline_always)] // into the one function that waits for it
    #[inline(always)]
    pub(crate) fn enter_to_meet(
        &mut self,
        chain: &mut Chain,
        vertex: &Vertex,
        entry: &Entry,
    ) -> Option<Part> {
        chain.roles.skip();
        let source = || chain.source(vertex, self.ranks);
        self.collectives.enter(self.tables, entry, source)
    }

    #[inline(never)]
    pub(crate) fn file_call_ended(&mut self, chain: &mut Chain, vertex: &Vertex, role: u64) {
        if vertex.owns != 0 {
            return self.pass_beside(chain, vertex);
        }
        let source = chain.source(vertex, self.ranks);
        if let Some(Role::Collective(part)) = chain.roles.get_mut(role) {
            self.collectives.file_call_ended(part, source);
        }
    }

    /// A vertex of a thread beside the main one that was in file calls.
    #[cold]
    #[inline(never)]
    fn pass_beside(&mut self, chain: &mut Chain, vertex: &Vertex) {
        let of_main = chain.ahead;
        chain.ahead = chain.ahead_of_own(vertex, self.ranks);
        let vertex = Vertex { owns: 0, ..*vertex };
        match vertex.deed {
            Deed::Send { .. } | Deed::Post { .. } => {
                self.exchange(chain, std::slice::from_ref(&vertex));
            }
            _ => self.pass(chain, &vertex),
        }
        chain.ahead = of_main;
    }

    /// Any other vertex at which the rank does not wait.
    #[inline(never)]
    pub(crate) fn pass(&mut self, chain: &mut Chain, vertex: &Vertex) {
        if vertex.owns != 0 && !matches!(vertex.deed, Deed::OwnBegins { .. } | Deed::OwnEnds { .. })
        {
            return self.pass_beside(chain, vertex);
        }
        let Self { messages, locks, ranks, .. } = self;
        let source = |chain: &Chain| chain.source(vertex, *ranks);
        match vertex.deed {
            Deed::Ready { role } => {
                if let Some(Role::Send(message) | Role::Eager(message)) = chain.roles.get(role) {
                    messages.ready(*message, source(chain));
                }
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
                let message = messages.post(chain.channels[channel as usize], || source);
                chain.roles.push(Role::Receive(message));
            }
            Deed::Enter(entry) => self.enter(chain, vertex, &entry),
            Deed::FileEnded { role } => self.file_call_ended(chain, vertex, role),
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
            Deed::Send { .. } | Deed::Post { .. } => unreachable!("it is exchanged"),
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

    /// The rank is done with the role.
    pub(crate) fn end_role(&mut self, chain: &mut Chain, vertex: &Vertex, number: u64) {
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
                let from = |crossing| From { at: vertex.at, rank: self.rank, crossing };
                let (from, mut trails) = (trails.map(from), trails);
                crossings.cross((lane, vertex.at), &mut trails, from.each_ref().map(Some));
                let main = Moment { clocks: clocks.plus(local), trails };
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
