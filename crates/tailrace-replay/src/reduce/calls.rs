//! What the begin and the end of a call do to its thread and its rank.

use tailrace_trace::event::{Event, FileKind, Operation, Part, Progress, Token};

use crate::accounts::longest::Span;
use crate::accounts::timeline::State;
use crate::graph::edges::Turn;
use crate::graph::vertex::{Deed, Family, Site, Vertex};
use crate::reduce::Rank;
use crate::reduce::load::Call;
use crate::reduce::requests::Role;
use crate::reduce::thread::{FileCall, Frame, Thread};
use crate::steps::{Action, Course, Numbers, Step, Sum};

impl Rank<'_> {
    /// The event begins.
    #[allow(clippy::inline_always)] // into the loop over a rank's only thread
    #[inline(always)]
    pub(crate) fn begin(&mut self, i: usize, call: &Call<'_>) {
        match call.step.course {
            Course::File => self.begin_file(i, call),
            Course::Leave => {}
            Course::Local if call.step.io => {}
            Course::Local | Course::Starts | Course::Call | Course::Enter => {
                self.begin_call(i, call);
            }
        }
    }

    /// … and ends.
    #[allow(clippy::inline_always)] // into the loop over a rank's only thread
    #[inline(always)]
    pub(crate) fn end(&mut self, i: usize, call: &mut Call<'_>) {
        match call.step.course {
            Course::File => self.end_file(i, call),
            Course::Enter => {}
            Course::Local if call.step.io => self.local(i, call),
            Course::Local | Course::Starts | Course::Call | Course::Leave => {
                self.end_call(i, call);
            }
        }
    }

    /// A call that depends on nobody, from begin to end.
    #[inline]
    pub(crate) fn local(&mut self, i: usize, call: &mut Call<'_>) {
        let begin = self.reach(i, call.event.begin, &call.event);
        self.pass_in_mpi(i, call, begin);
        let state = if call.step.io { self.threads[i].state } else { State::Mpi };
        self.tally(i, call, begin, state);
    }

    /// A call that others may depend on, but that depends on nobody itself.
    #[inline]
    pub(crate) fn start(&mut self, i: usize, call: &mut Call<'_>) {
        let begin = self.reach(i, call.event.begin, &call.event);
        let role = self.begin_action(i, call, false);
        self.pass_in_mpi(i, call, begin);
        self.end_action(i, call, role);
        self.tally(i, call, begin, State::Mpi);
    }

    /// From the begin to the end of a call in MPI that holds no others.
    #[inline]
    fn pass_in_mpi(&mut self, i: usize, call: &Call<'_>, begin: i64) {
        let end = self.common.clip(call.event.end);
        let thread = &mut self.threads[i];
        let outside = thread.state;
        if outside == State::Useful && !call.step.io {
            thread.state = State::Mpi;
        }
        self.advance(i, end);
        let thread = &mut self.threads[i];
        thread.state = outside;
        if !call.step.io {
            thread.since = thread.at; // no wait goes on over it
        }
        if call.step.mpiio && thread.stack.is_empty() && thread.main {
            thread.layers.mpiio += end - begin;
            thread.layers.between += end - begin;
        }
    }

    /// A file call and nothing else begins.
    #[allow(clippy::inline_always)] // into the loop over a rank's only thread
    #[inline(always)]
    fn begin_file(&mut self, i: usize, call: &Call<'_>) {
        self.reach(i, call.event.begin, &call.event);
        self.join_file_call(i);
        self.enter_io(i);
    }

    #[allow(clippy::inline_always)] // into the loop over a rank's only thread
    #[inline(always)]
    fn end_file(&mut self, i: usize, call: &mut Call<'_>) {
        let (begin, end) = (self.common.clip(call.event.begin), self.common.clip(call.event.end));
        self.moment = self.moment.max(self.since_begin(call.event.end));
        self.advance(i, end);
        let thread = &mut self.threads[i];
        if thread.main && thread.stack.is_empty() {
            let before = self.common.window.begin_ns.min(call.event.end);
            thread.outside_io += (before - call.event.begin).max(0);
            thread.layers.mpiio += if call.step.mpiio { end - begin } else { 0 };
        }
        self.end_io(i, call, begin);
        self.tally(i, call, begin, State::Io);
    }

    /// Any other call begins.
    #[allow(clippy::inline_always)] // into the loop over a rank's only thread
    #[inline(always)]
    fn begin_call(&mut self, i: usize, call: &Call<'_>) {
        let Call { event, step, operation, .. } = call;
        let begin = self.reach(i, event.begin, event);
        if step.io {
            self.join_file_call(i);
        }
        (self.threads[i].since, self.threads[i].site) = (begin, call.site());
        let role = self.begin_action(i, call, step.course == Course::Enter);
        let file_call = file_call(operation, role, call.site());
        let waits = match file_call {
            Some(_) if step.io && operation.progress() == Progress::Blocking => {
                self.until_all_entered(i, call)
            }
            _ => None,
        };
        let io = waits.is_none() && (step.io || matches!(role, Role::FileWait));
        let (mpiio, waiting) = (step.mpiio, waits.is_some());
        let thread = &mut self.threads[i];
        let is_file_call = file_call.is_some();
        thread.push(Frame { begin, io, mpiio, waiting, waited: 0, is_file_call, role });
        thread.wakes = waits.or(thread.wakes);
        thread.file_calls.extend(file_call);
        if io {
            self.enter_io(i);
        }
    }

    /// An opaque collective file call begins: when the last rank enters, if this one has not left
    /// by then.
    fn until_all_entered(&mut self, i: usize, call: &Call<'_>) -> Option<i64> {
        let communicator = call.operation.file()?.collective?;
        let location = self.locations[i];
        let thread = &mut self.threads[i];
        let left = if call.step.part == Part::Enter {
            thread.opaque_calls += 1;
            self.common.opaque.left(location, thread.opaque_calls - 1)?
        } else {
            call.event.end
        };
        let series = self.numbers().series((communicator, Family::File));
        let number = self.threads[i].collectives.get(series as usize)?.checked_sub(1)?;
        let all = self.common.opaque.entered_by_all(self.common.tables, (communicator, number))?;
        (all <= left).then_some(all.max(call.event.begin))
    }

    /// If the opaque collective file call around becomes a file call until `time`, it does.
    #[inline]
    pub(crate) fn wake(&mut self, i: usize, time: i64) -> bool {
        let wakes = self.threads[i].wakes.filter(|wakes| *wakes <= time);
        if let Some(wakes) = wakes {
            self.wake_at(i, wakes);
        }
        wakes.is_some()
    }

    #[cold]
    fn wake_at(&mut self, i: usize, wakes: i64) {
        self.threads[i].wakes = None;
        self.moment = self.moment.max(self.since_begin(wakes));
        self.advance(i, self.common.clip(wakes));
        self.join_file_call(i);
        let at = self.threads[i].at;
        let mut frames = self.threads[i].stack.iter_mut().rev();
        if let Some(frame) = frames.find(|frame| frame.waiting) {
            (frame.waiting, frame.io, frame.waited) = (false, true, at - frame.begin);
            self.enter_io(i);
        }
    }

    /// … and ends. The event is the call, or the leave.
    #[allow(clippy::inline_always)] // into the loop over a rank's only thread
    #[inline(always)]
    fn end_call(&mut self, i: usize, call: &mut Call<'_>) {
        self.reach(i, call.event.end, &call.event);
        let Some(frame) = self.threads[i].pop() else { return };
        if frame.io {
            self.end_io(i, call, frame.begin);
        } else if frame.waiting {
            self.threads[i].wakes = None;
        }
        self.threads[i].site = call.site();
        self.end_action(i, call, frame.role);
        self.threads[i].since = self.threads[i].at;
        let state = if frame.io { State::Io } else { State::Mpi };
        self.tally(i, call, frame.begin, state);
        if frame.waited > 0 && !self.threads[i].is_inside_alike(call.step) {
            self.threads[i].tallies.waited(call.step, frame.waited);
        }
    }

    #[allow(clippy::inline_always)] // into the loop over calls of MPI
    #[inline(always)]
    pub(crate) fn end_action(&mut self, i: usize, call: &Call<'_>, role: Role) {
        let operation = call.operation;
        match call.step.action {
            Action::Other => self.end_operation(i, operation, call.tokens, role),
            Action::Nothing => {}
            Action::Complete => call.tokens.iter().for_each(|token| self.complete(i, *token)),
            _ if call.step.started => self.threads[i].requests.start(role),
            _ => self.complete_role(i, role, Some(operation)),
        }
    }

    fn end_operation(&mut self, i: usize, operation: &Operation, tokens: &[Token], role: Role) {
        match operation.progress() {
            Progress::Blocking => self.complete_role(i, role, Some(operation)),
            Progress::Started if operation.file().is_some_and(|call| call.opaque) => {
                self.opaque_requests = true;
                self.threads[i].requests.start_opaque_file(role);
            }
            Progress::Started => self.threads[i].requests.start(role),
            Progress::Persistent => self.threads[i].requests.prepare(operation.clone()),
        }
        self.after(i, operation, tokens);
    }

    /// A file call ends at the thread's moment: time, and the bytes that it moved.
    #[allow(clippy::inline_always)] // into the loop over a rank's only thread
    #[inline(always)]
    fn end_io(&mut self, i: usize, call: &Call<'_>, begin: i64) {
        let moved = self.leave_io(i) && call.step.bytes > 0 && self.is_inside(&call.event, begin);
        if let (true, Some(direction)) = (moved, call.step.access.direction()) {
            self.move_bytes(i, call.step, begin, direction);
        }
        if let Some(&FileCall { role, moves: true, .. }) = self.threads[i].file_calls.last() {
            self.emit(i, Deed::FileEnded { role });
        }
    }

    #[inline]
    fn move_bytes(&mut self, i: usize, step: &Step, begin: i64, direction: usize) {
        let thread = &mut self.threads[i];
        thread.bytes[direction] = thread.bytes[direction].saturating_add(step.bytes);
        if thread.main {
            self.pen.moved(&mut self.timeline, direction, step.bytes, begin, thread.at);
            *self.edges.moved.last_mut().expect("an end was just added") = step.moved();
        } else {
            self.timeline.spread(direction, step.bytes, begin, thread.at);
        }
    }

    /// Adds a call that ended to what is summed per shape and to the longest. Calls outside the
    /// window do not count.
    #[inline]
    fn tally(&mut self, i: usize, call: &mut Call<'_>, begin: i64, state: State) {
        let inside = self.is_inside(&call.event, begin);
        let step = call.step;
        let thread = &mut self.threads[i];
        let duration = thread.at - begin;
        let sum = Sum { calls: u64::from(inside), time: duration };
        if thread.is_inside_alike(step) {
            thread.tallies.take_nested(step, sum);
        } else {
            call.sum.add(sum);
            if step.io && inside {
                thread.uses.add(step.file, step.access, (begin, thread.at));
            }
        }
        if self.bar.is_met_by(begin, thread.at) && thread.main {
            let Step { function, file, bytes, .. } = *step;
            let (end, rank) = (thread.at, self.number);
            self.longest.push(Span { begin, end, rank, function, state, file, bytes });
        }
    }

    /// Whether a call that ended with `event`, begun at `begin` of the window, touches the window.
    #[inline]
    fn is_inside(&self, event: &Event, begin: i64) -> bool {
        event.end >= self.common.window.begin_ns
            && (event.begin <= self.common.window.end_ns || begin < self.common.runtime())
    }
}

