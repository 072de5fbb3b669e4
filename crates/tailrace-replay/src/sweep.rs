//! The sweep: all locations' events, begins and ends, in order of measured time.

use std::hint::black_box;

use tailrace_trace::event::{Event, Operation, Part, Shape};
use tailrace_trace::tables::Window;
use tailrace_trace::{Tables, TraceError};

use crate::feed::{Feed, Load};
use crate::merge::{Calendar, Due, Tournament, Turn};
use crate::options::Options;
use crate::steps::{Course, Line, Step, compile};
use crate::world::World;

/// Told how many events of how many were taken; `false` stops the analysis.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64) -> bool;

/// Events are touched so many before their turn, so that they are in the cache when it comes.
const AHEAD: usize = 4;

/// The event that a location takes next: all that a step needs, in one line of the cache.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Next {
    event: Event,
    step: Step,
    /// It has begun.
    begun: bool,
}

impl Next {
    const NONE: Self = Self {
        event: Event { begin: i64::MAX, end: i64::MAX, shape: 0 },
        step: Step::NOTHING,
        begun: false,
    };
}

pub(crate) struct Sweep<'a, 'p> {
    world: World<'a>,
    feed: Feed<'a>,
    calendar: Calendar,
    next: Vec<Next>,
    loads: Vec<Load>,
    /// Events of the load that were taken, the next one included.
    taken: Vec<usize>,
    /// The stream of the location is over, but for the call that it was killed in.
    over: Vec<bool>,
    progress: Progress<'p>,
    done: u64,
    total: u64,
}

impl<'a, 'p> Sweep<'a, 'p> {
    pub(crate) fn new(
        (tables, window, calendar): (&'a Tables, Window, Calendar),
        options: &Options,
        feed: Feed<'a>,
        progress: Progress<'p>,
    ) -> Self {
        let locations = tables.locations.len();
        Self {
            world: World::new(tables, options, window),
            feed,
            calendar,
            next: vec![Next::NONE; locations],
            loads: (0..locations).map(|_| Load::default()).collect(),
            taken: vec![0; locations],
            over: vec![false; locations],
            progress,
            done: 0,
            total: tables.locations.iter().map(|location| location.events).sum(),
        }
    }

    /// From the first event to the end of the window.
    pub(crate) fn run(mut self) -> Result<World<'a>, TraceError> {
        let locations = self.loads.len();
        (0..locations).for_each(|i| self.come_to_life(i));
        let due = (0..locations).map(|i| self.next_due(i)).collect::<Result<Vec<_>, _>>()?;
        let mut tournament = Tournament::new(&due);
        while !self.calendar.is_over(tournament.first()) {
            let location = self.calendar.location(tournament.first());
            let due = self.step(location)?;
            tournament.replace_first(location, due);
        }
        (0..locations).for_each(|i| self.finish(i));
        Ok(self.world)
    }

    fn come_to_life(&mut self, i: usize) {
        let table = &self.world.tables.locations[i];
        let (begin, last) = (self.world.clip(table.begin_ns), self.world.clip(table.end_ns));
        let location = &mut self.world.locations[i];
        location.last = last;
        location.advance(begin, &mut self.world.accounts.timeline);
        // no network makes a process start earlier
        location.wait_for(crate::clocks::Clocks::all(begin));
        location.settle();
    }

    /// Takes the location's next step in order; when is the one after it?
    #[inline]
    fn step(&mut self, i: usize) -> Result<Due, TraceError> {
        let Next { event, step, begun } = self.next[i];
        match step.course {
            Course::File if !begun => {
                self.world.begin_file(i, &event);
                self.next[i].begun = true;
                return Ok(self.calendar.due(event.end, Turn::End, i));
            }
            Course::File => self.world.end_file(i, &event, &step),
            Course::Enter => self.begin(i, &event, &step),
            Course::Leave => self.end(i, &event, &step),
            Course::Local | Course::Starts | Course::Call if begun => self.end(i, &event, &step),
            Course::Starts if !self.world.locations[i].observed => {
                let operation = &self.loads[i].batch.shapes[event.shape as usize].operation;
                self.world.start(i, &event, &step, operation);
            }
            Course::Local | Course::Starts | Course::Call => {
                self.begin(i, &event, &step);
                self.next[i].begun = true;
                return Ok(self.calendar.due(event.end, Turn::DependentEnd, i));
            }
        }
        self.next_due(i)
    }

