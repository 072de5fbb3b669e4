//! All that the sweep knows at one moment of measured time, and what a call's begin and end do to
//! it.

use std::sync::Arc;

use tailrace_trace::Tables;
use tailrace_trace::event::{Event, Operation, Progress};
use tailrace_trace::tables::Window;

use crate::busy::Busy;
use crate::clocks::Clocks;
use crate::collectives::Collectives;
use crate::levels::Levels;
use crate::location::{Frame, Location};
use crate::locks::Locks;
use crate::longest::{Longest, Span};
use crate::messages::Messages;
use crate::options::Options;
use crate::requests::{Persistent, Request, Role};
use crate::steps::{Action, Course, Step, Sum};
use crate::timeline::{State, Timeline};

/// What the replay had to leave out; each becomes a warning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Omissions {
    /// Receives whose wildcard was never resolved.
    pub unresolved_receives: u64,
    /// Completions of requests that no event started.
    pub unknown_requests: u64,
    /// Events that begin before the one before them ended.
    pub disordered: u64,
    /// Location and begin of the first such event.
    pub first_disordered: Option<(usize, i64)>,
}

/// What the sweep adds up: nothing of it decides who waits for whom.
pub(crate) struct Accounts {
    pub busy: Busy,
    pub timeline: Timeline,
    pub longest: Longest,
    pub omissions: Omissions,
}

/// What decides who waits for whom.
pub(crate) struct Matching {
    pub messages: Messages,
    pub collectives: Collectives,
    pub locks: Locks,
    pub eager_limit_bytes: u64,
}

pub(crate) struct World<'a> {
    pub tables: &'a Tables,
    pub window: Window,
    /// P.
    pub ranks: i64,
    pub locations: Vec<Location>,
    /// By rank: its main location.
    pub main: Vec<Option<usize>>,
    pub accounts: Accounts,
    pub matching: Matching,
}

impl<'a> World<'a> {
    pub(crate) fn new(tables: &'a Tables, options: &Options, window: Window) -> Self {
        let runtime = window.end_ns - window.begin_ns;
        let timeline = Timeline::new(runtime, tables.ranks as usize, options.bins);
        let levels = Arc::new(Levels::new(&tables.places));
        let locations = (0..tables.locations.len())
            .map(|i| Location::new(tables, i, &timeline, window, &levels))
            .collect();
        let mut main = vec![None; tables.ranks as usize];
        let mains = tables.locations.iter().enumerate().filter(|(_, location)| location.main);
        mains.for_each(|(i, location)| main[location.rank as usize] = Some(i));
        Self {
            tables,
            window,
            ranks: i64::from(tables.ranks.max(1)),
            locations,
            main,
            accounts: Accounts {
                busy: Busy::new(runtime),
                timeline,
                longest: Longest::new(options.longest),
                omissions: Omissions::default(),
            },
            matching: Matching {
                messages: Messages::default(),
                collectives: Collectives::new(options.collectives),
                locks: Locks::default(),
                eager_limit_bytes: options.eager_limit_bytes,
            },
        }
    }

    /// A measured time as nanoseconds since the window's begin, cut to the window.
    #[inline]
    pub(crate) fn clip(&self, time: i64) -> i64 {
        time.clamp(self.window.begin_ns, self.window.end_ns) - self.window.begin_ns
    }

    /// The length of the window.
    pub(crate) fn runtime(&self) -> i64 {
        self.window.end_ns - self.window.begin_ns
    }

    /// The replayed clocks of the location's rank, at the moment that the location has reached; of
    /// another thread than the main one no earlier than its file calls were over.
    pub(crate) fn clocks(&self, i: usize) -> Clocks {
        let location = &self.locations[i];
        if location.main {
            return location.clocks();
        }
        match self.main[location.rank as usize] {
            Some(main) => {
                let of_rank =
                    self.locations[main].clocks_at(location.at, &self.accounts.busy, self.ranks);
                of_rank.max(location.own)
            }
            None => Clocks::all(location.at),
        }
    }

    /// A call that depends on nobody, from begin to end.
    #[inline]
    pub(crate) fn local(&mut self, i: usize, event: &Event, step: &Step) {
        let begin = self.clip(event.begin);
        let location = &mut self.locations[i];
        self.accounts.omissions.check(location, i, begin, event);
        location.advance(begin, &mut self.accounts.timeline);
        self.pass_in_mpi(i, event, step, begin);
        let state = if step.io { self.locations[i].state } else { State::Mpi };
        self.tally(i, event, step, begin, state);
    }

