//! Replays of a run with resources: what it would take with another file system, or at another
//! pace.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tailrace_predict::simulate::Network;
use tailrace_predict::{
    Ahead, Asked, Beyond, FileSystem, Gathering, Kept, Merged, Modelled, Moved, Outputs,
    Overlapped, Pace, Rebuilt, Renamed, Scaled, Spared, Staged, Steps,
};
use tailrace_replay::Access;
use tailrace_replay::program::FileCall;
use tailrace_trace::tables::FileEntry;

use crate::models::{kinds_of, parameters};
use crate::simulation::{NamedCall, method_of, named};
use crate::{options, trace_error};

/// What each rank of a trace did, to be taken again in another time.
///
/// `eager_limit_bytes` is that of `analyze`. `outputs`: it is also found out whose data are written,
/// for `by_method`. Raises TraceError(message, hint).
#[pyclass(module = "tailrace._engine", name = "Steps", frozen)]
pub struct RunSteps {
    steps: Steps,
    /// By rank: the node that it is on.
    nodes: Vec<u32>,
    files: Vec<FileEntry>,
    /// By file of the trace: the one of which it is another name.
    renamed: Vec<Option<u32>>,
    outputs: Option<Outputs>,
}

/// What the calls of a run took beyond what a model says of them.
#[pyclass(module = "tailrace._engine", name = "Beyond", frozen)]
pub(crate) struct CallsBeyond(Beyond);

