//! The calls of a trace as an Arrow stream: batches made while they are asked for, so that memory
//! does not grow with the trace.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};

use arrow_array::RecordBatchReader;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator};
use arrow_schema::ArrowError;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use tailrace_trace::calls::{Calls, Selection};
use tailrace_trace::{Trace, TraceError};

use crate::call_columns::{CallColumns, Names, schema};
use crate::trace_error;

const ROWS_PER_BATCH: usize = 1 << 16;
/// Batches that are made ahead.
const AHEAD: usize = 2;

/// The calls of a trace, or those of a stretch, of ranks, of a file; read anew each time they are
/// asked for, in the order of rank, thread and end of the call.
///
/// `begin_ns` and `end_ns` count from the begin of the analysed part of the run: a call is listed
/// that touches the stretch. `ranks`: numbers of ranks. `file`: a path as the trace has it.
/// Raises TraceError(message, hint), ValueError for a rank or a file that the trace does not have.
#[pyclass(module = "tailrace._engine", name = "Calls", frozen)]
pub struct TraceCalls {
    path: PathBuf,
    begin_ns: Option<i64>,
    end_ns: Option<i64>,
    ranks: Option<Vec<u32>>,
    file: Option<Vec<u8>>,
    trace: OnceLock<Arc<dyn Trace>>,
}

#[pymethods]
impl TraceCalls {
    #[new]
    #[pyo3(signature = (path, *, begin_ns=None, end_ns=None, ranks=None, file=None))]
    fn new(
        path: PathBuf,
        begin_ns: Option<i64>,
        end_ns: Option<i64>,
        ranks: Option<Vec<u32>>,
        file: Option<Vec<u8>>,
    ) -> Self {
        Self { path, begin_ns, end_ns, ranks, file, trace: OnceLock::new() }
    }

    /// How many there are; counted by reading them.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        let trace = self.trace(py)?;
        let selection = self.selection(&*trace)?;
        py.detach(|| count(&*trace, selection)).map_err(trace_error)
    }

    /// The Arrow PyCapsule interface. A schema that is asked for is the consumer's to cast to.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let trace = self.trace(py)?;
        let selection = self.selection(&*trace)?;
        let stream = FFI_ArrowArrayStream::new(batches(trace, selection));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

impl TraceCalls {
    fn trace(&self, py: Python<'_>) -> PyResult<Arc<dyn Trace>> {
        if let Some(trace) = self.trace.get() {
            return Ok(trace.clone());
        }
        let opened = py.detach(|| tailrace_trace::open(&self.path)).map_err(trace_error)?;
        Ok(self.trace.get_or_init(|| Arc::from(opened)).clone())
    }

    fn selection(&self, trace: &dyn Trace) -> PyResult<Selection> {
        let tables = trace.tables();
        let origin = tables.window.map_or(0, |window| window.begin_ns);
        if let Some(rank) = self.ranks.iter().flatten().find(|rank| **rank >= tables.ranks) {
            let last = tables.ranks.saturating_sub(1);
            return Err(PyValueError::new_err(format!("ranks must be 0 to {last}, not {rank}")));
        }
        let files = self.file.as_ref().map(|path| {
            let files = tables.files.iter().enumerate();
            let files = files.filter(|(_, file)| file.path == *path);
            files.map(|(index, _)| index as u32).collect::<Vec<_>>()
        });
        if files.as_ref().is_some_and(Vec::is_empty) {
            return Err(PyValueError::new_err("the trace has no file of that path"));
        }
        let moment = |ns: i64| ns.saturating_add(origin);
        Ok(Selection {
            begin_ns: self.begin_ns.map(moment),
            end_ns: self.end_ns.map(moment),
            ranks: self.ranks.clone(),
            files,
        })
    }
}

fn count(trace: &dyn Trace, selection: Selection) -> Result<usize, TraceError> {
    let mut calls = Calls::new(trace, selection);
    let mut count = 0;
    while calls.next_call()?.is_some() {
        count += 1;
    }
    Ok(count)
}

/// A thread reads the trace and is paused while nobody takes its batches; it ends when the stream
/// is released.
fn batches(trace: Arc<dyn Trace>, selection: Selection) -> Box<dyn RecordBatchReader + Send> {
    let names = Names::new(trace.tables());
    let (to, from): (_, Receiver<Result<RecordBatch, ArrowError>>) = sync_channel(AHEAD);
    std::thread::spawn(move || {
        if let Err(error) = send(&*trace, selection, &names, &to) {
            let _ = to.send(Err(ArrowError::ExternalError(Box::new(error))));
        }
    });
    Box::new(RecordBatchIterator::new(from, schema()))
}

fn send(
    trace: &dyn Trace,
    selection: Selection,
    names: &Names,
    to: &SyncSender<Result<RecordBatch, ArrowError>>,
) -> Result<(), TraceError> {
    let mut calls = Calls::new(trace, selection);
    let mut columns = CallColumns::default();
    loop {
        let call = calls.next_call()?;
        if let Some(call) = &call {
            columns.push(trace.tables(), call);
        }
        let full = columns.len() == ROWS_PER_BATCH || (call.is_none() && columns.len() > 0);
        let released = full && to.send(columns.batch(names)).is_err();
        if call.is_none() || released {
            return Ok(());
        }
    }
}