    /// A call that others may depend on, but that depends on nobody itself.
    pub(crate) fn start(&mut self, i: usize, event: &Event, step: &Step, operation: &Operation) {
        let begin = self.clip(event.begin);
        let location = &mut self.locations[i];
        self.accounts.omissions.check(location, i, begin, event);
        location.advance(begin, &mut self.accounts.timeline);
        let role = self.begin_action(i, step, operation, false);
        self.pass_in_mpi(i, event, step, begin);
        self.end_action(i, step, operation, role);
        self.tally(i, event, step, begin, State::Mpi);
    }

    /// From the begin to the end of a call in MPI that holds no others.
    #[inline]
    fn pass_in_mpi(&mut self, i: usize, event: &Event, step: &Step, begin: i64) {
        let end = self.clip(event.end);
        let location = &mut self.locations[i];
        let outside = location.state;
        if outside == State::Useful && !step.io {
            location.state = State::Mpi;
        }
        location.advance(end, &mut self.accounts.timeline);
        location.state = outside;
        if step.mpiio && location.stack.is_empty() && location.main {
            location.layers.mpiio += end - begin;
            location.layers.between += end - begin;
        }
    }

    /// A file call and nothing else begins.
    #[inline]
    pub(crate) fn begin_file(&mut self, i: usize, event: &Event) {
        let begin = self.clip(event.begin);
        let location = &mut self.locations[i];
        self.accounts.omissions.check(location, i, begin, event);
        location.advance(begin, &mut self.accounts.timeline);
        if location.file_call.is_some() {
            self.join_file_call(i);
        }
        self.enter_io(i);
    }

    /// … and ends.
    #[inline]
    pub(crate) fn end_file(&mut self, i: usize, event: &Event, step: &Step) {
        let (begin, end) = (self.clip(event.begin), self.clip(event.end));
        let location = &mut self.locations[i];
        location.advance(end, &mut self.accounts.timeline);
        if step.mpiio && location.stack.is_empty() && location.main {
            location.layers.mpiio += end - begin;
        }
        let inside = self.is_inside(event, begin);
        self.leave_io(i, step, begin, inside);
        self.tally(i, event, step, begin, State::Io);
    }

    /// Any other call begins.
    pub(crate) fn begin_call(
        &mut self,
        i: usize,
        event: &Event,
        step: &Step,
        operation: &Operation,
    ) {
        let begin = self.clip(event.begin);
        let location = &mut self.locations[i];
        self.accounts.omissions.check(location, i, begin, event);
        location.advance(begin, &mut self.accounts.timeline);
        if step.io && location.file_call.is_some() {
            self.join_file_call(i);
        }
        let role = self.begin_action(i, step, operation, step.course == Course::Enter);
        let outer_file_call = self.locations[i].file_call;
        let instance =
            if step.is_on_file() { Self::collective_file_call(operation, &role) } else { None };
        let waiting = step.io && instance.is_some() && operation.progress() == Progress::Blocking;
        let io = !waiting && (step.io || matches!(role, Role::FileWait));
        self.locations[i].push(Frame {
            begin,
            io,
            mpiio: step.mpiio,
            waiting,
            role,
            outer_file_call,
        });
        if instance.is_some() {
            self.locations[i].file_call = instance;
        }
        if io {
            self.enter_io(i);
        }
        if let (true, Some((instance, _))) = (waiting, instance) {
            self.wait_in_file_call(i, instance);
        }
    }

    /// … and ends. `event` is the call, or the leave.
    pub(crate) fn end_call(&mut self, i: usize, event: &Event, step: &Step, operation: &Operation) {
        let end = self.clip(event.end);
        let location = &mut self.locations[i];
        self.accounts.omissions.check(location, i, end, event);
        location.advance(end, &mut self.accounts.timeline);
        let Some(frame) = location.pop() else { return };
        if frame.io {
            let inside = self.is_inside(event, frame.begin);
            self.leave_io(i, step, frame.begin, inside);
        } else if frame.waiting {
            self.left_alone(i, &frame);
        }
        self.end_action(i, step, operation, frame.role);
        let state = if frame.io || frame.waiting { State::Io } else { State::Mpi };
        self.tally(i, event, step, frame.begin, state);
    }

