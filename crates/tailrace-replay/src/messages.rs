//! Point-to-point matching by hash: per channel a first-in-first-out queue of sends or of posted
//! receives.
//!
//! With a million messages under way each match costs what it misses in the cache. So the table
//! holds nothing but the number of each queue's first message, and all else of a message is in one
//! place.

use std::hash::BuildHasher;

use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};

use crate::clocks::Clocks;
use crate::locks::WindowId;

/// Where messages overtake one another never: same communicator, source, destination and tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Channel {
    communicator_and_tag: u64,
    source_and_destination: u64,
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
        Self::new(window.0, source, destination, tag)
    }

    pub(crate) fn new(communicator: u32, source: u32, destination: u32, tag: i32) -> Self {
        let join = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        Self {
            communicator_and_tag: join(communicator, tag as u32),
            source_and_destination: join(source, destination),
        }
    }
}

impl Channel {
    fn ends(self) -> (u32, u32) {
        ((self.source_and_destination >> 32) as u32, self.source_and_destination as u32)
    }
}

/// Names a message from its first sight (send or posted receive) until both sides are done with it.
pub(crate) type MessageId = u32;

const NONE: MessageId = MessageId::MAX;

#[allow(clippy::struct_excessive_bools)] // facts that come in any order
#[derive(Clone, Copy, Debug)]
struct Message {
    channel: Channel,
    /// When the send started and when the receive was posted, once they were.
    start: Clocks,
    post: Clocks,
    is_sent: bool,
    is_posted: bool,
    sender_done: bool,
    receiver_done: bool,
    /// The receive was cancelled: its place in the queue is void.
    cancelled: bool,
    /// The receive was freed: it takes its message, but nobody waits for it.
    freed: bool,
    next: MessageId,
    /// Of the queue; valid in its first message.
    last: MessageId,
}

impl Message {
    fn new(channel: Channel, id: MessageId) -> Self {
        let (start, post) = (Clocks::default(), Clocks::default());
        let [is_sent, is_posted, sender_done, receiver_done, cancelled, freed] = [false; 6];
        Self {
            channel,
            start,
            post,
            is_sent,
            is_posted,
            sender_done,
            receiver_done,
            cancelled,
            freed,
            next: NONE,
            last: id,
        }
    }
}

/// All messages that are under way. Memory grows with them, not with the trace.
#[derive(Default)]
pub(crate) struct Messages {
    /// First messages of queues.
    queues: HashTable<MessageId>,
    hasher: DefaultHashBuilder,
    slots: Vec<Message>,
    free: Vec<MessageId>,
    /// Receives that were over before their send began: clocks disagree, or the trace does.
    pub received_before_sent: u64,
    /// Source and destination of the first such message.
    pub first_received_before_sent: Option<(u32, u32)>,
}

impl Messages {
    /// A send starts. The sender is to call [`Messages::sender_done`] with the answer.
    pub(crate) fn send(&mut self, channel: Channel, start: Clocks) -> MessageId {
        let waiting = self.take_first(channel, |message| !message.is_sent);
        let id = waiting.unwrap_or_else(|| self.queue(channel));
        let message = &mut self.slots[id as usize];
        (message.is_sent, message.start) = (true, start);
        if message.receiver_done && !message.freed {
            self.received_before_sent += 1;
            self.first_received_before_sent.get_or_insert(channel.ends());
        }
        id
    }

    /// A receive is posted. The receiver is to call [`Messages::receiver_done`] with the answer.
    pub(crate) fn post(&mut self, channel: Channel, post: Clocks) -> MessageId {
        let waiting = self.take_first(channel, |message| !message.is_posted);
        let id = waiting.unwrap_or_else(|| self.queue(channel));
        let message = &mut self.slots[id as usize];
        (message.is_posted, message.post) = (true, post);
        id
    }

    /// Another part of a message that was sent in parts is ready.
    pub(crate) fn ready(&mut self, id: MessageId, now: Clocks) {
        let message = &mut self.slots[id as usize];
        message.start = message.start.max(now);
    }

    /// When the message's send started, if it did so far.
    pub(crate) fn sent(&self, id: MessageId) -> Option<Clocks> {
        let message = &self.slots[id as usize];
        message.is_sent.then_some(message.start)
    }

    /// When the message's receive was posted, if it was so far.
    pub(crate) fn posted(&self, id: MessageId) -> Option<Clocks> {
        let message = &self.slots[id as usize];
        message.is_posted.then_some(message.post)
    }

    /// When the first send that no receive was posted for started: what a probe sees.
    pub(crate) fn first_unreceived(&self, channel: Channel) -> Option<Clocks> {
        let same = |id: &MessageId| self.slots[*id as usize].channel == channel;
        let first = *self.queues.find(self.hasher.hash_one(channel), same)?;
        let first = &self.slots[first as usize];
        (first.is_sent && !first.is_posted).then_some(first.start)
    }

    pub(crate) fn sender_done(&mut self, id: MessageId) {
        self.slots[id as usize].sender_done = true;
        self.release(id);
    }

    pub(crate) fn receiver_done(&mut self, id: MessageId) {
        self.slots[id as usize].receiver_done = true;
        self.release(id);
    }

    /// A receive is cancelled: if nothing was sent to it, nothing will be.
    pub(crate) fn cancel_receive(&mut self, id: MessageId) {
        if self.slots[id as usize].is_sent {
            self.receiver_done(id);
        } else {
            self.slots[id as usize].cancelled = true;
        }
    }

