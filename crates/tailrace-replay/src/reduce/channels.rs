//! A rank's own numbers of the channels that it sends and receives on, and of the series of
//! collectives that it takes part in.

use std::cell::RefCell;
use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashMap, HashTable};

use crate::graph::Channel;
use crate::graph::vertex::Family;
use crate::steps::Numbers;

/// Looked up once for each shape of a batch; the graph makes its own numbers of them. Ranks by the
/// thousand may have thousands each: between blocks of many shapes they are kept at rest.
#[derive(Default)]
pub(crate) struct Channels {
    table: Table,
    resting: Resting,
}

/// Where channels are looked up. It holds their numbers alone.
#[derive(Default)]
struct Table {
    numbers: HashTable<u32>,
    /// By number.
    all: Vec<Channel>,
    hasher: DefaultHashBuilder,
}

thread_local! {
    /// A table whose channels are at rest: memory for the next rank.
    static SPARE: RefCell<Table> = RefCell::default();
}

impl Channels {
    /// Makes room for so many new ones.
    pub(crate) fn reserve(&mut self, most: usize) {
        self.wake();
        self.table.reserve(most);
    }

    /// The rank's number of the channel; a new one is added to `fresh`.
    pub(crate) fn number(&mut self, channel: Channel, fresh: &mut Vec<Channel>) -> u32 {
        if !self.resting.peers.is_empty() {
            self.wake();
        }
        self.table.number(channel, fresh)
    }

    /// A block of so many shapes is over, of the rank of that number: what it named takes as little
    /// memory as it can, unless it would take long to have it back.
    pub(crate) fn rest(&mut self, shapes: usize, rank: u32) {
        let all = &mut self.table.all;
        if all.len() > 2 * shapes {
            return;
        }
        self.resting.peers.reserve_exact(all.len());
        all.drain(..).for_each(|channel| self.resting.put(channel, rank));
        self.table.numbers.clear();
        SPARE.set(std::mem::take(&mut self.table));
    }

    fn wake(&mut self) {
        let Self { table, resting } = self;
        if table.all.is_empty() {
            *table = SPARE.take();
        }
        let resting = std::mem::take(resting);
        table.reserve(resting.peers.len());
        let mut known = Vec::new();
        for channel in resting.channels() {
            table.number(channel, &mut known);
        }
    }
}

impl Table {
    fn reserve(&mut self, most: usize) {
        let Self { numbers, all, hasher } = self;
        numbers.reserve(most, |number| hasher.hash_one(all[*number as usize]));
        all.reserve(most);
    }

    fn number(&mut self, channel: Channel, fresh: &mut Vec<Channel>) -> u32 {
        let Self { numbers, all, hasher } = self;
        let hash = hasher.hash_one(channel);
        let found = numbers.entry(
            hash,
            |number| all[*number as usize] == channel,
            |number| hasher.hash_one(all[*number as usize]),
        );
        let next = all.len() as u32;
        let number = *found.or_insert(next).get();
        if number == next {
            all.push(channel);
            fresh.push(channel);
        }
        number
    }
}

/// Channels by number, where nobody looks for one.
#[derive(Default)]
struct Resting {
    /// … that differ in one end alone, one after another; where each such run begins.
    runs: Vec<(usize, Run)>,
    peers: Vec<u32>,
}

/// What channels have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    communicator: u32,
    tag: i32,
    own: u32,
    /// From there, not to it.
    sends: bool,
}

impl Resting {
    fn put(&mut self, channel: Channel, rank: u32) {
        let Channel { communicator, tag, source, destination } = channel;
        let sends = source == rank;
        let (own, peer) = if sends { (source, destination) } else { (destination, source) };
        let run = Run { communicator, tag, own, sends };
        if self.runs.last().is_none_or(|(_, last)| *last != run) {
            self.runs.push((self.peers.len(), run));
        }
        self.peers.push(peer);
    }

    fn channels(&self) -> impl Iterator<Item = Channel> {
        let ends = self.runs.iter().skip(1).map(|(begin, _)| *begin).chain([self.peers.len()]);
        self.runs.iter().zip(ends).flat_map(|((begin, run), end)| {
            self.peers[*begin..end].iter().map(|peer| run.channel(*peer))
        })
    }
}

impl Run {
    fn channel(self, peer: u32) -> Channel {
        let Self { communicator, tag, own, sends } = self;
        let (source, destination) = if sends { (own, peer) } else { (peer, own) };
        Channel { communicator, tag, source, destination }
    }
}

pub(crate) struct OwnNumbers<'a> {
    pub channels: &'a mut Channels,
    pub series: &'a mut HashMap<(u32, Family), u32>,
    /// Channels that the graph does not know yet.
    pub fresh: &'a mut Vec<Channel>,
}

impl Numbers for OwnNumbers<'_> {
    fn channel(&mut self, channel: Channel) -> u32 {
        self.channels.number(channel, self.fresh)
    }

    fn series(&mut self, of: (u32, Family)) -> u32 {
        let next = self.series.len() as u32;
        *self.series.entry(of).or_insert(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rank 3's channels to others and from them, and to itself.
    const CHANNELS: [Channel; 6] = [
        Channel { communicator: 0, tag: 0, source: 3, destination: 5 },
        Channel { communicator: 0, tag: 0, source: 3, destination: 6 },
        Channel { communicator: 0, tag: 0, source: 5, destination: 3 },
        Channel { communicator: 0, tag: 0, source: 3, destination: 3 },
        Channel { communicator: 0, tag: 1, source: 3, destination: 5 },
        Channel { communicator: 1, tag: 1, source: 3, destination: 5 },
    ];

    fn named(channels: &mut Channels, of: &[Channel]) -> (Vec<u32>, Vec<Channel>) {
        let mut fresh = Vec::new();
        (of.iter().map(|channel| channels.number(*channel, &mut fresh)).collect(), fresh)
    }

    #[test]
    fn numbers_are_the_same_after_a_rest() {
        let mut channels = Channels::default();
        assert_eq!(named(&mut channels, &CHANNELS).0, [0, 1, 2, 3, 4, 5]);
        channels.rest(3, 3);
        assert_eq!(channels.table.all.capacity(), 0);
        assert!(channels.resting.channels().eq(CHANNELS));
        // Those that differ in their peer alone have the rest in common.
        assert_eq!(channels.resting.runs.len(), 5);
        let new = Channel { tag: 2, ..CHANNELS[0] };
        let again = [CHANNELS[4], new, CHANNELS[0], CHANNELS[3]];
        assert_eq!(named(&mut channels, &again), (vec![4, 6, 0, 3], vec![new]));
        channels.rest(7, 3);
        channels.reserve(1);
        assert_eq!(named(&mut channels, &[new, CHANNELS[5]]), (vec![6, 5], vec![]));
    }

    #[test]
    fn the_next_rank_looks_up_its_own_in_the_same_memory() {
        let mut ranks: [Channels; 2] = Default::default();
        named(&mut ranks[0], &CHANNELS);
        let memory = ranks[0].table.all.as_ptr();
        ranks[0].rest(6, 3);
        ranks[1].reserve(1);
        assert_eq!(named(&mut ranks[1], &CHANNELS[1..]).0, [0, 1, 2, 3, 4]);
        assert_eq!(ranks[1].table.all.as_ptr(), memory);
        assert_eq!(named(&mut ranks[0], &CHANNELS).0, [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn who_has_many_more_than_a_block_names_keeps_them_at_hand() {
        let mut channels = Channels::default();
        named(&mut channels, &CHANNELS);
        channels.rest(2, 3);
        assert_eq!(channels.table.all, CHANNELS);
    }
}
