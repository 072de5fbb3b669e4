//! Most events of most runs: calls in MPI and in files, and calls around these, of a rank's only
//! thread. The same as [`Rank::begin`] and [`Rank::end`] for each, several times as fast: what the
//! events of a shape do is known from its [`Plan`], all that happens in one bin of the accounts is
//! added up, and what others may meet is written as it comes.

use std::mem::offset_of;

use tailrace_trace::event::Token;

use crate::accounts::longest::{Span, offer};
use crate::accounts::timeline::{Pen, Row, State};
use crate::accounts::waits::Waits;
use crate::graph::edges::{Edges, Keys};
use crate::graph::vertex::{Deed, Entry, Family, Site, Vertex};
use crate::longest::Bar;
use crate::reduce::load::{Load, ShortRows, is_run};
use crate::reduce::requests::Role;
use crate::reduce::thread::{FileCall, Frame, Thread};
use crate::reduce::{Omissions, Rank};
use crate::steps::{Action, Line, Plan, Step, Sum};

/// Until when rows are taken, nanoseconds since the window's begin.
#[derive(Clone, Copy)]
struct Limits {
    /// They begin until then, and end until then.
    begin: i64,
    end: i64,
    /// Until then the time of rows is added up: there a bin ends, of one account or the other.
    edge: i64,
}

/// What is put down in the accounts: all until then, of it outside of calls and in file calls.
#[derive(Clone, Copy)]
struct PutDown {
    until: i64,
    useful: i64,
    io: i64,
}

/// A rank while it takes rows.
struct Rows<'r> {
    thread: &'r mut Thread,
    pen: &'r mut Pen,
    timeline: &'r mut Row,
    waits: &'r mut Waits,
    vertices: &'r mut Vec<Vertex>,
    edges: &'r mut Edges,
    longest: &'r mut Vec<Span>,
    omissions: &'r mut Omissions,
    keys: Keys,
    bar: Bar,
    rank: u32,
    location: u32,
    apart: bool,
    // As in the thread and the rank: what a vertex begins with, apart from one another (see below).
    since: i64,
    limits: Limits,
    useful: i64,
    put_down: PutDown,
    io: i64,
    areas: u32,
    roles: u64,
    /// The thread is in calls, and since when in MPI-IO; its time in file calls then.
    is_inside: bool,
    mpiio_since: (i64, i64),
}

