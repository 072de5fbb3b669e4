//! What is planned: rows in one bin of each account, and single file calls that are not.

use crate::accounts::longest::Span;
use crate::accounts::timeline::State;
use crate::graph::edges::Turn;
use crate::reduce::Rank;
use crate::reduce::load::{Call, Load};
use crate::steps::Sum;

impl Rank<'_> {
    /// Takes the next events of a rank's only thread as long as they are planned.
    pub(crate) fn planned(&mut self, load: &mut Load, horizon: i64) {
        let Some(until) = self.planned_until(load) else { return };
        loop {
            let before = load.row;
            if self.threads[0].stack.is_empty() {
                self.file_run(load, horizon, until);
            }
            self.rows(load, horizon, until);
            if load.row > before {
                continue;
            }
            if !self.threads[0].stack.is_empty() {
                return;
            }
            let Some(next) = load.next_file_call(horizon, until) else { return };
            let mut call = load.call(&next);
            let begin_ns = self.common.window.begin_ns;
            let [begin, end] = [call.event.begin, call.event.end].map(|time| time - begin_ns);
            self.simple_file_call(&mut call, begin, end);
        }
    }

    /// Until when events may be planned: in the window, in order, in no file call, and in none that
    /// becomes one.
    fn planned_until(&self, load: &Load) -> Option<i64> {
        let (window, thread) = (self.common.window, &self.threads[0]);
        let state = if thread.stack.is_empty() { State::Useful } else { State::Mpi };
        let is_alone = thread.main && thread.state == state && thread.wakes.is_none();
        let reached = load.reached.saturating_sub(window.begin_ns);
        let in_order = (0..=thread.at).contains(&self.moment) && reached >= thread.at;
        let until = window.end_ns.min(thread.last.saturating_add(window.begin_ns));
        (is_alone && in_order).then_some(until)
    }

    fn simple_file_call(&mut self, call: &mut Call<'_>, begin: i64, end: i64) {
        let step = call.step;
        self.pass_to_call(begin);
        self.pass_in_call(State::Io, begin, end);
        self.moment = end;
        let keys = self.common.keys;
        self.edges.keys.push(keys.key(begin, Turn::Begin, self.number));
        self.edges.keys.push(keys.key(end, Turn::End, self.number));
        self.areas = self.areas.wrapping_add(1);
        let thread = &mut self.threads[0];
        thread.io += end - begin;
        thread.layers.mpiio += if step.mpiio { end - begin } else { 0 };
        let mut moved = 0;
        if let (true, Some(way)) = (step.bytes > 0, step.access.direction()) {
            thread.bytes[way] = thread.bytes[way].saturating_add(step.bytes);
            self.pen.moved(&mut self.timeline, way, step.bytes, begin, end);
            moved = step.moved();
        }
        self.edges.moved.push(moved);
        thread.uses.add(step.file, step.access, (begin, end));
        self.tally_simple(call, State::Io, begin, end);
    }

    /// From the end of the call before to the next.
    #[inline]
    fn pass_to_call(&mut self, begin: i64) {
        let thread = &mut self.threads[0];
        thread.useful += begin - thread.at;
        self.pen.stroke(&mut self.timeline, State::Useful, thread.at, begin);
        self.waits.pass(State::Useful, thread.at, begin);
        thread.at = begin;
        self.moment = begin;
    }

    /// … and through it.
    #[inline]
    fn pass_in_call(&mut self, state: State, begin: i64, end: i64) {
        self.pen.stroke(&mut self.timeline, state, begin, end);
        self.waits.pass(state, begin, end);
        self.threads[0].at = end;
    }

    #[inline]
    fn tally_simple(&mut self, call: &mut Call<'_>, state: State, begin: i64, end: i64) {
        call.sum.add(Sum { calls: 1, time: end - begin });
        if self.bar.is_met_by(begin, end) {
            let (rank, step) = (self.number, call.step);
            let (function, file, bytes) = (step.function, step.file, step.bytes);
            self.longest.push(Span { begin, end, rank, function, state, file, bytes });
        }
    }
}
