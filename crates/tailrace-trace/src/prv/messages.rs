//! Which calls send, post and receive each message, and how to say it in envelopes.
//!
//! A `.prv` pairs sends and receives explicitly. Consumers pair them again: among equal
//! (communicator, sender, receiver, tag) the first send with the first receive. Where that would
//! give other pairs than the recorded ones (messages of several communicators share a tag, or a
//! later receive was posted first), a message moves to the next *lane*: a communicator of the same
//! ranks that exists only in the events. Each lane is in order, so the pairs come out as recorded.

use hashbrown::HashMap;

use super::parse::Message;
use super::thread::Call;
use super::types;

/// Rank and thread, from 0.
pub(super) type Place = (u32, u32);

/// The calls that deal with messages, on one thread.
#[derive(Debug, Default)]
pub(super) struct Ends {
    /// Index of the call and of the message, in the order in which the messages were sent.
    pub sends: Vec<(u32, u32)>,
    /// In the order in which the receives were posted; with the call by which the data had arrived.
    pub posts: Vec<(u32, u32, u32)>,
    /// By the call in which the data arrived.
    pub arrivals: Vec<(u32, u32)>,
}

/// Where the messages of a trace begin and end.
#[derive(Debug, Default)]
pub(super) struct Attached {
    pub ends: HashMap<Place, Ends>,
    /// Lane of each message.
    pub lanes: Vec<u32>,
    /// Messages that begin or end outside every MPI call: they order nothing.
    pub dropped: u64,
}

/// The outermost MPI calls of one thread: disjoint, in order of time.
pub(super) struct MpiCalls<'a> {
    calls: &'a [Call],
    indices: Vec<u32>,
}

impl<'a> MpiCalls<'a> {
    /// `kind` tells the type of event behind a call's arguments.
    pub(super) fn new(calls: &'a [Call], kind: impl Fn(u32) -> u32) -> Self {
        let mut free_from = i64::MIN;
        let mut indices = Vec::new();
        for (index, call) in calls.iter().enumerate() {
            let mpi = matches!(kind(call.arguments), types::POINT_TO_POINT..=types::MPI_IO);
            if mpi && call.begin >= free_from {
                indices.push(index as u32);
                free_from = call.end;
            }
        }
        Self { calls, indices }
    }

    fn call(&self, position: usize) -> Option<(u32, Call)> {
        self.indices.get(position).map(|index| (*index, self.calls[*index as usize]))
    }

    /// The call that something happens in at its begin: of two that touch, the later one.
    fn starting(&self, time: i64) -> Option<(u32, Call)> {
        let after = self.indices.partition_point(|index| self.calls[*index as usize].begin <= time);
        self.call(after.checked_sub(1)?).filter(|(_, call)| call.end >= time)
    }

    /// The call that something happens in at its end: of two that touch, the earlier one, but none
    /// before `first`.
    fn ending(&self, time: i64, first: u32) -> Option<u32> {
        let position = self.indices.partition_point(|index| self.calls[*index as usize].end < time);
        let (index, _) = self.call(position).filter(|(_, call)| call.begin <= time)?;
        Some(index.max(first))
    }
}

/// A message whose calls are known.
struct Placed {
    message: u32,
    /// Sender, receiver and tag: beside what else the sort compares, as messages lie anywhere.
    group: (u32, u32, i32),
    sent_ns: i64,
    sent: (i64, u32),
    posted: (i64, u32),
    done: u32,
}

/// Finds the calls of all messages and gives each message its lane.
pub(super) fn attach(messages: &[Message], calls: &HashMap<Place, MpiCalls>) -> Attached {
    let mut placed: Vec<Placed> =
        (0..).zip(messages).filter_map(|(index, message)| place(index, message, calls)).collect();
    let mut attached = Attached {
        lanes: vec![0; messages.len()],
        dropped: (messages.len() - placed.len()) as u64,
        ..Attached::default()
    };
    attached.give_lanes(messages, &mut placed);
    attached.give_ends(messages, &placed);
    attached
}

fn place(index: u32, message: &Message, calls: &HashMap<Place, MpiCalls>) -> Option<Placed> {
    let (send, send_call) = calls.get(&message.sender)?.starting(message.sent)?;
    let receiver = calls.get(&message.receiver)?;
    let (post, post_call) = receiver.starting(message.posted)?;
    let done = receiver.ending(message.done, post)?;
    Some(Placed {
        message: index,
        group: (message.sender.0, message.receiver.0, message.tag),
        sent_ns: message.sent,
        sent: (send_call.begin, send),
        posted: (post_call.begin, post),
        done,
    })
}

