//! A rank's own numbers of the channels that it sends and receives on.

use hashbrown::HashMap;

use crate::graph::Channel;

/// Looked up once for each shape of a batch; the graph makes its own numbers of them.
#[derive(Default)]
pub(crate) struct Channels {
    numbers: HashMap<Channel, u32>,
}

impl Channels {
    /// Makes room for so many new ones.
    pub(crate) fn reserve(&mut self, most: usize) {
        self.numbers.reserve(most);
    }

    /// The rank's number of the channel; a new one is added to `fresh`.
    pub(crate) fn number(&mut self, channel: Channel, fresh: &mut Vec<Channel>) -> u32 {
        let next = self.numbers.len() as u32;
        *self.numbers.entry(channel).or_insert_with(|| {
            fresh.push(channel);
            next
        })
    }
}
