//! One location in the sweep: where it is, what it is in, and its rank's three clocks.

use std::sync::Arc;

use hashbrown::HashMap;
use tailrace_trace::Tables;
use tailrace_trace::tables::Window;

use crate::busy::Busy;
use crate::clocks::Clocks;
use crate::collectives::{Family, InstanceId};
use crate::levels::Levels;
use crate::locks::WindowId;
use crate::messages::MessageId;
use crate::patterns::Patterns;
use crate::requests::{Requests, Role};
use crate::routines::Routines;
use crate::steps::{Line, Step};
use crate::tallies::Tallies;
use crate::timeline::{Pen, State, Timeline};
use crate::uses::Uses;
use crate::waits::Waits;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    /// Nanoseconds since the window's begin.
    pub begin: i64,
    pub io: bool,
    pub mpiio: bool,
    /// The frame becomes a file call when the last rank enters.
    pub waiting: bool,
    pub role: Role,
    /// Instance of the collective file call that was innermost before.
    pub outer_file_call: Option<(InstanceId, bool)>,
}

/// Time in MPI-IO calls of a rank's main thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layers {
    pub mpiio: i64,
    /// File calls inside.
    pub posix: i64,
    /// Waiting, exchanging, sieving.
    pub between: i64,
}

/// A one-sided epoch: the notices it waits for.
pub(crate) type Epoch = Vec<MessageId>;

/// What every step touches comes first: with a thousand ranks these lines are what has to stay in
/// the cache.
#[repr(C, align(64))]
pub(crate) struct Location {
    /// Accounts are kept up to here.
    pub at: i64,
    useful: i64,
    /// The clocks are ahead of the useful time by this.
    ahead: Clocks,
    pub state: State,
    /// Its time makes the rank's accounts.
    pub main: bool,
    /// Other threads of the rank may ask for its clocks: it must not run ahead.
    pub observed: bool,
    pub rank: u32,
    io_depth: u32,
    mpiio_depth: u32,
    io_area: i64,
    pub io_begin: i64,
    pub pen: Pen,
    pub bytes: [u64; 2],
    /// The collective file call around, and whether it reads.
    pub file_call: Option<(InstanceId, bool)>,
    /// By shape of the batch at hand.
    pub lines: Vec<Line>,
    pub stack: Vec<Frame>,

    pub requests: Requests,
    /// When the receive was posted whose source becomes known at its end.
    pub late_post: Clocks,
    pub collectives: HashMap<(u32, Family), u64>,
    /// By window: notices awaited since the last Start, and whom it named.
    pub access: HashMap<WindowId, (Epoch, Vec<u32>)>,
    /// … and whom the last Post named.
    pub exposure: HashMap<WindowId, Vec<u32>>,

    /// Of another thread than the main one: when its last file call was over, on each clock.
    pub own: Clocks,

    /// The last moment at which the thread is known to be alive.
    pub last: i64,
    pub overlapped_io: i64,
    /// In MPI outside file calls, of a thread that is not the main one.
    pub overlapped_mpi: i64,
    pub layers: Layers,
    pub tallies: Tallies,
    pub patterns: Patterns,
    pub routines: Routines,
    pub uses: Uses,
    pub waits: Waits,
}

impl Location {
    pub(crate) fn new(
        tables: &Tables,
        index: usize,
        timeline: &Timeline,
        window: Window,
        levels: &Arc<Levels>,
    ) -> Self {
        let location = &tables.locations[index];
        let others = tables.locations.iter().filter(|l| l.rank == location.rank).count() > 1;
        Self {
            lines: Vec::new(),
            rank: location.rank,
            main: location.main,
            observed: others,
            last: 0,
            at: 0,
            useful: 0,
            ahead: Clocks::default(),
            state: State::Mpi, // until it comes to life
            io_depth: 0,
            mpiio_depth: 0,
            io_area: 0,
            io_begin: 0,
            overlapped_io: 0,
            overlapped_mpi: 0,
            stack: Vec::new(),
            file_call: None,
            requests: Requests::default(),
            late_post: Clocks::default(),
            own: Clocks::default(),
            collectives: HashMap::new(),
            access: HashMap::new(),
            exposure: HashMap::new(),
            pen: Pen::new(timeline, location.rank),
            bytes: [0; 2],
            layers: Layers::default(),
            tallies: Tallies::default(),
            patterns: Patterns::default(),
            routines: Routines::new(levels, location.main),
            uses: Uses::new(window.end_ns - window.begin_ns),
            waits: Waits::new(location.waits.as_deref().unwrap_or_default(), window),
        }
    }

    /// The replayed clocks at `self.at`.
    #[inline]
    pub(crate) fn clocks(&self) -> Clocks {
        self.ahead.plus(self.useful)
    }

    /// The replayed clocks at a moment no earlier than `self.at`, before the location's next step.
    pub(crate) fn clocks_at(&self, now: i64, busy: &Busy, ranks: i64) -> Clocks {
        let clocks = self.clocks();
        let since = (now - self.at).max(0);
        match self.state {
            State::Useful => clocks.plus((now.min(self.last) - self.at).max(0)),
            State::Mpi => clocks,
            State::Io => Clocks {
                net: clocks.net + since,
                even: clocks.even + (busy.area(now) - self.io_area) / ranks,
                ideal: clocks.ideal,
            },
        }
    }

