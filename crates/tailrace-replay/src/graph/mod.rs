//! The dependence graph: per rank, instants at which others may meet it with the sums of local time
//! between them, and edges from messages and collectives.
//!
//! It is built and evaluated in slabs of measured time, of which the reducers hand over one after
//! another: [`Graph::take`] replays a slab rank by rank, each as far as what it waits for is known,
//! and forgets it but for what is still open.
//! What belongs together is told by order alone: the n-th send of a channel meets its n-th receive,
//! the n-th collective of a rank the n-th of the others.
//! Who waits for whom is told by comparing measured times ([`replayed::Waiter::counts`]): a replay
//! never assumes an order that they contradict. What did not happen before is known once the other
//! rank is replayed until then ([`replayed::Waiter::has_reached`]), so the result depends neither on
//! which rank is replayed first nor on slabs. Without that guard ([`CollectiveOrder::All`]) a rank
//! waits until what it waits for is there.

pub(crate) mod area;
pub(crate) mod chains;
pub(crate) mod collectives;
pub(crate) mod edges;
mod follow;
mod half_open;
mod instance;
pub(crate) mod locks;
pub(crate) mod messages;
pub(crate) mod moment;
mod passing;
pub(crate) mod phases;
mod piece;
mod radix;
mod replay;
pub(crate) mod replayed;
pub(crate) mod roles;
mod sets;
pub(crate) mod trail;
pub mod vertex;
pub(crate) mod wait_states;
mod waiting;

use std::hash::{Hash, Hasher};

use tailrace_trace::Tables;
use tailrace_trace::event::Envelope;

use crate::clocks::Clocks;
use crate::graph::area::Areas;
use crate::graph::chains::Chain;
use crate::graph::collectives::Collectives;
use crate::graph::edges::take_over;
use crate::graph::half_open::HalfOpen;
use crate::graph::locks::{Lock, Locks, WindowId};
use crate::graph::messages::{FORESEEN, Messages};
use crate::graph::moment::{Moment, REPLAYS, Trails};
use crate::graph::replayed::Front;
use crate::graph::trail::Crossings;
use crate::graph::vertex::Vertex;
use crate::graph::wait_states::WaitStates;
use crate::options::{CollectiveOrder, Options};

/// What a reducer hands over of one rank, in order of time, but for the begins and ends of its file
/// calls.
#[derive(Default)]
pub(crate) struct Slab {
    pub vertices: Vec<Vertex>,
    /// What these begins and ends come to, as soon as that is known.
    pub areas: Areas,
    /// Channels that are new to the rank, in order of its own numbers.
    pub channels: Vec<Channel>,
    /// … and locks.
    pub locks: Vec<Lock>,
    /// When receives were cancelled.
    pub cuts: Vec<i64>,
}

impl Slab {
    pub(crate) fn is_empty(&self) -> bool {
        let Self { vertices, areas, channels, locks, cuts } = self;
        let no_areas = areas.sums.is_empty() && areas.passed == 0;
        vertices.is_empty()
            && no_areas
            && channels.is_empty()
            && locks.is_empty()
            && cuts.is_empty()
    }

    /// Whether it holds so much that the graph may take it at once.
    pub(crate) fn is_much(&self) -> bool {
        self.vertices.len() >= MUCH
    }

    /// Takes over what comes after; leaves nothing there.
    pub(crate) fn append(&mut self, later: &mut Self) {
        take_over(&mut self.vertices, &mut later.vertices);
        self.areas.append(&mut later.areas);
        if self.channels.is_empty() {
            // There are many at first, and few then: not even their memory is left.
            self.channels = std::mem::take(&mut later.channels);
        } else {
            self.channels.append(&mut later.channels);
        }
        self.locks.append(&mut later.locks);
        self.cuts.append(&mut later.cuts);
    }

    /// Leaves what is later than `horizon` for the next slab, of which nothing is there yet.
    pub(crate) fn give_back(&mut self, horizon: i64, next: &mut Self) {
        let late = self.vertices.partition_point(|vertex| vertex.at <= horizon);
        next.vertices.extend(self.vertices.drain(late..));
    }
}

/// Where messages overtake one another never: same communicator, source, destination and tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channel {
    pub communicator: u32,
    pub tag: i32,
    pub source: u32,
    pub destination: u32,
}

/// In two words: of a run whose messages are all different each is looked up.
impl Hash for Channel {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Self { communicator, tag, source, destination } = *self;
        state.write_u64(u64::from(communicator) << 32 | u64::from(tag.cast_unsigned()));
        state.write_u64(u64::from(source) << 32 | u64::from(destination));
    }
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

/// Without the guard so many vertices wait for what others have not come to, at most.
const MOST_WAITING: usize = 1 << 22;

/// So many messages of a rank at once: there is a block of many shapes among what it was reduced
/// from, or it has waited for nobody for long.
const MUCH: usize = 1 << 10;

