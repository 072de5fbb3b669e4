//! File calls of one shape, one after another: loops over reads or writes. What is the same of all
//! is done once for the run; what is left of a call are its two edges.

use tailrace_trace::Columns;
use tailrace_trace::columns::LONG;

use crate::accounts::longest::{Span, offer};
use crate::graph::edges::Keys;
use crate::longest::Bar;
use crate::reduce::Rank;
use crate::reduce::load::Load;
use crate::steps::{Course, Line, Step, Sum};

/// So many calls are taken in one go.
const MANY: usize = 16;

impl Rank<'_> {
    /// Takes the next events as long as they are file calls of one shape that begin until `horizon`
    /// and end until `until`, and that lie in one bin of each account. The rank's only thread is
    /// outside of all calls.
    pub(crate) fn file_run(&mut self, load: &mut Load, horizon: i64, until: i64) {
        let begin_ns = self.common.window.begin_ns;
        let (rank, keys, bar) = (self.number, self.common.keys, self.bar);
        let thread = &mut self.threads[0];
        let Some(shape) = load.run_of() else { return };
        let Line { step, sum } = &mut load.lines[usize::from(shape)];
        if step.course != Course::File || step.mpiio {
            return;
        }
        let Some(of_file) = thread.uses.same_until(step.file, load.reached - begin_ns) else {
            return;
        };
        let until =
            (until - begin_ns).min(self.pen.edge()).min(self.waits.edge(thread.at)).min(of_file);
        // What takes no time at the bin's end belongs to the next.
        let horizon = (horizon - begin_ns).min(until - 1);
        let (before, first) = (thread.at, load.reached - begin_ns);
        let (edges, longest) = (&mut self.edges.keys, &mut self.longest);
        let (at, io) = (first, 0);
        let mut run = Run { rank, keys, bar, shape, step, edges, longest, horizon, until, at, io };
        let calls = run.take(Rows::of(&load.columns, load.row));
        let Run { at, io, .. } = run;
        if calls == 0 {
            return;
        }
        let useful = at - first - io + (first - thread.at);
        (thread.at, thread.useful, thread.io) = (at, thread.useful + useful, thread.io + io);
        let time = [useful, io, 0]; // by state
        self.pen.put(time);
        self.waits.put(before, time);
        let mut moved = 0;
        if let (true, Some(way)) = (step.bytes > 0, step.access.direction()) {
            let bytes = step.bytes.saturating_mul(calls as u64);
            thread.bytes[way] = thread.bytes[way].saturating_add(bytes);
            self.pen.put_bytes(way, bytes);
            moved = step.moved();
        }
        self.edges.moved.extend(std::iter::repeat_n(moved, calls));
        thread.uses.put(step.file, step.access, io);
        sum.add(Sum { calls: calls as u64, time: io });
        self.areas = self.areas.wrapping_add(calls as u32);
        self.moment = at;
        load.pass_rows(calls, 0, at + begin_ns);
    }
}

/// Rows of a block.
#[derive(Clone, Copy)]
struct Rows<'a> {
    shapes: &'a [u16],
    gaps: &'a [u32],
    durations: &'a [u32],
}

impl<'a> Rows<'a> {
    fn of(columns: &'a Columns, from: usize) -> Self {
        let Columns { shape_of, gaps, durations, .. } = columns;
        Self { shapes: &shape_of[from..], gaps: &gaps[from..], durations: &durations[from..] }
    }

    fn pass(self, taken: usize) -> Self {
        let Self { shapes, gaps, durations } = self;
        Self { shapes: &shapes[taken..], gaps: &gaps[taken..], durations: &durations[taken..] }
    }
}

struct Run<'a> {
    rank: u32,
    keys: Keys,
    bar: Bar,
    shape: u16,
    step: &'a Step,
    /// Where its begins and ends go, and those of its calls that may be among the longest.
    edges: &'a mut Vec<u64>,
    longest: &'a mut Vec<Span>,
    /// Its calls begin until then, and end until then.
    horizon: i64,
    until: i64,
    /// When the last one ended, and the time of all.
    at: i64,
    io: i64,
}

impl Run<'_> {
    /// Takes the rows that belong to the run; how many.
    fn take(&mut self, rows: Rows<'_>) -> usize {
        let mut rest = rows;
        while self.take_many(rest) {
            rest = rest.pass(MANY);
        }
        let before = rows.shapes.len() - rest.shapes.len();
        before + self.take_single(rest)
    }

    /// … the next [`MANY`] if they all do: that is seen when they are through.
    #[inline]
    fn take_many(&mut self, rows: Rows<'_>) -> bool {
        let Rows { shapes, gaps, durations } = rows;
        let (Some(shapes), Some(gaps), Some(durations)) = (
            shapes.first_chunk::<MANY>(),
            gaps.first_chunk::<MANY>(),
            durations.first_chunk::<MANY>(),
        ) else {
            return false;
        };
        let mut found = [[0; 2]; MANY];
        let (mut at, mut io, mut most) = (self.at, 0, 0);
        for (both, (&gap, &duration)) in found.iter_mut().zip(gaps.iter().zip(durations)) {
            let begin = at + i64::from(gap);
            at = begin + i64::from(duration);
            *both = self.keys.call(self.rank, (begin, at));
            (io, most) = (io + i64::from(duration), most.max(duration));
        }
        let alike = *shapes == [self.shape; MANY];
        let none_is_long = at - self.at < i64::from(LONG);
        if !alike || !none_is_long || at > self.horizon || at > self.until {
            return false;
        }
        if i64::from(most) >= self.bar.length {
            self.offer(rows);
        }
        self.edges.extend_from_slice(found.as_flattened());
        (self.at, self.io) = (at, self.io + io);
        true
    }

    /// Some of the next [`MANY`] may be among the longest.
    #[cold]
    fn offer(&mut self, rows: Rows<'_>) {
        let mut at = self.at;
        for (gap, duration) in rows.gaps.iter().zip(rows.durations).take(MANY) {
            let begin = at + i64::from(*gap);
            at = begin + i64::from(*duration);
            offer(self.longest, self.bar, self.rank, self.step, (begin, at));
        }
    }

    /// … those that come first, one by one.
    fn take_single(&mut self, rows: Rows<'_>) -> usize {
        let mut taken = 0;
        let times = rows.gaps.iter().zip(rows.durations);
        for (&of, (&gap, &duration)) in rows.shapes.iter().zip(times) {
            let begin = self.at + i64::from(gap);
            let end = begin + i64::from(duration);
            let is_long = gap == LONG || duration == LONG;
            if of != self.shape || is_long || begin > self.horizon || end > self.until {
                break;
            }
            if i64::from(duration) >= self.bar.length {
                offer(self.longest, self.bar, self.rank, self.step, (begin, end));
            }
            self.edges.extend_from_slice(&self.keys.call(self.rank, (begin, end)));
            (self.at, self.io, taken) = (end, self.io + i64::from(duration), taken + 1);
        }
        taken
    }
}