/// Compilers read words that lie side by side at once. One that was written by itself just before,
/// as these are, would have to reach the cache first: some twenty steps for each vertex.
const _: () = {
    let since = offset_of!(Rows<'static>, since);
    let useful = offset_of!(Rows<'static>, useful);
    let io = offset_of!(Rows<'static>, io);
    assert!(since.abs_diff(useful) > 8 && useful.abs_diff(io) > 8 && since.abs_diff(io) > 8);
};

impl Rank<'_> {
    /// Takes the next events of a rank's only thread as long as they are planned; file calls, if
    /// they lie in one bin of each account.
    #[inline(never)] // a loop over all events
    pub(crate) fn rows(&mut self, load: &mut Load, horizon: i64, until: i64) {
        let begin_ns = self.common.window.begin_ns;
        let (first, location) = (load.reached - begin_ns, self.locations[0] as u32);
        let edge = self.pen.edge().min(self.waits.edge(self.threads[0].at));
        if first > edge {
            return;
        }
        let limits = Limits { begin: horizon - begin_ns, end: until - begin_ns, edge };
        let Self { threads, slab, edges, longest, omissions, common, pen, bar, .. } = self;
        let (rank, areas, roles) = (self.number, self.areas, self.roles);
        let thread = &mut threads[0];
        let Thread { at: before, since, useful, io, .. } = *thread;
        let is_inside = !thread.stack.is_empty();
        let mut rows = Rows {
            is_inside,
            thread,
            pen,
            timeline: &mut self.timeline,
            waits: &mut self.waits,
            vertices: &mut slab.vertices,
            edges,
            longest,
            omissions,
            keys: common.keys,
            bar: *bar,
            rank,
            location,
            apart: common.apart,
            since,
            useful: useful + if is_inside { 0 } else { first - before },
            io,
            limits,
            put_down: PutDown { until: before, useful, io },
            areas,
            roles,
            mpiio_since: (before, io),
        };
        let (short, lines) = load.short_rows();
        let (taken, tokens, reached) = rows.take(short, lines, first);
        if taken == 0 {
            return;
        }
        rows.put_down(reached, rows.useful);
        (self.areas, self.roles) = (rows.areas, rows.roles);
        rows.finish(reached);
        self.moment = reached;
        load.pass_rows(taken, tokens as u32, reached + begin_ns);
    }
}

impl Rows<'_> {
    /// Takes rows that come after `reached`; how many it took, how many requests these name, and
    /// when the last of them ended.
    #[allow(clippy::inline_always)] // so that what changes with each row stays in registers
    #[inline(always)]
    fn take(
        &mut self,
        rows: ShortRows<'_>,
        lines: &mut [Line],
        mut reached: i64,
    ) -> (usize, usize, i64) {
        let (mut taken, mut named) = (0, 0);
        let mut soon = self.limits.soon();
        let times = rows.gaps.iter().zip(rows.durations);
        for (&shape, (&gap, &duration)) in rows.shapes.iter().zip(times) {
            let Line { step, sum } = &mut lines[usize::from(shape)];
            let begin = reached + i64::from(gap);
            let end = begin + i64::from(duration);
            let span = (begin, end);
            if end > soon {
                let begins_run = !self.is_inside && is_run(&rows.shapes[taken..], shape);
                if !self.cross(step, begins_run, reached, span) {
                    break;
                }
                soon = self.limits.soon();
            }
            let gap = i64::from(gap);
            let count = step.tokens as usize;
            let mut of = span;
            match step.plan {
                Plan::Time => self.time(gap, end),
                Plan::Start => self.start(step, gap, span),
                Plan::Meet => self.meet(step, gap, span),
                Plan::Call => self.call(step, &rows.tokens[named..][..count], gap, span),
                Plan::File if self.is_inside || !is_run(&rows.shapes[taken..], shape) => {
                    self.file_call(step, gap, span);
                }
                Plan::Enter => self.enter(step, gap, begin),
                Plan::Leave if self.may_leave(step) => {
                    of.0 = self.leave(step, &rows.tokens[named..][..count], end);
                }
                Plan::MpiIo if !self.is_inside => {
                    self.mpiio(step, &rows.tokens[named..][..count], gap, span);
                }
                Plan::File | Plan::Leave | Plan::MpiIo | Plan::Other => break,
            }
            sum.add(Sum { calls: 1, time: of.1 - of.0 });
            if of.1 - of.0 >= self.bar.length {
                offer(self.longest, self.bar, self.rank, step, of);
            }
            (taken, named, reached) = (taken + 1, named + count, end);
        }
        (taken, named, reached)
    }

    /// Whether the next row, which comes after `reached` and may end a bin, is to be taken here: it
    /// then goes on in the next, or what comes before it does. `begins_run`: a loop of file calls is
    /// taken apart.
    #[inline(never)]
    fn cross(
        &mut self,
        step: &Step,
        begins_run: bool,
        reached: i64,
        (begin, end): (i64, i64),
    ) -> bool {
        let limits = self.limits;
        if begin > limits.begin || end > limits.end {
            return false;
        }
        let edge = limits.edge;
        let is_taken = match step.plan {
            Plan::File => !begins_run,
            Plan::Leave => self.may_leave(step),
            Plan::MpiIo => !self.is_inside,
            Plan::Other => false,
            Plan::Time | Plan::Start | Plan::Meet | Plan::Call | Plan::Enter => true,
        };
        if !is_taken || end <= edge {
            return is_taken;
        }
        self.put_down(reached, self.useful);
        let (before, useful) =
            if self.is_inside { (State::Mpi, 0) } else { (State::Useful, begin - reached) };
        let (during, io) =
            if step.plan == Plan::File { (State::Io, end - begin) } else { (State::Mpi, 0) };
        self.stroke(before, reached, begin);
        self.stroke(during, begin, end);
        self.put_down = PutDown { until: end, useful: self.useful + useful, io: self.io + io };
        self.limits.edge = self.pen.edge().min(self.waits.edge(end));
        true
    }

    #[inline]
    fn stroke(&mut self, state: State, begin: i64, end: i64) {
        self.pen.stroke(self.timeline, state, begin, end);
        self.waits.pass(state, begin, end);
    }

    /// Puts down what was added up until `reached`, when that much time was useful.
    #[inline]
    fn put_down(&mut self, reached: i64, useful: i64) {
        let before = self.put_down;
        let (outside, in_files) = (useful - before.useful, self.io - before.io);
        let in_mpi = reached - before.until - in_files - outside;
        let time = [outside, in_files, in_mpi]; // by state
        self.pen.put(time);
        self.waits.put(before.until, time);
    }

    /// Time from the end of the event before to the next.
    #[inline]
    fn pass(&mut self, gap: i64) {
        if !self.is_inside {
            self.useful += gap;
        }
    }

    /// A call that is nothing but its time; no wait goes on over it.
    #[inline]
    fn time(&mut self, gap: i64, end: i64) {
        self.pass(gap);
        self.since = end;
    }

    #[inline]
    fn start(&mut self, step: &Step, gap: i64, (begin, end): (i64, i64)) {
        self.pass(gap);
        let role = self.begin(step, begin);
        if step.started {
            self.thread.requests.start(role);
        }
        self.since = end;
    }

    #[inline]
    fn call(&mut self, step: &Step, tokens: &[Token], gap: i64, (begin, end): (i64, i64)) {
        self.pass(gap);
        self.since = begin;
        let role = self.begin(step, begin);
        self.end(step, role, tokens, end);
        self.since = end;
    }

    /// A collective from begin to end.
    #[inline]
    fn meet(&mut self, step: &Step, gap: i64, (begin, end): (i64, i64)) {
        self.pass(gap);
        let Action::Enter { entry, series } = step.action else { return };
        let number = self.thread.next_of_series(series);
        self.since = end;
        self.vertex(begin, step.site(), Deed::Meet(Entry { number, ..entry }));
        self.roles += 1;
    }

    #[inline(never)]
    fn mpiio(&mut self, step: &Step, tokens: &[Token], gap: i64, (begin, end): (i64, i64)) {
        self.call(step, tokens, gap, (begin, end));
        self.thread.layers.mpiio += end - begin;
        self.thread.layers.between += end - begin;
    }

    #[inline]
    fn file_call(&mut self, step: &Step, gap: i64, (begin, end): (i64, i64)) {
        self.pass(gap);
        let around = self.thread.file_calls.last().copied();
        if let Some(FileCall { role, site, .. }) = around {
            self.vertex(begin, site, Deed::Await { role });
        }
        self.edges.keys.extend_from_slice(&self.keys.call(self.rank, (begin, end)));
        self.areas = self.areas.wrapping_add(1);
        self.io += end - begin;
        self.since = if end > begin { end } else { self.since };
        let way = step.access.direction().filter(|_| step.bytes > 0);
        if let Some(way) = way {
            let bytes = &mut self.thread.bytes[way];
            *bytes = bytes.saturating_add(step.bytes);
            self.pen.moved(self.timeline, way, step.bytes, begin, end);
        }
        self.edges.moved.push(way.map_or(0, |_| step.moved()));
        self.thread.uses.add(step.file, step.access, (begin, end));
        if let Some(FileCall { role, moves: true, site }) = around {
            self.vertex(end, site, Deed::FileEnded { role });
        }
    }

    /// A call begins that may hold others.
    #[inline]
    fn enter(&mut self, step: &Step, gap: i64, begin: i64) {
        self.pass(gap);
        self.since = begin;
        let role = self.begin(step, begin);
        let thread = &mut *self.thread;
        if step.mpiio && thread.mpiio_depth == 0 {
            self.mpiio_since = (begin, self.io);
        }
        thread.mpiio_depth += u32::from(step.mpiio);
        let file_call = file_call(step, role);
        let (io, waiting, mpiio, is_file_call) = (false, false, step.mpiio, file_call.is_some());
        thread.stack.push(Frame { begin, io, mpiio, waiting, waited: 0, is_file_call, role });
        if let Some(file_call) = file_call {
            thread.file_calls.push(file_call);
        }
        self.is_inside = true;
    }

    /// Whether the call around can be left by its plan.
    #[inline]
    fn may_leave(&self, step: &Step) -> bool {
        let Some(frame) = self.thread.stack.last() else { return false };
        let is_plain = !frame.io && matches!(frame.role, Role::Nothing | Role::One(_));
        let around = self.thread.mpiio_depth - u32::from(frame.mpiio);
        is_plain && !(step.mpiio && around > 0)
    }

    /// … and ends; when it began.
    #[inline]
    fn leave(&mut self, step: &Step, tokens: &[Token], at: i64) -> i64 {
        let Some(frame) = self.thread.stack.pop() else { return at };
        if frame.mpiio {
            self.thread.mpiio_depth -= 1;
            if self.thread.mpiio_depth == 0 {
                self.pass_in_mpiio(at);
            }
        }
        if frame.is_file_call {
            self.thread.file_calls.pop();
        }
        self.is_inside = !self.thread.stack.is_empty();
        self.end(step, frame.role, tokens, at);
        self.since = at;
        frame.begin
    }

    /// What a call does when it begins.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn begin(&mut self, step: &Step, at: i64) -> Role {
        match step.action {
            Action::Send { channel, sending } => {
                let deed = Deed::Send { channel, sending };
                self.vertex(at, step.site(), deed);
                if !deed.takes_role() {
                    return Role::Nothing;
                }
            }
            Action::Receive { channel } => self.vertex(at, step.site(), Deed::Post { channel }),
            Action::Enter { entry, series } => {
                let number = self.thread.next_of_series(series);
                self.vertex(at, step.site(), Deed::Enter(Entry { number, ..entry }));
            }
            Action::Complete | Action::Nothing | Action::Other => return Role::Nothing,
        }
        self.roles += 1;
        Role::One(self.roles - 1)
    }

    /// … and when it ends.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn end(&mut self, step: &Step, role: Role, tokens: &[Token], at: i64) {
        match (step.action, role) {
            (Action::Complete, _) => self.complete(step, tokens, at),
            (_, Role::One(role)) => self.vertex(at, step.site(), Deed::Finish { role }),
            _ => {}
        }
    }

    /// The requests are over; those that were started one after another in one go.
    #[inline]
    fn complete(&mut self, step: &Step, tokens: &[Token], at: i64) {
        let mut found = Found { first: 0, number: 0 };
        for token in tokens {
            let role = if token.location == self.location {
                self.thread.requests.complete(token.number)
            } else {
                None
            };
            let roles = match role {
                Some(Role::One(role) | Role::SendAndLateReceive(role)) => role..role + 1,
                Some(Role::Two(send)) => send..send + 2,
                Some(Role::Nothing | Role::LateReceive | Role::FileWait) => 0..0,
                None => {
                    self.omissions.unknown_requests += 1;
                    0..0
                }
            };
            for role in roles {
                if self.apart || !found.goes_on(role) {
                    self.finish_found(step, found, at);
                    found = Found { first: role, number: 0 };
                }
                found.number += 1;
            }
        }
        self.finish_found(step, found, at);
    }

    #[inline]
    fn finish_found(&mut self, step: &Step, Found { first, number }: Found, at: i64) {
        match number {
            0 => {}
            1 => self.vertex(at, step.site(), Deed::Finish { role: first }),
            _ => self.vertex(at, step.site(), Deed::FinishAll { first, number }),
        }
    }

    #[allow(clippy::inline_always)] // a deed that is passed on is read before it is there
    #[inline(always)]
    fn vertex(&mut self, at: i64, site: Site, deed: Deed) {
        let Self { since, useful, io, areas, .. } = *self;
        self.vertices.push(Vertex { at, since, useful, io, areas, owns: 0, site, deed });
    }

    /// Time in MPI-IO until `now` is over.
    #[inline]
    fn pass_in_mpiio(&mut self, now: i64) {
        let (since, io) = self.mpiio_since;
        let (passed, in_files) = (now - since, self.io - io);
        let layers = &mut self.thread.layers;
        layers.mpiio += passed;
        layers.posix += in_files;
        layers.between += passed - in_files;
    }

    /// The thread is where the last row ended.
    fn finish(mut self, at: i64) {
        if self.thread.mpiio_depth > 0 {
            self.pass_in_mpiio(at);
        }
        let Self { since, useful, io, thread, .. } = self;
        (thread.at, thread.since, thread.useful, thread.io) = (at, since, useful, io);
        thread.settle();
    }
}

impl Limits {
    /// A row that ends until then need not be looked at closely.
    fn soon(self) -> i64 {
        self.begin.min(self.end).min(self.edge - 1)
    }
}

/// Roles that are finished one after another.
#[derive(Clone, Copy)]
struct Found {
    first: u64,
    number: u32,
}

impl Found {
    fn goes_on(self, role: u64) -> bool {
        self.number > 0 && self.number < u32::MAX && self.first + u64::from(self.number) == role
    }
}

/// The collective file call that begins.
#[inline]
fn file_call(step: &Step, role: Role) -> Option<FileCall> {
    match (step.action, role) {
        (Action::Enter { entry: Entry { family: Family::File, .. }, .. }, Role::One(role)) => {
            let moves = step.access.direction().is_some();
            Some(FileCall { role, moves, site: step.site() })
        }
        _ => None,
    }
}