/// Vertices of a slab are copied if there are no more.
const MOST_COPIED: usize = 1 << 17;

pub(crate) struct Graph<'a> {
    /// Vertices come from other threads, and those of many ranks are read in no order: they are
    /// read in order first, which waits for many lines of the cache at a time.
    pub copies: bool,
    /// By rank: its vertices that are not replayed yet, and what is known of it.
    vertices: Vec<Vec<Vertex>>,
    chains: Vec<Chain>,
    /// What vertices were written into that were taken at once: one for each thread.
    spare: Vec<Vec<Vertex>>,
    half_open: HalfOpen,
    /// Ranks whose replay waits for that of the next, and whether a rank is among them.
    stack: Vec<usize>,
    under_way: Vec<bool>,
    pub around: Around<'a>,
}

/// What ranks meet as they are replayed.
pub(crate) struct Around<'a> {
    tables: &'a Tables,
    ranks: i64,
    /// A wait is for what happened before, as measured.
    guarded: bool,
    /// Who waits for others to come does not ask whether they do.
    is_patient: bool,
    /// By rank: what came next when it was left last.
    fronts: Vec<Front>,
    /// Until then all is handed over.
    horizon: i64,
    pub messages: Messages,
    pub collectives: Collectives,
    locks: Locks,
    /// Receives that are cancelled, with rank, role and time.
    cancelled: Vec<(usize, u64, i64)>,
    /// Waits that were given up to get on.
    pub forced: u64,
    pub crossings: Crossings,
    pub wait_states: WaitStates,
}

impl<'a> Graph<'a> {
    /// `begins`: when each rank comes to life, in nanoseconds since the window's begin: no network
    /// makes a process start earlier.
    pub(crate) fn new(tables: &'a Tables, begins: &[i64], options: &Options, runtime: i64) -> Self {
        let ranks = i64::from(tables.ranks.max(1));
        let chain = |(rank, begin): (u32, &i64)| {
            let clocks = Clocks::all(*begin, ranks);
            Chain::new(rank, Moment { clocks, trails: [rank; REPLAYS] })
        };
        let crossings = Crossings::new(begins, runtime, options.critical_paths);
        let around = Around {
            tables,
            ranks,
            guarded: options.collectives != CollectiveOrder::All,
            is_patient: false,
            fronts: vec![Front { at: i64::MIN, tied: false }; begins.len()],
            horizon: i64::MIN,
            messages: Messages::default(),
            collectives: Collectives::new(options.critical_paths),
            locks: Locks::default(),
            cancelled: Vec::new(),
            forced: 0,
            crossings,
            wait_states: WaitStates::default(),
        };
        Self {
            copies: false,
            vertices: vec![Vec::new(); begins.len()],
            spare: Vec::new(),
            chains: (0..).zip(begins).map(chain).collect(),
            half_open: HalfOpen::new(begins.len()),
            stack: Vec::new(),
            under_way: vec![false; begins.len()],
            around,
        }
    }

    /// Takes all that happened until `horizon` (nanoseconds since the window's begin); what is
    /// later stays in the slabs, by rank.
    pub(crate) fn take(&mut self, slabs: &mut [Slab], horizon: i64) {
        let number: usize = slabs.iter().map(|slab| slab.vertices.len()).sum();
        let copies = self.copies && number <= MOST_COPIED;
        for (rank, slab) in slabs.iter_mut().enumerate() {
            self.add_channels(rank, slab);
            self.chains[rank].locks.append(&mut slab.locks);
            self.chains[rank].take_areas(&mut slab.areas);
            let until = slab.vertices.partition_point(|vertex| vertex.at <= horizon);
            let vertices = &mut self.vertices[rank];
            if !copies && vertices.is_empty() && until == slab.vertices.len() {
                std::mem::swap(vertices, &mut slab.vertices);
            } else {
                // in one go, which an iterator does not
                vertices.extend_from_slice(&slab.vertices[..until]);
                slab.vertices.drain(..until);
            }
        }
        let cuts = slabs.iter_mut().flat_map(|slab| slab.cuts.extract_if(.., |at| *at <= horizon));
        let mut cuts: Vec<i64> = cuts.collect();
        cuts.sort_unstable();
        // What was sent by the time at which a receive is cancelled is known only if nothing later
        // is matched.
        cuts.dedup();
        for cut in cuts {
            self.replay_until(cut);
        }
        self.replay_until(horizon);
        self.settle();
        let chains = self.chains.iter_mut().zip(&mut self.vertices);
        chains.for_each(|(chain, vertices)| chain.forget_replayed(vertices));
        while self.waiting() > MOST_WAITING {
            self.force();
            self.settle();
        }
        let Around { crossings, messages, collectives, .. } = &self.around;
        if crossings.is_crowded(messages.len() + collectives.len()) {
            self.sweep();
        }
    }

