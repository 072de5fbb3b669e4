//! The dependence graph: per rank, instants at which others may meet it with the sums of local time
//! between them, and edges from messages and collectives.
//!
//! It is built and evaluated in slabs of measured time, of which the reducers hand over one after
//! another: [`Graph::take`] matches what is in a slab, replays it, and forgets it but for what is
//! still open.
//! What is matched is told by order alone: the n-th send of a channel meets its n-th receive, the
//! n-th collective of a rank the n-th of the others.
//! Who waits for whom is told by comparing measured times ([`replayed::Waiter::counts`]): a replay
//! never assumes an order that they contradict. Without that guard ([`CollectiveOrder::All`]) a
//! rank is replayed no further than what it waits for is known.

pub(crate) mod area;
pub(crate) mod chains;
pub(crate) mod collectives;
pub(crate) mod edges;
pub(crate) mod locks;
pub(crate) mod messages;
pub(crate) mod moment;
mod replay;
pub(crate) mod replayed;
pub(crate) mod roles;
pub(crate) mod trail;
pub mod vertex;
pub(crate) mod wait_states;

use hashbrown::HashMap;
use tailrace_trace::Tables;
use tailrace_trace::event::Envelope;

use crate::clocks::Clocks;
use crate::graph::area::Area;
use crate::graph::chains::Chain;
use crate::graph::collectives::Collectives;
use crate::graph::edges::{Keys, Turn};
use crate::graph::locks::{Lock, Locks, WindowId};
use crate::graph::messages::Messages;
use crate::graph::moment::{Moment, REPLAYS, Trails};
use crate::graph::replayed::{Pace, Replayed};
use crate::graph::roles::Role;
use crate::graph::trail::Crossings;
use crate::graph::vertex::{Deed, Sending, Vertex};
use crate::graph::wait_states::WaitStates;

/// What a reducer hands over of one rank, in order of time.
#[derive(Default)]
pub(crate) struct Slab {
    pub vertices: Vec<Vertex>,
    /// The begins and ends of its file calls: see [`edges`].
    pub edges: Vec<u64>,
    /// … and what the call moved that ended, by end: twice the bytes, and 1 more where they were
    /// written.
    pub moved: Vec<u64>,
    /// Channels that are new to the rank, in order of its own numbers.
    pub channels: Vec<Channel>,
    /// … and locks.
    pub locks: Vec<Lock>,
    /// When receives were cancelled.
    pub cuts: Vec<i64>,
    pub has_probes: bool,
}

impl Slab {
    /// Takes over what comes after; leaves nothing there.
    pub(crate) fn append(&mut self, later: &mut Self) {
        if self.vertices.is_empty() && self.edges.is_empty() && self.moved.is_empty() {
            std::mem::swap(&mut self.vertices, &mut later.vertices);
            std::mem::swap(&mut self.edges, &mut later.edges);
            std::mem::swap(&mut self.moved, &mut later.moved);
        } else {
            self.vertices.append(&mut later.vertices);
            self.edges.append(&mut later.edges);
            self.moved.append(&mut later.moved);
        }
        self.channels.append(&mut later.channels);
        self.locks.append(&mut later.locks);
        self.cuts.append(&mut later.cuts);
        self.has_probes |= std::mem::take(&mut later.has_probes);
    }

    /// Leaves what is later than `horizon` for the next slab, of which nothing is there yet.
    pub(crate) fn give_back(&mut self, keys: Keys, horizon: i64, next: &mut Self) {
        let late = self.vertices.partition_point(|vertex| vertex.at <= horizon);
        next.vertices.extend(self.vertices.drain(late..));
        let late = self.edges.partition_point(|key| *key < keys.after(horizon));
        let ends = self.edges[late..].iter().filter(|key| keys.parts(**key).1 == Turn::End).count();
        next.edges.extend(self.edges.drain(late..));
        next.moved.extend(self.moved.drain(self.moved.len() - ends..));
    }
}

/// Where messages overtake one another never: same communicator, source, destination and tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Channel {
    pub communicator: u32,
    pub tag: i32,
    pub source: u32,
    pub destination: u32,
}

/// What ranks tell each other in one-sided epochs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Notice {
    Post,
    Complete,
}

impl Channel {
    /// Notices travel on channels of their own, by tags that no message has.
    pub(crate) fn of_notice(
        window: WindowId,
        source: u32,
        destination: u32,
        notice: Notice,
    ) -> Self {
        let tag = i32::MIN + (2 * (window.1 & 0x3fff_ffff)) as i32 + notice as i32;
        Self { communicator: window.0, tag, source, destination }
    }

    /// On which `rank` sends; `None` if it sends to nobody.
    pub(crate) fn to(envelope: &Envelope, rank: u32) -> Option<Self> {
        let Envelope { communicator, tag, .. } = *envelope;
        let destination = u32::try_from(envelope.peer).ok()?;
        Some(Self { communicator, tag, source: rank, destination })
    }

