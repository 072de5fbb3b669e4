//! One stream: decoded, watched, cut into blocks.

use std::collections::VecDeque;
use std::sync::mpsc::SyncSender;

use hashbrown::HashMap;

use crate::coded::{CodedShape, has_no_answer};
use crate::event::Part;
use crate::packed::{Block, Encoder};
use crate::raw::decode::{Decoded, Decoder};
use crate::raw::run::{Run, Stream};
use crate::raw::translate::Completion;
use crate::wire::{self, class};

use super::encoding::Encoding;
use super::foresight::{self, Matches};
use super::observe::{Observed, Observer};
use super::polls::{Polls, State};
use super::{Parcel, events_per_block};

/// Blocks that are held back while wildcard receives posted in them may still tell what they
/// matched; for those that do not by then, the stream is read ahead.
const BLOCKS_HELD: usize = 16;

/// Decodes the stream and sends its blocks, then what was observed; an error ends it.
pub(super) fn pack(
    run: &Run,
    stream: &Stream,
    encoding: &Encoding,
    encoder: &mut Encoder,
    to: &SyncSender<Parcel>,
) {
    let packer = Decoder::new(run, stream)
        .map(|decoder| Packer::new(run, stream, decoder, (encoding, encoder), to));
    let parcel = match packer.map(Packer::run) {
        Ok(observed) => Parcel::Done(Box::new(observed)),
        Err(error) => Parcel::Failed(error),
    };
    // The receiver is gone where another stream failed before: nothing is left to be told then.
    let _ = to.send(parcel);
}

struct Packer<'a> {
    run: &'a Run,
    stream: &'a Stream,
    decoder: Decoder<'a>,
    observer: Observer<'a>,
    encoding: &'a Encoding,
    encoder: &'a mut Encoder,
    to: &'a SyncSender<Parcel>,
    location: u32,
    events_max: usize,
    /// The last of them is being filled.
    held: VecDeque<Held>,
    /// How many blocks were sent: the number of the first that is held.
    sent: u64,
    /// Wildcard receives that are under way.
    posted: HashMap<u64, Posted>,
    /// What receives will match that take long; read ahead where it is first asked for.
    foreseen: Option<Matches>,
    /// Calls that may go on with the next one.
    polls: Option<Polls<'a>>,
    /// Block and row of the *enter* of every call that is open.
    entered: Vec<(u64, usize)>,
}

struct Held {
    block: Block,
    /// Wildcard receives in it that are under way, and calls entered in it that are not left.
    open: usize,
}

#[derive(Clone, Copy)]
struct Posted {
    block: u64,
    row: usize,
    /// Number in the process.
    communicator: i64,
}

impl<'a> Packer<'a> {
    fn new(
        run: &'a Run,
        stream: &'a Stream,
        decoder: Decoder<'a>,
        (encoding, encoder): (&'a Encoding, &'a mut Encoder),
        to: &'a SyncSender<Parcel>,
    ) -> Self {
        Self {
            run,
            stream,
            decoder,
            observer: Observer::new(&run.tables.functions),
            encoding,
            encoder,
            to,
            location: stream.location,
            events_max: events_per_block(run.streams.len()),
            held: VecDeque::new(),
            sent: 0,
            posted: HashMap::new(),
            foreseen: None,
            polls: None,
            entered: Vec::new(),
        }
    }

    fn run(mut self) -> Observed {
        let mut wanted = true;
        while wanted {
            if let (Some(held), None) = (self.held.back_mut(), &self.polls) {
                let matching = !self.posted.is_empty();
                let events = self.decoder.run(&mut held.block, self.events_max, matching);
                self.observer.count(events);
            }
            // Where the block begins, if it is begun.
            let state = self.decoder.state();
            let Some(decoded) = self.decoder.next_call() else { break };
            wanted = self.take(decoded, state);
        }
        if let Some(polls) = self.polls.take() {
            wanted = wanted && self.add_polls(polls);
        }
        if self.run.siblings(self.stream).next().is_some() {
            (self.sent..self.sent + self.held.len() as u64).for_each(|block| self.foresee(block));
        }
        while wanted && !self.held.is_empty() {
            wanted = self.send_first();
        }
        self.observer.finish(self.decoder.not_understood)
    }

    /// `false` when nobody wants more blocks.
    fn take(&mut self, next: Decoded, state: State) -> bool {
        if self.polls.is_none() && !has_no_answer(&next.shape) {
            return self.add(&next, state);
        }
        let mut wanted = true;
        let mut polls = match self.polls.take() {
            Some(polls) if polls.is_asked_again(&next) => polls.and(next),
            before => {
                wanted = before.is_none_or(|polls| self.add_polls(polls));
                let location = &self.run.tables.locations[self.location as usize];
                Polls::new(next, state, location.waits.as_deref().unwrap_or_default())
            }
        };
        if !polls.has_no_answer() {
            return wanted && self.add_polls(polls);
        }
        polls.follow(&mut self.decoder);
        self.polls = Some(polls);
        wanted
    }

