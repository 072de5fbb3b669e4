//! The calls of one raw stream: nanoseconds on the common clock, words in numbers of the run.

use std::sync::Arc;

use crate::coded::CodedShape;
use crate::error::TraceError;
use crate::event::{Part, Progress};
use crate::limits::NESTING_MAX;
use crate::packed::Block;
use crate::wire::{self, class};
use crate::words::{self, Context};

use super::clock::ClockMap;
use super::quick::{Offsets, Quicks, ROWS, Rows};
use super::run::{Run, Stream};
use super::scan::{Record, Scan, plain_call};
use super::slot::Slot;
use super::translate::{Completion, Translation, completions, posts_wildcard};

/// A call, or one end of one.
#[derive(Clone, Debug)]
pub(crate) struct Decoded {
    pub begin_ns: i64,
    pub end_ns: i64,
    pub shape: Arc<CodedShape>,
    /// The shape's number in the stream; none where the stream's end closed the call.
    pub slot: Option<u8>,
    /// Number of the request that it names.
    pub number: Option<u64>,
    /// A wildcard receive that does not say yet what it matched; its communicator's number in the
    /// process.
    pub posted: Option<i64>,
    /// What it completed, as far as own requests go: number, and peer and tag as the stream has
    /// them.
    pub completed: Vec<(u64, Completion)>,
    /// … and requests that other threads of the process started.
    pub of_others: Vec<OfOther>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct OfOther {
    /// Its number in the process.
    pub thread: u32,
    /// Of the request, on that thread.
    pub number: u64,
    pub completion: Completion,
}

impl Decoded {
    pub(crate) fn new(begin_ns: i64, end_ns: i64, shape: Arc<CodedShape>) -> Self {
        let (completed, of_others) = (Vec::new(), Vec::new());
        let (slot, number, posted) = (None, None, None);
        Self { begin_ns, end_ns, shape, slot, number, posted, completed, of_others }
    }

    fn complete(&mut self, completion: Completion, next_number: u64) {
        if let Ok(distance @ 1..) = u64::try_from(completion.token) {
            let number = next_number.checked_sub(distance);
            self.completed.extend(number.map(|number| (number, completion)));
            return;
        }
        let coded = !completion.token;
        self.of_others.push(OfOther {
            thread: (coded >> wire::token::THREAD_SHIFT) as u32,
            number: (coded & wire::token::NUMBER_MASK) as u64,
            completion,
        });
    }
}

pub(crate) struct Decoder<'a> {
    scan: Scan,
    clock: &'a ClockMap,
    translation: Translation<'a>,
    context: Context<'a>,
    stream: &'a Stream,
    slots: Vec<Slot>,
    pub(super) quick: Quicks,
    cursor_ticks: u64,
    reached_ns: i64,
    pub(super) offsets: Offsets,
    latest_file: u32,
    next_number: u64,
    open: Vec<Arc<CodedShape>>,
    /// Calls whose arguments pointed to what was never defined: they are kept, but order nothing.
    pub not_understood: u64,
    ended: bool,
}

impl<'a> Decoder<'a> {
    /// # Errors
    /// If the stream can no longer be opened.
    pub(crate) fn new(run: &'a Run, stream: &'a Stream) -> Result<Self, TraceError> {
        let scan = Scan::open(&stream.survey.file)?;
        Ok(Self {
            cursor_ticks: scan.header.start,
            reached_ns: run.clock(stream).ns(scan.header.start),
            scan,
            clock: run.clock(stream),
            translation: run.translation(stream),
            context: Context { tables: &run.tables, location: stream.location },
            stream,
            slots: (0..256).map(|_| Slot::default()).collect(),
            quick: Quicks::new(),
            offsets: Offsets::new(run.tables.files.len()),
            latest_file: 0,
            next_number: 0,
            open: Vec::new(),
            not_understood: 0,
            ended: false,
        })
    }

