//! Runs of workloads that are simulated, and the file calls of runs that were recorded.

use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tailrace_predict::simulate::{
    Conditions, Dimension, Format, Method, Network, Stream, Variable, Workload, Writers,
};
use tailrace_replay::program::FileCall;

use crate::models::{kind, parameters};
use crate::{options, trace_error};

#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct GivenDimension {
    name: String,
    size: i64,
    staggered: bool,
}

#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct GivenVariable {
    name: String,
    units: String,
    kind: String,
    element_bytes: i64,
    every_step: bool,
    tiled: bool,
    dimensions: Vec<GivenDimension>,
}

#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct GivenStream {
    name: String,
    is_output: bool,
    every: u64,
    initial: bool,
    steps_per_file: u64,
    sync: bool,
    variables: Vec<GivenVariable>,
}

#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct GivenWorkload {
    ranks: u32,
    ranks_per_node: u32,
    grid: [i64; 3],
    tiles: Option<[u32; 2]>,
    steps: u64,
    step_ns: f64,
    halo_fields: i64,
    method: String,
    format: String,
    wholes_by_all: bool,
    writers: Option<u32>,
    writers_per_node: u32,
    buffer_bytes: i64,
    aggregators: Option<u32>,
    collective_buffer_bytes: i64,
    streams: Vec<GivenStream>,
}

fn unknown(what: &str) -> PyErr {
    PyValueError::new_err(format!("{what:?} is not simulated"))
}

pub(crate) fn method_of(word: &str) -> PyResult<Method> {
    Ok(match word {
        "serial" => Method::Serial,
        "independent" => Method::Independent,
        "file-per-rank" => Method::FilePerRank,
        "collective" => Method::Collective,
        "aggregated" => Method::Aggregated,
        other => return Err(unknown(other)),
    })
}

fn workload(given: GivenWorkload) -> PyResult<Workload> {
    let method = method_of(&given.method)?;
    let format = match given.format.as_str() {
        "posix" => Format::Posix,
        "mpiio" => Format::MpiIo,
        other => return Err(unknown(other)),
    };
    let GivenWorkload { ranks, ranks_per_node, grid, tiles, steps, step_ns, .. } = given;
    let GivenWorkload { halo_fields, wholes_by_all, buffer_bytes, .. } = given;
    let GivenWorkload { aggregators, collective_buffer_bytes, .. } = given;
    let each = Writers::OfNode(given.writers_per_node);
    let writers = given.writers.map_or(each, Writers::All);
    let streams = given.streams.into_iter().map(stream).collect();
    Ok(Workload {
        ranks,
        ranks_per_node,
        grid,
        tiles,
        steps,
        step_ns,
        halo_fields,
        method,
        format,
        wholes_by_all,
        writers,
        buffer_bytes,
        aggregators,
        collective_buffer_bytes,
        streams,
    })
}

fn stream(given: GivenStream) -> Stream {
    let GivenStream { name, is_output, every, initial, steps_per_file, sync, variables } = given;
    let variables = variables.into_iter().map(variable).collect();
    Stream { name, is_output, every, initial, steps_per_file, sync, variables }
}

fn variable(given: GivenVariable) -> Variable {
    let GivenVariable { name, units, kind, element_bytes, every_step, tiled, dimensions } = given;
    let dimension = |given| {
        let GivenDimension { name, size, staggered } = given;
        Dimension { name, size, staggered }
    };
    let dimensions = dimensions.into_iter().map(dimension).collect();
    Variable { name, units, kind, element_bytes, every_step, tiled, dimensions }
}

/// What a workload's run would take. `workload` has the keys of the crate tailrace-predict's
/// Workload; `model` those of `model_times`, or is None for a file system that takes no time;
/// `latency` in ns, `byte` in ns a byte. `warm`: clients know all files when the run begins. Of
/// more file calls than `calls_at_most`, some of a rank are taken as one.
///
/// Returns {"runtime_ns", "together": calls of a rank that were taken as one, "repeated": model
/// steps that took what those before them took, "balance": mean over largest share of the grid},
/// or None where some rank would have no cell.
#[pyfunction]
#[pyo3(signature = (workload, model, *, latency, byte, eager_limit_bytes, warm=false,
                    calls_at_most=tailrace_predict::simulate::CALLS_AT_MOST))]
#[allow(clippy::too_many_arguments)] // keyword arguments of a Python function
pub(crate) fn simulate<'py>(
    py: Python<'py>,
    workload: Bound<'py, PyDict>,
    model: Option<Bound<'py, PyDict>>,
    latency: f64,
    byte: f64,
    eager_limit_bytes: i64,
    warm: bool,
    calls_at_most: i64,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let workload = self::workload(workload.extract()?)?;
    let model = model.map(|model| parameters(&model)).transpose()?;
    let network = Network { latency, byte, eager_limit_bytes };
    let conditions = Conditions { network, model: model.as_ref(), warm, calls_at_most };
    let found = py.detach(|| tailrace_predict::simulate::simulate(&workload, conditions));
    let Some(found) = found else { return Ok(None) };
    let answer = PyDict::new(py);
    answer.set_item("runtime_ns", found.runtime)?;
    answer.set_item("together", found.together)?;
    answer.set_item("repeated", found.repeated)?;
    answer.set_item("balance", tailrace_predict::simulate::balance(&workload))?;
    Ok(Some(answer))
}

/// A call on a file: its kind as in `model_times`, the file's name, offset and bytes.
pub(crate) type NamedCall = (&'static str, String, Option<i64>, u64);

pub(crate) fn named(call: FileCall, name: String) -> NamedCall {
    (kind(call.access), name, call.offset, call.bytes)
}

/// By rank, the file calls of the workload's run; None where some rank would have no cell.
#[pyfunction]
pub(crate) fn simulated_calls(
    workload: Bound<'_, PyDict>,
) -> PyResult<Option<Vec<Vec<NamedCall>>>> {
    let calls = tailrace_predict::simulate::calls(&self::workload(workload.extract()?)?);
    let named = |rank: Vec<(FileCall, String)>| {
        rank.into_iter().map(|(call, name)| named(call, name)).collect()
    };
    Ok(calls.map(|calls| calls.into_iter().map(named).collect()))
}

/// By rank, the file calls of a trace's main threads.
#[pyfunction]
pub(crate) fn recorded_calls(py: Python<'_>, path: PathBuf) -> PyResult<Vec<Vec<NamedCall>>> {
    let options = options::checked(None, None, None, None, None, None)?;
    py.detach(|| {
        let trace = tailrace_trace::open(&path)?;
        let program = tailrace_replay::program(&*trace, &options)?;
        let name = |call: &FileCall| {
            let entry = &trace.tables().files[call.file as usize];
            String::from_utf8_lossy(&entry.path).into_owned()
        };
        let of_rank =
            |calls: Vec<FileCall>| calls.into_iter().map(|call| named(call, name(&call))).collect();
        Ok(program.ranks.into_iter().map(|rank| of_rank(rank.calls)).collect())
    })
    .map_err(trace_error)
}
