//! Point-to-point matching: on each channel the n-th send meets the n-th posted receive.

use hashbrown::HashMap;

use crate::graph::moment::{CrossingId, Moment};
use crate::graph::replayed::{Answer, Waiter};
use crate::graph::vertex::Source;

/// Names a message from its first sight (send or posted receive) until both sides are done with it.
pub(crate) type MessageId = u32;

const NONE: MessageId = MessageId::MAX;
/// The channel of none.
const NOWHERE: u32 = u32::MAX;

/// So many are looked for at once where many are.
pub(crate) const FORESEEN: usize = 1 << 6;

/// No longer than it must be: a million may be under way at once.
#[allow(clippy::struct_excessive_bools)] // facts that come in any order
#[derive(Clone, Copy, Debug)]
struct Message {
    /// The send, if it is `sent`, else where the receive was posted.
    source: Source,
    /// [`NOWHERE`]: the slot is free.
    channel: u32,
    /// Until both sides came, the next in the queue; then where the receive was posted, if the
    /// sender may wait for that.
    link: u32,
    sent: bool,
    /// The sender waits for its receive.
    sender_waits: bool,
    /// Both sides came.
    matched: bool,
    /// What is `sent` may come later until the sender is done.
    in_parts: bool,
    sender_done: bool,
    received: bool,
    /// The receive was cancelled: its place in the queue is void.
    cancelled: bool,
    /// The receive was freed: it takes its message, but nobody waits for it.
    freed: bool,
}

const _: () = assert!(size_of::<Message>() <= 72);

impl Message {
    const OVER: Self = Self {
        source: Source { moment: Moment::NOWHERE, at: 0, rank: 0, tied: false },
        channel: NOWHERE,
        link: NONE,
        sent: false,
        sender_waits: false,
        matched: false,
        in_parts: false,
        sender_done: false,
        received: false,
        cancelled: false,
        freed: false,
    };

    fn send(&self) -> Option<&Source> {
        self.sent.then_some(&self.source)
    }

    /// Where the receive was posted, if that is kept.
    fn posted(&self) -> PlaceId {
        if self.matched { self.link } else { NONE }
    }
}

/// Places where receives were posted that senders may wait for.
type PlaceId = u32;

#[derive(Default)]
struct Places {
    slots: Vec<Source>,
    free: Vec<PlaceId>,
}

impl Places {
    fn add(&mut self, source: Source) -> PlaceId {
        if let Some(id) = self.free.pop() {
            self.slots[id as usize] = source;
            return id;
        }
        self.slots.push(source);
        self.slots.len() as PlaceId - 1
    }

    fn remove(&mut self, id: PlaceId) {
        self.slots[id as usize].moment = Moment::default(); // no trail ends here
        self.free.push(id);
    }
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
    places: Places,
    /// When receives were over whose send is replayed later: by main threads those that were over
    /// before it, by others also those of ranks whose turn comes first.
    over: HashMap<MessageId, i64>,
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

    /// Reads what comes first on these channels, so that it is in the cache: of some at once memory
    /// takes hardly longer than of each by itself.
    pub(crate) fn foresee(&self, channels: impl Iterator<Item = u32>) {
        self.foresee_messages(channels.map(|channel| self.queues[channel as usize].first));
    }

    /// … these messages; each has begin and end in different lines of the cache.
    pub(crate) fn foresee_messages(&self, ids: impl Iterator<Item = MessageId>) {
        let both = |message: &Message| message.source.moment.clocks.net ^ i64::from(message.link);
        let read = ids.map(|id| self.slots.get(id as usize).map_or(0, both));
        std::hint::black_box(read.fold(0, |all, read| all ^ read));
    }