    /// On which `rank` receives; `None` where nobody sends, or a wildcard is not resolved.
    pub(crate) fn from(envelope: &Envelope, rank: u32) -> Option<Self> {
        let Envelope { communicator, tag, .. } = *envelope;
        let source = u32::try_from(envelope.peer).ok().filter(|_| tag >= 0)?;
        Some(Self { communicator, tag, source, destination: rank })
    }
}

/// So many vertices are matched before they are replayed: what is touched twice should still be in
/// the cache.
const PART: usize = 4096;
/// … and at least so many of each rank.
const PART_OF_A_RANK: usize = 16;
/// Without the guard so many vertices wait for what others have not come to, at most.
const MOST_WAITING: usize = 1 << 22;

pub(crate) struct Graph<'a> {
    tables: &'a Tables,
    ranks: i64,
    /// A wait is for what happened before, as measured.
    guarded: bool,
    pub area: Area,
    /// By rank.
    chains: Vec<Chain>,
    replayed: Replayed,
    pub messages: Messages,
    pub collectives: Collectives,
    locks: Locks,
    channels: HashMap<Channel, u32>,
    /// Ranks whose replay waits for that of the next, and whether a rank is among them.
    stack: Vec<usize>,
    under_way: Vec<bool>,
    /// Waits that were given up to get on.
    pub forced: u64,
    pub crossings: Crossings,
    pub wait_states: WaitStates,
}

impl<'a> Graph<'a> {
    /// `begins`: when each rank comes to life, in nanoseconds since the window's begin: no network
    /// makes a process start earlier.
    pub(crate) fn new(tables: &'a Tables, begins: &[i64], guarded: bool, area: Area) -> Self {
        let ranks = i64::from(tables.ranks.max(1));
        let chain = || Chain { shared: vec![0], ..Chain::default() };
        let pace = |(rank, begin): (u32, &i64)| {
            Pace::new(Moment { clocks: Clocks::all(*begin, ranks), trails: [rank; REPLAYS] })
        };
        Self {
            tables,
            ranks,
            guarded,
            area,
            chains: begins.iter().map(|_| chain()).collect(),
            replayed: Replayed((0..).zip(begins).map(pace).collect()),
            messages: Messages::default(),
            collectives: Collectives::default(),
            locks: Locks::default(),
            channels: HashMap::new(),
            stack: Vec::new(),
            under_way: vec![false; begins.len()],
            forced: 0,
            crossings: Crossings::new(begins),
            wait_states: WaitStates::default(),
        }
    }

    /// Takes all that happened until `horizon` (nanoseconds since the window's begin); what is
    /// later stays in the slabs, by rank.
    pub(crate) fn take(&mut self, slabs: &mut [Slab], horizon: i64) {
        self.area.pass(slabs, horizon, &mut self.chains);
        for (rank, slab) in slabs.iter_mut().enumerate() {
            self.add_channels(rank, slab);
            self.chains[rank].locks.append(&mut slab.locks);
            let until = slab.vertices.partition_point(|vertex| vertex.at <= horizon);
            let vertices = &mut self.chains[rank].vertices;
            if vertices.is_empty() && until == slab.vertices.len() {
                std::mem::swap(vertices, &mut slab.vertices);
            } else {
                vertices.extend(slab.vertices.drain(..until));
            }
        }
        let mut cuts: Vec<i64> = slabs
            .iter_mut()
            .flat_map(|slab| slab.cuts.extract_if(.., |cut| *cut <= horizon))
            .collect();
        cuts.sort_unstable();
        let has_probes = slabs.iter().any(|slab| slab.has_probes);
        for slab in slabs.iter_mut().filter(|slab| slab.vertices.is_empty()) {
            slab.has_probes = false;
        }
        for part in self.parts(horizon, cuts) {
            self.match_until(part, has_probes);
            self.replay();
            self.settle();
        }
        self.chains.iter_mut().for_each(Chain::forget_replayed);
        while self.waiting() > MOST_WAITING {
            self.force();
            self.settle();
        }
        if self.crossings.is_crowded() {
            self.sweep();
        }
    }

    /// There is no more: what waits in vain goes on.
    pub(crate) fn finish(&mut self) {
        while self.waiting() > 0 {
            self.force();
        }
        self.settle();
    }

    /// By how much each rank's clocks are ahead of its local time, in the end.
    pub(crate) fn ahead(&self) -> Vec<Clocks> {
        self.replayed.0.iter().map(|pace| pace.ahead().clocks).collect()
    }

    /// … and how the rank came to that.
    pub(crate) fn trails(&self, rank: usize) -> Trails {
        self.replayed.0[rank].ahead().trails
    }

    fn add_channels(&mut self, rank: usize, slab: &mut Slab) {
        let chain = &mut self.chains[rank];
        for channel in slab.channels.drain(..) {
            let ends = (channel.source, channel.destination);
            let number = self.channels.entry(channel);
            chain.channels.push(*number.or_insert_with(|| self.messages.add_channel(ends)));
        }
    }

