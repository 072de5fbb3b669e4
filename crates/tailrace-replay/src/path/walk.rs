//! What a thread does at every instant: the same as its reduction finds, with the call.

use hashbrown::{HashMap, HashSet};
use tailrace_trace::columns::{ColumnShape, LONG};
use tailrace_trace::event::{Operation, Part, Progress, Token};
use tailrace_trace::{Batch, Trace, TraceError};

use crate::accounts::timeline::State;
use crate::path::sums::{Asked, Doing, DoingId, Sums, Times};
use crate::reduce::Common;
use crate::reduce::digest::Digest;
use crate::reduce::load::{Call, Load, unfinished};
use crate::steps::{Course, NoNumbers, Step, collective_file};

/// A call that the thread is in.
#[derive(Clone, Copy, Debug)]
struct Frame {
    doing: Doing,
    number: DoingId,
    /// Becomes a file call when the last rank enters.
    waiting: bool,
}

/// What an event of a shape is, if all that there is to it is its time, the requests that it
/// starts, and the call that it begins or ends.
#[derive(Clone, Copy)]
struct Plain {
    kind: Kind,
    requests: u8,
    tokens: u32,
    number: DoingId,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A call without others inside.
    Leaf,
    /// … whose time is that of what is around it.
    Nothing,
    Enter,
    Leave,
    /// There is more to it.
    Other,
}

pub(crate) struct Walk<'a> {
    common: &'a Common<'a>,
    location: usize,
    at: i64,
    stack: Vec<Frame>,
    /// What the thread does, but for leaves; those count for themselves unless it is in a file call.
    now: DoingId,
    useful: DoingId,
    in_io: bool,
    /// When the opaque collective file call around becomes a file call.
    wakes: Option<i64>,
    /// Such calls so far that hold others, and collective file calls by communicator.
    opaque_calls: usize,
    collectives: HashMap<u32, u32>,
    /// Requests so far, and those that are opaque file calls.
    requests: u64,
    opaque_requests: HashSet<u64>,
    sums: Sums<'a>,
    /// By shape of the block; and what a thread does in such a call.
    plain: Vec<Plain>,
    doings: Vec<Doing>,
}

/// What was taken of a block.
#[derive(Default)]
struct Taken {
    events: usize,
    tokens: u32,
    requests: u64,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(common: &'a Common<'a>, location: usize, asked: &'a Asked) -> Self {
        let mut sums = Sums::new(asked);
        let useful = sums.number(Doing::USEFUL);
        Self {
            common,
            location,
            at: 0,
            stack: Vec::new(),
            now: useful,
            useful,
            in_io: false,
            wakes: None,
            opaque_calls: 0,
            collectives: HashMap::new(),
            requests: 0,
            opaque_requests: HashSet::new(),
            sums,
            plain: Vec::new(),
            doings: Vec::new(),
        }
    }

    /// `digests`: of the thread's blocks, as far as there are any.
    pub(crate) fn all(
        mut self,
        trace: &dyn Trace,
        digests: &[Option<Digest>],
    ) -> Result<Times, TraceError> {
        let table = &self.common.tables.locations[self.location];
        self.pass_outside(self.common.clip(table.begin_ns));
        let mut stream = trace.events(self.location);
        let mut load = Load::default();
        // Requests matter where they may be opaque file calls.
        let by_times = self.common.opaque.is_empty();
        let mut digests = digests.iter();
        while !self.sums.is_over() {
            if let Some(digest) = digests.next().and_then(Option::as_ref)
                && self.takes(digest)
                && stream.pass_over(digest.end + self.common.window.begin_ns)
            {
                self.take_digest(digest);
                continue;
            }
            let columns = &mut load.columns;
            let more =
                if by_times { stream.next_times(columns) } else { stream.next_columns(columns) };
            if !more? {
                break;
            }
            self.block(&mut load);
        }
        let mut batch = Batch::default();
        if unfinished(table, &mut batch) {
            load.columns.take_from(&batch);
            self.block(&mut load);
        }
        if !self.in_io {
            self.advance(self.common.clip(table.end_ns));
            self.pass_outside(self.common.runtime());
        }
        self.advance(self.common.runtime());
        Ok(self.sums.times())
    }

    /// Whether the same is asked of all of a block, and no call goes on from before.
    fn takes(&self, digest: &Digest) -> bool {
        let is_plain = self.wakes.is_none() && self.stack.is_empty() && !self.in_io;
        is_plain && self.at == digest.begin && digest.end <= self.sums.same_until()
    }