    /// A receive is freed: nobody waits for what it takes.
    pub(crate) fn free_receive(&mut self, id: MessageId) {
        self.slots[id as usize].freed = true;
        self.receiver_done(id);
    }

    /// Sends never received and receives never satisfied.
    pub(crate) fn unmatched(&self) -> (usize, usize) {
        let count = |wanted: fn(&Message) -> bool| {
            let chain = |first: &MessageId| {
                let next =
                    |id: &MessageId| Some(self.slots[*id as usize].next).filter(|n| *n != NONE);
                std::iter::successors(Some(*first), next)
                    .filter(|id| wanted(&self.slots[*id as usize]))
                    .count()
            };
            self.queues.iter().map(chain).sum()
        };
        (count(|m| m.is_sent), count(|m| !m.is_sent && !m.cancelled))
    }

    /// Takes the queue's first message if it lacks the side that just came; drops cancelled ones
    /// before it.
    fn take_first(&mut self, channel: Channel, lacks: fn(&Message) -> bool) -> Option<MessageId> {
        let hash = self.hasher.hash_one(channel);
        let slots = &mut self.slots;
        let mut entry =
            self.queues.find_entry(hash, |id| slots[*id as usize].channel == channel).ok()?;
        loop {
            let first = *entry.get();
            let message = slots[first as usize];
            if !message.cancelled && !lacks(&message) {
                return None;
            }
            if message.next == NONE {
                entry.remove();
                return Some(first).filter(|_| !message.cancelled);
            }
            *entry.get_mut() = message.next;
            slots[message.next as usize].last = message.last;
            if !message.cancelled {
                return Some(first);
            }
            self.free.push(first);
        }
    }

    fn queue(&mut self, channel: Channel) -> MessageId {
        let id = self.free.pop().unwrap_or(self.slots.len() as MessageId);
        let message = Message::new(channel, id);
        match self.slots.get_mut(id as usize) {
            Some(slot) => *slot = message,
            None => self.slots.push(message),
        }
        let Self { queues, hasher, slots, .. } = self;
        let same = |other: &MessageId| slots[*other as usize].channel == channel;
        match queues.entry(hasher.hash_one(channel), same, |other| {
            hasher.hash_one(slots[*other as usize].channel)
        }) {
            Entry::Vacant(entry) => {
                entry.insert(id);
            }
            Entry::Occupied(entry) => {
                let first = *entry.get() as usize;
                let last = std::mem::replace(&mut slots[first].last, id);
                slots[last as usize].next = id;
            }
        }
        id
    }

    fn release(&mut self, id: MessageId) {
        let message = &self.slots[id as usize];
        let matched = message.is_sent && message.is_posted;
        if matched && message.sender_done && message.receiver_done {
            self.free.push(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHANNEL: fn(i32) -> Channel = |tag| Channel::new(0, 1, 2, tag);

    #[test]
    fn sends_and_receives_match_first_in_first_out() {
        let mut messages = Messages::default();
        let first = messages.send(CHANNEL(5), Clocks::all(10));
        let second = messages.send(CHANNEL(5), Clocks::all(20));
        assert_eq!(messages.first_unreceived(CHANNEL(5)), Some(Clocks::all(10)));
        assert_eq!(messages.post(CHANNEL(5), Clocks::all(30)), first);
        assert_eq!(messages.post(CHANNEL(5), Clocks::all(31)), second);
        let third = messages.post(CHANNEL(5), Clocks::all(32));
        assert_eq!(messages.sent(third), None);
        assert_eq!(messages.send(CHANNEL(5), Clocks::all(40)), third);
        assert_eq!(messages.posted(third), Some(Clocks::all(32)));
        assert_eq!(messages.unmatched(), (0, 0));
    }

    #[test]
    fn memory_follows_open_messages_only() {
        let mut messages = Messages::default();
        for tag in 0..1000 {
            let id = messages.send(CHANNEL(tag), Clocks::all(0));
            messages.sender_done(id);
            let id = messages.post(CHANNEL(tag), Clocks::all(0));
            messages.receiver_done(id);
        }
        assert_eq!((messages.slots.len(), messages.queues.len()), (1, 0));
    }

    #[test]
    fn a_receive_that_was_over_first_keeps_its_place_in_the_queue() {
        let mut messages = Messages::default();
        let early = messages.post(CHANNEL(1), Clocks::all(0));
        messages.receiver_done(early);
        assert_eq!(messages.send(CHANNEL(1), Clocks::all(9)), early);
        assert_eq!(messages.received_before_sent, 1);
        let next = messages.send(CHANNEL(1), Clocks::all(10));
        assert_eq!(messages.post(CHANNEL(1), Clocks::all(11)), next);
    }

    #[test]
    fn a_cancelled_receive_takes_no_message() {
        let mut messages = Messages::default();
        let ids: Vec<_> = (0..3).map(|i| messages.post(CHANNEL(1), Clocks::all(i))).collect();
        messages.cancel_receive(ids[1]);
        messages.cancel_receive(ids[2]);
        assert_eq!(messages.send(CHANNEL(1), Clocks::all(5)), ids[0]);
        let sent = messages.send(CHANNEL(1), Clocks::all(6));
        assert_eq!(messages.unmatched(), (1, 0));
        assert_eq!(messages.posted(sent), None);
    }
}
