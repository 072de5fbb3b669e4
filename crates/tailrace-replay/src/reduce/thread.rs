//! One thread of a rank: where it is, what it is in, and its accounts.

use std::sync::Arc;

use hashbrown::HashMap;
use tailrace_trace::Tables;
use tailrace_trace::tables::Window;

use crate::accounts::levels::Levels;
use crate::accounts::patterns::Patterns;
use crate::accounts::routines::Routines;
use crate::accounts::tallies::Tallies;
use crate::accounts::timeline::State;
use crate::accounts::uses::Uses;
use crate::graph::locks::WindowId;
use crate::graph::vertex::Site;
use crate::reduce::load::Next;
use crate::reduce::requests::{Requests, Role};
use crate::steps::Step;

#[allow(clippy::struct_excessive_bools)] // facts that are independent of one another
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    /// Nanoseconds since the window's begin, cut to it.
    pub begin: i64,
    pub io: bool,
    pub mpiio: bool,
    /// The frame becomes a file call when the last rank enters; and how long it was none.
    pub waiting: bool,
    pub waited: i64,
    /// It is the innermost of the thread's collective file calls.
    pub is_file_call: bool,
    pub role: Role,
}

/// A collective file call that others are made inside of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileCall {
    pub role: u64,
    /// It moves data, perhaps those of other ranks.
    pub moves: bool,
    pub site: Site,
}

/// Its call of MPI_Finalize.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Finalize {
    pub begin: i64,
    /// Since when it did nothing else there, and until when, once it has left it.
    pub waited: Option<(i64, i64)>,
    pub site: Site,
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

/// A one-sided epoch: the roles of the notices that it waits for.
pub(crate) type Epoch = Vec<u64>;

/// What every step touches comes first.
#[repr(C, align(64))]
pub(crate) struct Thread {
    /// Accounts are kept up to here: nanoseconds since the window's begin, cut to it.
    pub at: i64,
    /// Outside of calls, and in file calls.
    pub useful: i64,
    pub io: i64,
    /// Since when it does nothing but wait in MPI, where it is in MPI, and in which call.
    pub since: i64,
    pub site: Site,
    pub state: State,
    /// Its time makes the rank's accounts.
    pub main: bool,
    pub io_depth: u32,
    pub mpiio_depth: u32,
    pub io_begin: i64,
    pub bytes: [u64; 2],
    pub stack: Vec<Frame>,
    /// Those of its calls that are collective file calls.
    pub file_calls: Vec<FileCall>,
    pub next: Option<Next>,
    /// When the opaque collective file call around becomes a file call.
    pub wakes: Option<i64>,
    /// Such calls so far that hold others.
    pub opaque_calls: usize,

    pub requests: Requests,
    /// Collectives so far, by the rank's own numbers of series.
    pub collectives: Vec<u32>,
    /// The rank's number of the last begin or end of its file calls, if it is not the main one.
    pub owns: u32,
    /// By window: notices awaited since the last Start, and whom it named.
    pub access: HashMap<WindowId, (Epoch, Vec<u32>)>,
    /// … and whom the last Post named.
    pub exposure: HashMap<WindowId, Vec<u32>>,

    /// The first and the last moment at which the thread is known to be alive.
    pub first: i64,
    pub last: i64,
    /// No run lasts longer for what comes in and after it.
    pub finalize: Option<Finalize>,
    /// The stream is over, but for the call that the process was killed in.
    pub over: bool,
    pub overlapped_io: i64,
    /// In file calls of the main thread that the window does not hold.
    pub outside_io: i64,
    /// In MPI outside file calls, of a thread that is not the main one.
    pub overlapped_mpi: i64,
    pub layers: Layers,
    pub tallies: Tallies,
    pub patterns: Patterns,
    pub routines: Routines,
    pub uses: Uses,
}

impl Thread {
    pub(crate) fn new(
        tables: &Tables,
        location: usize,
        window: Window,
        levels: &Arc<Levels>,
    ) -> Self {
        let runtime = window.end_ns - window.begin_ns;
        let table = &tables.locations[location];
        let clip = |time: i64| time.clamp(window.begin_ns, window.end_ns) - window.begin_ns;
        Self {
            at: 0,
            useful: 0,
            io: 0,
            since: 0,
            site: Site::default(),
            state: State::Mpi, // until it comes to life
            main: table.main,
            io_depth: 0,
            mpiio_depth: 0,
            io_begin: 0,
            bytes: [0; 2],
            stack: Vec::new(),
            file_calls: Vec::new(),
            next: None,
            wakes: None,
            opaque_calls: 0,
            collectives: Vec::new(),
            requests: Requests::default(),
            owns: 0,
            access: HashMap::new(),
            exposure: HashMap::new(),
            first: clip(table.begin_ns),
            last: clip(table.end_ns),
            finalize: None,
            over: false,
            overlapped_io: 0,
            outside_io: 0,
            overlapped_mpi: 0,
            layers: Layers::default(),
            tallies: Tallies::default(),
            patterns: Patterns::default(),
            routines: Routines::new(levels, table.main, runtime),
            uses: Uses::new(runtime),
        }
    }

    /// The number of the next collective of the series.
    #[inline]
    pub(crate) fn next_of_series(&mut self, series: u32) -> u32 {
        let collectives = &mut self.collectives;
        if collectives.len() <= series as usize {
            collectives.resize(series as usize + 1, 0);
        }
        let next = &mut collectives[series as usize];
        std::mem::replace(next, next.wrapping_add(1))
    }

    pub(crate) fn pass_in_mpiio(&mut self, passed: i64) {
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

    pub(crate) fn push(&mut self, frame: Frame) {
        self.mpiio_depth += u32::from(frame.mpiio);
        self.stack.push(frame);
        self.settle();
    }

    pub(crate) fn pop(&mut self) -> Option<Frame> {
        let frame = self.stack.pop()?;
        self.mpiio_depth -= u32::from(frame.mpiio);
        if frame.is_file_call {
            self.file_calls.pop();
        }
        self.settle();
        Some(frame)
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

    /// The state follows from what the thread is in.
    pub(crate) fn settle(&mut self) {
        self.state = match (self.io_depth, self.stack.len()) {
            (0, 0) => State::Useful,
            (0, _) => State::Mpi,
            _ => State::Io,
        };
    }
}
