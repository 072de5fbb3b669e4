//! Tables per rank, file and function.

use std::collections::HashMap;

use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use tailrace_replay::Analysis;
use tailrace_replay::analysis::RankAccount;
use tailrace_replay::analysis::{FileTally, Pattern, Sizes};
use tailrace_trace::Tables;
use tailrace_trace::event::Layer;
use tailrace_trace::pack::Summary;
use tailrace_trace::tables::{Counters, Ended, Place};

use crate::arrays::{Dict, integers};

/// A column's name and where its values come from.
type Column = (&'static str, fn(&RankAccount) -> i64);

/// What packing came to.
pub(crate) fn summary<'py>(py: Python<'py>, summary: &Summary) -> Dict<'py> {
    let columns = PyDict::new(py);
    columns.set_item("path", &summary.path)?;
    columns.set_item("meta", summary.meta.clone())?;
    columns.set_item("ranks", summary.ranks)?;
    columns.set_item("events", summary.events)?;
    columns.set_item("events_lost", summary.lost)?;
    columns.set_item("locations", summary.locations)?;
    columns.set_item("complete", summary.complete)?;
    columns.set_item("raw_bytes", summary.bytes_raw)?;
    columns.set_item("packed_bytes", summary.bytes_packed)?;
    columns.set_item("notes", summary.notes.clone())?;
    Ok(columns)
}

fn ended(how: Ended) -> &'static str {
    match how {
        Ended::Known => "known",
        Ended::Aborted => "aborted",
        Ended::Unknown => "unknown",
        Ended::Left => "left",
    }
}

pub(crate) fn ranks<'py>(py: Python<'py>, trace: &Tables, analysis: &Analysis) -> Dict<'py> {
    let columns = PyDict::new(py);
    let times: [Column; 20] = [
        ("useful_ns", |rank| rank.useful),
        ("io_ns", |rank| rank.io),
        ("mpi_ns", |rank| rank.mpi),
        ("overlapped_io_ns", |rank| rank.overlapped_io),
        ("outside_io_ns", |rank| rank.outside_io),
        ("unknown_ns", |rank| rank.unknown),
        ("unfinished_ns", |rank| rank.unfinished.map_or(0, |of| of.length)),
        ("other_threads_in_mpi", |rank| rank.others.in_mpi as i64),
        ("overlapped_mpi_calls", |rank| rank.others.mpi_calls as i64),
        ("overlapped_mpi_ns", |rank| rank.others.mpi),
        ("bytes_by_other_threads", |rank| rank.others.bytes as i64),
        ("bytes_by_other_processes", |rank| rank.others.bytes_of_processes as i64),
        ("device_read_by_others_ns", |rank| rank.others.devices[0]),
        ("device_write_by_others_ns", |rank| rank.others.devices[1]),
        ("mpiio_ns", |rank| rank.mpiio),
        ("posix_in_mpiio_ns", |rank| rank.posix_in_mpiio),
        ("between_ns", |rank| rank.between),
        ("bytes_read", |rank| rank.bytes_read as i64),
        ("bytes_written", |rank| rank.bytes_written as i64),
        ("events", |rank| rank.events as i64),
    ];
    times
        .into_iter()
        .try_for_each(|(name, value)| integers(&columns, name, &analysis.ranks, value))?;
    let name = |function: u16| trace.functions[usize::from(function)].name.as_str();
    let unfinished = of_ranks(analysis, |rank| rank.unfinished.map_or("", |of| name(of.function)));
    columns.set_item("unfinished", unfinished)?;
    columns.set_item("ended", of_ranks(analysis, |rank| ended(rank.ended)))?;
    columns.set_item("host", of_ranks(analysis, |rank| rank.host.as_str()))?;
    columns.set_item("cores", of_ranks(analysis, |rank| rank.cores.as_str()))?;
    columns.set_item("capture_ns", of_ranks(analysis, |rank| rank.capture))?;
    for (state, name) in STATES.into_iter().enumerate() {
        let waited = of_ranks(analysis, |rank| rank.waited.map(|waited| waited[state]));
        columns.set_item(format!("waited_{name}_ns"), waited)?;
    }
    columns.set_item("instructions", counters(py, trace, |counters| counters.instructions))?;
    columns.set_item("cycles", counters(py, trace, |counters| counters.cycles))?;
    Ok(columns)
}

/// By number of the state.
const STATES: [&str; 3] = ["useful", "io", "mpi"];

fn of_ranks<'a, T>(analysis: &'a Analysis, value: impl Fn(&'a RankAccount) -> T) -> Vec<T> {
    analysis.ranks.iter().map(value).collect()
}

/// How much of the run some rank waited for a processor, at most.
pub(crate) fn any_waited<'py>(py: Python<'py>, analysis: &Analysis) -> Dict<'py> {
    let columns = PyDict::new(py);
    for (name, ns) in STATES.into_iter().zip(analysis.any_waited) {
        columns.set_item(format!("{name}_ns"), ns)?;
    }
    Ok(columns)
}