    fn take_digest(&mut self, digest: &Digest) {
        let mut useful = digest.end - digest.begin;
        for &(state, site, file, time) in &digest.times {
            useful -= time;
            let doing = self.sums.number(Doing { state, site, file });
            self.sums.add(doing, time);
        }
        self.sums.add(self.useful, useful);
        self.at = digest.end;
    }

    /// Others wait for its rank at best.
    fn pass_outside(&mut self, until: i64) {
        self.now = self.sums.number(Doing::without_call(State::Mpi));
        self.pass(self.now, until);
        self.stack.clear();
        self.settle();
    }

    fn block(&mut self, load: &mut Load) {
        load.compile(self.common, 0, &mut NoNumbers);
        self.plain.clear();
        self.doings.clear();
        let any_opaque = load.columns.shapes.iter().any(|shape| is_opaque(&shape.shape.operation));
        for (shape, line) in load.columns.shapes.iter().zip(&load.lines) {
            let plain = self.plain(shape, &line.step, any_opaque);
            self.plain.push(plain);
            self.doings.push(doing(&line.step));
        }
        loop {
            self.take_plain(load);
            let Some(next) = load.next(self.common.window.end_ns) else { return };
            self.call(&load.call(&next));
        }
    }

    fn plain(&mut self, shape: &ColumnShape, step: &Step, any_opaque: bool) -> Plain {
        let operation = &shape.shape.operation;
        let any_opaque = any_opaque || !self.opaque_requests.is_empty();
        let completes = matches!(operation, Operation::Complete { .. });
        let kind = match shape.shape.part {
            _ if is_opaque(operation) || completes && any_opaque => Kind::Other,
            Part::Call if step.course == Course::Local && step.io => Kind::Nothing,
            Part::Call => Kind::Leaf,
            // One that was entered in another block may be opaque.
            _ if any_opaque || !self.common.opaque.is_empty() => Kind::Other,
            Part::Enter => Kind::Enter,
            Part::Leave => Kind::Leave,
        };
        let (tokens, requests) = (shape.tokens, shape.shape.takes_number().into());
        Plain { kind, requests, tokens, number: self.sums.number(doing(step)) }
    }

    /// Takes the events that come first as long as they are plain.
    #[inline(never)] // a loop over all events
    fn take_plain(&mut self, load: &mut Load) {
        let begin_ns = self.common.window.begin_ns;
        let mut reached = load.reached.saturating_sub(begin_ns);
        if self.wakes.is_some() || reached != self.at {
            return;
        }
        let runtime = self.common.runtime();
        let (columns, first) = (&load.columns, load.row);
        let mut taken = Taken::default();
        loop {
            let from = first + taken.events;
            let rows =
                (&columns.shape_of[from..], &columns.gaps[from..], &columns.durations[from..]);
            self.take_still(rows, &mut reached, runtime, &mut taken);
            let row = first + taken.events;
            let Some(&shape) = columns.shape_of.get(row) else { break };
            let (gap, duration) = (columns.gaps[row], columns.durations[row]);
            let Plain { kind, requests, tokens, number } = self.plain[usize::from(shape)];
            let begin = reached + i64::from(gap);
            let end = begin + i64::from(duration);
            if gap.max(duration) == LONG || end > runtime {
                break;
            }
            let before = self.now;
            let inside = match kind {
                Kind::Leaf if !self.in_io => number,
                Kind::Leaf | Kind::Nothing => before,
                Kind::Enter => {
                    let doing = self.doings[usize::from(shape)];
                    self.stack.push(Frame { doing, number, waiting: false });
                    self.settle();
                    self.now
                }
                Kind::Leave => {
                    self.stack.pop();
                    self.settle();
                    before
                }
                Kind::Other => break,
            };
            taken.events += 1;
            taken.tokens += tokens;
            taken.requests += u64::from(requests);
            self.sums.pass_call((before, reached), (inside, begin), end);
            reached = end;
        }
        self.at = reached;
        self.requests += taken.requests;
        load.pass_rows(taken.events, taken.tokens, reached + begin_ns);
    }

    /// … those that come first as long as they are calls without others inside, and nothing else is
    /// asked.
    #[inline]
    fn take_still(
        &mut self,
        (shapes, gaps, durations): (&[u16], &[u32], &[u32]),
        reached: &mut i64,
        runtime: i64,
        taken: &mut Taken,
    ) {
        let until = self.sums.still_until().min(runtime);
        if self.in_io || *reached > until {
            return;
        }
        let times = self.sums.still();
        let (mut at, mut between) = (*reached, 0);
        for (&shape, (&gap, &duration)) in shapes.iter().zip(gaps.iter().zip(durations)) {
            let Plain { kind, requests, tokens, number } = self.plain[usize::from(shape)];
            let end = at + i64::from(gap) + i64::from(duration);
            if kind != Kind::Leaf || gap.max(duration) == LONG || end > until {
                break;
            }
            times[number as usize] += i64::from(duration);
            (at, between) = (end, between + i64::from(gap));
            taken.events += 1;
            taken.tokens += tokens;
            taken.requests += u64::from(requests);
        }
        times[self.now as usize] += between;
        *reached = at;
    }

