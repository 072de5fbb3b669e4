//! Channels that the rank at one end has named, until the other does: each end names it once.

use hashbrown::HashMap;

use crate::graph::Channel;

/// By rank: channels to it and from it that others have named.
pub(crate) struct HalfOpen {
    ranks: Vec<Named>,
    /// What is left of a table of which all were named.
    spare: HashMap<Channel, u32>,
}

#[derive(Default)]
struct Named {
    /// Put down one after another: who names channels with all other ranks would look for a place
    /// in as many tables. They come into the rank's own when it names channels itself.
    latest: Vec<(Channel, u32)>,
    numbers: HashMap<Channel, u32>,
}

impl HalfOpen {
    pub(crate) fn new(ranks: usize) -> Self {
        let mut named = Vec::new();
        named.resize_with(ranks, Named::default);
        Self { ranks: named, spare: HashMap::new() }
    }

    /// A rank names channels; `numbers` gets theirs. `add`: makes a number for a channel, by its
    /// ends, that the other end has not named.
    pub(crate) fn name(
        &mut self,
        rank: usize,
        channels: Vec<Channel>,
        numbers: &mut Vec<u32>,
        mut add: impl FnMut((u32, u32)) -> u32,
    ) {
        if channels.is_empty() {
            return;
        }
        let Named { latest, numbers: mut known } = std::mem::take(&mut self.ranks[rank]);
        if known.capacity() == 0 {
            known = std::mem::take(&mut self.spare);
        }
        known.extend(latest);
        numbers.reserve(channels.len());
        for channel in channels {
            let number = known.remove(&channel).unwrap_or_else(|| {
                let ends = (channel.source, channel.destination);
                let number = add(ends);
                let other = if ends.0 as usize == rank { ends.1 } else { ends.0 } as usize;
                if other != rank
                    && let Some(other) = self.ranks.get_mut(other)
                {
                    other.latest.push((channel, number));
                }
                number
            });
            numbers.push(number);
        }
        if known.is_empty() {
            std::mem::swap(&mut self.spare, &mut known);
            known = HashMap::new();
        }
        self.ranks[rank].numbers = known;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn channel(source: u32, destination: u32, tag: i32) -> Channel {
        Channel { communicator: 0, tag, source, destination }
    }

    #[test]
    fn both_ends_find_the_same_number() {
        let mut half_open = HalfOpen::new(3);
        let mut next = 0;
        let mut name = |rank, channels: &[Channel]| {
            let mut numbers = Vec::new();
            half_open.name(rank, channels.to_vec(), &mut numbers, |_| {
                next += 1;
                next - 1
            });
            numbers
        };
        let (first, second, back) = (channel(0, 1, 7), channel(0, 1, 8), channel(1, 0, 7));
        assert_eq!(name(0, &[first, second, channel(0, 0, 7)]), [0, 1, 2]);
        assert_eq!(name(1, &[back, second]), [3, 1]);
        assert_eq!(name(0, &[channel(2, 0, 7), back]), [4, 3]);
        assert_eq!(name(1, &[first]), [0]);
        assert_eq!(name(2, &[channel(2, 9, 7), channel(2, 0, 7)]), [5, 4]); // there is no rank 9
        assert!(half_open.ranks.iter().all(|named| named.latest.is_empty()));
        assert!(half_open.ranks.iter().all(|named| named.numbers.capacity() == 0));
    }
}
