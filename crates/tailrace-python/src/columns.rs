//! The analysis as a dictionary of columns.

use numpy::{PyArray1, PyArray2, PyArray3, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use tailrace_replay::Analysis;
use tailrace_replay::analysis::{FileUses, IoPhase, Span, Timeline};
use tailrace_trace::Tables;

use crate::arrays::{Dict, integers};
use crate::{dependences, places, tables};

/// Everything, under the names that `python/tailrace` expects.
pub(crate) fn all<'py>(
    py: Python<'py>,
    format: &str,
    trace: &Tables,
    analysis: &Analysis,
) -> Dict<'py> {
    let columns = PyDict::new(py);
    columns.set_item("format", format)?;
    columns.set_item("ranks", trace.ranks)?;
    columns.set_item("runtime_ns", analysis.runtime)?;
    columns.set_item("ideal_network_ns", analysis.ideal.net)?;
    columns.set_item("ideal_network_even_io_ns", analysis.ideal.even)?;
    columns.set_item("ideal_ns", analysis.ideal.ideal)?;
    columns.set_item("meta", trace.meta.clone())?;
    columns.set_item("rank", tables::ranks(py, trace, analysis)?)?;
    columns.set_item("files", tables::files(py, trace, analysis)?)?;
    columns.set_item("file_rank", tables::file_ranks(py, analysis)?)?;
    columns.set_item("file_sizes", tables::file_sizes(py, analysis)?)?;
    columns.set_item("file_uses", file_uses(py, analysis)?)?;
    columns.set_item("functions", tables::functions(py, trace, analysis)?)?;
    let paths = places::paths(analysis);
    columns.set_item("places", places::places(py, trace, analysis, &paths)?)?;
    columns.set_item("dependences", dependences::dependences(py, trace, analysis, &paths)?)?;
    columns.set_item("routines", places::routines(py, trace, analysis)?)?;
    columns.set_item("routine_ranks", places::routine_ranks(py, analysis)?)?;
    columns.set_item("routine_phases", places::routine_phases(py, analysis)?)?;
    columns.set_item("phases", phases(py, analysis)?)?;
    columns.set_item("timeline", timeline(py, &analysis.timeline)?)?;
    columns.set_item("rates", rates(py, &analysis.timeline)?)?;
    columns.set_item("longest", longest(py, trace, &analysis.longest)?)?;
    columns.set_item("layers", tables::layers(py, analysis)?)?;
    columns.set_item("any_waited", tables::any_waited(py, analysis)?)?;
    columns.set_item("capture", tables::capture(py, trace)?)?;
    columns.set_item("warnings", tables::warnings(py, analysis)?)?;
    Ok(columns)
}

/// Phases of I/O and what lies between them.
fn phases<'py>(py: Python<'py>, analysis: &Analysis) -> Dict<'py> {
    let rows = analysis.phases();
    let columns = PyDict::new(py);
    let kinds: Vec<&str> = rows.iter().map(|(kind, _)| *kind).collect();
    columns.set_item("kind", kinds)?;
    let rows: Vec<&IoPhase> = rows.iter().map(|(_, phase)| phase).collect();
    let of = || rows.iter().copied();
    integers(&columns, "begin_ns", of(), |phase| phase.begin)?;
    integers(&columns, "end_ns", of(), |phase| phase.end)?;
    integers(&columns, "bytes_read", of(), |phase| phase.bytes_read as i64)?;
    integers(&columns, "bytes_written", of(), |phase| phase.bytes_written as i64)?;
    integers(&columns, "io_ns", of(), |phase| phase.io)?;
    integers(&columns, "busy_ns", of(), |phase| phase.busy)?;
    integers(&columns, "ranks_in_io_max", of(), |phase| i64::from(phase.ranks_in_io_max))?;
    let mean: Vec<f64> = of().map(IoPhase::ranks_in_io_mean).collect();
    columns.set_item("ranks_in_io_mean", PyArray1::from_vec(py, mean))?;
    Ok(columns)
}

/// Nanoseconds by row and bin.
fn timeline<'py>(py: Python<'py>, timeline: &Timeline) -> Dict<'py> {
    let columns = PyDict::new(py);
    for (state, name) in ["useful", "io", "mpi"].into_iter().enumerate() {
        let values: Vec<i64> = timeline.time.iter().flatten().map(|bin| bin[state]).collect();
        let table: Bound<'py, PyArray2<i64>> =
            PyArray1::from_vec(py, values).reshape([timeline.rows, timeline.bins])?;
        columns.set_item(name, table)?;
    }
    columns.set_item("row_ranks", timeline.ranks_per_row)?;
    columns.set_item("bin_ns", timeline.bin)?;
    Ok(columns)
}

/// Nanoseconds in calls on the files with most time, by file, row of the timeline and bin.
fn file_uses<'py>(py: Python<'py>, analysis: &Analysis) -> Dict<'py> {
    let FileUses { bin, bins, files } = &analysis.file_uses;
    let columns = PyDict::new(py);
    integers(&columns, "file", files, |row| i64::from(row.file))?;
    for (kind, name) in ["read", "write", "other"].into_iter().enumerate() {
        let values = files.iter().flat_map(|file| file.time.iter().map(|bin| bin[kind]));
        let table: Bound<'py, PyArray3<i64>> = PyArray1::from_iter(py, values).reshape([
            files.len(),
            analysis.timeline.rows,
            *bins,
        ])?;
        columns.set_item(name, table)?;
    }
    columns.set_item("bin_ns", bin)?;
    Ok(columns)
}

/// Bytes moved per bin, and the mean number of ranks in a file call.
fn rates<'py>(py: Python<'py>, timeline: &Timeline) -> Dict<'py> {
    let columns = PyDict::new(py);
    integers(&columns, "bytes_read", &timeline.bytes, |bin| bin[0] as i64)?;
    integers(&columns, "bytes_written", &timeline.bytes, |bin| bin[1] as i64)?;
    columns.set_item("ranks_in_io", PyArray1::from_vec(py, timeline.ranks_in_io()))?;
    Ok(columns)
}

fn longest<'py>(py: Python<'py>, trace: &Tables, spans: &[Span]) -> Dict<'py> {
    let columns = PyDict::new(py);
    integers(&columns, "rank", spans, |span| i64::from(span.rank))?;
    integers(&columns, "begin_ns", spans, |span| span.begin)?;
    integers(&columns, "end_ns", spans, |span| span.end)?;
    integers(&columns, "bytes", spans, |span| span.bytes as i64)?;
    let functions: Vec<&str> =
        spans.iter().map(|s| trace.functions[s.function as usize].name.as_str()).collect();
    columns.set_item("function", functions)?;
    let paths = spans
        .iter()
        .map(|span| trace.files.get(span.file as usize).map_or(&b""[..], |file| &file.path));
    columns.set_item("file", paths.map(|path| PyBytes::new(py, path)).collect::<Vec<_>>())?;
    columns.set_item("state", spans.iter().map(|span| span.state.name()).collect::<Vec<_>>())?;
    Ok(columns)
}