#[pymethods]
impl RunSteps {
    #[new]
    #[pyo3(signature = (path, *, eager_limit_bytes=None, outputs=false))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        eager_limit_bytes: Option<i64>,
        outputs: bool,
    ) -> PyResult<Self> {
        let options = options::checked(eager_limit_bytes, None, None, None, None, None)?;
        py.detach(|| {
            let trace = tailrace_trace::open(&path)?;
            let tables = trace.tables();
            let (nodes, files) = (tailrace_predict::nodes(tables), tables.files.clone());
            let steps = tailrace_predict::steps(&*trace, options.eager_limit_bytes)?;
            let outputs = outputs.then(|| Outputs::of(&*trace, &steps)).transpose()?;
            let renamed = tailrace_predict::renamed(tables, &steps);
            Ok(Self { steps, nodes, files, renamed, outputs })
        })
        .map_err(trace_error)
    }

    /// What the run took, ns. Steps that are taken as measured take as long.
    #[getter]
    fn runtime_ns(&self) -> i64 {
        self.steps.runtime
    }

    #[getter]
    fn ranks(&self) -> usize {
        self.nodes.len()
    }

    /// Whether anything is read of the files in the directory or below it; of all where there is
    /// none.
    #[pyo3(signature = (directory=None))]
    fn reads(&self, directory: Option<PathBuf>) -> bool {
        let are_below = self.are_below(directory.as_deref());
        let mut calls = self.steps.calls();
        calls.any(|call| {
            call.access == Access::Read && call.bytes > 0 && are_below[call.file as usize]
        })
    }

    /// How many of the trace's files lie in the directory or below it.
    fn files_below(&self, directory: PathBuf) -> usize {
        let below = tailrace_predict::files_below(&self.files, &directory);
        below.into_iter().filter(|is_below| *is_below).count()
    }

    /// What a write takes by itself, ns; None where nothing is written.
    fn write_call_ns(&self) -> Option<f64> {
        tailrace_predict::by_itself(self.steps.calls(), Access::Write)
    }

    /// What a read takes by itself, ns; None where nothing is read.
    fn read_call_ns(&self) -> Option<f64> {
        tailrace_predict::by_itself(self.steps.calls(), Access::Read)
    }

    /// Whether writes are of sizes that tell what one takes by itself from its bytes; None where
    /// nothing is written.
    fn tells_writes(&self) -> Option<bool> {
        tailrace_predict::are_apart(self.steps.calls())
    }

    /// What waits in MPI take beyond what they are for, ns: what a quarter of them takes at most,
    /// half, and three quarters; None where there are too few.
    fn transfers_ns(&self) -> Option<[i64; 3]> {
        self.steps.transfers()
    }

    /// By rank: its file calls in the order in which it makes them.
    fn calls(&self) -> Vec<Vec<NamedCall>> {
        let name =
            |file: u32| String::from_utf8_lossy(&self.files[file as usize].path).into_owned();
        let of_rank = |calls: Vec<_>| {
            calls.into_iter().map(|call: FileCall| named(call, name(call.file))).collect()
        };
        self.steps.calls_made().into_iter().map(of_rank).collect()
    }

    /// What each rank would do that writes by another method, to be replayed on a model: calls that
    /// it does not make as measured take no time otherwise. `method` is that of `simulate`, or
    /// None: as each output was made, but where each rank wrote its own or several wrote for others,
    /// which stay. `latency`, `byte` and `eager_limit_bytes` are those of `simulate`; `aggregators`:
    /// so many ranks write, otherwise one a node; `piece_bytes`: where it is not known which bytes
    /// of a file are a rank's they lie in pieces of so many, otherwise in one; `by_calls`: each of these
    /// is written by a call of its own, by independent output; `kept_bytes`: of a
    /// variable in chunks that one rank writes by netCDF-4 so many stay until the file is closed; only
    /// files below `directory` are written by it, where one is given; `ranks_per_node` is that of `replay`.
    ///
    /// Returns the steps and {"bytes": so many are written by the method, "unplaced_bytes": of which
    /// it is not known where they lie, "by_one_call_bytes": of which each rank writes its pieces by one
    /// call of MPI-IO, "apart_bytes": that several ranks wrote who cannot be told to
    /// write together, and so stay, "kept_bytes": that stay until the file is closed}; None if ranks would then wait for each other in a circle.
    /// Raises ValueError for steps without `outputs`.
    #[pyo3(signature = (method, *, latency, byte, eager_limit_bytes, aggregators=None,
                        piece_bytes=None, by_calls=false, kept_bytes=0, directory=None, ranks_per_node=None))]
    #[allow(clippy::too_many_arguments)] // keyword arguments of a Python method
    fn by_method<'py>(
        &self,
        py: Python<'py>,
        method: Option<&str>,
        latency: f64,
        byte: f64,
        eager_limit_bytes: i64,
        aggregators: Option<u32>,
        piece_bytes: Option<i64>,
        by_calls: bool,
        kept_bytes: i64,
        directory: Option<PathBuf>,
        ranks_per_node: Option<NonZeroU32>,
    ) -> PyResult<Option<(Self, Bound<'py, PyDict>)>> {
        let Some(outputs) = &self.outputs else {
            return Err(PyValueError::new_err("these steps were made without outputs"));
        };
        let network = Network { latency, byte, eager_limit_bytes };
        let piece_bytes = piece_bytes.unwrap_or(i64::MAX).max(1);
        let method = method.map(method_of).transpose()?;
        let asked = Asked { method, aggregators, network, piece_bytes, by_calls, kept_bytes };
        let moves = self.are_below(directory.as_deref());
        let nodes = self.nodes_of(ranks_per_node);
        let rebuilt = py.detach(|| outputs.by(&asked, &self.steps, &nodes, &self.files, &moves));
        let Some(rebuilt) = rebuilt else { return Ok(None) };
        let told = PyDict::new(py);
        told.set_item("bytes", rebuilt.told.bytes)?;
        told.set_item("unplaced_bytes", rebuilt.told.unplaced)?;
        told.set_item("by_one_call_bytes", rebuilt.told.by_one_call)?;
        told.set_item("apart_bytes", rebuilt.told.apart)?;
        told.set_item("kept_bytes", rebuilt.told.kept)?;
        let Rebuilt { steps, files, .. } = rebuilt;
        let (nodes, renamed) = (self.nodes.clone(), self.renamed.clone());
        Ok(Some((Self { steps, nodes, files, renamed, outputs: None }, told)))
    }

    /// What the run's calls took beyond what `model` says, which is of the file system that they
    /// were made on: those that move no data, on files below `directory`. `warm` is that of `replay`.
    /// `waits`: what they took longer while their rank would have waited for others stays as well.
    #[pyo3(signature = (model, directory, *, warm=false, waits=true))]
    fn beyond(
        &self,
        py: Python<'_>,
        model: Bound<'_, PyDict>,
        directory: PathBuf,
        warm: bool,
        waits: bool,
    ) -> PyResult<CallsBeyond> {
        let parameters = parameters(&model)?;
        let files = self.are_below(Some(&directory));
        Ok(py.detach(|| {
            let mut modelled = Modelled::new(&parameters, &self.nodes, warm);
            let mut renamed = Renamed { under: &mut modelled, of: &self.renamed };
            CallsBeyond(Beyond::of(&self.steps, &mut renamed, &files, waits))
        }))
    }

    /// Takes them so many times as slowly as measured (0: in no time): time outside of calls, what
    /// waits in MPI take beyond what they are for, MPI that waits for nobody, and in files calls
    /// that move bytes and all others. `model`: file calls take what a model says instead (see
    /// `model_times`), but only those on files below `directory`, where one is given; `warm`: its
    /// clients know all files when the run begins; every node has `ranks_per_node` ranks, in their
    /// order, and not those that it had. `beyond`: those calls of the run take so many times what they
    /// took beyond the model. `staged`: what is written to those files goes to the file
    /// system of this model first, and from there to where it goes. `spared`: calls of these kinds are not made, on
    /// the files of that path, or on all, but by that rank, if one is given. `merged`: writes that follow one another are gathered up
    /// to so many bytes, which costs so many ns a byte, and saves for each write but the first of
    /// those that are made together so many ns (see `write_call_ns`). `ahead`: likewise reads
    /// (`read_call_ns`). `overlapped`: file calls but reads are made beside the rank, which copies what it writes, in so many ns a byte.
    ///
    /// Returns {"runtime_ns"}, "worked_ns": what client and servers of the model take of processors,
    /// and by rank the list "useful_ns".
    #[pyo3(signature = (*, useful=1.0, network=1.0, mpi=1.0, bytes=1.0, others=1.0, model=None,
                        directory=None, warm=false, ranks_per_node=None, beyond=None, staged=None,
                        spared=None, merged=None, ahead=None, overlapped=None))]
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
        ranks_per_node: Option<NonZeroU32>,
        beyond: Option<(Py<CallsBeyond>, f64)>,
        staged: Option<Bound<'py, PyDict>>,
        spared: Option<(Vec<String>, Option<PathBuf>, Option<u32>)>,
        merged: Option<(u64, f64, f64)>,
        ahead: Option<(u64, f64, f64)>,
        overlapped: Option<f64>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let of = |model: Bound<'py, PyDict>| parameters(&model);
        let (target, near) = (model.map(of).transpose()?, staged.map(of).transpose()?);
        let spared = spared.map(|(kinds, file, by)| Ok::<_, PyErr>((kinds_of(&kinds)?, file, by)));
        let spared = spared.transpose()?;
        let pace = Pace { useful, network, mpi, io: others };
        let (replayed, worked) = py.detach(|| {
            let nodes = self.nodes_of(ranks_per_node);
            let mut scaled = Scaled { bytes, others };
            let mut modelled = target.as_ref().map(|p| Modelled::new(p, &nodes, warm));
            let (mut named, mut both);
            let mut under: &mut dyn FileSystem = &mut scaled;
            if let Some(modelled) = &mut modelled {
                let moves = self.are_below(directory.as_deref());
                named = Renamed { under: modelled, of: &self.renamed };
                both = Moved { to: &mut named, from: under, moves };
                under = &mut both;
            }
            let mut kept;
            if let Some((beyond, scale)) = &beyond {
                kept = Kept::new(under, &beyond.get().0, &self.steps, *scale);
                under = &mut kept;
            }
            let mut near = near.as_ref().map(|p| Modelled::new(p, &nodes, false));
            let mut by_way_of;
            if let Some(near) = &mut near {
                let staged = self.are_below(directory.as_deref());
                by_way_of = Staged::new(near, under, &nodes, staged);
                under = &mut by_way_of;
            }
            let mut without;
            if let Some((kinds, file, by)) = &spared {
                let files = self.are_below(file.as_deref());
                without = Spared { under, kinds: *kinds, files, by: *by };
                under = &mut without;
            }
            let mut gathers;
            if let Some((size, copy, call)) = merged {
                gathers = Merged::new(under, Gathering { size, copy, call });
                under = &mut gathers;
            }
            let mut reads_ahead;
            if let Some((size, copy, call)) = ahead {
                reads_ahead = Ahead::new(under, Gathering { size, copy, call });
                under = &mut reads_ahead;
            }
            let mut beside;
            if let Some(copy) = overlapped {
                beside = Overlapped::new(under, copy, self.nodes.len());
                under = &mut beside;
            }
            let replayed = tailrace_predict::replay(&self.steps, pace, under);
            (replayed, modelled.map_or(0, |modelled| modelled.worked()))
        });
        let answer = PyDict::new(py);
        answer.set_item("runtime_ns", replayed.runtime())?;
        answer.set_item("worked_ns", worked)?;
        let useful: Vec<i64> = replayed.ranks.iter().map(|rank| rank.useful).collect();
        answer.set_item("useful_ns", useful)?;
        Ok(answer)
    }

    /// The run time, ns, at each of these paces: `useful`, `network`, `mpi`, `bytes` and `others`
    /// of `replay`.
    fn run_times_ns(&self, py: Python<'_>, paces: Vec<[f64; 5]>) -> Vec<i64> {
        let at = |[useful, network, mpi, bytes, others]: [f64; 5]| {
            (Pace { useful, network, mpi, io: others }, Scaled { bytes, others })
        };
        let paces: Vec<_> = paces.into_iter().map(at).collect();
        py.detach(|| tailrace_predict::run_times(&self.steps, &paces))
    }
}

impl RunSteps {
    /// By rank: its node, as it was or with so many ranks on each.
    fn nodes_of(&self, ranks_per_node: Option<NonZeroU32>) -> Vec<u32> {
        match ranks_per_node {
            Some(each) => (0..self.nodes.len() as u32).map(|rank| rank / each).collect(),
            None => self.nodes.clone(),
        }
    }

    /// By file: whether it is `path`, or below it; all are where there is none.
    fn are_below(&self, path: Option<&Path>) -> Vec<bool> {
        match path {
            Some(path) => tailrace_predict::files_below(&self.files, path),
            None => vec![true; self.files.len()],
        }
    }
}