    fn add_polls(&mut self, polls: Polls<'_>) -> bool {
        self.observer.merge(polls.besides());
        let (besides, call, state) = polls.end();
        besides.is_none_or(|besides| self.add(&besides, state)) && self.add(&call, state)
    }

    fn add(&mut self, decoded: &Decoded, (next_number, reached_ns): State) -> bool {
        self.observer.observe(decoded);
        let mut wanted = true;
        if self.held.back().is_none_or(|held| held.block.is_full(self.events_max)) {
            wanted = self.send_settled();
            self.decoder.forget_all();
            self.held.push_back(Held { block: Block::new(reached_ns, next_number), open: 0 });
        }
        let last = self.sent + self.held.len() as u64 - 1;
        if let Some(held) = self.held.back_mut() {
            if let (Some(number), Some(communicator)) = (decoded.number, decoded.posted) {
                self.posted
                    .insert(number, Posted { block: last, row: held.block.len(), communicator });
                held.open += 1;
            }
            if decoded.shape.part == Part::Enter {
                self.entered.push((last, held.block.len()));
                held.open += 1;
            }
            let index = held.block.push(decoded.begin_ns, decoded.end_ns, &decoded.shape);
            self.decoder.remember(decoded, index);
        }
        if decoded.shape.part == Part::Leave {
            self.tell_enter(&decoded.shape);
        }
        decoded
            .completed
            .iter()
            .for_each(|(number, completion)| self.complete(*number, completion));
        wanted
    }

    /// An *enter* learns from its *leave* what was not known before, if it is still held: what a
    /// Wait waited for (whether the time between is time in a file depends on it), which
    /// communicator or window was made.
    fn tell_enter(&mut self, leave: &CodedShape) {
        let Some((block, row)) = self.entered.pop() else { return };
        let Some(place) = block.checked_sub(self.sent) else { return };
        let Some(held) = self.held.get_mut(place as usize) else { return };
        held.open -= 1;
        let enter = held.block.shape(row);
        let learns = match leave.class {
            class::COMPLETE => true,
            class::PLAIN | class::FILE => false,
            _ => enter.class == class::PLAIN,
        };
        if learns && enter.function == leave.function {
            held.block.replace(row, CodedShape { part: Part::Enter, ..leave.clone() });
        }
    }

    /// Writes what a wildcard receive matched where it was posted, if that is still held.
    fn complete(&mut self, number: u64, completion: &Completion) {
        let Some(posted) = self.posted.remove(&number) else { return };
        let Some(place) = posted.block.checked_sub(self.sent) else { return };
        let Some(held) = self.held.get_mut(place as usize) else { return };
        held.open -= 1;
        let peer = self.decoder.translation().peer(posted.communicator, completion.peer);
        if let Some(peer) = peer.ok().filter(|&peer| peer != wire::peer::ANY) {
            let mut shape = CodedShape::clone(held.block.shape(posted.row));
            let Some(asked) = wire::Asked::of(shape.class) else { return };
            shape.words[asked.actual_peer] = peer;
            shape.words[asked.actual_tag] = completion.tag;
            held.block.replace(posted.row, shape);
        }
    }

    /// Sends the blocks that no receive waits for, and those that were held for too long.
    fn send_settled(&mut self) -> bool {
        while self.held.front().is_some_and(|first| first.open == 0)
            || self.held.len() >= BLOCKS_HELD
        {
            self.foresee(self.sent);
            if !self.send_first() {
                return false;
            }
        }
        true
    }

    /// Settles the receives of a block that is held from what they will match.
    fn foresee(&mut self, block: u64) {
        let open = self.posted.iter().filter(|(_, posted)| posted.block == block);
        let open: Vec<u64> = open.map(|(number, _)| *number).collect();
        if open.is_empty() {
            return;
        }
        let events_min = (BLOCKS_HELD - 2) * self.events_max;
        let read = || foresight::matches(self.run, self.stream, events_min).unwrap_or_default();
        let foreseen = self.foreseen.get_or_insert_with(read);
        let known: Vec<_> =
            open.iter().filter_map(|number| Some((*number, *foreseen.get(number)?))).collect();
        for (number, completion) in known {
            self.complete(number, &completion);
        }
    }

    fn send_first(&mut self) -> bool {
        let Some(Held { block, .. }) = self.held.pop_front() else { return true };
        self.sent += 1;
        let events = block.len();
        let bytes = self.encoding.encode(block, self.location, self.encoder);
        self.to.send(Parcel::Block { events, bytes }).is_ok()
    }
}
