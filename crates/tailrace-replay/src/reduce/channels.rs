//! A rank's own numbers of the channels that it sends and receives on, and of the series of
//! collectives that it takes part in.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashMap, HashTable};

use crate::graph::Channel;
use crate::graph::vertex::Family;
use crate::steps::Numbers;

/// Looked up once for each shape of a batch; the graph makes its own numbers of them. Ranks by the
/// thousand may have thousands each: the table holds numbers alone.
#[derive(Default)]
pub(crate) struct Channels {
    numbers: HashTable<u32>,
    /// By number.
    all: Vec<Channel>,
    hasher: DefaultHashBuilder,
}

impl Channels {
    /// Makes room for so many new ones.
    pub(crate) fn reserve(&mut self, most: usize) {
        let Self { numbers, all, hasher } = self;
        numbers.reserve(most, |number| hasher.hash_one(all[*number as usize]));
        all.reserve(most);
    }

    /// The rank's number of the channel; a new one is added to `fresh`.
    pub(crate) fn number(&mut self, channel: Channel, fresh: &mut Vec<Channel>) -> u32 {
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