/// `None` unless all ranks have counters.
fn counters<'py>(
    py: Python<'py>,
    trace: &Tables,
    value: fn(&Counters) -> u64,
) -> Option<Bound<'py, PyArray1<i64>>> {
    let values: Option<Vec<i64>> =
        trace.counters.iter().map(|rank| rank.as_ref().map(|c| value(c) as i64)).collect();
    values.filter(|values| !values.is_empty()).map(|values| PyArray1::from_vec(py, values))
}

/// By file of the trace: its row of "files". A file all of whose calls are in others has none.
pub(crate) fn rows_of_files(analysis: &Analysis) -> HashMap<u32, i64> {
    analysis.files.iter().zip(0..).map(|(file, row)| (file.file, row)).collect()
}

pub(crate) fn files<'py>(py: Python<'py>, trace: &Tables, analysis: &Analysis) -> Dict<'py> {
    let columns = PyDict::new(py);
    let files = &analysis.files;
    let paths = files.iter().map(|row| PyBytes::new(py, &trace.files[row.file as usize].path));
    columns.set_item("path", paths.collect::<Vec<_>>())?;
    columns.set_item("layer", files.iter().map(|row| layer(row.layer)).collect::<Vec<_>>())?;
    let places = files.iter().map(|row| place(trace.files[row.file as usize].place()));
    columns.set_item("place", places.collect::<Vec<_>>())?;
    let (rows, former) = (rows_of_files(analysis), trace.former());
    integers(&columns, "former", files, |row| {
        let former = former[row.file as usize].and_then(|former| rows.get(&former.file));
        former.copied().unwrap_or(-1)
    })?;
    integers(&columns, "ranks", files, |row| i64::from(row.ranks))?;
    tallies(&columns, &files.iter().map(|row| row.total).collect::<Vec<_>>())?;
    integers(&columns, "slowest_rank", files, |row| i64::from(row.slowest_rank))?;
    integers(&columns, "slowest_rank_ns", files, |row| row.slowest)?;
    Ok(columns)
}

pub(crate) fn file_ranks<'py>(py: Python<'py>, analysis: &Analysis) -> Dict<'py> {
    let columns = PyDict::new(py);
    integers(&columns, "file", &analysis.file_ranks, |row| i64::from(row.file))?;
    integers(&columns, "rank", &analysis.file_ranks, |row| i64::from(row.rank))?;
    tallies(&columns, &analysis.file_ranks.iter().map(|row| row.tally).collect::<Vec<_>>())?;
    Ok(columns)
}

/// Kinds of calls by number: the column of their count and that of their time.
pub(crate) const KINDS: [(&str, &str); 9] = [
    ("reads", "read_ns"),
    ("writes", "write_ns"),
    ("opens", "open_ns"),
    ("closes", "close_ns"),
    ("look_ups", "look_up_ns"),
    ("syncs", "sync_ns"),
    ("locks", "lock_ns"),
    ("truncates", "truncate_ns"),
    ("others", "other_ns"),
];
/// The first that neither reads nor writes.
const FIRST_METADATA: usize = 2;

fn tallies(columns: &Bound<'_, PyDict>, rows: &[FileTally]) -> PyResult<()> {
    for (i, (calls, time)) in KINDS.into_iter().enumerate() {
        integers(columns, calls, rows, |row| row.calls[i] as i64)?;
        integers(columns, time, rows, |row| row.time[i])?;
    }
    let calls = |row: &FileTally| row.calls[FIRST_METADATA..].iter().sum::<u64>() as i64;
    integers(columns, "metadata_calls", rows, calls)?;
    integers(columns, "metadata_ns", rows, |row| row.time[FIRST_METADATA..].iter().sum())?;
    integers(columns, "mpiio_ns", rows, |row| row.mpiio)?;
    integers(columns, "failed_writes", rows, |row| row.failed.writes as i64)?;
    integers(columns, "failed_others", rows, |row| row.failed.others as i64)?;
    integers(columns, "failed_ns", rows, |row| row.failed.time)?;
    integers(columns, "failed_error", rows, |row| i64::from(row.failed.error))?;
    integers(columns, "failed_mpiio_opens", rows, |row| row.failed_mpiio.opens as i64)?;
    integers(columns, "failed_mpiio_writes", rows, |row| row.failed_mpiio.writes as i64)?;
    integers(columns, "failed_mpiio_others", rows, |row| row.failed_mpiio.others as i64)?;
    integers(columns, "failed_mpiio_error", rows, |row| i64::from(row.failed_mpiio.error))?;
    for (i, [noun, verb]) in [["reads", "read"], ["writes", "written"]].into_iter().enumerate() {
        integers(columns, &format!("bytes_{verb}"), rows, |row| row.bytes[i] as i64)?;
        integers(columns, &format!("mpiio_bytes_{verb}"), rows, |row| row.mpiio_bytes[i] as i64)?;
        integers(columns, &format!("buffered_{noun}"), rows, |row| row.buffered_calls[i] as i64)?;
        let bytes = format!("buffered_bytes_{verb}");
        integers(columns, &bytes, rows, |row| row.buffered_bytes[i] as i64)?;
        patterns(columns, noun, &rows.iter().map(|row| row.patterns[i]).collect::<Vec<_>>())?;
    }
    Ok(())
}