    /// Lends a rank that has little memory for vertices what another's were written into.
    pub(crate) fn lend(&mut self, slab: &mut Slab) {
        if slab.vertices.capacity() < MUCH
            && let Some(mut spare) = self.spare.pop()
        {
            spare.append(&mut slab.vertices);
            slab.vertices = spare;
        }
    }

    /// Takes at once what a rank begins with, if that is much and it sends and posts receives alone,
    /// whatever the time: who waits for a message looks when it was sent. What they were written
    /// into is lent to the next rank.
    pub(crate) fn exchange(&mut self, rank: usize, slab: &mut Slab) {
        let chain = &self.chains[rank];
        let is_taken =
            |vertex: &&Vertex| vertex.deed.channel().is_some() && chain.knows_area_of(vertex);
        let until = slab.vertices.iter().take_while(is_taken).count();
        if until < MUCH || !self.vertices[rank].is_empty() {
            return;
        }
        self.add_channels(rank, slab);
        let chain = &mut self.chains[rank];
        for vertices in slab.vertices[..until].chunks(FORESEEN) {
            let channels = vertices.iter().filter_map(|vertex| vertex.deed.channel());
            let channels = channels.map(|channel| chain.channels[channel as usize]);
            self.around.messages.foresee(channels);
            self.around.exchange(chain, vertices);
        }
        let rest = slab.vertices.split_off(until);
        let mut spare = std::mem::replace(&mut slab.vertices, rest);
        spare.clear();
        self.spare.push(spare);
    }

    /// Hands back, by rank, what it has not replayed: that is to come again before what comes next.
    /// So its memory is used again, too.
    pub(crate) fn hand_back(&mut self, slabs: &mut [Slab]) {
        for ((chain, vertices), slab) in self.chains.iter_mut().zip(&mut self.vertices).zip(slabs) {
            if slab.vertices.is_empty() {
                std::mem::swap(vertices, &mut slab.vertices);
                chain.until = 0;
            }
        }
    }

    /// There is no more: what waits in vain goes on.
    pub(crate) fn finish(&mut self) {
        while self.waiting() > 0 {
            self.force();
        }
        self.settle();
    }

    /// Whether there are vertices that it has not replayed yet.
    pub(crate) fn has_vertices(&self) -> bool {
        self.vertices.iter().any(|vertices| !vertices.is_empty())
    }

    /// By how much each rank's clocks are ahead of its local time, in the end.
    pub(crate) fn ahead(&self) -> Vec<Clocks> {
        self.chains.iter().map(|chain| chain.ahead.clocks).collect()
    }

    /// … and how the rank came to that.
    pub(crate) fn trails(&self, rank: usize) -> Trails {
        self.chains[rank].ahead.trails
    }

    fn add_channels(&mut self, rank: usize, slab: &mut Slab) {
        let Self { chains, half_open, around, .. } = self;
        let (channels, numbers) = (std::mem::take(&mut slab.channels), &mut chains[rank].channels);
        half_open.name(rank, channels, numbers, |ends| around.messages.add_channel(ends));
    }

    fn replay_until(&mut self, horizon: i64) {
        for (rank, chain) in self.chains.iter_mut().enumerate() {
            let vertices = &self.vertices[rank];
            let fresh = &vertices[chain.until..];
            chain.until += fresh.partition_point(|vertex| vertex.at <= horizon);
            let next = vertices[chain.replayed..chain.until].first();
            let front = next.map_or(Front::after(horizon), |next| chain.front(next));
            self.around.fronts[rank] = front;
        }
        self.around.horizon = horizon;
        self.replay();
        self.cancel();
    }

    fn settle(&mut self) {
        self.around.collectives.settle();
        self.around.locks.settle();
    }

    fn sweep(&mut self) {
        let Self { chains, around, .. } = self;
        let Around { messages, collectives, locks, crossings, .. } = around;
        crossings.sweep(|show| {
            let of_chains = chains.iter_mut().flat_map(Chain::crossings);
            let met = messages.crossings().chain(collectives.crossings());
            let ends = of_chains.chain(met).chain(locks.crossings());
            ends.for_each(|(replay, id)| show(replay, id));
        });
    }

    fn waiting(&self) -> usize {
        self.chains.iter().map(Chain::waiting).sum()
    }
}

#[cfg(test)]
mod tests {
    use tailrace_trace::tables::Communicator;

    use super::*;
    use crate::graph::vertex::{Deed, Entry, Family, Gives, Sending, Site, Waits};

    /// Enters a collective of all after nothing but useful time, and leaves at 50.
    fn meets(at: i64) -> Vertex {
        let (number, family, gives, waits) = (0, Family::Ordinary, Gives::All, Waits::All);
        let deed = Deed::Meet(Entry { communicator: 0, number, family, gives, waits });
        Vertex { at, since: 50, useful: at, io: 0, areas: 0, owns: 0, site: Site::default(), deed }
    }

