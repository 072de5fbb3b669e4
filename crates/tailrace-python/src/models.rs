//! Models of file systems, as the engine takes them, and what they say of calls.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tailrace_predict::{
    FileSystem, Granularity, Locks, Modelled, Parameters, Processors, Rereads, Servers, served,
};
use tailrace_replay::Access;
use tailrace_replay::program::{FileCall, Naming};

/// What the calls of one process take by a model, one after another, ns: each is (kind, file,
/// offset, bytes), the kind one of "read", "write", "open", "close", "look_up", "synchronize",
/// "lock", "truncate", "other", "create", an open that makes the file, or "attributes".
///
/// The model's keys are those of `Parameters` in the crate tailrace-predict: "calls" by kind,
/// "cached_read", "scattered_write", "synchronize_clean", "sent_write", "sent_scattered_write" and
/// "arrival" in ns; "copy", "cached", "write" and "read" in ns a byte; "write_behind" in bytes;
/// "room_by_file" and "end_drains" bool; "drains" and "behind_writes" lists of kinds; "rereads"
/// "never", "while_open" or "always". They may be left out: "create", "attributes",
/// "shared_write", "shared_write_queued", "arrival_beside" and "arrival_among" in ns; "cores", a number;
/// "stays" bool; "link" in ns a byte; "servers",
/// {"count", "stripe_bytes", "stripe_count"}; "bucket" in bytes; "locks", {"granularity": "file", "object" or
/// bytes, "hand_over" in ns}; "metadata" in ns a call, "lock_after_write" and
/// "lock_after_write_unwaited" in ns, "whole_pages" bool;
/// "processors", by the names of `Processors`, in ns of a processor.
/// Raises KeyError, TypeError and ValueError for others.
#[pyfunction]
pub(crate) fn model_times(model: Bound<'_, PyDict>, calls: Vec<Call>) -> PyResult<Vec<i64>> {
    let parameters = parameters(&model)?;
    let mut files = Modelled::new(&parameters, &[0], false);
    let mut now = 0;
    let mut time = |call: &Call| {
        let begin = now;
        now = files.end(0, begin, &FileCall { begin, end: begin, ..file_call(call)? });
        Ok(now - begin)
    };
    calls.iter().map(&mut time).collect()
}

/// (kind, file, offset, bytes)
type Call = (String, u32, i64, u64);

/// Where it stands in time is not known yet.
fn file_call((kind, file, offset, bytes): &Call) -> PyResult<FileCall> {
    let (access, naming) = match kind.as_str() {
        "create" => (Access::Open, Naming::Made),
        // renames and removes
        "other" => (Access::Other, Naming::Gone),
        "attributes" => (Access::Other, Naming::Stays),
        other => (access(other)?, Naming::Stays),
    };
    let offset = access.direction().map(|_| *offset);
    let (file, bytes, after_wait) = (*file, *bytes, false);
    Ok(FileCall { begin: 0, end: 0, access, naming, file, bytes, offset, after_wait })
}

