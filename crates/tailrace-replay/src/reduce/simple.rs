//! Calls one after another with nothing but computation between them: what most events of most
//! runs are. The same as [`Rank::begin`] and [`Rank::end`] for each, several times as fast.

use tailrace_trace::Columns;
use tailrace_trace::columns::LONG;
use tailrace_trace::event::Event;

use crate::accounts::longest::Span;
use crate::accounts::timeline::State;
use crate::graph::edges::Turn;
use crate::graph::vertex::{Deed, Entry, Site, Vertex};
use crate::reduce::Rank;
use crate::reduce::load::{Call, Load};
use crate::reduce::thread::Thread;
use crate::steps::{Action, Course, Line, Sum};

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
            let before = load.row;
            if load.has_file_call() {
                self.file_run(load, horizon, until);
            } else {
                self.mpi_run(load, horizon, until);
            }
            if load.row > before {
                continue;
            }
            let Some(next) = load.next_file_call(horizon, until) else { return };
            let mut call = load.call(&next);
            let [begin, end] =
                [call.event.begin, call.event.end].map(|time| time - window.begin_ns);
            self.simple_file_call(&mut call, begin, end);
        }
    }

    /// Takes the next events as long as they are calls in MPI that begin until `horizon`, end until
    /// `until`, and lie in one bin of each account.
    fn mpi_run(&mut self, load: &mut Load, horizon: i64, until: i64) {
        let begin_ns = self.common.window.begin_ns;
        let until = (until - begin_ns).min(self.pen.edge()).min(self.waits.next());
        let (horizon, mut reached) = (horizon - begin_ns, load.reached - begin_ns);
        let Thread { at: first, useful: before, .. } = self.threads[0];
        let Load { columns, lines, row, token, .. } = load;
        let Columns { shape_of, gaps, durations, shapes, tokens, .. } = &*columns;
        let times = gaps[*row..].iter().zip(&durations[*row..]);
        for (&shape, (&gap, &duration)) in shape_of[*row..].iter().zip(times) {
            let Line { step, sum } = &mut lines[usize::from(shape)];
            let begin = reached + i64::from(gap);
            let end = begin + i64::from(duration);
            let is_long = gap.max(duration) == LONG;
            if !step.is_simple || step.course == Course::File || is_long {
                break;
            }
            if begin > horizon || end > until {
                break;
            }
            let thread = &mut self.threads[0];
            thread.useful += begin - thread.at;
            (thread.at, self.moment) = (begin, begin);
            let event = Event { begin, end, shape: shape.into() };
            let tokens = &tokens[*token..][..step.tokens as usize];
            let operation = &shapes[usize::from(shape)].shape.operation;
            let mut call = Call { event, step, operation, tokens, sum };
            if call.step.course == Course::Local {
                self.threads[0].at = end;
            } else if let (Action::Enter { entry, series }, false, false) =
                (call.step.action, call.step.started, self.common.apart)
            {
                self.meet(call.site(), (entry, series), (begin, end));
            } else {
                (thread.since, thread.site) = (begin, call.site());
                let role = self.begin_action(0, &call, false);
                (self.threads[0].at, self.moment) = (end, end);
                self.end_action(0, &call, role);
            }
            self.tally_simple(&mut call, State::Mpi, begin, end);
            (*row, *token, reached) = (*row + 1, *token + call.tokens.len(), end);
        }
        load.reached = reached + begin_ns;
        let Thread { at, useful, .. } = self.threads[0];
        self.pen.put(State::Useful, useful - before);
        self.pen.put(State::Mpi, at - first - (useful - before));
    }

    /// A collective from begin to end: one vertex.
    #[inline]
    fn meet(&mut self, site: Site, (entry, series): (Entry, u32), (begin, end): (i64, i64)) {
        let number = self.next_of_series(0, series);
        let thread = &mut self.threads[0];
        (thread.since, thread.site, thread.at, self.moment) = (begin, site, end, end);
        let Thread { useful, io, owns, .. } = *thread;
        let (areas, deed) = (self.areas, Deed::Meet(Entry { number, ..entry }));
        let vertex = Vertex { at: begin, since: end, useful, io, areas, owns, site, deed };
        self.slab.vertices.push(vertex);
        self.roles += 1;
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