    #[test]
    fn what_is_handed_back_comes_again_in_the_same_memory() {
        let members = [0, 1].into_iter().collect();
        let communicators = vec![Communicator { identity: 0, members, remote: None }];
        let tables = Tables { ranks: 2, communicators, ..Tables::default() };
        let mut graph = Graph::new(&tables, &[0, 0], &Options::default(), 100);
        let mut slabs: [Slab; 2] = Default::default();
        slabs[0].vertices.push(meets(5));
        let memory = slabs[0].vertices.as_ptr();
        // Rank 1 enters after 20: rank 0 waits for it.
        graph.take(&mut slabs, 20);
        assert!(graph.has_vertices() && slabs[0].is_empty());
        graph.hand_back(&mut slabs);
        assert!(!graph.has_vertices());
        assert_eq!((slabs[0].vertices.len(), slabs[0].vertices.as_ptr()), (1, memory));
        slabs[1].vertices.push(meets(30));
        graph.take(&mut slabs, 60);
        assert!(!graph.has_vertices());
        // Rank 0 goes on when rank 1 enters, 25 after it did, and rank 1 at once.
        assert_eq!(graph.ahead().iter().map(|clocks| clocks.net).collect::<Vec<_>>(), [25, 0]);
        graph.hand_back(&mut slabs);
        assert_eq!((slabs[0].vertices.len(), slabs[0].vertices.as_ptr()), (0, memory));
    }

    fn instant(at: i64, useful: i64, deed: Deed) -> Vertex {
        Vertex { at, since: 0, useful, io: 0, areas: 0, owns: 0, site: Site::default(), deed }
    }

    #[test]
    fn a_rank_that_only_sends_leaves_its_memory_to_the_next() {
        let tables = Tables { ranks: 2, ..Tables::default() };
        let mut graph = Graph::new(&tables, &[0, 0], &Options::default(), 5_000);
        let mut slabs: [Slab; 2] = Default::default();
        let channel = Channel { communicator: 0, tag: 0, source: 0, destination: 1 };
        for slab in &mut slabs {
            slab.channels.push(channel);
        }
        // Rank 0 sends a message each nanosecond; of its last three the file calls are not known.
        let send = Deed::Send { channel: 0, sending: Sending::Eager };
        let number = MUCH as i64 + 3;
        slabs[0].vertices.extend((1..=number).map(|at| instant(at, at, send)));
        slabs[0].vertices[MUCH..].iter_mut().for_each(|vertex| vertex.areas = 1);
        let memory = slabs[0].vertices.as_ptr();
        graph.exchange(0, &mut slabs[0]);
        assert!(slabs[0].vertices.iter().map(|vertex| vertex.at).eq(MUCH as i64 + 1..=number));
        graph.lend(&mut slabs[1]);
        assert_eq!((slabs[1].vertices.len(), slabs[1].vertices.as_ptr()), (0, memory));
        // Rank 1 posts all receives at 0 and waits for them until 3,000.
        let first = instant(0, 0, Deed::Post { channel: 0 });
        slabs[1].vertices.extend((0..number).map(|_| first));
        let all = Deed::FinishAll { first: 0, number: number as u32 };
        slabs[1].vertices.push(instant(3_000, 0, all));
        graph.exchange(1, &mut slabs[1]);
        assert_eq!(slabs[1].vertices.len(), 1);
        graph.take(&mut slabs, 5_000);
        // It goes on when the last is sent.
        assert!(!graph.has_vertices());
        assert_eq!(graph.ahead().iter().map(|clocks| clocks.net).collect::<Vec<_>>(), [0, number]);
        assert_eq!(graph.around.messages.unmatched(), (0, 0));
    }

    #[test]
    fn a_rank_that_hands_over_little_waits_for_the_others() {
        let tables = Tables { ranks: 2, ..Tables::default() };
        let mut graph = Graph::new(&tables, &[0, 0], &Options::default(), 5_000);
        let mut slab = Slab::default();
        slab.channels.push(Channel { communicator: 0, tag: 0, source: 0, destination: 1 });
        slab.vertices.extend((1..MUCH as i64).map(|at| instant(at, at, Deed::Post { channel: 0 })));
        graph.exchange(0, &mut slab);
        assert_eq!(slab.vertices.len(), MUCH - 1);
        // No more messages come first where it then waits.
        let wait = instant(2_000, 2_000, Deed::FinishAll { first: 0, number: 1 });
        slab.vertices.extend(std::iter::repeat_n(wait, 2 * MUCH));
        graph.exchange(0, &mut slab);
        assert_eq!((slab.vertices.len(), graph.spare.len()), (3 * MUCH - 1, 0));
    }
}
