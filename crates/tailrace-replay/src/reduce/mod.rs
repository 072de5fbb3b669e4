//! Each rank by itself: its events become accounts, and vertices of the graph.
//!
//! All that needs no other rank is done here, in parallel over ranks: time by state, functions,
//! files, places, patterns, the rank's row of the timeline, the longest calls. What leaves is what
//! others may meet ([`crate::graph::Slab`]): the begins and ends of file calls, and vertices with
//! the sums of local time.
//! [`Rank::reduce`] goes until a horizon of measured time, or until a rank has handed over
//! enough.

pub(crate) mod calls;
pub(crate) mod channels;
pub(crate) mod digest;
mod file_runs;
pub(crate) mod load;
mod one_sided;
pub(crate) mod opaque;
mod operations;
pub(crate) mod order;
mod outside;
pub(crate) mod requests;
mod rows;
mod simple;
pub(crate) mod thread;

use std::sync::Arc;

use hashbrown::HashMap;
use tailrace_trace::event::Event;
use tailrace_trace::tables::Window;
use tailrace_trace::{Batch, EventStream, Tables, Trace, TraceError};

use crate::accounts::levels::Levels;
use crate::accounts::longest::Span;
use crate::accounts::timeline::{Pen, Row, State};
use crate::accounts::waits::Waits;
use crate::graph::Slab;
use crate::graph::edges::{Edges, Keys};
use crate::graph::locks::Lock;
use crate::graph::vertex::Family;
use crate::longest::Bar;
use crate::options::{CollectiveOrder, CriticalPaths, Options};
use crate::reduce::channels::{Channels, OwnNumbers};
use crate::reduce::digest::Digest;
use crate::reduce::load::{Load, Next, unfinished};
use crate::reduce::opaque::Opaque;
use crate::reduce::order::{Calendar, Due, Tournament, Turn};
use crate::reduce::thread::Thread;
use crate::steps::{Course, Rules};

/// Ranks that have handed over so many vertices together wait for the others to come as far.
const ENOUGH: usize = 1 << 18;
/// … but not before each has handed over so many.
const ENOUGH_OF_A_RANK: usize = 1 << 8;

/// What all ranks have in common.
pub(crate) struct Common<'a> {
    pub tables: &'a Tables,
    pub window: Window,
    pub calendar: Calendar,
    pub keys: Keys,
    pub eager_limit_bytes: u64,
    pub order: CollectiveOrder,
    pub opaque: Opaque,
    pub critical_paths: CriticalPaths,
    pub levels: Arc<Levels>,
    /// Each vertex is one instant: none is merged with the next.
    pub apart: bool,
    /// The run has a call that cancels; else nothing is.
    pub may_cancel: bool,
    /// A rank that has handed over so many vertices waits for the others to come as far.
    enough: usize,
}

impl<'a> Common<'a> {
    pub(crate) fn new(
        tables: &'a Tables,
        (window, calendar, keys): (Window, Calendar, Keys),
        options: &Options,
        opaque: Opaque,
    ) -> Self {
        let Options { eager_limit_bytes, collectives: order, critical_paths, .. } = *options;
        let enough = (ENOUGH / tables.ranks.max(1) as usize).max(ENOUGH_OF_A_RANK);
        let levels = Arc::new(Levels::new(&tables.places));
        Self {
            tables,
            window,
            calendar,
            keys,
            eager_limit_bytes,
            order,
            opaque,
            critical_paths,
            levels,
            apart: false,
            may_cancel: tables.functions.iter().any(|function| cancels(&function.name)),
            enough,
        }
    }

    pub(crate) fn rules(&self) -> Rules<'a> {
        let Self { tables, order, eager_limit_bytes, .. } = *self;
        Rules { tables, order, eager_limit_bytes }
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
}

/// Whether a function of that name may cancel a receive, in C or in Fortran.
fn cancels(name: &str) -> bool {
    name.to_ascii_lowercase().contains("cancel")
}

/// What the replay had to leave out; each becomes a warning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Omissions {
    /// Receives whose wildcard was never resolved.
    pub unresolved_receives: u64,
    /// Completions of requests that no event started.
    pub unknown_requests: u64,
    /// Events that begin before the one before them ended.
    pub disordered: u64,
    /// Begin and location of the first such event.
    pub first_disordered: Option<(i64, usize)>,
}