    fn call(&mut self, call: &Call<'_>) {
        match call.step.course {
            Course::Local if call.step.io => {}
            Course::Leave => {
                self.advance(self.common.clip(call.event.end));
                self.leave(call);
            }
            Course::Enter => self.enter(call),
            Course::Local | Course::File | Course::Starts | Course::Call => {
                self.enter(call);
                self.advance(self.common.clip(call.event.end));
                self.leave(call);
            }
        }
        if call.step.takes_number {
            if is_opaque(call.operation) && call.operation.progress() == Progress::Started {
                self.opaque_requests.insert(self.requests);
            }
            self.requests += 1;
        }
    }

    fn enter(&mut self, call: &Call<'_>) {
        self.advance(self.common.clip(call.event.begin));
        let waits = self.until_all_entered(call);
        let mut doing = doing(call.step);
        let waiting = waits.is_some();
        if waiting || !call.step.io && !self.waits_for_files(call) {
            doing.state = State::Mpi;
        } else {
            doing.state = State::Io;
        }
        let number = self.sums.number(doing);
        self.stack.push(Frame { doing, number, waiting });
        self.wakes = waits.or(self.wakes);
        self.settle();
    }

    fn leave(&mut self, call: &Call<'_>) {
        if self.stack.pop().is_some_and(|frame| frame.waiting) {
            self.wakes = None;
        }
        if matches!(call.operation, Operation::Complete { .. }) {
            for token in call.tokens {
                self.opaque_requests.remove(&token.number);
            }
        }
        self.settle();
    }

    fn waits_for_files(&self, call: &Call<'_>) -> bool {
        let opaque = |token: &Token| {
            token.location as usize == self.location && self.opaque_requests.contains(&token.number)
        };
        matches!(call.operation, Operation::Complete { .. })
            && !call.tokens.is_empty()
            && call.tokens.iter().all(opaque)
    }

    /// When an opaque collective file call that begins becomes a file call.
    fn until_all_entered(&mut self, call: &Call<'_>) -> Option<i64> {
        let Common { tables, ref opaque, .. } = *self.common;
        let progress = call.operation.progress();
        let communicator =
            collective_file(tables, call.operation).filter(|_| progress != Progress::Persistent)?;
        let count = self.collectives.entry(communicator).or_default();
        let number = std::mem::replace(count, *count + 1);
        if !call.step.io || progress != Progress::Blocking {
            return None;
        }
        let left = if call.step.part == Part::Enter {
            self.opaque_calls += 1;
            opaque.left(self.location, self.opaque_calls - 1)?
        } else {
            call.event.end
        };
        let all = opaque.entered_by_all(tables, (communicator, number))?;
        (all <= left).then_some(all.max(call.event.begin))
    }

    /// Time passes until `now`.
    fn advance(&mut self, now: i64) {
        if let Some(wakes) = self.wakes.map(|wakes| self.common.clip(wakes))
            && wakes <= now
        {
            self.pass(self.now, wakes);
            self.wakes = None;
            if let Some(frame) = self.stack.iter_mut().rev().find(|frame| frame.waiting) {
                frame.waiting = false;
                frame.doing.state = State::Io;
                frame.number = self.sums.number(frame.doing);
            }
            self.settle();
        }
        self.pass(self.now, now);
    }

    fn pass(&mut self, doing: DoingId, now: i64) {
        if now > self.at {
            self.sums.pass(doing, self.at, now);
            self.at = now;
        }
    }

    /// The thread does what its outermost file call does, else its innermost call.
    fn settle(&mut self) {
        let file_call = self.stack.iter().find(|frame| frame.doing.state == State::Io);
        self.in_io = file_call.is_some();
        self.now = file_call.or(self.stack.last()).map_or(self.useful, |frame| frame.number);
    }
}

fn is_opaque(operation: &Operation) -> bool {
    operation.file().is_some_and(|call| call.opaque)
}

/// What a thread does in a call without others inside.
fn doing(step: &Step) -> Doing {
    let state = if step.io { State::Io } else { State::Mpi };
    Doing { state, site: step.site(), file: step.file }
}