impl Attached {
    fn give_lanes(&mut self, messages: &[Message], placed: &mut [Placed]) {
        let moment = |time, placed: &Placed| (time, placed.message);
        placed.sort_unstable_by_key(|p| (p.group, p.sent, moment(p.sent_ns, p)));
        for together in placed.chunk_by(|a, b| a.group == b.group) {
            let posted = |p: &Placed| (p.posted, moment(messages[p.message as usize].posted, p));
            for (placed, lane) in together.iter().zip(lanes(together.iter().map(posted))) {
                self.lanes[placed.message as usize] = lane;
            }
        }
    }

    fn give_ends(&mut self, messages: &[Message], placed: &[Placed]) {
        for Placed { message: index, sent, posted, done, .. } in placed {
            let message = &messages[*index as usize];
            self.ends.entry(message.sender).or_default().sends.push((sent.1, *index));
            let receiver = self.ends.entry(message.receiver).or_default();
            receiver.posts.push((posted.1, *index, *done));
            receiver.arrivals.push((*done, *index));
        }
        for ends in self.ends.values_mut() {
            ends.sends.sort_unstable_by_key(|(call, index)| {
                (*call, messages[*index as usize].sent, *index)
            });
            ends.posts.sort_unstable_by_key(|(call, index, _)| {
                (*call, messages[*index as usize].posted, *index)
            });
            ends.arrivals.sort_unstable();
        }
    }
}

/// Splits a sequence into ascending ones, as few as there can be: each element goes to the lane
/// whose last element is the greatest below it. The last elements of the lanes descend, so the lane
/// is found by bisection.
fn lanes<T: Ord + Copy>(sequence: impl Iterator<Item = T>) -> Vec<u32> {
    let mut lasts: Vec<T> = Vec::new();
    let give = |element: T| {
        let lane = lasts.partition_point(|last| *last > element);
        match lasts.get_mut(lane) {
            Some(last) => *last = element,
            None => lasts.push(element),
        }
        lane as u32
    };
    sequence.map(give).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_are_ascending_and_few() {
        assert_eq!(lanes([1, 2, 3].into_iter()), [0, 0, 0]);
        assert_eq!(lanes([2, 1, 3].into_iter()), [0, 1, 0]);
        assert_eq!(lanes([3, 2, 1, 4].into_iter()), [0, 1, 2, 0]);
    }

    fn calls(spans: &[(i64, i64)]) -> Vec<Call> {
        spans.iter().map(|(begin, end)| Call { begin: *begin, end: *end, arguments: 0 }).collect()
    }

    #[test]
    fn of_calls_that_touch_the_later_starts_and_the_earlier_ends() {
        let calls = calls(&[(0, 10), (10, 20), (30, 40)]);
        let mpi = MpiCalls::new(&calls, |_| types::POINT_TO_POINT);
        let starting = |time| mpi.starting(time).map(|(index, _)| index);
        assert_eq!(
            [starting(10), starting(20), starting(25), starting(30)],
            [Some(1), Some(1), None, Some(2)]
        );
        let ending = |time| mpi.ending(time, 0);
        assert_eq!(
            [ending(10), ending(20), ending(25), ending(41)],
            [Some(0), Some(1), None, None]
        );
        assert_eq!(mpi.ending(10, 1), Some(1)); // posted in call 1: it cannot have arrived before
    }

    /// Two sends of one tag on different communicators: posted in the opposite order, so each has
    /// its own lane.
    #[test]
    fn pairs_that_first_come_first_served_would_not_give_take_lanes() {
        let send = calls(&[(0, 1), (1, 2)]);
        let receive = calls(&[(0, 1), (1, 2), (2, 3)]);
        let on = |calls| MpiCalls::new(calls, |_| types::POINT_TO_POINT);
        let threads =
            HashMap::from([((0, 0), on(send.as_slice())), ((1, 0), on(receive.as_slice()))]);
        let message = |sent, posted| Message {
            sender: (0, 0),
            receiver: (1, 0),
            sent,
            posted,
            done: 3,
            bytes: 8,
            tag: 5,
        };
        let attached = attach(&[message(0, 1), message(1, 0), message(9, 0)], &threads);
        assert_eq!((attached.lanes.as_slice(), attached.dropped), ([0, 1, 0].as_slice(), 1));
        assert_eq!(attached.ends[&(1, 0)].posts, [(0, 1, 2), (1, 0, 2)]);
    }
}
