//! Tables per rank, file and function.

use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use tailrace_replay::Analysis;
use tailrace_replay::analysis::RankAccount;
use tailrace_replay::tallies::FileTally;
use tailrace_trace::Tables;
use tailrace_trace::event::Layer;
use tailrace_trace::pack::Summary;
use tailrace_trace::tables::Counters;

use crate::columns::integers;

type Dict<'py> = PyResult<Bound<'py, PyDict>>;
/// A column's name and where its values come from.
type Column = (&'static str, fn(&RankAccount) -> i64);

/// What packing came to.
pub fn summary<'py>(py: Python<'py>, summary: &Summary) -> Dict<'py> {
    let columns = PyDict::new(py);
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

pub fn ranks<'py>(py: Python<'py>, trace: &Tables, analysis: &Analysis) -> Dict<'py> {
    let columns = PyDict::new(py);
    let times: [Column; 10] = [
        ("useful_ns", |rank| rank.useful),
        ("io_ns", |rank| rank.io),
        ("mpi_ns", |rank| rank.mpi),
        ("overlapped_io_ns", |rank| rank.overlapped_io),
        ("mpiio_ns", |rank| rank.mpiio),
        ("posix_in_mpiio_ns", |rank| rank.posix_in_mpiio),
        ("between_ns", |rank| rank.between),
        ("bytes_read", |rank| rank.bytes_read as i64),
        ("bytes_written", |rank| rank.bytes_written as i64),
        ("events", |rank| rank.events as i64),
    ];
    times.into_iter().try_for_each(|(name, value)| integers(&columns, name, &analysis.ranks, value))?;
    columns.set_item("host", analysis.ranks.iter().map(|rank| rank.host.as_str()).collect::<Vec<_>>())?;
    columns.set_item("instructions", counters(py, trace, |counters| counters.instructions))?;
    columns.set_item("cycles", counters(py, trace, |counters| counters.cycles))?;
    Ok(columns)
}

/// `None` unless all ranks have counters.
fn counters<'py>(py: Python<'py>, trace: &Tables, value: fn(&Counters) -> u64) -> Option<Bound<'py, PyArray1<i64>>> {
    let values: Option<Vec<i64>> = trace.counters.iter().map(|rank| rank.as_ref().map(|c| value(c) as i64)).collect();
    values.filter(|values| !values.is_empty()).map(|values| PyArray1::from_vec(py, values))
}

pub fn files<'py>(py: Python<'py>, trace: &Tables, analysis: &Analysis) -> Dict<'py> {
    let columns = PyDict::new(py);
    let files = &analysis.files;
    let paths = files.iter().map(|row| PyBytes::new(py, &trace.files[row.file as usize].path));
    columns.set_item("path", paths.collect::<Vec<_>>())?;
    columns.set_item("layer", files.iter().map(|row| layer(row.layer)).collect::<Vec<_>>())?;
    integers(&columns, "ranks", files, |row| i64::from(row.ranks))?;
    tallies(&columns, &files.iter().map(|row| row.total).collect::<Vec<_>>())?;
    integers(&columns, "slowest_rank", files, |row| i64::from(row.slowest_rank))?;
    integers(&columns, "slowest_rank_ns", files, |row| row.slowest)?;
    Ok(columns)
}

pub fn file_ranks<'py>(py: Python<'py>, analysis: &Analysis) -> Dict<'py> {
    let columns = PyDict::new(py);
    integers(&columns, "file", &analysis.file_ranks, |row| i64::from(row.file))?;
    integers(&columns, "rank", &analysis.file_ranks, |row| i64::from(row.rank))?;
    tallies(&columns, &analysis.file_ranks.iter().map(|row| row.tally).collect::<Vec<_>>())?;
    Ok(columns)
}

fn tallies(columns: &Bound<'_, PyDict>, rows: &[FileTally]) -> PyResult<()> {
    for (i, name) in ["bytes_read", "bytes_written"].into_iter().enumerate() {
        integers(columns, name, rows, |row| row.bytes[i] as i64)?;
    }
    for (i, name) in ["reads", "writes", "metadata_calls"].into_iter().enumerate() {
        integers(columns, name, rows, |row| row.calls[i] as i64)?;
    }
    for (i, name) in ["read_ns", "write_ns", "metadata_ns"].into_iter().enumerate() {
        integers(columns, name, rows, |row| row.time[i])?;
    }
    Ok(())
}

pub fn functions<'py>(py: Python<'py>, trace: &Tables, analysis: &Analysis) -> Dict<'py> {
    let columns = PyDict::new(py);
    let rows = &analysis.functions;
    let entries: Vec<_> = rows.iter().map(|row| &trace.functions[row.function as usize]).collect();
    columns.set_item("name", entries.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>())?;
    columns.set_item("layer", entries.iter().map(|entry| layer(entry.layer)).collect::<Vec<_>>())?;
    integers(&columns, "calls", rows, |row| row.total.calls as i64)?;
    integers(&columns, "time_ns", rows, |row| row.total.time)?;
    integers(&columns, "bytes", rows, |row| row.total.bytes as i64)?;
    integers(&columns, "rank_max", rows, |row| i64::from(row.slowest_rank))?;
    integers(&columns, "rank_max_ns", rows, |row| row.slowest)?;
    Ok(columns)
}

pub fn layers<'py>(py: Python<'py>, analysis: &Analysis) -> Dict<'py> {
    let columns = PyDict::new(py);
    let sum = |value: fn(&RankAccount) -> i64| analysis.ranks.iter().map(value).sum::<i64>();
    columns.set_item("mpiio_ns", sum(|rank| rank.mpiio))?;
    columns.set_item("posix_in_mpiio_ns", sum(|rank| rank.posix_in_mpiio))?;
    columns.set_item("between_ns", sum(|rank| rank.between))?;
    Ok(columns)
}

pub fn capture<'py>(py: Python<'py>, trace: &Tables) -> Dict<'py> {
    let columns = PyDict::new(py);
    columns.set_item("events", trace.capture.events)?;
    columns.set_item("events_lost", trace.capture.lost)?;
    columns.set_item("cost_ns_per_event", trace.capture.cost_ps_per_event as f64 / 1000.0)?;
    columns.set_item("complete", trace.capture.complete)?;
    columns.set_item("notes", trace.capture.notes.clone())?;
    Ok(columns)
}

pub fn warnings<'py>(py: Python<'py>, analysis: &Analysis) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let one = |warning: &tailrace_replay::Warning| {
        let columns = PyDict::new(py);
        columns.set_item("code", warning.code)?;
        columns.set_item("message", &warning.message)?;
        Ok(columns)
    };
    analysis.warnings.iter().map(one).collect()
}

fn layer(layer: Layer) -> &'static str {
    match layer {
        Layer::Mpi => "mpi",
        Layer::MpiIo => "mpiio",
        Layer::Posix => "posix",
        Layer::Stdio => "stdio",
        Layer::Asynchronous => "asynchronous",
    }
}
