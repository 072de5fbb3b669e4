//! What a thread does at every instant: the same as its reduction finds, with the call.

use hashbrown::{HashMap, HashSet};
use tailrace_trace::event::{Event, Operation, Part, Progress, Shape, Token};
use tailrace_trace::{Batch, Trace, TraceError};

use crate::accounts::timeline::State;
use crate::graph::vertex::Site;
use crate::path::sums::{Asked, Doing, Sums, Times};
use crate::reduce::Common;
use crate::reduce::load::unfinished;
use crate::steps::{self, Course, Step, collective_file};

/// A call that the thread is in.
#[derive(Clone, Copy, Debug)]
struct Frame {
    site: Site,
    file: u32,
    io: bool,
    /// Becomes a file call when the last rank enters.
    waiting: bool,
}

/// By shape of a batch.
struct Known {
    steps: Vec<Step>,
    quick: Vec<Quick>,
    places: Vec<u32>,
    /// Time that is not summed up yet, and of which shapes there is some.
    times: Vec<i64>,
    timed: Vec<u32>,
}

/// Whether all that there is to a shape is its time, and the requests that it starts.
#[derive(Clone, Copy)]
enum Quick {
    No,
    Leaf { requests: u8 },
}

pub(crate) struct Walk<'a> {
    common: &'a Common<'a>,
    location: usize,
    at: i64,
    stack: Vec<Frame>,
    /// When the opaque collective file call around becomes a file call.
    wakes: Option<i64>,
    /// Such calls so far that hold others, and collective file calls by communicator.
    opaque_calls: usize,
    collectives: HashMap<u32, u32>,
    /// Requests so far, and those that are opaque file calls.
    requests: u64,
    opaque_requests: HashSet<u64>,
    sums: Sums<'a>,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(common: &'a Common<'a>, location: usize, asked: &'a Asked) -> Self {
        Self {
            common,
            location,
            at: 0,
            stack: Vec::new(),
            wakes: None,
            opaque_calls: 0,
            collectives: HashMap::new(),
            requests: 0,
            opaque_requests: HashSet::new(),
            sums: Sums::new(asked),
        }
    }

    pub(crate) fn all(mut self, trace: &dyn Trace) -> Result<Times, TraceError> {
        let table = &self.common.tables.locations[self.location];
        self.pass(Doing::without_call(State::Mpi), self.common.clip(table.begin_ns));
        let mut stream = trace.events(self.location);
        let mut batch = Batch::default();
        while !self.sums.is_over() && stream.next_batch(&mut batch)? {
            self.batch(&batch);
        }
        if unfinished(table, &mut batch) {
            self.batch(&batch);
        }
        if !self.is_in_io() {
            self.advance(self.common.clip(table.end_ns));
            self.stack.clear();
            self.pass(Doing::without_call(State::Mpi), self.common.runtime());
        }
        self.advance(self.common.runtime());
        Ok(self.sums.times())
    }

    fn batch(&mut self, batch: &Batch) {
        let mut known = self.known(batch);
        let mut rest = batch.events.as_slice();
        while !rest.is_empty() {
            let quick = self.quickly(rest, &mut known);
            rest = &rest[quick..];
            if let Some((event, later)) = rest.split_first() {
                if event.begin > self.common.window.end_ns {
                    return;
                }
                let shape = &batch.shapes[event.shape as usize];
                self.event(event, shape, &known.steps[event.shape as usize]);
                rest = later;
            }
        }
    }

    fn known(&self, batch: &Batch) -> Known {
        let line = |shape: &Shape| {
            let tokens = shape.operation.requests().len() as u32;
            steps::line(self.common.tables, shape, tokens, 0, |_| 0).step
        };
        let is_opaque = |shape: &Shape| shape.operation.file().is_some_and(|call| call.opaque);
        let any_opaque = !self.opaque_requests.is_empty() || batch.shapes.iter().any(is_opaque);
        let by_shape = |shape: &Shape| {
            let completes = matches!(shape.operation, Operation::Complete { .. });
            if shape.part != Part::Call || is_opaque(shape) || completes && any_opaque {
                return Quick::No;
            }
            Quick::Leaf { requests: shape.takes_number().into() }
        };
        Known {
            steps: batch.shapes.iter().map(line).collect(),
            quick: batch.shapes.iter().map(by_shape).collect(),
            places: batch.shapes.iter().map(|shape| shape.place).collect(),
            times: vec![0; batch.shapes.len()],
            timed: Vec::new(),
        }
    }

    /// Takes the events that come first as long as they are calls without others inside and outside
    /// of others, during which the same questions are open. How many there were.
    fn quickly(&mut self, events: &[Event], known: &mut Known) -> usize {
        let begin_ns = self.common.window.begin_ns;
        if !self.stack.is_empty() || self.sums.until() <= self.at {
            return 0;
        }
        let until = self.sums.until().min(self.common.runtime());
        let (mut useful, mut quick) = (0, 0);
        for event in events {
            let shape = event.shape as usize;
            let begin = event.begin.saturating_sub(begin_ns);
            let end = event.end.saturating_sub(begin_ns);
            let Quick::Leaf { requests } = known.quick[shape] else { break };
            if begin < self.at || end > until {
                break;
            }
            quick += 1;
            self.requests += u64::from(requests);
            if known.steps[shape].course == Course::Local && known.steps[shape].io {
                continue;
            }
            useful += begin - self.at;
            if known.times[shape] == 0 {
                known.timed.push(event.shape);
            }
            known.times[shape] += end - begin;
            self.at = end;
        }
        self.sums.add(Doing::USEFUL, useful);
        for shape in known.timed.drain(..) {
            let shape = shape as usize;
            let time = std::mem::take(&mut known.times[shape]);
            self.sums.add(leaf(&known.steps[shape], known.places[shape]).doing(), time);
        }
        quick
    }

    fn event(&mut self, event: &Event, shape: &Shape, step: &Step) {
        match step.course {
            Course::Local if step.io => {}
            Course::Leave => {
                self.advance(self.common.clip(event.end));
                self.leave(&shape.operation);
            }
            Course::Enter => self.enter(event, shape, step),
            Course::Local | Course::File | Course::Starts | Course::Call => {
                self.enter(event, shape, step);
                self.advance(self.common.clip(event.end));
                self.leave(&shape.operation);
            }
        }
        if shape.takes_number() {
            let opaque = shape.operation.file().is_some_and(|call| call.opaque);
            if opaque && shape.operation.progress() == Progress::Started {
                self.opaque_requests.insert(self.requests);
            }
            self.requests += 1;
        }
    }

    fn enter(&mut self, event: &Event, shape: &Shape, step: &Step) {
        self.advance(self.common.clip(event.begin));
        let waits = self.until_all_entered(event, shape, step);
        let mut frame = leaf(step, shape.place);
        frame.waiting = waits.is_some();
        frame.io = !frame.waiting && (step.io || self.waits_for_files(&shape.operation));
        self.stack.push(frame);
        self.wakes = waits.or(self.wakes);
    }

    fn leave(&mut self, operation: &Operation) {
        if self.stack.pop().is_some_and(|frame| frame.waiting) {
            self.wakes = None;
        }
        if let Operation::Complete { completed, .. } = operation {
            for token in completed {
                self.opaque_requests.remove(&token.number);
            }
        }
    }

    fn waits_for_files(&self, operation: &Operation) -> bool {
        let Operation::Complete { completed, .. } = operation else { return false };
        let opaque = |token: &Token| {
            token.location as usize == self.location && self.opaque_requests.contains(&token.number)
        };
        !completed.is_empty() && completed.iter().all(opaque)
    }

    /// When an opaque collective file call that begins becomes a file call.
    fn until_all_entered(&mut self, event: &Event, shape: &Shape, step: &Step) -> Option<i64> {
        let Common { tables, ref opaque, .. } = *self.common;
        let progress = shape.operation.progress();
        let communicator = collective_file(tables, &shape.operation)
            .filter(|_| progress != Progress::Persistent)?;
        let count = self.collectives.entry(communicator).or_default();
        let number = std::mem::replace(count, *count + 1);
        if !step.io || progress != Progress::Blocking {
            return None;
        }
        let left = if shape.part == Part::Enter {
            self.opaque_calls += 1;
            opaque.left(self.location, self.opaque_calls - 1)?
        } else {
            event.end
        };
        let all = opaque.entered_by_all(tables, (communicator, number))?;
        (all <= left).then_some(all.max(event.begin))
    }

    fn is_in_io(&self) -> bool {
        self.stack.iter().any(|frame| frame.io)
    }

    /// Time passes until `now`.
    fn advance(&mut self, now: i64) {
        if let Some(wakes) = self.wakes.map(|wakes| self.common.clip(wakes))
            && wakes <= now
        {
            self.pass(self.doing(), wakes);
            self.wakes = None;
            if let Some(frame) = self.stack.iter_mut().rev().find(|frame| frame.waiting) {
                (frame.waiting, frame.io) = (false, true);
            }
        }
        self.pass(self.doing(), now);
    }

    fn pass(&mut self, doing: Doing, now: i64) {
        if now > self.at {
            self.sums.pass(doing, self.at, now);
            self.at = now;
        }
    }

    /// The outermost file call, else the innermost call.
    fn doing(&self) -> Doing {
        let file_call = self.stack.iter().find(|frame| frame.io);
        file_call.or(self.stack.last()).map_or(Doing::USEFUL, Frame::doing)
    }
}

impl Frame {
    fn doing(&self) -> Doing {
        let Self { site, file, .. } = *self;
        Doing { state: if self.io { State::Io } else { State::Mpi }, site, file }
    }
}

/// A call without others inside.
fn leaf(step: &Step, place: u32) -> Frame {
    let site = Site { place, function: step.function };
    Frame { site, file: step.file, io: step.io, waiting: false }
}
