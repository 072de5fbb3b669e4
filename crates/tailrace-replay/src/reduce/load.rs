//! The events at hand, and what became of their shapes.

use std::cell::RefCell;

use tailrace_trace::columns::{ColumnShape, LONG};
use tailrace_trace::event::{Event, Operation, Part, Shape, Token};
use tailrace_trace::tables::Location;
use tailrace_trace::{Batch, Columns};

use crate::graph::vertex::Site;
use crate::reduce::Common;
use crate::steps::{self, Course, Line, Numbers, Plan, Step, Sum};

/// How long a call takes that never returned: longer than any run.
const NEVER_NS: i64 = i64::MAX / 2;

/// Fewer shapes are never many.
const MANY_SHAPES: usize = 1 << 6;

/// So many more rows of a shape are worth a loop of their own.
const RUN: usize = 8;

/// An event, and all that its shape is.
pub(crate) struct Call<'a> {
    pub event: Event,
    pub step: &'a Step,
    pub operation: &'a Operation,
    /// The requests that it names: those in its operation are left out.
    pub tokens: &'a [Token],
    /// What is summed up of the shape.
    pub sum: &'a mut Sum,
}

impl Call<'_> {
    pub(crate) fn site(&self) -> Site {
        self.step.site()
    }
}

/// An event that a thread takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Next {
    pub event: Event,
    /// Where its requests begin among those of the block.
    pub token: usize,
    /// It has begun.
    pub begun: bool,
}

/// Rows of a block, and what those name that name requests.
#[derive(Clone, Copy)]
pub(crate) struct ShortRows<'a> {
    pub shapes: &'a [u16],
    pub gaps: &'a [u32],
    pub durations: &'a [u32],
    pub tokens: &'a [Token],
}

/// A block and what became of its shapes.
#[derive(Default)]
pub(crate) struct Load {
    pub columns: Columns,
    pub lines: Vec<Line>,
    /// The event that comes next, and when the one before it ended.
    pub row: usize,
    pub reached: i64,
    /// Of long events and of requests, those that were passed.
    long: usize,
    pub token: usize,
}

thread_local! {
    /// What a block of many shapes was kept in: it is over before the thread takes another rank.
    static SPARE: RefCell<Load> = RefCell::default();
}

impl Load {
    pub(crate) fn clear(&mut self) {
        self.columns.clear();
        self.lines.clear();
        (self.row, self.long, self.token) = (0, 0, 0);
    }

    /// Leaves the memory of what is over to the next rank that has none.
    pub(crate) fn leave(&mut self) {
        let next = Self { reached: self.reached, ..Self::default() };
        SPARE.set(std::mem::replace(self, next));
    }

    /// Has `read` put the next block there; where it has no memory yet, into what another has left.
    pub(crate) fn read<T>(&mut self, read: impl FnOnce(&mut Columns) -> T) -> T {
        if self.columns.shapes.capacity() > 0 {
            return read(&mut self.columns);
        }
        (self.columns, self.lines) = SPARE.with_borrow_mut(|spare| {
            (std::mem::take(&mut spare.columns), std::mem::take(&mut spare.lines))
        });
        let is_lent = self.columns.shapes.capacity() > 0;
        let done = read(&mut self.columns);
        if is_lent && !self.is_heavy() {
            let few = self.columns.clone();
            self.leave();
            self.columns = few;
        }
        done
    }

    /// Takes the next event, if it begins until `horizon`.
    #[allow(clippy::inline_always)] // what is passed on is read before it is there
    #[inline(always)]
    pub(crate) fn next(&mut self, horizon: i64) -> Option<Next> {
        let shape = u32::from(*self.columns.shape_of.get(self.row)?);
        let (gap, duration) = self.times();
        let begin = self.reached + gap;
        if begin > horizon {
            return None;
        }
        let event = Event { begin, end: begin + duration, shape };
        let next = Next { event, token: self.token, begun: false };
        self.long += usize::from(self.is_long());
        self.pass(self.lines[shape as usize].step.tokens, next.event.end);
        Some(next)
    }

    /// … and if it is a file call and nothing else, its times are short, and it ends until `until`.
    pub(crate) fn next_file_call(&mut self, horizon: i64, until: i64) -> Option<Next> {
        let shape = u32::from(*self.columns.shape_of.get(self.row)?);
        let step = &self.lines[shape as usize].step;
        let (gap, duration) = (self.columns.gaps[self.row], self.columns.durations[self.row]);
        let begin = self.reached + i64::from(gap);
        let end = begin + i64::from(duration);
        if step.course != Course::File || self.is_long() || begin > horizon || end > until {
            return None;
        }
        let event = Event { begin, end, shape };
        let next = Next { event, token: self.token, begun: false };
        self.pass(step.tokens, end);
        Some(next)
    }

    /// The shape of the next rows, if they are a run of one.
    pub(crate) fn run_of(&self) -> Option<u16> {
        let shapes = &self.columns.shape_of[self.row..];
        let shape = *shapes.first()?;
        is_run(shapes, shape).then_some(shape)
    }

