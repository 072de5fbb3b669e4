//! File calls one after another, with nothing but computation between them: what most events of
//! many runs are. The same as [`Rank::begin`] and [`Rank::end`] for each, several times as fast.

use crate::accounts::longest::Span;
use crate::accounts::timeline::State;
use crate::graph::edges::Turn;
use crate::reduce::Rank;
use crate::reduce::load::Load;
use crate::steps::{Course, Line, Sum};

impl Rank<'_> {
    /// Takes the next events of a rank's only thread as long as they are file calls and end until
    /// `horizon`.
    pub(crate) fn file_calls(&mut self, load: &mut Load, horizon: i64) {
        let window = self.common.window;
        let thread = &mut self.threads[0];
        let alone = thread.main && thread.stack.is_empty() && thread.next.is_none();
        if !alone || thread.io_depth > 0 || self.moment < 0 {
            return;
        }
        let until = horizon.min(window.end_ns);
        let first = thread.taken;
        for event in &load.batch.events[first..] {
            let Line { step, sum } = &mut load.lines[event.shape as usize];
            let begin = event.begin.saturating_sub(window.begin_ns);
            let end = event.end.saturating_sub(window.begin_ns);
            if step.course != Course::File || event.end > until || begin < thread.at {
                break;
            }
            let (useful, io) = (begin - thread.at, end - begin);
            thread.useful += useful;
            thread.io += io;
            self.pen.strokes(&mut self.timeline, thread.at, begin, end);
            self.waits.pass(State::Useful, thread.at, begin);
            self.waits.pass(State::Io, begin, end);
            thread.at = end;
            thread.layers.mpiio += if step.mpiio { io } else { 0 };
            let keys = self.common.keys;
            self.slab.edges.push(keys.key(begin, Turn::Begin, self.number));
            self.slab.edges.push(keys.key(end, Turn::End, self.number));
            let mut moved = 0;
            if let (true, Some(way)) = (step.bytes > 0, step.access.direction()) {
                thread.bytes[way] = thread.bytes[way].saturating_add(step.bytes);
                self.pen.moved(&mut self.timeline, way, step.bytes, begin, end);
                moved = step.bytes.min(u64::MAX >> 1) << 1 | way as u64;
            }
            self.slab.moved.push(moved);
            sum.add(Sum { calls: 1, time: io });
            thread.uses.add(step.file, step.access, (begin, end));
            if io >= self.threshold {
                let (rank, state) = (self.number, State::Io);
                let (function, file, bytes) = (step.function, step.file, step.bytes);
                self.longest.push(Span { begin, end, rank, function, state, file, bytes });
            }
            thread.taken += 1;
        }
        if thread.taken > first {
            self.areas = self.areas.wrapping_add((thread.taken - first) as u32);
            self.moment = self.moment.max(thread.at);
        }
    }
}
