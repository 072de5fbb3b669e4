//! Replays of a run with resources: what it would take with another file system, or at another
//! pace.

use std::path::{Path, PathBuf};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tailrace_predict::{
    FileSystem, Law, Merged, Modelled, Moved, Overlapped, Pace, Parameters, Rereads, Scaled,
    Spared, Steps,
};
use tailrace_replay::Access;
use tailrace_replay::program::FileCall;
use tailrace_trace::tables::FileEntry;

use crate::{options, trace_error};

/// What each rank of a trace did, to be taken again in another time.
///
/// `eager_limit_bytes` is that of `analyze`. Raises TraceError(message, hint).
#[pyclass(module = "tailrace._engine", name = "Steps", frozen)]
pub struct RunSteps {
    steps: Steps,
    /// By rank: the node that it is on.
    nodes: Vec<u32>,
    files: Vec<FileEntry>,
}

#[pymethods]
impl RunSteps {
    #[new]
    #[pyo3(signature = (path, *, eager_limit_bytes=None))]
    fn new(py: Python<'_>, path: PathBuf, eager_limit_bytes: Option<i64>) -> PyResult<Self> {
        let options = options::checked(eager_limit_bytes, None, None, None, None)?;
        py.detach(|| {
            let trace = tailrace_trace::open(&path)?;
            let tables = trace.tables();
            let (nodes, files) = (tailrace_predict::nodes(tables), tables.files.clone());
            let steps = tailrace_predict::steps(&*trace, options.eager_limit_bytes)?;
            Ok(Self { steps, nodes, files })
        })
        .map_err(trace_error)
    }

    /// What the run took, ns. Steps that are taken as measured take as long.
    #[getter]
    fn runtime_ns(&self) -> i64 {
        self.steps.runtime
    }

    /// How many of the trace's files lie in the directory or below it.
    fn files_below(&self, directory: PathBuf) -> usize {
        let below = tailrace_predict::files_below(&self.files, &directory);
        below.into_iter().filter(|is_below| *is_below).count()
    }

    /// What a write takes by itself, ns, and per byte, where writes of the trace differ enough in
    /// size to tell.
    fn write_law(&self) -> Option<(f64, f64)> {
        Law::of(self.steps.calls()).map(|law| (law.call, law.byte))
    }

    /// Takes them so many times as slowly as measured (0: in no time): time outside of calls, what
    /// waits in MPI take beyond what they are for, MPI that waits for nobody, and in files calls
    /// that move bytes and all others. `model`: file calls take what a model says instead (see
    /// `model_times`), but only those on files below `directory`, where one is given; `warm`: its
    /// clients know all files when the run begins. `spared`: calls of these kinds are not made, on
    /// the files of that path, or on all. `merged`: writes that follow one another are
    /// gathered up to so many bytes, which costs so many ns a byte, and saves for each write but
    /// the first of those that are made together so many ns (see `write_law`). `overlapped`: file calls but reads are made beside the rank, which copies
    /// what it writes, in so many ns a byte.
    ///
    /// Returns {"runtime_ns"} and by rank the list "useful_ns".
    #[pyo3(signature = (*, useful=1.0, network=1.0, mpi=1.0, bytes=1.0, others=1.0, model=None,
                        directory=None, warm=false, spared=None, merged=None, overlapped=None))]
    #[allow(clippy::too_many_arguments)] // keyword arguments of a Python method
    fn replay<'py>(
        &self,
        py: Python<'py>,
        useful: f64,
        network: f64,
        mpi: f64,
        bytes: f64,
        others: f64,
        model: Option<Bound<'py, PyDict>>,
        directory: Option<PathBuf>,
        warm: bool,
        spared: Option<(Vec<String>, Option<PathBuf>)>,
        merged: Option<(u64, f64, f64)>,
        overlapped: Option<f64>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let parameters = model.map(|model| parameters(&model)).transpose()?;
        let (kinds, spared_file) = spared.unwrap_or_default();
        let kinds = kinds_of(&kinds)?;
        let pace = Pace { useful, network, mpi, io: others };
        let replayed = py.detach(|| {
            let mut scaled = Scaled { bytes, others };
            let mut modelled = parameters.as_ref().map(|p| Modelled::new(p, &self.nodes, warm));
            let root = Path::new("/");
            let directory = directory.as_deref().unwrap_or(root);
            let moves = tailrace_predict::files_below(&self.files, directory);
            let mut both;
            let mut under: &mut dyn FileSystem = match &mut modelled {
                Some(modelled) => {
                    both = Moved { to: modelled, from: &mut scaled, moves: &moves };
                    &mut both
                }
                None => &mut scaled,
            };
            let below = spared_file.as_deref().unwrap_or(root);
            let files = tailrace_predict::files_below(&self.files, below);
            let mut without = Spared { under, kinds, files: &files };
            under = &mut without;
            let mut gathers;
            if let Some((size, copy, call)) = merged {
                gathers = Merged::new(under, size, copy, call);
                under = &mut gathers;
            }
            let Some(copy) = overlapped else {
                return tailrace_predict::replay(&self.steps, pace, under);
            };
            let mut beside = Overlapped::new(under, copy, self.nodes.len());
            tailrace_predict::replay(&self.steps, pace, &mut beside)
        });
        let answer = PyDict::new(py);
        answer.set_item("runtime_ns", replayed.runtime())?;
        let useful: Vec<i64> = replayed.ranks.iter().map(|rank| rank.useful).collect();
        answer.set_item("useful_ns", useful)?;
        Ok(answer)
    }
}

