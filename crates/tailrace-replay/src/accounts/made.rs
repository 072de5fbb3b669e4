//! What the calls of a shape mean for the routines that they are made from.

use tailrace_trace::event::{Envelope, Flow, Layer, Operation, Part, Progress, Shape};

use crate::steps::{Course, Line};

/// What is received by a call that is more than a token, and more than a sum or a maximum.
const TOKEN_BYTES: u64 = 64;
const SUM_BYTES: u64 = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// No call, but how many there were.
    Count,
    File,
    /// On what is no file system.
    Elsewhere,
    Mpi,
    MpiIo,
}

/// What counts of a shape.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub place: u32,
    pub part: Part,
    pub kind: Kind,
    /// It gets data from another rank.
    pub receives: bool,
    /// It reads (0) or writes (1) some bytes.
    pub way: Option<usize>,
    pub bytes: u64,
}

impl Call {
    pub(crate) fn new(shape: &Shape, line: &Line, places: usize) -> Self {
        let step = &line.step;
        let kind = match step.course {
            _ if counts(&shape.operation) => Kind::Count,
            Course::Local if step.io => Kind::Elsewhere,
            _ if step.io => Kind::File,
            _ if step.layer == Layer::Mpi => Kind::Mpi,
            _ => Kind::MpiIo,
        };
        Self {
            place: if (shape.place as usize) < places { shape.place } else { 0 },
            part: shape.part,
            kind,
            receives: receives(&shape.operation),
            way: step.access.direction().filter(|_| kind == Kind::File && step.bytes > 0),
            bytes: step.bytes,
        }
    }
}

fn counts(operation: &Operation) -> bool {
    matches!(operation, Operation::Buffered(_) | Operation::Counted { .. })
}

/// Whether a call gets data from another rank.
fn receives(operation: &Operation) -> bool {
    let data =
        |envelope: &Envelope| envelope.peer != Envelope::NOBODY && envelope.bytes > TOKEN_BYTES;
    match operation {
        Operation::Receive { envelope, progress, .. }
        | Operation::SendReceive { receive: envelope, progress, .. } => {
            *progress != Progress::Persistent && data(envelope)
        }
        Operation::Start { .. } | Operation::Collective { flow: Flow::Neighbours, .. } => true,
        Operation::Collective { flow: Flow::All, bytes_received, .. } => {
            *bytes_received > SUM_BYTES
        }
        Operation::OneSided { bytes, .. } => *bytes > TOKEN_BYTES,
        _ => false,
    }
}