    /// Cuts what is to be matched into parts of about the same length, and where a receive is
    /// cancelled: what was sent to it by then is known only if nothing later is matched.
    fn parts(&self, horizon: i64, cuts: Vec<i64>) -> Vec<i64> {
        let (mut first, mut last, mut vertices) = (horizon, i64::MIN, 0);
        for chain in &self.chains {
            let fresh = &chain.vertices[chain.matched..];
            vertices += fresh.len();
            if let (Some(begin), Some(end)) = (fresh.first(), fresh.last()) {
                (first, last) = (first.min(begin.at), last.max(end.at));
            }
        }
        let most = PART.max(PART_OF_A_RANK * self.chains.len());
        let parts = (vertices / most + 1) as i128;
        let span = i128::from(last) - i128::from(first);
        let mut parts: Vec<i64> =
            (1..parts).map(|part| (i128::from(first) + span * part / parts) as i64).collect();
        parts.extend(cuts);
        parts.sort_unstable();
        parts.dedup();
        if vertices > 0 {
            parts.push(horizon);
        }
        parts
    }

    fn match_until(&mut self, horizon: i64, has_probes: bool) {
        if has_probes {
            // A probe sees what was sent, whoever is matched first.
            (0..self.chains.len()).for_each(|rank| self.match_sends_until(rank, horizon));
        }
        for rank in 0..self.chains.len() {
            let chain = &self.chains[rank];
            let fresh = &chain.vertices[chain.matched..];
            let until = chain.matched + fresh.partition_point(|vertex| vertex.at <= horizon);
            for place in chain.matched..until {
                self.match_vertex(rank, place);
            }
            self.chains[rank].matched = until;
        }
    }

    fn match_sends_until(&mut self, rank: usize, horizon: i64) {
        let chain = &mut self.chains[rank];
        let mut waits = chain.waits;
        for vertex in chain.vertices[chain.matched..].iter().take_while(|v| v.at <= horizon) {
            match vertex.deed {
                Deed::Send { channel, .. } => {
                    let source = chain.source(vertex, rank, waits, self.ranks);
                    let message = self.messages.send(chain.channels[channel as usize], source);
                    chain.sent.push_back(message);
                }
                deed if deed.waits() => waits = waits.and_one_at(vertex.at),
                _ => {}
            }
        }
    }

    fn settle(&mut self) {
        let Self { chains, replayed, messages, collectives, locks, .. } = self;
        messages.settle(|source| replayed.settle(source));
        collectives.settle(replayed);
        let mut settled = locks.settle(replayed);
        for mark in chains.iter_mut().flat_map(|chain| &mut chain.marks).flatten() {
            settled = replayed.settle(mark) && settled;
        }
        if settled && messages.is_settled() && collectives.is_settled() {
            replayed.0.iter_mut().for_each(Pace::forget_waits);
        }
    }

    fn sweep(&mut self) {
        let Self { chains, replayed, messages, collectives, locks, crossings, .. } = self;
        crossings.sweep(|show| {
            let marks = chains.iter_mut().flat_map(|chain| &mut chain.marks).flatten();
            let marks = marks.flat_map(|source| &mut source.trails);
            let paces = replayed.0.iter_mut().flat_map(Pace::crossings);
            let met = messages.crossings().chain(collectives.crossings());
            marks.chain(paces).chain(met).chain(locks.crossings()).for_each(show);
        });
    }

    fn waiting(&self) -> usize {
        self.chains.iter().map(|chain| chain.matched - chain.replayed).sum()
    }

    #[inline]
    fn match_vertex(&mut self, rank: usize, place: usize) {
        let Self { chains, messages, collectives, locks, tables, .. } = self;
        let chain = &mut chains[rank];
        let vertex = chain.vertices[place];
        let source = |chain: &Chain| chain.source(&vertex, rank, chain.waits, self.ranks);
        match vertex.deed {
            Deed::Send { channel, sending } => {
                let message = chain.sent.pop_front().unwrap_or_else(|| {
                    messages.send(chain.channels[channel as usize], source(chain))
                });
                match sending {
                    Sending::Eager => messages.sender_done(message),
                    Sending::InParts { rendezvous: false } => {
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
                let part = collectives.enter(tables, &entry, source(chain));
                chain.roles.push(part.map_or(Role::Nothing, Role::Collective));
            }
            Deed::FileEnded { role } => {
                if let Some(Role::Collective(part)) = chain.roles.get(role) {
                    collectives.file_call_ended(part.instance, source(chain));
                }
            }
            Deed::Probe { channel } => {
                let found = messages.first_unreceived(chain.channels[channel as usize]);
                chain.probed.push_back(found);
                chain.waits = chain.waits.and_one_at(vertex.at);
            }
            Deed::Lock { lock } => {
                locks.lock(chain.locks[lock as usize], rank as u32, vertex.at);
            }
            Deed::Release { lock } => locks.release(chain.locks[lock as usize], source(chain)),
            Deed::Released { lock } => locks.released(chain.locks[lock as usize], source(chain)),
            Deed::Await { .. } | Deed::Finish { .. } | Deed::Granted { .. } => {
                chain.waits = chain.waits.and_one_at(vertex.at);
            }
            Deed::Leave { .. }
            | Deed::Cancel { .. }
            | Deed::Free { .. }
            | Deed::OwnBegins { .. }
            | Deed::OwnEnds { .. } => {}
        }
    }
}
