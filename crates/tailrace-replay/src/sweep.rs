//! The sweep: all locations' events, begins and ends, in order of measured time.

use tailrace_trace::event::{Event, Operation, Part, Shape};
use tailrace_trace::tables::Window;
use tailrace_trace::{Batch, Tables, TraceError};

use crate::feed::{Feed, Load};
use crate::merge::{Due, Tournament, Turn};
use crate::options::Options;
use crate::steps::{Course, Sum, compile};
use crate::world::World;

/// Told how many events of how many were taken; `false` stops the analysis.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64) -> bool;

pub struct Sweep<'a, 'p> {
    world: World<'a>,
    feed: Feed<'a>,
    batches: Vec<Batch>,
    /// The stream of the location is over, but for the call that it was killed in.
    over: Vec<bool>,
    progress: Progress<'p>,
    done: u64,
    total: u64,
}

impl<'a, 'p> Sweep<'a, 'p> {
    pub fn new(tables: &'a Tables, options: &Options, window: Window, feed: Feed<'a>, progress: Progress<'p>) -> Self {
        let locations = tables.locations.len();
        Self {
            world: World::new(tables, options, window),
            feed,
            batches: vec![Batch::default(); locations],
            over: vec![false; locations],
            progress,
            done: 0,
            total: tables.locations.iter().map(|location| location.events).sum(),
        }
    }

    /// From the first event to the end of the window.
    pub fn run(mut self) -> Result<World<'a>, TraceError> {
        let locations = self.batches.len();
        (0..locations).for_each(|i| self.come_to_life(i));
        let due = (0..locations).map(|i| self.next_due(i)).collect::<Result<Vec<_>, _>>()?;
        let mut tournament = Tournament::new(&due);
        loop {
            let first = tournament.first();
            if first == Due::NEVER || first.time() > self.world.window.end_ns {
                break;
            }
            let due = self.step(first.location())?;
            tournament.replace_first(due);
        }
        (0..locations).for_each(|i| self.finish(i));
        Ok(self.world)
    }

    fn come_to_life(&mut self, i: usize) {
        let table = &self.world.tables.locations[i];
        let (begin, last) = (self.world.clip(table.begin_ns), self.world.clip(table.end_ns));
        let location = &mut self.world.locations[i];
        location.last = last;
        location.advance(begin, &mut self.world.timeline);
        location.wait_for(crate::clocks::Clocks::all(begin)); // no network makes a process start earlier
        location.settle();
    }

    /// Takes the location's next step in order; when is the one after it?
    #[inline]
    fn step(&mut self, i: usize) -> Result<Due, TraceError> {
        let location = &mut self.world.locations[i];
        let event = self.batches[i].events[location.next_event];
        let course = location.steps[event.shape as usize].course;
        let lasts = !matches!(course, Course::Enter | Course::Leave);
        if lasts && !location.begun {
            location.begun = true;
            let turn = if course == Course::File { Turn::End } else { Turn::DependentEnd };
            self.begin(i, &event, course);
            return Ok(Due::new(event.end, turn, i as u32));
        }
        location.begun = false;
        location.next_event += 1;
        match course {
            Course::Enter => self.begin(i, &event, course),
            _ => self.end(i, &event, course),
        }
        self.next_due(i)
    }

    #[inline]
    fn begin(&mut self, i: usize, event: &Event, course: Course) {
        match course {
            Course::File => self.world.begin_file(i, event),
            _ => {
                let operation = &self.batches[i].shapes[event.shape as usize].operation;
                self.world.begin_call(i, event, operation, course == Course::Enter);
            }
        }
    }

    #[inline]
    fn end(&mut self, i: usize, event: &Event, course: Course) {
        match course {
            Course::File => self.world.end_file(i, event),
            _ => self.world.end_call(i, event, &self.batches[i].shapes[event.shape as usize].operation),
        }
    }

    /// When the location's next step is due whose order matters; takes those before it.
    #[inline]
    fn next_due(&mut self, i: usize) -> Result<Due, TraceError> {
        loop {
            while let Some(event) = self.batches[i].events.get(self.world.locations[i].next_event) {
                let location = &mut self.world.locations[i];
                let course = location.steps[event.shape as usize].course;
                if course != Course::Local || location.observed {
                    let turn = if course == Course::Leave { Turn::DependentEnd } else { Turn::Begin };
                    return Ok(Due::new(event.begin, turn, i as u32));
                }
                location.next_event += 1;
                self.world.local(i, event);
            }
            if !self.next_batch(i)? {
                return Ok(Due::NEVER);
            }
        }
    }

    #[cold]
    fn next_batch(&mut self, i: usize) -> Result<bool, TraceError> {
        self.report_progress(i)?;
        self.tally(i);
        let location = &mut self.world.locations[i];
        let mut load = Load { batch: std::mem::take(&mut self.batches[i]), steps: std::mem::take(&mut location.steps) };
        let more = !self.over[i] && (self.feed.next(i, &mut load)? || self.unfinished(i, &mut load));
        self.over[i] |= !more || load.batch.events.len() == 1 && load.batch.events[0].end == i64::MAX;
        let location = &mut self.world.locations[i];
        location.sums.clear();
        location.sums.resize(load.steps.len(), Sum::default());
        location.next_event = 0;
        (self.batches[i], location.steps) = (load.batch, load.steps);
        Ok(more)
    }

    /// The call that the location's process was killed in, which the stream does not hold: it never returned.
    fn unfinished(&self, i: usize, load: &mut Load) -> bool {
        let Some(unfinished) = &self.world.tables.locations[i].unfinished else { return false };
        let Some(function) = unfinished.function else { return false };
        load.batch.clear();
        load.batch.events.push(Event { begin: unfinished.begin_ns, end: i64::MAX, shape: 0 });
        load.batch.shapes.push(Shape { part: Part::Call, function, operation: Operation::Plain });
        compile(self.world.tables, &load.batch, &mut load.steps);
        true
    }

    fn report_progress(&mut self, i: usize) -> Result<(), TraceError> {
        self.done += self.batches[i].events.len() as u64;
        if (self.progress)(self.done, self.total) {
            return Ok(());
        }
        Err(TraceError::new("The analysis was interrupted.", "run it again."))
    }

    fn tally(&mut self, i: usize) {
        let location = &mut self.world.locations[i];
        location.tallies.take(&self.batches[i], &location.steps, &mut location.sums);
    }

    /// The window's end: what is under way ends here.
    fn finish(&mut self, i: usize) {
        let end = self.world.runtime();
        if self.world.locations[i].begun {
            let event = self.batches[i].events[self.world.locations[i].next_event];
            let course = self.world.locations[i].steps[event.shape as usize].course;
            self.end(i, &Event { end: event.end.max(self.world.window.end_ns), ..event }, course);
        }
        self.tally(i);
        let World { locations, timeline, busy, ranks, .. } = &mut self.world;
        let location = &mut locations[i];
        if !location.in_io() {
            location.advance(location.last, timeline); // others wait for its rank at best, when the thread is over
            location.rest();
        }
        location.advance(end, timeline);
        while location.in_io() {
            location.leave_io(busy, *ranks);
        }
        if location.main {
            location.pen.flush(timeline);
        }
    }
}
