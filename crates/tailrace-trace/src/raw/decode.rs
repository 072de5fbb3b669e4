//! The calls of one raw stream: nanoseconds on the common clock, words in numbers of the run.

use std::sync::Arc;

use crate::coded::CodedShape;
use crate::cursor::Cursor;
use crate::error::TraceError;
use crate::event::{Layer, Part, Progress};
use crate::limits::{NESTING_MAX, SHAPE_WORDS_MAX};
use crate::offsets::Follower;
use crate::wire::{self, class, file};
use crate::words::{self, Context, Wrong, first_token, has_tokens};

use super::clock::ClockMap;
use super::run::{Run, Stream};
use super::scan::{Define, Record, Scan};
use super::translate::{Completion, Translation, completions, posts_wildcard};

/// Slots of the table by which capture writes offsets.
const OFFSET_SLOTS: usize = 64;

/// A call, or one end of one.
#[derive(Clone, Debug)]
pub(crate) struct Decoded {
    pub begin_ns: i64,
    pub end_ns: i64,
    pub shape: Arc<CodedShape>,
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
        Self { begin_ns, end_ns, shape, number: None, posted: None, completed, of_others }
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

/// A shape number of the stream, made ready for use.
#[derive(Default)]
struct Slot {
    defined: bool,
    function: u16,
    class: u8,
    /// From where it is called, in numbers of the run.
    place: u32,
    raw: Vec<i64>,
    /// Its file is the one of the last record *path*.
    latest: bool,
    /// Words that are yet to come.
    missing: u64,
    /// The longest distance back to an own request.
    reach: u64,
    /// By part; made at first use.
    coded: [Option<Arc<CodedShape>>; 3],
}

pub(crate) struct Decoder<'a> {
    scan: Scan,
    clock: &'a ClockMap,
    translation: Translation<'a>,
    context: Context<'a>,
    stream: &'a Stream,
    slots: Vec<Slot>,
    cursor_ticks: u64,
    reached_ns: i64,
    expected: [i64; OFFSET_SLOTS],
    latest_file: u32,
    follower: Follower,
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
        let scan = Scan::open(&stream.survey.path)?;
        Ok(Self {
            cursor_ticks: scan.header.start,
            reached_ns: run.clock(stream).ns(scan.header.start),
            scan,
            clock: run.clock(stream),
            translation: run.translation(stream),
            context: Context { tables: &run.tables, location: stream.location },
            stream,
            slots: (0..256).map(|_| Slot::default()).collect(),
            expected: [0; OFFSET_SLOTS],
            latest_file: 0,
            follower: Follower::default(),
            next_number: 0,
            open: Vec::new(),
            not_understood: 0,
            ended: false,
        })
    }

    pub(crate) fn translation(&self) -> &Translation<'a> {
        &self.translation
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
        let shape = self.shape(part, shape);
        match part {
            Part::Enter => self.open.push(shape.0.clone()),
            Part::Leave => drop(self.open.pop()),
            Part::Call => {}
        }
        Some(self.decoded(begin_ns, end_ns, shape))
    }

    fn decoded(
        &mut self,
        begin_ns: i64,
        end_ns: i64,
        (shape, slot): (Arc<CodedShape>, usize),
    ) -> Decoded {
        let mut decoded = Decoded::new(begin_ns, end_ns, shape);
        let (part, class) = (decoded.shape.part, decoded.shape.class);
        if part == Part::Enter {
            return decoded;
        }
        let raw = &self.slots[slot].raw;
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

    /// The coded shape for this number of the stream, and the slot that holds its raw words.
    fn shape(&mut self, part: Part, number: u8) -> (Arc<CodedShape>, usize) {
        let index = usize::from(number);
        let slot = &mut self.slots[index];
        slot.name_latest(self.latest_file);
        let coded = slot.coded(part, &self.translation, self.context, &mut self.not_understood);
        if slot.reach > self.next_number {
            self.not_understood += 1;
            return (
                Arc::new(CodedShape { class: class::PLAIN, words: Vec::new(), ..*coded }),
                index,
            );
        }
        if slot.class != class::FILE
            || coded.class != class::FILE
            || coded.words[file::FLAGS] & file::HAS_OFFSET == 0
        {
            return (coded, index);
        }
        let (raw_file, distance, bytes) =
            (slot.raw[file::FILE], slot.raw[file::OFFSET], slot.raw[file::BYTES]);
        let expected = &mut self.expected[raw_file as usize % OFFSET_SLOTS];
        let offset = expected.wrapping_add(distance);
        let number = coded.words[file::FILE] as u32;
        let (distance, end) = match part {
            Part::Enter => (self.follower.peek(number, offset), *expected),
            _ => (self.follower.distance(number, offset, bytes as u64), offset.wrapping_add(bytes)),
        };
        *expected = end;
        (slot.with_distance(coded, part, distance), index)
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

impl Slot {
    fn define(&mut self, define: &Define, stream: &Stream) {
        let mut from = Cursor::new(define.words);
        if define.class != class::MORE {
            let function = stream.functions.get(&define.function).copied().unwrap_or(0);
            *self = Self {
                defined: true,
                function,
                class: define.class,
                missing: define.total,
                ..Self::default()
            };
        }
        let here = if define.class == class::MORE { define.total } else { self.missing };
        for _ in 0..here.min(self.missing) {
            let Ok(word) = from.word() else { break };
            self.missing -= 1;
            if self.raw.len() < SHAPE_WORDS_MAX {
                self.raw.push(word);
            }
        }
        if define.class != class::MORE {
            let number = define.place.or_else(|| u32::try_from(from.varint().ok()?).ok());
            let index = number.and_then(|number| (number as usize).checked_sub(1));
            self.place =
                index.and_then(|index| stream.places.get(index)).copied().unwrap_or_default();
        }
        self.latest = self.class == class::FILE
            && self.raw.len() >= file::WORDS
            && self.raw[file::FLAGS] & file::LATEST != 0;
        if self.latest {
            self.raw[file::FLAGS] &= !file::LATEST;
        }
        self.coded = Default::default();
    }

    /// The latest file by its number, as if the stream had said that.
    fn name_latest(&mut self, number: u32) {
        if self.latest && self.raw[file::FILE] != i64::from(number) {
            self.raw[file::FILE] = i64::from(number);
            self.coded = Default::default();
        }
    }

    fn coded(
        &mut self,
        part: Part,
        translation: &Translation,
        context: Context,
        not_understood: &mut u64,
    ) -> Arc<CodedShape> {
        if let Some(known) = &self.coded[part as usize] {
            return known.clone();
        }
        let coded = understood(self.class, &self.raw, self.function, translation, context);
        // What a call will turn out to be is not all known when it is entered.
        *not_understood += u64::from(coded.is_err() && part != Part::Enter);
        let (class, words) = match coded {
            Ok(words) => (self.class, words),
            Err(_) => not_understandable(self.class, &self.raw, context),
        };
        self.reach = if has_tokens(class) {
            words.iter().skip(first_token(class)).copied().max().unwrap_or(0).max(0) as u64
        } else {
            0
        };
        let coded =
            Arc::new(CodedShape { part, function: self.function, class, place: self.place, words });
        self.coded[part as usize] = Some(coded.clone());
        coded
    }

    fn with_distance(
        &mut self,
        coded: Arc<CodedShape>,
        part: Part,
        distance: i64,
    ) -> Arc<CodedShape> {
        if coded.words[file::OFFSET] == distance {
            return coded;
        }
        let mut shape = (*coded).clone();
        shape.words[file::OFFSET] = distance;
        let shape = Arc::new(shape);
        self.coded[part as usize] = Some(shape.clone());
        shape
    }
}

/// Words in numbers of the run that every reader of the packed trace will understand.
fn understood(
    class: u8,
    raw: &[i64],
    function: u16,
    translation: &Translation,
    context: Context,
) -> Result<Vec<i64>, Wrong> {
    let words = translation.words(class, raw)?;
    let layer = context
        .tables
        .functions
        .get(usize::from(function))
        .map_or(Layer::Mpi, |function| function.layer);
    // Distances are looked at when the call comes: what is asked here is all the rest.
    words::operation(class, &words, layer, i64::MAX as u64, context)?;
    Ok(words)
}

/// What orders nothing, but still takes its number where it names a request; without MPI there are
/// none.
fn not_understandable(class: u8, raw: &[i64], context: Context) -> (u8, Vec<i64>) {
    match words::progress(class, raw) {
        _ if context.tables.communicators.is_empty() => (class::PLAIN, Vec::new()),
        Progress::Blocking => (class::PLAIN, Vec::new()),
        Progress::Started => (class::REQUEST, vec![wire::flag::STARTS]),
        Progress::Persistent => (class::REQUEST, vec![wire::flag::PERSISTENT]),
    }
}