    fn begin(&mut self, i: usize, event: &Event, step: &Step) {
        let operation = &self.loads[i].batch.shapes[event.shape as usize].operation;
        self.world.begin_call(i, event, step, operation);
    }

    fn end(&mut self, i: usize, event: &Event, step: &Step) {
        let operation = &self.loads[i].batch.shapes[event.shape as usize].operation;
        self.world.end_call(i, event, step, operation);
    }

    /// When the location's next step is due whose order matters; takes those before it.
    #[inline]
    fn next_due(&mut self, i: usize) -> Result<Due, TraceError> {
        loop {
            let batch = &self.loads[i].batch;
            while let Some(event) = batch.events.get(self.taken[i]) {
                self.taken[i] += 1;
                black_box(batch.events.get(self.taken[i] + AHEAD).map(|event| event.begin));
                let Line { step, .. } = self.world.locations[i].lines[event.shape as usize];
                let ordered = self.world.locations[i].observed && !step.io;
                if step.course != Course::Local || ordered {
                    let turn =
                        if step.course == Course::Leave { Turn::DependentEnd } else { Turn::Begin };
                    self.next[i] = Next { event: *event, step, begun: false };
                    return Ok(self.calendar.due(event.begin, turn, i));
                }
                self.world.local(i, event, &step);
            }
            if !self.next_batch(i)? {
                self.next[i] = Next::NONE;
                return Ok(Due::NEVER);
            }
        }
    }

    #[cold]
    fn next_batch(&mut self, i: usize) -> Result<bool, TraceError> {
        self.report_progress(i)?;
        self.tally(i);
        self.taken[i] = 0;
        let mut load = std::mem::take(&mut self.loads[i]);
        let more =
            !self.over[i] && (self.feed.next(i, &mut load)? || self.unfinished(i, &mut load));
        if !more {
            load.clear();
        }
        std::mem::swap(&mut self.world.locations[i].lines, &mut load.lines);
        self.loads[i] = load;
        Ok(more)
    }

    /// The call that the location's process was killed in, which the stream does not hold: it never
    /// returned.
    fn unfinished(&mut self, i: usize, load: &mut Load) -> bool {
        self.over[i] = true;
        let Some(unfinished) = &self.world.tables.locations[i].unfinished else { return false };
        let Some(function) = unfinished.function else { return false };
        load.batch.clear();
        load.batch.events.push(Event { begin: unfinished.begin_ns, end: i64::MAX, shape: 0 });
        load.batch.shapes.push(Shape {
            part: Part::Call,
            function,
            place: 0,
            operation: Operation::Plain,
        });
        compile(self.world.tables, &load.batch, &mut load.lines);
        true
    }

    fn report_progress(&mut self, i: usize) -> Result<(), TraceError> {
        self.done += self.loads[i].batch.events.len() as u64;
        if (self.progress)(self.done, self.total) {
            return Ok(());
        }
        Err(TraceError::new("the analysis was interrupted", "run it again"))
    }

    fn tally(&mut self, i: usize) {
        let location = &mut self.world.locations[i];
        let batch = &self.loads[i].batch;
        location.patterns.follow(batch, &location.lines, self.world.window);
        location.routines.follow(batch, &location.lines, self.world.window);
        location.tallies.take(batch, &mut location.lines);
    }

    /// The window's end: what is under way ends here.
    fn finish(&mut self, i: usize) {
        let Next { event, step, begun } = self.next[i];
        let event = Event { end: event.end.max(self.world.window.end_ns), ..event };
        match step.course {
            Course::File if begun => self.world.end_file(i, &event, &step),
            _ if begun => self.end(i, &event, &step),
            _ => {}
        }
        self.tally(i);
        self.rest(i);
    }

    /// From the end of the thread to the end of the window.
    fn rest(&mut self, i: usize) {
        let end = self.world.runtime();
        let World { locations, accounts, ranks, .. } = &mut self.world;
        let location = &mut locations[i];
        if !location.in_io() {
            // others wait for its rank at best, when the thread is over
            location.advance(location.last, &mut accounts.timeline);
            location.rest();
        }
        location.advance(end, &mut accounts.timeline);
        while location.in_io() {
            location.leave_io(&mut accounts.busy, *ranks);
        }
        if location.main {
            location.pen.flush(&mut accounts.timeline);
        }
    }
}
