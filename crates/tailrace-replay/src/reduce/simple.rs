//! Calls one after another with nothing but computation between them: what most events of most
//! runs are. The same as [`Rank::begin`] and [`Rank::end`] for each, several times as fast.

use crate::accounts::longest::Span;
use crate::accounts::timeline::State;
use crate::graph::edges::Turn;
use crate::reduce::Rank;
use crate::reduce::load::{Call, Load};
use crate::steps::{Course, Sum};

impl Rank<'_> {
    /// Takes the next events of a rank's only thread as long as they are simple.
    pub(crate) fn simple_calls(&mut self, load: &mut Load, horizon: i64) {
        let window = self.common.window;
        let thread = &self.threads[0];
        let alone = thread.main && thread.stack.is_empty() && thread.state == State::Useful;
        let reached = load.reached.saturating_sub(window.begin_ns);
        if !alone || self.moment < 0 || self.moment > thread.at || reached < thread.at {
            return;
        }
        let until = window.end_ns.min(thread.last.saturating_add(window.begin_ns));
        loop {
            self.file_run(load, horizon, until);
            let Some(next) = load.next_simple(horizon, until) else { return };
            let call = load.call(&next);
            let begin = call.event.begin - window.begin_ns;
            let end = call.event.end - window.begin_ns;
            match call.step.course {
                Course::File => self.simple_file_call(call, begin, end),
                _ => self.simple_mpi_call(call, begin, end),
            }
        }
    }

    #[inline]
    fn simple_file_call(&mut self, mut call: Call<'_>, begin: i64, end: i64) {
        let step = call.step;
        self.pass_to_call(begin);
        self.pass_in_call(State::Io, begin, end);
        self.moment = end;
        let keys = self.common.keys;
        self.slab.edges.push(keys.key(begin, Turn::Begin, self.number));
        self.slab.edges.push(keys.key(end, Turn::End, self.number));
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
        self.slab.moved.push(moved);
        thread.uses.add(step.file, step.access, (begin, end));
        self.tally_simple(&mut call, State::Io, begin, end);
    }

    #[inline]
    fn simple_mpi_call(&mut self, mut call: Call<'_>, begin: i64, end: i64) {
        self.pass_to_call(begin);
        if call.step.course == Course::Local {
            self.pass_in_call(State::Mpi, begin, end);
        } else {
            (self.threads[0].since, self.threads[0].site) = (begin, call.site());
            let role = self.begin_action(0, &call, false);
            self.pass_in_call(State::Mpi, begin, end);
            self.moment = end;
            self.end_action(0, &call, role);
        }
        self.tally_simple(&mut call, State::Mpi, begin, end);
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
        if end - begin >= self.threshold {
            let (rank, step) = (self.number, call.step);
            let (function, file, bytes) = (step.function, step.file, step.bytes);
            self.longest.push(Span { begin, end, rank, function, state, file, bytes });
        }
    }
}
