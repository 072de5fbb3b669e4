//! What a block of a thread's events came to, so that it need not be read again where the same is
//! asked of all of it.

use tailrace_trace::columns::ColumnShape;
use tailrace_trace::event::Part;

use crate::accounts::timeline::State;
use crate::graph::vertex::Site;
use crate::reduce::Common;
use crate::reduce::load::Load;
use crate::reduce::thread::Thread;
use crate::steps::Course;

/// A digest is worth its memory where it stands for so many events at least, and few shapes.
const EVENTS: usize = 1 << 12;
const SHAPES: usize = 1 << 3;

/// A block of calls with none inside.
#[derive(Clone, Debug)]
pub(crate) struct Digest {
    /// When the event before it ended, and its last one did: nanoseconds since the window's begin.
    pub begin: i64,
    pub end: i64,
    /// By call and file; the rest is useful.
    pub times: Box<[(State, Site, u32, i64)]>,
}

impl Digest {
    /// Of a block of which all is taken, by the only thread of its rank.
    pub(crate) fn of(load: &Load, thread: &Thread, common: &Common<'_>) -> Option<Self> {
        let Load { columns, lines, .. } = load;
        let is_call = |shape: &ColumnShape| shape.shape.part == Part::Call;
        let fits = columns.len() >= EVENTS && columns.shapes.len() <= SHAPES;
        let is_plain = columns.long.is_empty() && columns.shapes.iter().all(is_call);
        if !fits || !is_plain || !load.is_over() || !thread.stack.is_empty() || !thread.main {
            return None;
        }
        let inside = common.window.begin_ns..=common.window.end_ns;
        if !inside.contains(&columns.begin_ns) || !inside.contains(&load.reached) {
            return None;
        }
        // A call on what is no file system takes the time of what is around it.
        let counts =
            lines.iter().filter(|line| !(line.step.io && line.step.course == Course::Local));
        let times = counts.map(|line| {
            let state = if line.step.io { State::Io } else { State::Mpi };
            (state, line.step.site(), line.step.file, line.sum.time)
        });
        let [begin, end] =
            [columns.begin_ns, load.reached].map(|time| time - common.window.begin_ns);
        Some(Self { begin, end, times: times.collect() })
    }
}
