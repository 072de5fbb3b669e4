//! Happens-before replay of a trace: the ideal run times and all accounts of a run, in one
//! streaming sweep.
//!
//! # How
//!
//! All ranks' events are merged in order of measured time; the begin and the end of each call are
//! taken in turn. Each rank carries three replayed clocks ([`clocks::Clocks`]): useful intervals
//! move all of them as measured; a file call moves *net* as measured, *even* by ⌊∫k dt / P⌋ with
//! k(t) the number of ranks in a file call, *ideal* not at all; MPI moves none, but a call that
//! waits for another rank leaves its clocks no earlier than that rank's were when it did what was
//! waited for.
//!
//! A call's end looks for what it waited for among the steps taken so far only. So the replay never
//! assumes an order that the measured times contradict, and at every step ideal ≤ even ≤ net ≤
//! measured time, by induction: each interval adds no more to one than to the next, and the moments
//! waited for keep the same order. Memory holds ranks, open messages and open collectives, not the
//! trace.
//!
//! Every thread's decoding aside, the sweep is one thread's work in an order that the trace alone
//! decides: same trace, same bits.
//!
//! # Where
//!
//! [`merge`] says who is next; [`sweep`] takes steps; [`world`] is what a step changes,
//! [`operations`] and [`one_sided`] what MPI's operations mean; [`messages`] and [`collectives`]
//! match; [`location`] keeps a rank's clocks; [`busy`], [`timeline`], [`tallies`], [`patterns`],
//! [`uses`], [`routines`], [`waits`] and [`longest`] are the accounts; [`analysis`] is the result.

pub mod analysis;
mod busy;
mod clocks;
mod collectives;
mod edges;
mod feed;
mod levels;
mod location;
mod locks;
mod longest;
mod merge;
mod messages;
mod one_sided;
mod operations;
mod options;
mod pairs;
mod patterns;
mod places;
mod requests;
mod routines;
mod steps;
mod sweep;
mod tallies;
mod timeline;
mod uses;
mod waits;
mod warnings;
mod world;

pub use analysis::Analysis;
pub use options::{CollectiveOrder, Options};
pub use sweep::Progress;

use merge::Calendar;
use tailrace_trace::tables::Window;
use tailrace_trace::{Tables, Trace, TraceError};

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
    let calendar = calendar(tables, window)?;
    let helpers = helpers(options, tables.locations.len());
    let mut world = std::thread::scope(|scope| {
        let feed = feed::Feed::new(trace, scope, helpers);
        sweep::Sweep::new((tables, window, calendar), options, feed, progress).run()
    })?;
    let mut analysis = Analysis::new(&mut world);
    analysis.warnings = warnings::collect(&world, &analysis);
    Ok(analysis)
}

/// Threads beside the sweep's own.
fn helpers(options: &Options, locations: usize) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let threads = if options.threads == 0 { cores } else { options.threads };
    (threads - 1).min(locations)
}

/// The part of the run that the efficiencies are about.
fn window(tables: &Tables) -> Window {
    let begin = tables.locations.iter().map(|l| l.begin_ns).min().unwrap_or(0);
    let end = tables.locations.iter().map(|l| l.end_ns).max().unwrap_or(0);
    tables.window.unwrap_or(Window { begin_ns: begin, end_ns: end.max(begin) })
}

/// All times up to the window's end. ∫k dt fits wherever it does.
fn calendar(tables: &Tables, window: Window) -> Result<Calendar, TraceError> {
    let first = tables.locations.iter().map(|l| l.begin_ns).fold(window.begin_ns, i64::min);
    let lanes = tables.locations.len().max(tables.ranks as usize);
    let sound = window.begin_ns <= window.end_ns;
    Calendar::new(first, window.end_ns, lanes).filter(|_| sound).ok_or_else(|| {
        let span = format!("{first} ns to {} ns on {lanes} threads", window.end_ns);
        TraceError::new(
            format!("the trace spans {span}, which is impossible"),
            "check that its clock readings are intact",
        )
    })
}