    /// Waiting: no clock is before `moment` any more.
    #[inline]
    pub(crate) fn wait_for(&mut self, moment: Clocks) {
        self.ahead = self.clocks().max(moment).plus(-self.useful);
    }

    /// Time passes until `now` in the present state.
    #[inline]
    pub(crate) fn advance(&mut self, now: i64, timeline: &mut Timeline) {
        let passed = now - self.at;
        if passed <= 0 {
            return;
        }
        if self.main {
            self.pass(passed, timeline, now);
        } else if self.state == State::Mpi && !self.stack.is_empty() {
            self.overlapped_mpi += passed;
        }
        self.at = now;
    }

    #[inline]
    fn pass(&mut self, passed: i64, timeline: &mut Timeline, now: i64) {
        match self.state {
            State::Useful => self.useful += passed,
            State::Io => self.ahead.net += passed,
            State::Mpi => {}
        }
        if self.mpiio_depth > 0 {
            self.pass_in_mpiio(passed);
        }
        self.pen.stroke(timeline, self.state, self.at, now);
        self.waits.pass(self.state, self.at, now);
    }

    fn pass_in_mpiio(&mut self, passed: i64) {
        self.layers.mpiio += passed;
        match self.state {
            State::Io if self.io_depth > self.opaque_depth() => self.layers.posix += passed,
            State::Mpi => self.layers.between += passed,
            _ => {}
        }
    }

    fn opaque_depth(&self) -> u32 {
        self.stack.iter().filter(|frame| frame.io && frame.mpiio).count() as u32
    }

    /// A file call begins at `self.at`.
    #[inline]
    pub(crate) fn enter_io(&mut self, busy: &mut Busy) {
        self.io_depth += 1;
        self.state = State::Io;
        if self.io_depth == 1 {
            self.io_begin = self.at;
            self.io_area = if self.main { busy.enter(self.at) } else { busy.area(self.at) };
        }
    }

    /// A file call ends at `self.at`; whether it was the outermost.
    #[inline]
    pub(crate) fn leave_io(&mut self, busy: &mut Busy, ranks: i64) -> bool {
        self.io_depth -= 1;
        if self.io_depth > 0 {
            return false;
        }
        self.settle();
        if self.main {
            self.ahead.even += (busy.leave(self.at) - self.io_area) / ranks;
        } else {
            let duration = self.at - self.io_begin;
            self.overlapped_io += duration;
            self.own.net += duration;
            // k(t) counts the ranks whose main threads are in file calls
            let area = busy.area(self.at) - self.io_area + duration;
            self.own.even += (area / ranks).min(duration);
        }
        true
    }

    pub(crate) fn push(&mut self, frame: Frame) {
        self.mpiio_depth += u32::from(frame.mpiio);
        self.stack.push(frame);
        self.settle();
    }

    pub(crate) fn pop(&mut self) -> Option<Frame> {
        let frame = self.stack.pop()?;
        self.mpiio_depth -= u32::from(frame.mpiio);
        self.file_call = frame.outer_file_call;
        self.settle();
        Some(frame)
    }

    /// The last rank entered the opaque collective file call that this one waits in.
    pub(crate) fn waited(&mut self) {
        if let Some(frame) = self.stack.iter_mut().rev().find(|frame| frame.waiting) {
            (frame.waiting, frame.io) = (false, true);
        }
    }

    /// Is in a file call, of whatever layer.
    pub(crate) fn in_io(&self) -> bool {
        self.io_depth > 0
    }

    /// Whether a call of this kind here would be counted by the one around it: a file call in a
    /// file call, MPI-IO in MPI-IO.
    #[inline]
    pub(crate) fn is_inside_alike(&self, step: &Step) -> bool {
        if step.io { self.in_io() } else { step.mpiio && self.mpiio_depth > 0 }
    }

    /// The time since `begin`, taken for waiting until now, was a file call of this rank alone;
    /// k(t) does not hold it.
    pub(crate) fn was_alone_in_io(&mut self, begin: i64, timeline: &mut Timeline, ranks: i64) {
        if !self.main {
            return;
        }
        let duration = self.at - begin;
        self.ahead.net += duration;
        self.ahead.even += duration / ranks;
        self.layers.between -= duration;
        self.pen.recolour(timeline, State::Mpi, State::Io, begin, self.at);
        self.waits.recolour(State::Mpi, State::Io, begin, self.at);
    }

    /// The stream is over: the rank is waited for at best.
    pub(crate) fn rest(&mut self) {
        self.state = State::Mpi;
    }

    /// The state follows from what the location is in.
    pub(crate) fn settle(&mut self) {
        self.state = match (self.io_depth, self.stack.len()) {
            (0, 0) => State::Useful,
            (0, _) => State::Mpi,
            _ => State::Io,
        };
    }
}