impl Omissions {
    pub(crate) fn add(&mut self, other: &Self) {
        self.unresolved_receives += other.unresolved_receives;
        self.unknown_requests += other.unknown_requests;
        self.disordered += other.disordered;
        let firsts = self.first_disordered.into_iter().chain(other.first_disordered);
        self.first_disordered = firsts.min();
    }
}

type Stream<'a> = Box<dyn EventStream + Send + 'a>;

/// One rank: its threads, and what becomes of their events.
pub(crate) struct Rank<'a> {
    pub common: &'a Common<'a>,
    pub number: u32,
    /// By thread: its index among the trace's locations.
    pub locations: Vec<usize>,
    pub threads: Vec<Thread>,
    streams: Vec<Stream<'a>>,
    loads: Vec<Load>,
    /// The thread whose time makes the rank's accounts.
    pub main: Option<usize>,
    pub pen: Pen,
    pub waits: Waits,
    pub omissions: Omissions,
    /// Some requests were file calls that others may be inside of.
    pub opaque_requests: bool,
    /// The rank's row of the timeline, while it is its turn.
    pub timeline: Row,
    /// Calls that may be among the longest, and what those have to meet.
    pub longest: Vec<Span>,
    pub bar: Bar,

    pub slab: Slab,
    /// The begins and ends of its file calls.
    pub edges: Edges,
    /// Vertices and edges that were too late for the slab before.
    held: (usize, usize),
    /// Areas that were asked for. Wraps.
    pub areas: u32,
    /// The next role's number.
    pub roles: u64,
    pub channels: Channels,
    series: HashMap<(u32, Family), u32>,
    pub locks: HashMap<Lock, u32>,
    /// Begins and ends of file calls of other threads than the main one.
    pub owns: u32,
    /// Measured time that the rank has reached, since the window's begin.
    pub moment: i64,
    /// Events of the blocks that were taken.
    done: u64,
    /// Of each block of its only thread, if it has no more.
    pub digests: Vec<Option<Digest>>,
}

impl<'a> Rank<'a> {
    /// `locations`: its threads, by index among the trace's.
    pub(crate) fn new(
        trace: &'a dyn Trace,
        common: &'a Common<'a>,
        number: u32,
        locations: Vec<usize>,
    ) -> Self {
        let Common { tables, window, .. } = *common;
        let threads: Vec<Thread> =
            locations.iter().map(|i| Thread::new(tables, *i, window, &common.levels)).collect();
        let main = threads.iter().position(|thread| thread.main);
        let waits = main.and_then(|main| tables.locations[locations[main]].waits.as_deref());
        Self {
            common,
            number,
            streams: locations.iter().map(|location| trace.events(*location)).collect(),
            locations,
            loads: threads.iter().map(|_| Load::default()).collect(),
            threads,
            main,
            pen: Pen::default(),
            waits: Waits::new(waits.unwrap_or_default(), window),
            omissions: Omissions::default(),
            opaque_requests: false,
            timeline: Row::default(),
            longest: Vec::new(),
            bar: Bar::LOWEST,
            slab: Slab::default(),
            edges: Edges::default(),
            held: (0, 0),
            areas: 0,
            roles: 0,
            channels: Channels::default(),
            series: HashMap::new(),
            locks: HashMap::new(),
            owns: 0,
            moment: i64::MIN,
            done: 0,
            digests: Vec::new(),
        }
    }

    /// When the rank comes to life.
    pub(crate) fn birth(&self) -> i64 {
        self.main.map_or(0, |main| self.threads[main].first)
    }

    pub(crate) fn come_to_life(&mut self) {
        self.pen = Pen::new(&self.timeline);
        for i in 0..self.threads.len() {
            self.advance(i, self.threads[i].first);
            self.threads[i].settle();
        }
    }

    /// Takes what happens until `horizon`, on the trace's clock, or more. Until the answer nothing
    /// more will come.
    pub(crate) fn reduce(&mut self, horizon: i64) -> Result<i64, TraceError> {
        let mut loads = std::mem::take(&mut self.loads);
        self.held = (self.slab.vertices.len(), self.edges.keys.len());
        let reached = match self.threads.len() {
            0 => Ok(horizon),
            1 => self.reduce_alone(&mut loads[0], horizon),
            _ => self.reduce_together(&mut loads, horizon),
        };
        self.loads = loads;
        reached
    }