/// What the calls of one process take by a model, one after another, ns: each is (kind, file,
/// offset, bytes), the kind one of "read", "write", "open", "close", "look_up", "synchronize",
/// "lock", "truncate", "other".
///
/// The model's keys are those of `Parameters` in the crate tailrace-predict: "calls" by kind,
/// "cached_read", "scattered_write", "synchronize_clean", "sent_write", "sent_scattered_write" and "arrival" in ns; "copy", "cached", "write" and "read" in ns a byte; "write_behind" in
/// bytes; "room_by_file" and "end_drains" bool; "drains" and "behind_writes" lists of kinds; "rereads" "never", "while_open" or
/// "always". Raises KeyError, TypeError and ValueError for others.
#[pyfunction]
pub(crate) fn model_times(
    model: Bound<'_, PyDict>,
    calls: Vec<(String, u32, i64, u64)>,
) -> PyResult<Vec<i64>> {
    let parameters = parameters(&model)?;
    let mut files = Modelled::new(&parameters, &[0], false);
    let mut now = 0;
    let mut time = |(kind, file, offset, bytes): (String, u32, i64, u64)| {
        let access = access(&kind)?;
        let offset = Some(offset);
        let call = FileCall { begin: now, end: now, access, file, bytes, offset };
        let begin = now;
        now = files.end(0, begin, &call);
        Ok(now - begin)
    };
    calls.into_iter().map(&mut time).collect()
}

const KINDS: [(&str, Access); Access::KINDS] = [
    ("read", Access::Read),
    ("write", Access::Write),
    ("open", Access::Open),
    ("close", Access::Close),
    ("look_up", Access::LookUp),
    ("synchronize", Access::Synchronize),
    ("lock", Access::Lock),
    ("truncate", Access::Truncate),
    ("other", Access::Other),
];

pub(crate) fn kind(access: Access) -> &'static str {
    KINDS[access as usize].0
}

fn access(kind: &str) -> PyResult<Access> {
    let known = KINDS.iter().find(|(name, _)| *name == kind);
    known
        .map(|(_, access)| *access)
        .ok_or_else(|| PyValueError::new_err(format!("there is no kind of call {kind:?}")))
}

fn kinds_of(names: &[String]) -> PyResult<[bool; Access::KINDS]> {
    let mut kinds = [false; Access::KINDS];
    for name in names {
        kinds[access(name)? as usize] = true;
    }
    Ok(kinds)
}

pub(crate) fn parameters(model: &Bound<'_, PyDict>) -> PyResult<Parameters> {
    let number = |name: &str| model.as_any().get_item(name)?.extract::<f64>();
    let flag = |name: &str| model.as_any().get_item(name)?.extract::<bool>();
    let calls = model.as_any().get_item("calls")?;
    let mut costs = [0.; Access::KINDS];
    for (name, access) in KINDS {
        costs[access as usize] = calls.get_item(name)?.extract()?;
    }
    let kinds = |name: &str| -> PyResult<[bool; Access::KINDS]> {
        kinds_of(&model.as_any().get_item(name)?.extract::<Vec<String>>()?)
    };
    let rereads = match model.as_any().get_item("rereads")?.extract::<String>()?.as_str() {
        "never" => Rereads::Never,
        "while_open" => Rereads::WhileOpen,
        "always" => Rereads::Always,
        other => return Err(PyValueError::new_err(format!("rereads cannot be {other:?}"))),
    };
    Ok(Parameters {
        calls: costs,
        cached_read: number("cached_read")?,
        scattered_write: number("scattered_write")?,
        synchronize_clean: number("synchronize_clean")?,
        sent_write: number("sent_write")?,
        sent_scattered_write: number("sent_scattered_write")?,
        arrival: number("arrival")?,
        copy: number("copy")?,
        cached: number("cached")?,
        write: number("write")?,
        read: number("read")?,
        write_behind: number("write_behind")?,
        room_by_file: flag("room_by_file")?,
        drains: kinds("drains")?,
        end_drains: flag("end_drains")?,
        behind_writes: kinds("behind_writes")?,
        rereads,
    })
}