    /// A send starts; `waits`: its sender may wait for the receive. The sender is to call
    /// [`Messages::sender_done`] with the answer. The source is made where it is kept.
    #[allow(clippy::inline_always)] // what is passed on is read before it is there
    #[inline(always)]
    pub(crate) fn send(
        &mut self,
        channel: u32,
        source: impl FnOnce() -> Source,
        waits: bool,
    ) -> MessageId {
        let id = match self.take_first(channel, false) {
            Some((id, _)) => {
                let message = &mut self.slots[id as usize];
                if waits {
                    message.link = self.places.add(message.source);
                }
                message.source = source();
                id
            }
            None => self.queue(channel, || Message { source: source(), ..Message::OVER }),
        };
        let message = &mut self.slots[id as usize];
        (message.sent, message.sender_waits) = (true, waits);
        if message.received {
            self.note_if_received_before_sent(id);
        }
        id
    }

    /// … of which its sender knows no more.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    pub(crate) fn send_away(&mut self, channel: u32, source: impl FnOnce() -> Source) {
        let Some((id, message)) = self.take_first(channel, false) else {
            let (sent, sender_done) = (true, true);
            let message = || Message { source: source(), sent, sender_done, ..Message::OVER };
            self.queue(channel, message);
            return;
        };
        message.source = source();
        (message.sent, message.sender_done) = (true, true);
        if message.received {
            self.sent_to_nobody(id);
        }
    }

    /// … as the receive is over.
    #[cold]
    #[inline(never)]
    fn sent_to_nobody(&mut self, id: MessageId) {
        self.note_if_received_before_sent(id);
        self.release(id);
    }

    /// A receive is posted. The receiver is to call [`Messages::receiver_done`] with the answer.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    pub(crate) fn post(&mut self, channel: u32, source: impl FnOnce() -> Source) -> MessageId {
        let Some((id, message)) = self.take_first(channel, true) else {
            return self.queue(channel, || Message { source: source(), ..Message::OVER });
        };
        if message.sender_waits && !message.sender_done {
            self.slots[id as usize].link = self.places.add(source());
        }
        id
    }

    /// The message is sent in parts, of which the last is ready when the sender is done.
    pub(crate) fn send_in_parts(&mut self, id: MessageId) {
        self.slots[id as usize].in_parts = true;
    }

    /// Another part of it is ready.
    pub(crate) fn ready(&mut self, id: MessageId, source: Source) {
        self.slots[id as usize].source = source;
    }

    /// What the receiver waits for that is done with it at `at`, if it is there and nobody else has
    /// to do with the message any more.
    #[inline]
    pub(crate) fn receive(&mut self, id: MessageId, at: i64) -> Option<&Source> {
        let message = &mut self.slots[id as usize];
        if !message.sender_done || !message.matched || message.source.at >= at {
            return None;
        }
        (message.received, message.channel) = (true, NOWHERE);
        self.free.push(id);
        Some(&message.source)
    }

    /// Whether it is sent, and who sends it.
    #[inline]
    pub(crate) fn sender(&self, id: MessageId) -> (bool, u32) {
        let message = &self.slots[id as usize];
        (message.sent, self.queues[message.channel as usize].ends.0)
    }

    /// What the receiver waits for.
    pub(crate) fn received(&self, id: MessageId, waiter: &Waiter<'_>) -> Answer<'_> {
        let message = &self.slots[id as usize];
        if waiter.whatever && message.in_parts && !message.sender_done {
            return Answer::Missing;
        }
        waiter.wait_for(message.send(), || self.queues[message.channel as usize].ends.0)
    }

    /// What the sender waits for.
    #[inline]
    pub(crate) fn taken(&self, id: MessageId, waiter: &Waiter<'_>) -> Answer<'_> {
        let message = &self.slots[id as usize];
        let channel = message.channel;
        let posted = self.places.slots.get(message.posted() as usize); // there is none of number NONE
        waiter.wait_for(posted, || self.queues[channel as usize].ends.1)
    }

    /// What a probe found: the first message that no receive was posted for.
    pub(crate) fn probed(&self, channel: u32, waiter: &Waiter<'_>) -> Answer<'_> {
        let Queue { first, ends: (source, _), .. } = self.queues[channel as usize];
        let found = self.slots.get(first as usize).and_then(Message::send);
        if found.is_none() && !waiter.has_reached(source) {
            return Answer::Needs(source);
        }
        let found = found.filter(|sent| sent.at <= waiter.at && waiter.counts(sent));
        found.map_or(Answer::Nothing, Answer::One)
    }

    pub(crate) fn sender_done(&mut self, id: MessageId) {
        let message = &mut self.slots[id as usize];
        message.sender_done = true;
        if message.posted() != NONE {
            self.places.remove(std::mem::replace(&mut message.link, NONE));
        }
        self.release(id);
    }

    /// The receive ended at `at`.
    #[inline]
    pub(crate) fn receiver_done(&mut self, id: MessageId, at: i64) {
        let message = &mut self.slots[id as usize];
        message.received = true;
        if !message.sent {
            self.over.insert(id, at);
        } else if message.source.at > at && !message.freed {
            self.note_received_before_sent(id);
        }
        self.release(id);
    }

    /// A receive is cancelled at `at`: if nothing was sent to it, nothing will be.
    pub(crate) fn cancel_receive(&mut self, id: MessageId, at: i64) {
        if self.slots[id as usize].sent {
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

    /// How many there were at once.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// The ends of all trails.
    pub(crate) fn crossings(&mut self) -> impl Iterator<Item = (usize, &mut CrossingId)> {
        let open = self.slots.iter_mut().filter(|message| message.channel != NOWHERE);
        let sources = open.map(|message| &mut message.source).chain(&mut self.places.slots);
        sources.flat_map(|source| source.moment.ends())
    }

    /// Sends never received and receives never satisfied.
    pub(crate) fn unmatched(&self) -> (usize, usize) {
        let (mut sends, mut receives) = (0, 0);
        for queue in &self.queues {
            let mut id = queue.first;
            while id != NONE {
                let message = &self.slots[id as usize];
                sends += usize::from(message.sent);
                receives += usize::from(!message.sent && !message.cancelled);
                id = message.link;
            }
        }
        (sends, receives)
    }

    /// Takes the queue's first message if it has the side that did not come now.
    #[inline]
    fn take_first(&mut self, channel: u32, is_sent: bool) -> Option<(MessageId, &mut Message)> {
        let first = self.queues[channel as usize].first;
        let message = self.slots.get(first as usize)?; // there is none of number NONE
        if message.cancelled {
            self.drop_cancelled(channel);
        }
        let queue = &mut self.queues[channel as usize];
        let id = queue.first;
        let message = self.slots.get_mut(id as usize).filter(|message| message.sent == is_sent)?;
        queue.first = std::mem::replace(&mut message.link, NONE);
        message.matched = true;
        Some((id, message))
    }

    /// The queue's first messages are over as long as they are cancelled.
    #[cold]
    #[inline(never)]
    fn drop_cancelled(&mut self, channel: u32) {
        let queue = &mut self.queues[channel as usize];
        while let Some(message) = self.slots.get_mut(queue.first as usize)
            && message.cancelled
        {
            self.free.push(queue.first);
            queue.first = message.link;
            message.channel = NOWHERE;
        }
    }

    /// A message that comes first: it is made where it is kept.
    #[inline]
    fn queue(&mut self, channel: u32, message: impl FnOnce() -> Message) -> MessageId {
        let id = self.free.pop().unwrap_or_else(|| self.add());
        self.slots[id as usize] = Message { channel, ..message() };
        let queue = &mut self.queues[channel as usize];
        if queue.first == NONE {
            queue.first = id;
        } else {
            self.slots[queue.last as usize].link = id;
        }
        queue.last = id;
        id
    }

    /// Another slot.
    #[cold]
    #[inline(never)]
    fn add(&mut self) -> MessageId {
        self.slots.push(Message::OVER);
        self.slots.len() as MessageId - 1
    }

    #[inline]
    fn release(&mut self, id: MessageId) {
        let message = &mut self.slots[id as usize];
        if message.matched && message.sender_done && message.received {
            message.channel = NOWHERE;
            self.free.push(id);
        }
    }

    /// Its send comes after its receive was over.
    #[cold]
    fn note_if_received_before_sent(&mut self, id: MessageId) {
        let message = &self.slots[id as usize];
        let over = self.over.remove(&id).unwrap_or(i64::MAX);
        if message.source.at > over && !message.freed {
            self.note_received_before_sent(id);
        }
    }

    #[cold]
    fn note_received_before_sent(&mut self, id: MessageId) {
        let message = &self.slots[id as usize];
        let (source, destination) = self.queues[message.channel as usize].ends;
        let found = (message.send().map_or(0, |sent| sent.at), source, destination);
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

    fn source(at: i64) -> impl FnOnce() -> Source {
        let moment = Moment { clocks: Clocks::all(at, 1), ..Moment::default() };
        move || Source { moment, at, rank: 0, tied: false }
    }

    fn messages() -> Messages {
        let mut messages = Messages::default();
        messages.add_channel((1, 2));
        messages
    }

    #[test]
    fn sends_and_receives_match_first_in_first_out() {
        let mut messages = messages();
        let first = messages.send(0, source(10), true);
        let second = messages.send(0, source(20), false);
        assert_eq!(messages.post(0, source(30)), first);
        assert_eq!(messages.post(0, source(31)), second);
        let third = messages.post(0, source(32));
        assert!(!messages.slots[third as usize].sent);
        assert_eq!(messages.send(0, source(40), true), third);
        let posted = |id: MessageId| {
            let place = messages.slots[id as usize].posted();
            messages.places.slots.get(place as usize).map(|source| source.at)
        };
        assert_eq!([first, second, third].map(posted), [Some(30), None, Some(32)]);
        assert_eq!(messages.unmatched(), (0, 0));
    }

    #[test]
    fn memory_follows_open_messages_only() {
        let mut messages = messages();
        for at in 0..1000 {
            let id = messages.send(0, source(at), at % 2 > 0);
            let posted = messages.post(0, source(at));
            messages.sender_done(id);
            messages.receiver_done(posted, at);
        }
        assert_eq!((messages.slots.len(), messages.places.slots.len()), (1, 1));
    }

    #[test]
    fn a_receive_that_was_over_first_keeps_its_place_in_the_queue() {
        let mut messages = messages();
        let early = messages.post(0, source(0));
        messages.receiver_done(early, 5);
        assert_eq!(messages.send(0, source(9), false), early);
        assert_eq!(messages.received_before_sent, 1);
        assert_eq!(messages.first_received_before_sent, Some((9, 1, 2)));
        let next = messages.send(0, source(10), false);
        assert_eq!(messages.post(0, source(11)), next);
    }

    #[test]
    fn who_is_replayed_first_has_not_received_first() {
        let mut messages = messages();
        for (received, sent) in [(5, 4), (7, 7), (8, 9)] {
            let posted = messages.post(0, source(0));
            messages.receiver_done(posted, received);
            messages.send_away(0, source(sent));
        }
        assert_eq!(messages.first_received_before_sent, Some((9, 1, 2)));
        assert_eq!((messages.received_before_sent, messages.over.len()), (1, 0));
    }

    #[test]
    fn a_cancelled_receive_takes_no_message() {
        let mut messages = messages();
        let ids: Vec<_> = (0..3).map(|at| messages.post(0, source(at))).collect();
        messages.cancel_receive(ids[1], 3);
        messages.cancel_receive(ids[2], 4);
        assert_eq!(messages.send(0, source(5), true), ids[0]);
        let sent = messages.send(0, source(6), true);
        assert_eq!(messages.unmatched(), (1, 0));
        assert_eq!(messages.slots[sent as usize].posted(), NONE);
    }
}