    pub(crate) fn translation(&self) -> &Translation<'a> {
        &self.translation
    }

    /// Number of the next request, and the moment that the calls reach.
    pub(crate) fn state(&self) -> (u64, i64) {
        (self.next_number, self.reached_ns)
    }

    /// Takes note that calls like this one, which is in the block that is being filled, have the
    /// shape of that index there.
    pub(crate) fn remember(&mut self, decoded: &Decoded, index: u32) {
        if let (Some(slot), None) = (decoded.slot, decoded.posted) {
            self.quick.remember(slot, &self.slots[usize::from(slot)], &decoded.shape, index);
        }
    }

    /// To be said when another block is begun.
    pub(crate) fn forget_all(&mut self) {
        self.quick.forget_all();
    }

    /// Puts the calls that come next into the block, as long as they are like others in it; returns
    /// how many. Completions are none of them where receives are to be told what they `matched`.
    pub(crate) fn run(&mut self, block: &mut Block, events_max: usize, matching: bool) -> u64 {
        // An error comes again where the next record is asked for.
        let Ok(ahead) = self.scan.ahead() else { return 0 };
        let (mut at, mut events) = (0, 0);
        let mut stretch = self.clock.stretch(self.cursor_ticks);
        let nested = !self.open.is_empty();
        // What every call changes is kept at hand, not in memory.
        let (mut cursor_ticks, mut reached_ns) = (self.cursor_ticks, self.reached_ns);
        let mut rows = Rows::default();
        loop {
            let (room, room_for_tokens) = block.room(events_max);
            let room = room.min(ROWS);
            rows.clear();
            while rows.len() < room && rows.tokens < room_for_tokens {
                let Some(call) = plain_call(ahead, at) else { break };
                let Some(quick) = self.quick.get(call.shape, nested, matching) else { break };
                let begin = cursor_ticks.saturating_add(call.gap);
                let end = begin.saturating_add(call.duration);
                if !stretch.holds(begin, end) {
                    stretch = self.clock.stretch(begin);
                    if !stretch.holds(begin, end) {
                        break;
                    }
                }
                let begin_ns = stretch.ns(begin).max(reached_ns);
                let end_ns =
                    if call.duration == 0 { begin_ns } else { stretch.ns(end).max(begin_ns) };
                if !Rows::takes(begin_ns - reached_ns, end_ns - begin_ns)
                    || !self.offsets.follow(quick)
                {
                    break;
                }
                rows.push(begin_ns - reached_ns, end_ns - begin_ns, quick);
                (cursor_ticks, reached_ns) = (end, end_ns);
                at += call.bytes;
            }
            events += rows.len() as u64;
            self.next_number += rows.started;
            block.append(rows.columns(), reached_ns, rows.tokens);
            if rows.len() < ROWS {
                break;
            }
        }
        (self.cursor_ticks, self.reached_ns) = (cursor_ticks, reached_ns);
        self.scan.advance(at);
        events
    }

    /// Passes over the calls that come next and have that shape's number, as long as `goes_on`, which
    /// is given when one begins, when the one before ended, and how long that took. How many, and
    /// how long the last one took.
    pub(crate) fn skip(
        &mut self,
        slot: u8,
        mut last_ns: i64,
        goes_on: impl Fn(i64, i64, i64) -> bool,
    ) -> (u64, i64) {
        let Ok(ahead) = self.scan.ahead() else { return (0, last_ns) };
        let (mut at, mut calls) = (0, 0);
        while let Some(call) = plain_call(ahead, at).filter(|call| call.shape == slot) {
            let begin = self.cursor_ticks.saturating_add(call.gap);
            let end = begin.saturating_add(call.duration);
            let begin_ns = self.clock.ns(begin).max(self.reached_ns);
            let end_ns = self.clock.ns(end).max(begin_ns);
            if !goes_on(begin_ns, self.reached_ns, last_ns) {
                break;
            }
            (self.cursor_ticks, self.reached_ns, last_ns) = (end, end_ns, end_ns - begin_ns);
            (at, calls) = (at + call.bytes, calls + 1);
        }
        self.scan.advance(at);
        (calls, last_ns)
    }

    /// The next call; `None` at the end. Calls that never returned are closed where the stream
    /// ends.
    /// Damaged records end the stream, which its survey has noted.
    pub(crate) fn next_call(&mut self) -> Option<Decoded> {
        while !self.ended {
            let step = match self.scan.next_record() {
                Ok(Some(Record::Call { shape, gap, duration })) => {
                    Step::Edge(Part::Call, shape, gap, duration)
                }
                Ok(Some(Record::Enter { shape, gap })) => Step::Edge(Part::Enter, shape, gap, 0),
                Ok(Some(Record::Leave { shape, gap })) => Step::Edge(Part::Leave, shape, gap, 0),
                Ok(Some(Record::Define(define))) => {
                    self.slots[usize::from(define.shape)].define(&define, self.stream);
                    self.quick.forget(define.shape);
                    Step::Nothing
                }
                Ok(Some(Record::Path { file, .. })) => {
                    self.latest_file = file;
                    Step::Nothing
                }
                Ok(Some(_)) => Step::Nothing,
                Ok(None) | Err(_) => {
                    self.ended = true;
                    Step::Nothing
                }
            };
            if let Step::Edge(part, shape, gap, duration) = step
                && let Some(decoded) = self.edge(part, shape, gap, duration)
            {
                return Some(decoded);
            }
        }
        self.close()
    }

    fn edge(&mut self, part: Part, shape: u8, gap: u64, duration: u64) -> Option<Decoded> {
        let begin = self.cursor_ticks.saturating_add(gap);
        self.cursor_ticks = begin.saturating_add(duration);
        if !self.slots[usize::from(shape)].defined {
            self.not_understood += 1;
            return None;
        }
        let begin_ns = self.clock.ns(begin).max(self.reached_ns);
        let end_ns =
            if duration == 0 { begin_ns } else { self.clock.ns(self.cursor_ticks).max(begin_ns) };
        if part == Part::Leave && self.open.is_empty()
            || part == Part::Enter && self.open.len() >= NESTING_MAX
        {
            return None;
        }
        self.reached_ns = end_ns;
        let (slot, shape) = (shape, self.shape(part, shape));
        match part {
            Part::Enter => self.open.push(shape.clone()),
            Part::Leave => drop(self.open.pop()),
            Part::Call => {}
        }
        Some(self.decoded(begin_ns, end_ns, shape, slot))
    }

    fn decoded(&mut self, begin_ns: i64, end_ns: i64, shape: Arc<CodedShape>, slot: u8) -> Decoded {
        let mut decoded = Decoded { slot: Some(slot), ..Decoded::new(begin_ns, end_ns, shape) };
        let (part, class) = (decoded.shape.part, decoded.shape.class);
        if part == Part::Enter {
            return decoded;
        }
        let raw = &self.slots[usize::from(slot)].raw;
        if class == class::COMPLETE {
            for completion in completions(raw).into_iter().flatten() {
                decoded.complete(completion, self.next_number);
            }
        }
        if words::progress(class, &decoded.shape.words) != Progress::Blocking {
            decoded.number = Some(self.next_number);
            decoded.posted = posts_wildcard(class, raw).then(|| raw[wire::receive::COMMUNICATOR]);
            self.next_number += 1;
        }
        decoded
    }

    /// The coded shape for this number of the stream.
    fn shape(&mut self, part: Part, number: u8) -> Arc<CodedShape> {
        let slot = &mut self.slots[usize::from(number)];
        slot.name_latest(self.latest_file, &self.translation);
        let coded = slot.coded(part, &self.translation, self.context, &mut self.not_understood);
        if slot.reach > self.next_number {
            self.not_understood += 1;
            return Arc::new(CodedShape { class: class::PLAIN, words: Vec::new(), ..*coded });
        }
        let Some(place) = slot.place_in_file(&coded) else { return coded };
        let distance = match part {
            Part::Enter => self.offsets.peek(&place),
            _ => self.offsets.distance(&place),
        };
        slot.with_distance(coded, part, distance)
    }

    /// A call that was open when the stream ended is closed at the last moment known of the thread.
    fn close(&mut self) -> Option<Decoded> {
        let open = self.open.pop()?;
        let at = self.clock.ns(self.cursor_ticks).max(self.reached_ns);
        let shape = Arc::new(CodedShape { part: Part::Leave, ..(*open).clone() });
        let mut decoded = Decoded::new(at, at, shape);
        if words::progress(decoded.shape.class, &decoded.shape.words) != Progress::Blocking {
            decoded.number = Some(self.next_number);
            self.next_number += 1;
        }
        Some(decoded)
    }
}

enum Step {
    Nothing,
    Edge(Part, u8, u64, u64),
}