    /// The rows from here on of which none is long.
    pub(crate) fn short_rows(&mut self) -> (ShortRows<'_>, &mut [Line]) {
        let Self { columns, lines, row, long, token, .. } = self;
        let until = columns.long.get(*long).map_or(columns.len(), |long| long.row as usize);
        let of = *row..until.max(*row);
        let rows = ShortRows {
            shapes: &columns.shape_of[of.clone()],
            gaps: &columns.gaps[of.clone()],
            durations: &columns.durations[of],
            tokens: &columns.tokens[*token..],
        };
        (rows, lines)
    }

    fn is_long(&self) -> bool {
        self.columns.gaps[self.row] == LONG || self.columns.durations[self.row] == LONG
    }

    /// Gap and duration of the event that comes next.
    #[inline]
    fn times(&self) -> (i64, i64) {
        if self.is_long() {
            let long = self.columns.long[self.long];
            return (long.gap_ns, long.duration_ns);
        }
        (self.columns.gaps[self.row].into(), self.columns.durations[self.row].into())
    }

    /// Whether all events are taken.
    pub(crate) fn is_over(&self) -> bool {
        self.row >= self.columns.len()
    }

    /// The event that comes next, with so many requests, is taken; it ends at `end`.
    #[inline]
    fn pass(&mut self, tokens: u32, end: i64) {
        self.row += 1;
        self.token += tokens as usize;
        self.reached = end;
    }

    /// The next events, which name so many requests and are not long, are taken; the last ends at
    /// `end`.
    pub(crate) fn pass_rows(&mut self, events: usize, tokens: u32, end: i64) {
        (self.row, self.reached) = (self.row + events, end);
        self.token += tokens as usize;
    }

    /// The event with all that its shape is.
    #[inline]
    pub(crate) fn call(&mut self, next: &Next) -> Call<'_> {
        let event = next.event;
        let operation = &self.columns.shapes[event.shape as usize].shape.operation;
        let Line { step, sum } = &mut self.lines[event.shape as usize];
        let tokens = &self.columns.tokens[next.token..][..step.tokens as usize];
        Call { event, step, operation, tokens, sum }
    }

    /// Whether there are about as many shapes as events: these take more memory than what becomes
    /// of them.
    pub(crate) fn is_heavy(&self) -> bool {
        self.columns.shapes.len() > MANY_SHAPES.max(self.columns.len() / 4)
    }

    /// Makes one line per shape of the block, of which no event is taken, for a rank and by its own
    /// numbers.
    pub(crate) fn compile(&mut self, common: &Common<'_>, rank: u32, numbers: &mut impl Numbers) {
        // A Wait may be one for such files.
        let opaque = !common.opaque.is_empty();
        let mut line = |shape: &ColumnShape| {
            let mut line = steps::line(common.rules(), &shape.shape, shape.tokens, rank, numbers);
            match line.step.plan {
                _ if opaque && shape.tokens > 0 => line.step.plan = Plan::Other,
                Plan::Meet if common.apart => line.step.plan = Plan::Call,
                _ => {}
            }
            line
        };
        self.lines.clear();
        self.lines.extend(self.columns.shapes.iter().map(&mut line));
        (self.row, self.long, self.token) = (0, 0, 0);
        self.reached = self.columns.begin_ns;
    }
}

/// Whether many rows of the shape come first: a loop, most likely.
#[inline]
pub(crate) fn is_run(shapes: &[u16], shape: u16) -> bool {
    shapes.get(1) == Some(&shape) && shapes.get(RUN) == Some(&shape)
}

/// The call that the thread's process was killed in, which the stream does not hold: it never
/// returned. Whether there is one.
pub(crate) fn unfinished(table: &Location, batch: &mut Batch) -> bool {
    batch.clear();
    let Some(unfinished) = &table.unfinished else { return false };
    let Some(function) = unfinished.function else { return false };
    let (begin, operation) = (unfinished.begin_ns, Operation::Plain);
    let end = begin.saturating_add(NEVER_NS);
    batch.events.push(Event { begin, end, shape: 0 });
    batch.shapes.push(Shape { part: Part::Call, function, place: 0, operation });
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a block of so many shapes, each of one event; where they lie then.
    fn read(load: &mut Load, shapes: usize) -> *const ColumnShape {
        load.read(|columns| {
            columns.clear();
            columns.shape_of.extend(0..shapes as u16);
            let shape =
                Shape { part: Part::Call, function: 0, place: 0, operation: Operation::Plain };
            columns
                .shapes
                .extend((0..shapes).map(|_| ColumnShape { shape: shape.clone(), tokens: 0 }));
        });
        load.columns.shapes.as_ptr()
    }

    #[test]
    fn a_block_of_many_shapes_leaves_its_memory_to_others_of_many() {
        let mut loads: [Load; 3] = Default::default();
        let first = read(&mut loads[0], 1_000);
        loads[0].reached = 7;
        loads[0].leave();
        assert_eq!((loads[0].columns.shapes.capacity(), loads[0].reached), (0, 7));
        // One of few shapes takes no more than these.
        assert_ne!(read(&mut loads[1], 3), first);
        assert_eq!((loads[1].columns.len(), loads[1].columns.shapes.capacity()), (3, 3));
        assert_eq!(read(&mut loads[2], 900), first);
        assert_eq!(loads[2].columns.len(), 900);
    }
}
