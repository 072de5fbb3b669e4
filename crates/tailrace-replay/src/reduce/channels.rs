//! A rank's own numbers of the channels that it sends and receives on.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::graph::Channel;

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
