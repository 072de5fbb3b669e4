//! Happens-before replay of a trace: the ideal run times and all accounts of a run, from a graph of
//! who waited for whom.
//!
//! # How
//!
//! In slabs of measured time: each rank is reduced by itself ([`reduce`]), in parallel, to accounts
//! and to what others may meet; the graph ([`graph`]) matches the slab before, decides by measured
//! times who waited for whom, and replays it.
//!
//! Each rank carries three replayed clocks ([`clocks::Clocks`]): useful intervals move all of them
//! as measured; a file call moves *net* as measured, *even* by ∫k dt / P with k(t) the number of
//! ranks in a file call, *ideal* not at all; MPI moves none, but a call that waits for another rank
//! leaves its clocks no earlier than that rank's were when it did what was waited for.
//!
//! A wait is for what happened before, as measured. So at every vertex ideal ≤ even ≤ net ≤
//! measured time, by induction over measured time: each interval adds no more to one than to the
//! next, and the moments waited for keep the same order. Memory holds a slab, open messages and
//! open collectives, not the trace.
//!
//! Sums are exact, and what is decided depends on the trace alone: same trace, same bits, whatever
//! the slabs and the threads.
//!
//! # Where
//!
//! [`reduce`] is a rank by itself, [`accounts`] what is summed up of it; [`graph`] is what ranks
//! have to do with each other; [`path`] what the critical paths lead over; [`run`] hands slabs from
//! one to the other; [`analysis`] is the result. [`program`] is the same before any replay, for
//! those that change it.

mod accounts;
pub mod analysis;
mod clocks;
mod desks;
mod graph;
mod longest;
mod numbered;
mod options;
mod path;
pub mod program;
mod reduce;
mod run;
mod slabs;
mod stamp;
mod steps;
mod toggles;
mod warnings;

pub use analysis::Analysis;
pub use graph::Channel;
pub use graph::vertex;
pub use options::{CollectiveOrder, CriticalPaths, Options};
pub use program::{Program, program};
pub use run::Progress;
pub use steps::Access;

use tailrace_trace::tables::Window;
use tailrace_trace::{Tables, Trace, TraceError};

use crate::graph::edges::Keys;
use crate::path::Dependences;
use crate::reduce::Common;
use crate::reduce::opaque::Opaque;
use crate::reduce::order::Calendar;

/// Replays the trace and takes all accounts.
///
/// # Errors
/// Where the trace is damaged, its times are beyond reason, or `progress` answers `false`.
pub fn analyze(
    trace: &dyn Trace,
    options: &Options,
    progress: Progress<'_>,
) -> Result<Analysis, TraceError> {
    let tables = trace.tables();
    let window = window(tables);
    let (calendar, keys) = calendar(tables, window)?;
    let common = Common::new(tables, (window, calendar, keys), options, Opaque::new(trace)?);
    let mut results = run::run(trace, &common, options, progress)?;
    let dependences = match options.critical_paths {
        CriticalPaths::Followed => path::dependences(trace, &mut results)?,
        CriticalPaths::LeftOut => Dependences::default(),
    };
    let mut analysis = Analysis::new(&mut results, dependences);
    analysis.warnings = warnings::collect(&results, &analysis);
    Ok(analysis)
}

/// The part of the run that the efficiencies are about.
pub fn window(tables: &Tables) -> Window {
    let begin = tables.locations.iter().map(|l| l.begin_ns).min().unwrap_or(0);
    let end = tables.locations.iter().map(|l| l.end_ns).max().unwrap_or(0);
    tables.window.unwrap_or(Window { begin_ns: begin, end_ns: end.max(begin) })
}

/// All times up to the window's end. ∫k dt fits wherever they do.
fn calendar(tables: &Tables, window: Window) -> Result<(Calendar, Keys), TraceError> {
    let first = tables.locations.iter().map(|l| l.begin_ns).fold(window.begin_ns, i64::min);
    let lanes = tables.locations.len().max(tables.ranks as usize);
    let calendar = Calendar::new(first, window.end_ns, lanes);
    let runtime = window.end_ns.checked_sub(window.begin_ns).filter(|runtime| *runtime >= 0);
    let keys = runtime.and_then(|runtime| Keys::new(runtime, lanes));
    calendar.zip(keys).ok_or_else(|| {
        let span = format!("{first} ns to {} ns on {lanes} threads", window.end_ns);
        TraceError::new(
            format!("the trace spans {span}, which is impossible"),
            "check that its clock readings are intact",
        )
    })
}