/// When each rank is done with its calls by a model, ns: lists of calls as in `model_times`, and by
/// rank the node. Ranks take turns: whoever is earliest makes its next call.
#[pyfunction]
#[pyo3(signature = (model, nodes, ranks, *, warm=false))]
pub(crate) fn model_ends(
    py: Python<'_>,
    model: Bound<'_, PyDict>,
    nodes: Vec<u32>,
    ranks: Vec<Vec<Call>>,
    warm: bool,
) -> PyResult<Vec<i64>> {
    if nodes.len() != ranks.len() {
        return Err(PyValueError::new_err("each rank is on a node"));
    }
    let parameters = parameters(&model)?;
    let calls: Vec<Vec<FileCall>> =
        ranks.iter().map(|calls| calls.iter().map(file_call).collect()).collect::<PyResult<_>>()?;
    Ok(py.detach(|| served(&mut Modelled::new(&parameters, &nodes, warm), &calls)))
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

pub(crate) fn kinds_of(names: &[String]) -> PyResult<[bool; Access::KINDS]> {
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
        create: optional(model, "create", |time| time.extract())?
            .unwrap_or(costs[Access::Open as usize]),
        attributes: optional(model, "attributes", |time| time.extract())?
            .unwrap_or(costs[Access::Other as usize]),
        cached_read: number("cached_read")?,
        scattered_write: number("scattered_write")?,
        synchronize_clean: number("synchronize_clean")?,
        lock_after_write: optional(model, "lock_after_write", |time| time.extract())?.unwrap_or(0.),
        lock_after_write_unwaited: optional(model, "lock_after_write_unwaited", |time| {
            time.extract()
        })?
        .unwrap_or(0.),
        sent_write: number("sent_write")?,
        sent_scattered_write: number("sent_scattered_write")?,
        shared_write: optional(model, "shared_write", |time| time.extract())?.unwrap_or(0.),
        shared_write_queued: optional(model, "shared_write_queued", |time| time.extract())?
            .unwrap_or(0.),
        arrival: number("arrival")?,
        arrival_beside: optional(model, "arrival_beside", |time| time.extract())?
            .map_or_else(|| number("arrival"), Ok)?,
        arrival_among: optional(model, "arrival_among", |time| time.extract())?
            .map_or_else(|| number("arrival"), Ok)?,
        cores: optional(model, "cores", |count| count.extract())?,
        copy: number("copy")?,
        cached: number("cached")?,
        write: number("write")?,
        read: number("read")?,
        write_behind: number("write_behind")?,
        room_by_file: flag("room_by_file")?,
        stays: optional(model, "stays", |given| given.extract())?.unwrap_or(false),
        drains: kinds("drains")?,
        end_drains: flag("end_drains")?,
        behind_writes: kinds("behind_writes")?,
        rereads,
        whole_pages: optional(model, "whole_pages", |given| given.extract())?.unwrap_or(false),
        link: optional(model, "link", |link| link.extract())?.unwrap_or(0.),
        servers: optional(model, "servers", |given| servers(&given))?,
        bucket: optional(model, "bucket", |bytes| bytes.extract())?.unwrap_or(0.),
        locks: optional(model, "locks", |given| locks(&given))?,
        metadata: optional(model, "metadata", |time| time.extract())?.unwrap_or(0.),
        processors: optional(model, "processors", |given| processors(&given))?
            .unwrap_or(Processors::NONE),
    })
}

/// None where the key is not there, or None.
fn optional<'py, T>(
    model: &Bound<'py, PyDict>,
    name: &str,
    take: impl FnOnce(Bound<'py, PyAny>) -> PyResult<T>,
) -> PyResult<Option<T>> {
    model.get_item(name)?.filter(|value| !value.is_none()).map(take).transpose()
}

fn servers(given: &Bound<'_, PyAny>) -> PyResult<Servers> {
    Ok(Servers {
        count: given.get_item("count")?.extract()?,
        stripe_bytes: given.get_item("stripe_bytes")?.extract()?,
        stripe_count: given.get_item("stripe_count")?.extract()?,
    })
}

fn processors(given: &Bound<'_, PyAny>) -> PyResult<Processors> {
    let number = |name: &str| given.get_item(name)?.extract::<f64>();
    Ok(Processors {
        write: number("write")?,
        scattered_write: number("scattered_write")?,
        read: number("read")?,
        lock: number("lock")?,
        call: number("call")?,
        written_byte: number("written_byte")?,
        read_byte: number("read_byte")?,
    })
}

fn locks(given: &Bound<'_, PyAny>) -> PyResult<Locks> {
    let granularity = given.get_item("granularity")?;
    let granularity = match granularity.extract::<String>().as_deref() {
        Ok("file") => Granularity::File,
        Ok("object") => Granularity::Object,
        Ok(other) => return Err(PyValueError::new_err(format!("no lock is of {other:?}"))),
        Err(_) => Granularity::Bytes(granularity.extract()?),
    };
    Ok(Locks { granularity, hand_over: given.get_item("hand_over")?.extract()? })
}