/// Time, and what the graph sees of it.
impl Rank<'_> {
    /// The thread's time goes on to a measured time, that of a step of `event`; what that is in the
    /// window.
    #[allow(clippy::inline_always)] // into the loop over a rank's only thread
    #[inline(always)]
    fn reach(&mut self, i: usize, time: i64, event: &Event) -> i64 {
        let now = self.common.clip(time);
        self.moment = self.moment.max(self.since_begin(time));
        if now < self.threads[i].at {
            self.note_disorder(i, event);
        }
        self.advance(i, now);
        now
    }

    /// Readers promise events in order of time; time never runs backwards even if one does not
    /// keep it.
    #[cold]
    fn note_disorder(&mut self, i: usize, event: &Event) {
        self.omissions.disordered += 1;
        let first = (event.begin, self.locations[i]);
        self.omissions.first_disordered.get_or_insert(first);
    }

    #[inline]
    fn since_begin(&self, time: i64) -> i64 {
        time.saturating_sub(self.common.window.begin_ns)
    }

    /// Time passes until `now` in the present state.
    #[allow(clippy::inline_always)] // into the loop over a rank's only thread
    #[inline(always)]
    pub(crate) fn advance(&mut self, i: usize, now: i64) {
        let thread = &mut self.threads[i];
        let passed = now - thread.at;
        if passed <= 0 {
            return;
        }
        if thread.main {
            match thread.state {
                State::Useful => thread.useful += passed,
                State::Io => thread.io += passed,
                State::Mpi => {}
            }
            if thread.state != State::Mpi {
                thread.since = now;
            }
            if thread.mpiio_depth > 0 {
                thread.pass_in_mpiio(passed);
            }
            self.pen.stroke(&mut self.timeline, thread.state, thread.at, now);
            self.waits.pass(thread.state, thread.at, now);
        } else if thread.state == State::Mpi && !thread.stack.is_empty() {
            thread.overlapped_mpi += passed;
        }
        thread.at = now;
    }

    /// A file call begins at the thread's moment.
    #[allow(clippy::inline_always)] // into the loop over a rank's only thread
    #[inline(always)]
    fn enter_io(&mut self, i: usize) {
        let thread = &mut self.threads[i];
        thread.io_depth += 1;
        thread.state = State::Io;
        if thread.io_depth == 1 {
            thread.io_begin = thread.at;
            if thread.main {
                let key = self.common.keys.key(thread.at, Turn::Begin, self.number);
                self.edges.keys.push(key);
            } else {
                self.own_file_call(i, Deed::OwnBegins { thread: i as u32 });
            }
        }
    }

    /// A file call of another thread than the main one begins or ends.
    #[cold]
    fn own_file_call(&mut self, i: usize, deed: Deed) {
        let Some(main) = self.main else { return };
        self.owns += 1;
        self.threads[i].owns = self.owns;
        self.emit(i, deed);
        let now = self.threads[i].at.max(self.threads[main].at);
        self.edges.keys.push(self.common.keys.key(now, Turn::Total, self.number));
        self.areas = self.areas.wrapping_add(2);
    }

    /// A file call ends at the thread's moment; whether it was the outermost.
    #[allow(clippy::inline_always)] // into the loop over a rank's only thread
    #[inline(always)]
    pub(crate) fn leave_io(&mut self, i: usize) -> bool {
        let thread = &mut self.threads[i];
        thread.io_depth -= 1;
        if thread.io_depth > 0 {
            return false;
        }
        thread.settle();
        if thread.main {
            self.edges.keys.push(self.common.keys.key(thread.at, Turn::End, self.number));
            self.edges.moved.push(0);
            self.areas = self.areas.wrapping_add(1);
        } else {
            let duration = thread.at - thread.io_begin;
            thread.overlapped_io += duration;
            self.own_file_call(i, Deed::OwnEnds { thread: i as u32, duration });
        }
        true
    }

    /// A file call begins inside a collective one: if all ranks entered, it had to wait for the
    /// last.
    #[inline]
    fn join_file_call(&mut self, i: usize) {
        if let (Some(&FileCall { role, site, .. }), true) =
            (self.threads[i].file_calls.last(), self.threads[i].main)
        {
            self.threads[i].site = site;
            self.emit(i, Deed::Await { role });
        }
    }

    /// A vertex at the moment that the thread has reached.
    #[allow(clippy::inline_always)] // a deed that is passed on is read before it is there
    #[inline(always)]
    pub(crate) fn emit(&mut self, i: usize, deed: Deed) {
        let (useful, io) = self.local_time(i);
        let (at, areas) = (self.moment, self.areas);
        let Thread { since, owns, site, .. } = self.threads[i];
        self.slab.vertices.push(Vertex { at, since, useful, io, areas, owns, site, deed });
    }

    /// Whether the last vertex is one at the same moment that may finish the next role, too.
    #[inline]
    pub(crate) fn finishes_too(&mut self, i: usize, role: u64) -> bool {
        let (at, areas, apart) = (self.moment, self.areas, self.common.apart);
        let Some(last) = self.slab.vertices.last_mut().filter(|last| last.at == at) else {
            return false;
        };
        let (first, number) = match last.deed {
            Deed::Finish { role } => (role, 1),
            Deed::FinishAll { first, number } => (first, number),
            _ => return false,
        };
        let Thread { since, owns, site, useful, io, state, .. } = self.threads[i];
        let alike = (last.since, last.useful, last.io, last.areas, last.owns, last.site)
            == (since, useful, io, areas, owns, site);
        if apart || !alike || state == State::Io || first + u64::from(number) != role {
            return false;
        }
        let Some(number) = number.checked_add(1) else { return false };
        last.deed = Deed::FinishAll { first, number };
        true
    }

    /// … of a deed that takes a role; its number.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    pub(crate) fn emit_role(&mut self, i: usize, deed: Deed) -> u64 {
        self.emit(i, deed);
        let role = self.roles;
        self.roles += 1;
        role
    }

    /// The main thread's time outside of calls and in file calls, at the moment that thread `i` has
    /// reached.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn local_time(&mut self, i: usize) -> (i64, i64) {
        let thread = &self.threads[i];
        let is_plain = match thread.state {
            State::Useful => thread.at <= thread.last,
            State::Mpi => true,
            State::Io => false,
        };
        if thread.main && is_plain {
            return (thread.useful, thread.io);
        }
        self.local_time_of_main(thread.at)
    }

    /// … at `now`, where it is in a file call, or another thread has reached that.
    #[cold]
    fn local_time_of_main(&mut self, now: i64) -> (i64, i64) {
        let Some(main) = self.main else { return (now, 0) };
        let thread = &self.threads[main];
        let (useful, io, at) = (thread.useful, thread.io, thread.at);
        match thread.state {
            State::Useful => {
                // another thread may be older
                let before = if at == thread.first { i64::MIN } else { 0 };
                (useful + (now.min(thread.last) - at).max(before), io)
            }
            State::Mpi => (useful, io),
            State::Io => {
                let now = now.max(at);
                self.edges.keys.push(self.common.keys.key(now, Turn::Sample, self.number));
                self.areas = self.areas.wrapping_add(1);
                (useful, io + now - at)
            }
        }
    }
}

/// The collective file call that begins, and whether it moves data.
fn file_call(operation: &Operation, role: Role, site: Site) -> Option<FileCall> {
    match (operation, role) {
        (Operation::File(call), Role::One(role)) => {
            let moves = matches!(call.kind, FileKind::Read | FileKind::Write);
            Some(FileCall { role, moves, site })
        }
        _ => None,
    }
}
