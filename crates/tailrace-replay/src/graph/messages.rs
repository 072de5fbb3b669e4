//! Point-to-point matching: on each channel the n-th send meets the n-th posted receive.

use crate::graph::moment::CrossingId;
use crate::graph::replayed::{Answer, Waiter};
use crate::graph::vertex::Source;

/// Names a message from its first sight (send or posted receive) until both sides are done with it.
pub(crate) type MessageId = u32;

const NONE: MessageId = MessageId::MAX;

#[allow(clippy::struct_excessive_bools)] // facts that come in any order
#[derive(Clone, Copy, Debug)]
struct Message {
    channel: u32,
    next: MessageId,
    sent: Option<Source>,
    /// Where the sender may wait for it.
    posted: Option<Source>,
    /// Both sides came.
    matched: bool,
    /// What is `sent` may come later until the sender is done.
    in_parts: bool,
    sender_done: bool,
    /// … and when, in measured time.
    receiver_done: Option<i64>,
    /// The receive was cancelled: its place in the queue is void.
    cancelled: bool,
    /// The receive was freed: it takes its message, but nobody waits for it.
    freed: bool,
}

/// Messages that lack one side, all the same, in order.
#[derive(Clone, Copy, Debug)]
struct Queue {
    first: MessageId,
    last: MessageId,
    /// Source and destination.
    ends: (u32, u32),
}

/// All messages that are under way. Memory grows with them, not with the trace.
#[derive(Default)]
pub(crate) struct Messages {
    /// By channel.
    queues: Vec<Queue>,
    slots: Vec<Message>,
    free: Vec<MessageId>,
    /// Receives that were over before their send began: clocks disagree, or the trace does.
    pub received_before_sent: u64,
    /// Source and destination of the first such message, by the time of its send.
    pub first_received_before_sent: Option<(i64, u32, u32)>,
}

impl Messages {
    /// A channel from a rank to another: where messages never overtake one another.
    pub(crate) fn add_channel(&mut self, ends: (u32, u32)) -> u32 {
        self.queues.push(Queue { first: NONE, last: NONE, ends });
        self.queues.len() as u32 - 1
    }

    /// A send starts. The sender is to call [`Messages::sender_done`] with the answer.
    #[inline]
    pub(crate) fn send(&mut self, channel: u32, source: Source) -> MessageId {
        let id = match self.take_first(channel, |message| message.sent.is_none()) {
            Some(id) => id,
            None => self.queue(channel),
        };
        let message = &mut self.slots[id as usize];
        message.sent = Some(source);
        if message.receiver_done.is_some() && !message.freed {
            self.note_received_before_sent(id);
        }
        id
    }

    /// A receive is posted. The receiver is to call [`Messages::receiver_done`] with the answer.
    #[inline]
    pub(crate) fn post(&mut self, channel: u32, source: Source) -> MessageId {
        if let Some(id) = self.take_first(channel, |message| message.sent.is_some()) {
            let message = &mut self.slots[id as usize];
            if !message.sender_done {
                message.posted = Some(source);
            }
            return id;
        }
        let id = self.queue(channel);
        self.slots[id as usize].posted = Some(source);
        id
    }

    /// The message is sent in parts, of which the last is ready when the sender is done.
    pub(crate) fn send_in_parts(&mut self, id: MessageId) {
        self.slots[id as usize].in_parts = true;
    }

    /// Another part of it is ready.
    pub(crate) fn ready(&mut self, id: MessageId, source: Source) {
        self.slots[id as usize].sent = Some(source);
    }

    /// What the receiver waits for.
    #[inline]
    pub(crate) fn received(&self, id: MessageId, waiter: &Waiter<'_>) -> Answer {
        let Message { channel, sent, sender_done, in_parts, .. } = &self.slots[id as usize];
        if waiter.whatever && *in_parts && !sender_done {
            return Answer::Missing;
        }
        waiter.wait_for(sent.as_ref(), self.queues[*channel as usize].ends.0)
    }

    /// What the sender waits for.
    #[inline]
    pub(crate) fn taken(&self, id: MessageId, waiter: &Waiter<'_>) -> Answer {
        let Message { channel, posted, .. } = &self.slots[id as usize];
        waiter.wait_for(posted.as_ref(), self.queues[*channel as usize].ends.1)
    }

    /// What a probe found: the first message that no receive was posted for.
    pub(crate) fn probed(&self, channel: u32, waiter: &Waiter<'_>) -> Answer {
        let Queue { first, ends: (source, _), .. } = self.queues[channel as usize];
        let found = self.slots.get(first as usize).and_then(|message| message.sent.as_ref());
        if found.is_none() && !waiter.has_reached(source) {
            return Answer::Needs(source);
        }
        let found = found.filter(|sent| sent.at <= waiter.at && waiter.counts(sent));
        found.map_or(Answer::Nothing, |sent| Answer::One(*sent))
    }

    pub(crate) fn sender_done(&mut self, id: MessageId) {
        self.slots[id as usize].sender_done = true;
        self.release(id);
    }

    /// The receive ended at `at`.
    #[inline]
    pub(crate) fn receiver_done(&mut self, id: MessageId, at: i64) {
        let message = &mut self.slots[id as usize];
        message.receiver_done = Some(at);
        if message.sent.is_some_and(|sent| sent.at > at) && !message.freed {
            self.note_received_before_sent(id);
        }
        self.release(id);
    }

    /// A receive is cancelled at `at`: if nothing was sent to it, nothing will be.
    pub(crate) fn cancel_receive(&mut self, id: MessageId, at: i64) {
        if self.slots[id as usize].sent.is_some() {
            self.receiver_done(id, at);
        } else {
            self.slots[id as usize].cancelled = true;
        }
    }

