//! File calls of one shape, one after another: loops over reads or writes. What is the same of all
//! is done once for the run; what is left of a call are its two edges.

use tailrace_trace::Columns;
use tailrace_trace::columns::LONG;

use crate::accounts::timeline::State;
use crate::reduce::Rank;
use crate::reduce::load::Load;
use crate::steps::{Course, Line, Sum};

/// Edges of so many calls go to the slab at once.
const MANY: usize = 16;

impl Rank<'_> {
    /// Takes the next events as long as they are file calls of one shape that begin until `horizon`
    /// and end until `until`, that lie in one bin of each account, and that are not among the
    /// longest. The rank's only thread is outside of all calls.
    pub(crate) fn file_run(&mut self, load: &mut Load, horizon: i64, until: i64) {
        let begin_ns = self.common.window.begin_ns;
        let (number, keys, threshold) = (self.number, self.common.keys, self.bar.length);
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
        let (mut at, mut io, mut calls) = (first, 0, 0);
        let Columns { shape_of, gaps, durations, .. } = &load.columns;
        let times = gaps[load.row..].chunks(MANY).zip(durations[load.row..].chunks(MANY));
        let threshold = u32::try_from(threshold).unwrap_or(LONG);
        for (shapes, (gaps, durations)) in shape_of[load.row..].chunks(MANY).zip(times) {
            let mut found = [[0; 2]; MANY];
            let mut taken = 0;
            let times = gaps.iter().zip(durations);
            for (both, (&of, (&gap, &duration))) in found.iter_mut().zip(shapes.iter().zip(times)) {
                let begin = at + i64::from(gap);
                let end = begin + i64::from(duration);
                let ends = of != shape || begin > horizon || end > until;
                if ends || gap == LONG || duration >= threshold {
                    break;
                }
                *both = keys.call(number, (begin, end));
                (at, io, taken) = (end, io + i64::from(duration), taken + 1);
            }
            self.edges.keys.extend_from_slice(found[..taken].as_flattened());
            calls += taken as u64;
            if taken < shapes.len() {
                break;
            }
        }
        if calls == 0 {
            return;
        }
        let useful = at - first - io + (first - thread.at);
        (thread.at, thread.useful, thread.io) = (at, thread.useful + useful, thread.io + io);
        for (state, time) in [(State::Useful, useful), (State::Io, io)] {
            self.pen.put(state, time);
            self.waits.put(before, state, time);
        }
        let mut moved = 0;
        if let (true, Some(way)) = (step.bytes > 0, step.access.direction()) {
            let bytes = step.bytes.saturating_mul(calls);
            thread.bytes[way] = thread.bytes[way].saturating_add(bytes);
            self.pen.put_bytes(way, bytes);
            moved = step.moved();
        }
        self.edges.moved.extend(std::iter::repeat_n(moved, calls as usize));
        thread.uses.put(step.file, step.access, io);
        sum.add(Sum { calls, time: io });
        self.areas = self.areas.wrapping_add(calls as u32);
        self.moment = at;
        load.pass_rows(calls as usize, 0, at + begin_ns);
    }
}
