//! File calls of one shape, one after another: loops over reads or writes. What is the same of all
//! is done once for the run; what is left of a call are its two edges.

use tailrace_trace::columns::LONG;

use crate::accounts::timeline::State;
use crate::graph::edges::Turn;
use crate::reduce::Rank;
use crate::reduce::load::Load;
use crate::steps::{Course, Line, Sum};

impl Rank<'_> {
    /// Takes the next events as long as they are file calls of one shape that begin until `horizon`
    /// and end until `until`, that lie in one bin of each account, and that are not among the
    /// longest. The rank's only thread is outside of all calls.
    pub(crate) fn file_run(&mut self, load: &mut Load, horizon: i64, until: i64) {
        let begin_ns = self.common.window.begin_ns;
        let (number, keys, threshold) = (self.number, self.common.keys, self.threshold);
        let thread = &mut self.threads[0];
        let Some(&shape) = load.columns.shape_of.get(load.row) else { return };
        let Line { step, sum } = &mut load.lines[usize::from(shape)];
        if step.course != Course::File || step.mpiio {
            return;
        }
        let Some(of_file) = thread.uses.same_until(step.file, load.reached - begin_ns) else {
            return;
        };
        let until = (until - begin_ns).min(self.pen.edge()).min(self.waits.next()).min(of_file);
        let horizon = horizon - begin_ns;
        let first = load.reached - begin_ns;
        let (mut at, mut io, mut calls) = (first, 0, 0);
        let times = load.columns.gaps[load.row..].iter().zip(&load.columns.durations[load.row..]);
        let edges = &mut self.slab.edges;
        for (&of, (&gap, &duration)) in load.columns.shape_of[load.row..].iter().zip(times) {
            let begin = at + i64::from(gap);
            let end = begin + i64::from(duration);
            let long = gap.max(duration) == LONG || i64::from(duration) >= threshold;
            if of != shape || begin > horizon || end > until || long {
                break;
            }
            edges.extend([keys.key(begin, Turn::Begin, number), keys.key(end, Turn::End, number)]);
            (at, io, calls) = (end, io + i64::from(duration), calls + 1);
        }
        if calls == 0 {
            return;
        }
        let useful = at - first - io + (first - thread.at);
        (thread.at, thread.useful, thread.io) = (at, thread.useful + useful, thread.io + io);
        self.pen.put(State::Useful, useful);
        self.pen.put(State::Io, io);
        let mut moved = 0;
        if let (true, Some(way)) = (step.bytes > 0, step.access.direction()) {
            let bytes = step.bytes.saturating_mul(calls);
            thread.bytes[way] = thread.bytes[way].saturating_add(bytes);
            self.pen.put_bytes(way, bytes);
            moved = step.moved();
        }
        self.slab.moved.extend(std::iter::repeat_n(moved, calls as usize));
        thread.uses.put(step.file, step.access, io);
        sum.add(Sum { calls, time: io });
        self.areas = self.areas.wrapping_add(calls as u32);
        self.moment = at;
        load.pass_rows(calls as usize, 0, at + begin_ns);
    }
}