    /// A receive is freed at `at`: nobody waits for what it takes.
    pub(crate) fn free_receive(&mut self, id: MessageId, at: i64) {
        self.slots[id as usize].freed = true;
        self.receiver_done(id, at);
    }

    /// The ends of all trails.
    pub(crate) fn crossings(&mut self) -> impl Iterator<Item = (usize, &mut CrossingId)> {
        let ends = self.slots.iter_mut().flat_map(|m| [&mut m.sent, &mut m.posted]);
        ends.flatten().flat_map(|source| source.moment.ends())
    }

    /// Sends never received and receives never satisfied.
    pub(crate) fn unmatched(&self) -> (usize, usize) {
        let (mut sends, mut receives) = (0, 0);
        for queue in &self.queues {
            let mut id = queue.first;
            while id != NONE {
                let message = &self.slots[id as usize];
                sends += usize::from(message.sent.is_some());
                receives += usize::from(message.sent.is_none() && !message.cancelled);
                id = message.next;
            }
        }
        (sends, receives)
    }

    /// Takes the queue's first message if it `has` the side that did not come now; drops cancelled
    /// ones before it.
    #[inline]
    fn take_first(&mut self, channel: u32, has: fn(&Message) -> bool) -> Option<MessageId> {
        loop {
            let queue = &mut self.queues[channel as usize];
            let id = queue.first;
            let message = self.slots.get_mut(id as usize)?; // there is none of number NONE
            if message.cancelled {
                queue.first = message.next;
                message.posted = None;
                self.free.push(id);
                continue;
            }
            if !has(message) {
                return None;
            }
            queue.first = message.next;
            message.matched = true;
            return Some(id);
        }
    }

    #[inline]
    fn queue(&mut self, channel: u32) -> MessageId {
        let message = Message {
            channel,
            next: NONE,
            sent: None,
            posted: None,
            matched: false,
            in_parts: false,
            sender_done: false,
            receiver_done: None,
            cancelled: false,
            freed: false,
        };
        let id = self.free.pop().unwrap_or(self.slots.len() as MessageId);
        match self.slots.get_mut(id as usize) {
            Some(slot) => *slot = message,
            None => self.slots.push(message),
        }
        let queue = &mut self.queues[channel as usize];
        if queue.first == NONE {
            queue.first = id;
        } else {
            self.slots[queue.last as usize].next = id;
        }
        queue.last = id;
        id
    }

    #[inline]
    fn release(&mut self, id: MessageId) {
        let message = &mut self.slots[id as usize];
        if message.matched && message.sender_done && message.receiver_done.is_some() {
            (message.sent, message.posted) = (None, None);
            self.free.push(id);
        }
    }

    #[cold]
    fn note_received_before_sent(&mut self, id: MessageId) {
        let Message { channel, sent, .. } = self.slots[id as usize];
        let (source, destination) = self.queues[channel as usize].ends;
        let found = (sent.map_or(0, |sent| sent.at), source, destination);
        self.received_before_sent += 1;
        let first = self.first_received_before_sent.get_or_insert(found);
        *first = found.min(*first);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clocks::Clocks;
    use crate::graph::moment::Moment;

    fn source(at: i64) -> Source {
        let moment = Moment { clocks: Clocks::all(at, 1), ..Moment::default() };
        Source { moment, at, rank: 0, tied: false }
    }

    fn messages() -> Messages {
        let mut messages = Messages::default();
        messages.add_channel((1, 2));
        messages
    }

    #[test]
    fn sends_and_receives_match_first_in_first_out() {
        let mut messages = messages();
        let first = messages.send(0, source(10));
        let second = messages.send(0, source(20));
        assert_eq!(messages.post(0, source(30)), first);
        assert_eq!(messages.post(0, source(31)), second);
        let third = messages.post(0, source(32));
        assert!(messages.slots[third as usize].sent.is_none());
        assert_eq!(messages.send(0, source(40)), third);
        let posted = |id: MessageId| messages.slots[id as usize].posted;
        assert_eq!(posted(third).map(|source| source.at), Some(32));
        assert_eq!(messages.unmatched(), (0, 0));
    }

    #[test]
    fn memory_follows_open_messages_only() {
        let mut messages = messages();
        for at in 0..1000 {
            let id = messages.send(0, source(at));
            messages.sender_done(id);
            let id = messages.post(0, source(at));
            messages.receiver_done(id, at);
        }
        assert_eq!(messages.slots.len(), 1);
    }

    #[test]
    fn a_receive_that_was_over_first_keeps_its_place_in_the_queue() {
        let mut messages = messages();
        let early = messages.post(0, source(0));
        messages.receiver_done(early, 5);
        assert_eq!(messages.send(0, source(9)), early);
        assert_eq!(messages.received_before_sent, 1);
        assert_eq!(messages.first_received_before_sent, Some((9, 1, 2)));
        let next = messages.send(0, source(10));
        assert_eq!(messages.post(0, source(11)), next);
    }

    #[test]
    fn a_cancelled_receive_takes_no_message() {
        let mut messages = messages();
        let ids: Vec<_> = (0..3).map(|at| messages.post(0, source(at))).collect();
        messages.cancel_receive(ids[1], 3);
        messages.cancel_receive(ids[2], 4);
        assert_eq!(messages.send(0, source(5)), ids[0]);
        let sent = messages.send(0, source(6));
        assert_eq!(messages.unmatched(), (1, 0));
        assert!(messages.slots[sent as usize].posted.is_none());
    }
}