    /// Events that were taken.
    pub(crate) fn done(&self) -> u64 {
        self.done + self.loads.iter().map(|load| load.row as u64).sum::<u64>()
    }

    /// Its own numbers of what it meets others by.
    pub(crate) fn numbers(&mut self) -> OwnNumbers<'_> {
        let Self { channels, series, slab, .. } = self;
        OwnNumbers { channels, series, fresh: &mut slab.channels }
    }

    fn has_enough(&self) -> bool {
        let (enough, (vertices, edges)) = (self.common.enough, self.held);
        self.slab.vertices.len() >= vertices + enough || self.edges.keys.len() >= edges + 2 * enough
    }

    /// The events of the rank's only thread that begin until the horizon; they may end later. A
    /// block of many shapes is taken whole, so that not all ranks keep theirs.
    fn reduce_alone(&mut self, load: &mut Load, horizon: i64) -> Result<i64, TraceError> {
        let end = self.common.window.end_ns;
        let until = horizon.min(end);
        loop {
            let heavy = load.is_heavy();
            self.take_block(load, if heavy { end } else { until });
            if !load.is_over() {
                self.wake(0, until);
                return Ok(horizon);
            }
            if self.has_enough() && !heavy {
                return Ok(self.reached().min(horizon));
            }
            let shapes = load.columns.shapes.len();
            self.tally_block(0, load);
            if heavy {
                self.channels.rest(shapes, self.number);
                load.leave();
                self.threads[0].requests.shrink();
                if self.reached() >= horizon {
                    return Ok(self.reached());
                }
            }
            if !self.next_block(0, load)? {
                return Ok(i64::MAX);
            }
        }
    }

    fn take_block(&mut self, load: &mut Load, until: i64) {
        loop {
            self.planned(load, until);
            let Some(next) = load.next(until) else { return };
            let mut call = load.call(&next);
            let Event { begin, end, .. } = next.event;
            self.wake(0, begin);
            match call.step.course {
                Course::Local if self.threads[0].wakes.is_none() => self.local(0, &mut call),
                Course::Starts if self.threads[0].wakes.is_none() => self.start(0, &mut call),
                _ => {
                    self.begin(0, &call);
                    self.wake(0, end.min(self.common.window.end_ns));
                    self.end(0, &mut call);
                }
            }
        }
    }

    /// Until when nothing more will come, on the trace's clock: at the same nanosecond more may.
    fn reached(&self) -> i64 {
        self.moment.saturating_add(self.common.window.begin_ns).saturating_sub(1)
    }

    /// The threads' steps in order of time: one may complete what another has started, and the
    /// main thread's time is asked for.
    fn reduce_together(&mut self, loads: &mut [Load], horizon: i64) -> Result<i64, TraceError> {
        let mut due = Vec::with_capacity(loads.len());
        for (i, load) in loads.iter_mut().enumerate() {
            due.push(self.next_due(i, load)?);
        }
        let mut tournament = Tournament::new(&due);
        let calendar = self.common.calendar;
        loop {
            let first = tournament.first();
            if first == Due::NEVER || calendar.time(first) > horizon {
                return Ok(horizon);
            }
            let i = calendar.location(first);
            self.step(i, &mut loads[i], calendar.time(first));
            let next = self.next_due(i, &mut loads[i])?;
            tournament.replace_first(i, next);
            if self.has_enough() {
                return Ok(self.reached().min(horizon));
            }
        }
    }

    /// Takes the thread's step that is due at `time`.
    fn step(&mut self, i: usize, load: &mut Load, time: i64) {
        if self.wake(i, time) {
            return;
        }
        let Some(next) = self.threads[i].next.take() else { return };
        let mut call = load.call(&next);
        if next.begun {
            self.end(i, &mut call);
            return;
        }
        self.begin(i, &call);
        if matches!(call.step.course, Course::Enter | Course::Leave) {
            self.end(i, &mut call);
        } else {
            self.threads[i].next = Some(Next { begun: true, ..next });
        }
    }

    /// When the thread's next step is due.
    fn next_due(&mut self, i: usize, load: &mut Load) -> Result<Due, TraceError> {
        let until = self.common.window.end_ns;
        while self.threads[i].next.is_none() {
            self.threads[i].next = load.next(until);
            if self.threads[i].next.is_none() {
                if !load.is_over() {
                    break;
                }
                self.tally_block(i, load);
                if !self.next_block(i, load)? {
                    break;
                }
            }
        }
        let calendar = self.common.calendar;
        let due = match self.threads[i].next {
            None => Due::NEVER,
            Some(Next { event, begun, .. }) => {
                match (load.lines[event.shape as usize].step.course, begun) {
                    (Course::Leave, false) => calendar.due(event.begin, Turn::DependentEnd, i),
                    (_, false) => calendar.due(event.begin, Turn::Begin, i),
                    (Course::File, true) => calendar.due(event.end, Turn::End, i),
                    (_, true) => calendar.due(event.end, Turn::DependentEnd, i),
                }
            }
        };
        let due = if calendar.is_over(due) { Due::NEVER } else { due };
        let wakes = self.threads[i].wakes.map(|time| calendar.due(time, Turn::End, i));
        Ok(wakes.map_or(due, |wakes| due.min(wakes)))
    }

    fn next_block(&mut self, i: usize, load: &mut Load) -> Result<bool, TraceError> {
        if self.threads[i].over {
            return Ok(false);
        }
        if !load.read(|columns| self.streams[i].next_columns(columns))? {
            self.threads[i].over = true;
            let mut batch = Batch::default();
            unfinished(&self.common.tables.locations[self.locations[i]], &mut batch);
            load.columns.take_from(&batch);
        }
        if load.is_heavy() {
            self.channels.reserve(load.columns.shapes.len());
            self.slab.vertices.reserve(load.columns.len());
        }
        load.compile(self.common, self.number, &mut self.numbers());
        Ok(!load.columns.is_empty())
    }

    /// What was summed up by shape.
    fn tally_block(&mut self, i: usize, load: &mut Load) {
        self.done += load.columns.len() as u64;
        let Common { ref opaque, apart, critical_paths, .. } = *self.common;
        let is_asked = opaque.is_empty() && !apart && critical_paths == CriticalPaths::Followed;
        if self.threads.len() == 1 && is_asked && !load.columns.is_empty() {
            self.digests.push(Digest::of(load, &self.threads[i], self.common));
        }
        let Thread { patterns, routines, tallies, .. } = &mut self.threads[i];
        let end_ns = if load.is_over() { load.reached } else { i64::MAX };
        patterns.follow(&load.columns, end_ns, &load.lines, self.common.window);
        routines.follow(&load.columns, end_ns, &load.lines, self.common.window);
        tallies.take(&load.columns.shapes, &mut load.lines);
        load.clear();
    }

    /// The window's end: what is under way ends here.
    pub(crate) fn finish(&mut self) -> Result<(), TraceError> {
        let mut loads = std::mem::take(&mut self.loads);
        for (i, load) in loads.iter_mut().enumerate() {
            self.wake(i, self.common.window.end_ns);
            if let Some(next @ Next { begun: true, .. }) = self.threads[i].next.take() {
                let mut call = load.call(&next);
                call.event.end = call.event.end.max(self.common.window.end_ns);
                self.end(i, &mut call);
            }
            if self.threads[i].main {
                self.add_outside(i, load);
            }
            self.tally_block(i, load);
            self.rest(i);
            self.pass_outside(i, load)?;
        }
        if self.main.is_some() {
            self.pen.flush(&mut self.timeline);
        } else {
            self.timeline.add(State::Mpi, 0, self.common.runtime());
        }
        Ok(())
    }

    /// From the end of the thread to the end of the window.
    fn rest(&mut self, i: usize) {
        if !self.threads[i].in_io() {
            // others wait for its rank at best, when the thread is over
            self.advance(i, self.threads[i].last);
            self.threads[i].state = State::Mpi;
        }
        self.advance(i, self.common.runtime());
        while self.threads[i].in_io() {
            self.leave_io(i);
        }
    }
}