    fn end_action(&mut self, i: usize, step: &Step, operation: &Operation, role: Role) {
        match (step.action, role) {
            (Action::Other, role) => self.end_operation(i, operation, role),
            (_, Role::Nothing) if step.started => self.locations[i].requests.push(Request::Plain),
            (_, role) if step.started => self.locations[i].requests.push(Request::Active(role)),
            (_, role) => self.complete_role(i, role, Some(operation)),
        }
    }

    fn end_operation(&mut self, i: usize, operation: &Operation, role: Role) {
        match operation.progress() {
            Progress::Blocking => self.complete_role(i, role, Some(operation)),
            Progress::Started => {
                let request = match (operation, role) {
                    (Operation::File(call), Role::Collective(part)) if call.opaque => {
                        Request::OpaqueFile(Some(part))
                    }
                    (Operation::File(call), _) if call.opaque => Request::OpaqueFile(None),
                    (_, Role::Nothing) => Request::Plain,
                    (_, role) => Request::Active(role),
                };
                self.locations[i].requests.push(request);
            }
            Progress::Persistent => {
                let persistent = Persistent { operation: operation.clone(), active: None };
                self.locations[i].requests.push(Request::Persistent(Box::new(persistent)));
            }
        }
        self.after(i, operation);
    }

    /// A file call begins at the location's moment. Whatever another thread than the main one waited
    /// for before, it had by then.
    #[inline]
    pub(crate) fn enter_io(&mut self, i: usize) {
        if !self.locations[i].main && !self.locations[i].in_io() {
            self.locations[i].own = self.clocks(i);
        }
        self.locations[i].enter_io(&mut self.accounts.busy);
    }

    /// A file call ends at the location's moment: clocks, and the bytes that it moved.
    #[inline]
    fn leave_io(&mut self, i: usize, step: &Step, begin: i64, inside: bool) {
        let location = &mut self.locations[i];
        let outermost = location.leave_io(&mut self.accounts.busy, self.ranks);
        if let (true, Some(direction)) =
            (outermost && inside && step.bytes > 0, step.access.direction())
        {
            self.move_bytes(i, step, begin, direction);
        }
        if self.locations[i].file_call.is_some() {
            self.file_call_inside_ended(i);
        }
    }

    #[inline]
    fn move_bytes(&mut self, i: usize, step: &Step, begin: i64, direction: usize) {
        let location = &mut self.locations[i];
        location.bytes[direction] = location.bytes[direction].saturating_add(step.bytes);
        if location.main {
            location.pen.moved(
                &mut self.accounts.timeline,
                direction,
                step.bytes,
                begin,
                location.at,
            );
            let moved = if direction == 0 { (step.bytes, 0) } else { (0, step.bytes) };
            self.accounts.busy.moved(moved.0, moved.1);
        } else {
            self.accounts.timeline.spread(direction, step.bytes, begin, location.at);
        }
    }

    /// Adds a call that ended to what is summed per shape and to the longest. Calls outside the
    /// window do not count.
    #[inline]
    fn tally(&mut self, i: usize, event: &Event, step: &Step, begin: i64, state: State) {
        let inside = self.is_inside(event, begin);
        let location = &mut self.locations[i];
        let duration = location.at - begin;
        let call = Sum { calls: u64::from(inside), time: duration };
        if location.is_inside_alike(step) {
            location.tallies.take_nested(step, call);
        } else {
            location.lines[event.shape as usize].sum.add(call);
            if step.io && inside {
                location.uses.add(step.file, step.access, (begin, location.at));
            }
        }
        if self.accounts.longest.wants(duration) && location.main {
            let Step { function, file, bytes, .. } = *step;
            let (end, rank) = (location.at, location.rank);
            self.accounts.longest.offer(Span { begin, end, rank, function, state, file, bytes });
        }
    }
}

impl World<'_> {
    /// Whether a call that ended with `event`, begun at `begin` of the window, touches the window.
    #[inline]
    fn is_inside(&self, event: &Event, begin: i64) -> bool {
        event.end >= self.window.begin_ns
            && (event.begin <= self.window.end_ns || begin < self.runtime())
    }
}

impl Omissions {
    /// Readers promise events in order of time; clocks never run backwards even if one does not
    /// keep it.
    #[inline]
    fn check(&mut self, location: &Location, i: usize, begin: i64, event: &Event) {
        if begin < location.at {
            self.disordered += 1;
            self.first_disordered.get_or_insert((i, event.begin));
        }
    }
}
