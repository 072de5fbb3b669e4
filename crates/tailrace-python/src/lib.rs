//! `tailrace._engine`: the engine as a Python module. Columns go out as NumPy arrays and lists;
//! there is no logic here.

#![allow(clippy::needless_pass_by_value)] // what Python hands over is converted, and owned

mod arrays;
mod call_columns;
mod calls;
mod columns;
mod dependences;
mod models;
mod options;
mod places;
mod predict;
mod simulation;
mod tables;
mod watch;

use std::path::{Path, PathBuf};

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tailrace_replay::{Analysis, Options};
use tailrace_trace::Trace;

use crate::watch::Watch;

create_exception!(
    _engine,
    TraceError,
    PyException,
    "A trace cannot be read or written: (message, hint)."
);

fn trace_error(error: tailrace_trace::TraceError) -> PyErr {
    TraceError::new_err((error.message, error.hint))
}

/// Packs raw streams into one file, which appears under its name only when it is whole, or one for
/// each run where there are several (NAME.tailrace, NAME-2.tailrace, …).
///
/// `progress`, where given, is called at most twenty times a second with the share done, 0 to 1.
/// Returns for each {"path", "meta", "ranks", "locations", "events", "events_lost", "complete",
/// "raw_bytes", "packed_bytes", "notes"}. Raises TraceError(message, hint).
#[pyfunction]
#[pyo3(signature = (raw_directory, output_path, progress=None))]
fn pack(
    py: Python<'_>,
    raw_directory: PathBuf,
    output_path: PathBuf,
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let watch = Watch::new(progress);
    let mut tell = |share| _ = watch.tell(share); // packing is not to be stopped half way
    let result = py.detach(|| tailrace_trace::pack(&raw_directory, &output_path, &mut tell));
    watch.raise()?;
    result.map_err(trace_error)?.iter().map(|summary| tables::summary(py, summary)).collect()
}

/// A trace's tables and its replay, under the name of its format.
type Replayed = (&'static str, Box<dyn Trace>, Analysis);

/// Reads and replays a trace in full, while the interpreter is free for others.
fn replay(
    py: Python<'_>,
    path: &Path,
    options: &Options,
    progress: Option<Py<PyAny>>,
) -> PyResult<Replayed> {
    let watch = Watch::new(progress);
    let result = py.detach(|| {
        let format = tailrace_trace::open::recognize(path)?;
        let trace = (format.open)(path)?;
        let mut tell = |done: u64, total: u64| watch.tell(done as f64 / total.max(1) as f64);
        let analysis = tailrace_replay::analyze(&*trace, options, &mut tell)?;
        Ok((format.name, trace, analysis))
    });
    watch.raise()?;
    result.map_err(trace_error)
}

/// Reads a trace in full and keeps nothing: what `analyze` would raise for what it finds damaged is
/// raised.
#[pyfunction]
#[pyo3(signature = (path, progress=None))]
fn verify(py: Python<'_>, path: PathBuf, progress: Option<Py<PyAny>>) -> PyResult<()> {
    let watch = Watch::new(progress);
    let result = py.detach(|| {
        let trace = tailrace_trace::open(&path)?;
        let mut tell = |done: u64, total: u64| watch.tell(done as f64 / total.max(1) as f64);
        tailrace_trace::read_through(&*trace, &mut tell)
    });
    watch.raise()?;
    result.map_err(trace_error)
}

/// Replays a trace (.tailrace, .prv, .prv.gz) and returns its columns.
///
/// Integers are 64-bit, times whole nanoseconds, moments count from the window's begin;
/// `docs/reference/report.md` says what they mean. "format", "ranks", "runtime_ns" (T),
/// "ideal_network_ns" (T_net), "ideal_network_even_io_ns" (T_even), "ideal_ns" (T_ideal), "meta"
/// {str: str}; tables as dictionaries of columns of equal length: "rank" (by rank; useful_ns +
/// io_ns + mpi_ns is the run time, counters None where absent), "files" and "file_rank" (innermost
/// layer only, so that rows add up, but for mpiio_ns: MPI-IO calls and what is inside them;
/// "former" is the row of the file that was renamed so, or -1),
/// "file_sizes" (reads and writes as [file, decade]), "file_uses" (the files with most time: read,
/// write, other as [file, row, bin], rows as in "timeline"),
/// "functions" (time_ns holds calls inside), "phases" (fill the window), "longest" (in order of
/// begin; cut to the window); "timeline": useful, io, mpi as [rows, bins], row_ranks ranks to a
/// row, bins of bin_ns, the last may reach beyond the run; "rates": bytes_read and bytes_written
/// per bin, ranks_in_io its mean over the bin; "layers", "capture": single numbers; "warnings":
/// [{"code", "message", "hint"}].
///
/// `eager_limit_bytes`: a standard send of more completes no earlier than its receive is posted.
/// `collectives`: "data" (order only where data flow) or "all" (each synchronizes all its ranks).
/// `critical_paths`: whether these are followed, and who waited for whom; without, "dependences"
/// is empty, and nothing of the trace is read again. `bins`: columns of the timeline at most.
/// `longest`: how many of the longest calls to list.
/// `threads`: 0 for one per core; the result does not depend on it. `None` is the default of each.
/// `progress`, where given, is called at most twenty times a second with the share done, 0 to 1.
/// Raises TraceError(message, hint), ValueError for a choice that is out of range.
#[pyfunction]
#[pyo3(signature = (path, *, eager_limit_bytes=None, collectives=None, critical_paths=None,
                    bins=None, longest=None, threads=None, progress=None))]
#[allow(clippy::too_many_arguments)] // keyword arguments of a Python function
fn analyze<'py>(
    py: Python<'py>,
    path: PathBuf,
    eager_limit_bytes: Option<i64>,
    collectives: Option<&str>,
    critical_paths: Option<bool>,
    bins: Option<i64>,
    longest: Option<i64>,
    threads: Option<i64>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let options =
        options::checked(eager_limit_bytes, collectives, critical_paths, bins, longest, threads)?;
    let (format, trace, analysis) = replay(py, &path, &options, progress)?;
    columns::all(py, format, trace.tables(), &analysis)
}

#[pymodule]
fn _engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("TraceError", module.py().get_type::<TraceError>())?;
    module.add("EAGER_LIMIT_BYTES", Options::EAGER_LIMIT_BYTES)?;
    module.add_class::<calls::TraceCalls>()?;
    module.add_class::<predict::CallsBeyond>()?;
    module.add_class::<predict::RunSteps>()?;
    module.add_function(wrap_pyfunction!(models::model_times, module)?)?;
    module.add_function(wrap_pyfunction!(models::model_ends, module)?)?;
    module.add_function(wrap_pyfunction!(simulation::simulate, module)?)?;
    module.add_function(wrap_pyfunction!(simulation::simulated_calls, module)?)?;
    module.add_function(wrap_pyfunction!(simulation::recorded_calls, module)?)?;
    module.add_function(wrap_pyfunction!(pack, module)?)?;
    module.add_function(wrap_pyfunction!(verify, module)?)?;
    module.add_function(wrap_pyfunction!(analyze, module)?)
}