/// How large the reads and the writes of each row of "files" are: calls by decade of bytes (below
/// 100, 1000, …), and the smallest and largest (0 where there is none).
pub(crate) fn file_sizes<'py>(py: Python<'py>, analysis: &Analysis) -> Dict<'py> {
    let columns = PyDict::new(py);
    for (way, noun) in ["reads", "writes"].into_iter().enumerate() {
        let sizes: Vec<Sizes> = analysis.files.iter().map(|row| row.total.sizes[way]).collect();
        let calls = sizes.iter().flat_map(|row| row.decades.map(|calls| calls as i64));
        let table = PyArray1::from_iter(py, calls).reshape([sizes.len(), Sizes::DECADES])?;
        columns.set_item(noun, table)?;
        let range = |row: &Sizes| row.range.unwrap_or_default();
        integers(&columns, &format!("{noun}_least"), &sizes, |row| range(row).0 as i64)?;
        integers(&columns, &format!("{noun}_most"), &sizes, |row| range(row).1 as i64)?;
    }
    Ok(columns)
}

type PatternColumn = (&'static str, fn(&Pattern) -> i64);

/// How "reads" or "writes" lie in the files; `_begin` and `_end` are −1 where
/// the offset of any call is not known.
fn patterns(columns: &Bound<'_, PyDict>, noun: &str, rows: &[Pattern]) -> PyResult<()> {
    let counts: [PatternColumn; 9] = [
        ("consecutive", |row| row.consecutive as i64),
        ("forward", |row| row.forward as i64),
        ("backward", |row| row.backward as i64),
        ("unaligned", |row| row.unaligned as i64),
        ("small", |row| row.small as i64),
        ("small_ns", |row| row.small_time),
        ("empty", |row| row.empty as i64),
        ("begin", |row| row.reach().map_or(-1, |(begin, _)| begin)),
        ("end", |row| row.reach().map_or(-1, |(_, end)| end)),
    ];
    counts
        .into_iter()
        .try_for_each(|(name, value)| integers(columns, &format!("{noun}_{name}"), rows, value))
}

pub(crate) fn functions<'py>(py: Python<'py>, trace: &Tables, analysis: &Analysis) -> Dict<'py> {
    let columns = PyDict::new(py);
    let rows = &analysis.functions;
    let entries: Vec<_> = rows.iter().map(|row| &trace.functions[row.function as usize]).collect();
    columns
        .set_item("name", entries.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>())?;
    columns
        .set_item("layer", entries.iter().map(|entry| layer(entry.layer)).collect::<Vec<_>>())?;
    integers(&columns, "calls", rows, |row| row.total.calls as i64)?;
    integers(&columns, "time_ns", rows, |row| row.total.time)?;
    integers(&columns, "bytes", rows, |row| row.total.bytes as i64)?;
    integers(&columns, "counted", rows, |row| row.total.counted as i64)?;
    integers(&columns, "rank_max", rows, |row| i64::from(row.slowest_rank))?;
    integers(&columns, "rank_max_ns", rows, |row| row.slowest)?;
    Ok(columns)
}

pub(crate) fn layers<'py>(py: Python<'py>, analysis: &Analysis) -> Dict<'py> {
    let columns = PyDict::new(py);
    let sum = |value: fn(&RankAccount) -> i64| analysis.ranks.iter().map(value).sum::<i64>();
    columns.set_item("mpiio_ns", sum(|rank| rank.mpiio))?;
    columns.set_item("posix_in_mpiio_ns", sum(|rank| rank.posix_in_mpiio))?;
    columns.set_item("between_ns", sum(|rank| rank.between))?;
    Ok(columns)
}

pub(crate) fn capture<'py>(py: Python<'py>, trace: &Tables) -> Dict<'py> {
    let columns = PyDict::new(py);
    columns.set_item("events", trace.capture.events)?;
    columns.set_item("events_lost", trace.capture.lost)?;
    columns.set_item("cost_ns_per_event", trace.capture.cost_ps_per_event as f64 / 1000.0)?;
    columns.set_item("complete", trace.capture.complete)?;
    columns.set_item("notes", trace.capture.notes.clone())?;
    Ok(columns)
}

pub(crate) fn warnings<'py>(
    py: Python<'py>,
    analysis: &Analysis,
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let row = |warning: &tailrace_replay::analysis::Warning| {
        let columns = PyDict::new(py);
        columns.set_item("code", warning.code)?;
        columns.set_item("message", &warning.message)?;
        columns.set_item("hint", warning.hint)?;
        Ok(columns)
    };
    analysis.warnings.iter().map(row).collect()
}

/// By number of the layer.
pub(crate) const LAYER_NAMES: [&str; 5] = ["mpi", "mpiio", "posix", "stdio", "asynchronous"];

fn place(place: Place) -> &'static str {
    match place {
        Place::FileSystem => "file_system",
        Place::Kernel => "kernel",
        Place::Device => "device",
        Place::Memory => "memory",
    }
}

fn layer(layer: Layer) -> &'static str {
    LAYER_NAMES[layer as usize]
}
