//! The calls of a trace one by one, whole: what a table of calls lists.

use crate::event::{Envelope, Event, FileCall, Flow, OneSided, Operation, Part, Shape, Token};
use crate::offsets::Follower;
use crate::{Batch, EventStream, Trace, TraceError};

/// A call from begin to end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Index into the trace's locations.
    pub location: u32,
    /// Index into the trace's functions.
    pub function: u16,
    /// How many calls of the same thread are around it.
    pub depth: u32,
    /// Nanoseconds since the trace's origin.
    pub begin_ns: i64,
    pub end_ns: i64,
    /// Index into the trace's files.
    pub file: Option<u32>,
    /// Where in the file it reads or writes.
    pub offset: Option<i64>,
    pub bytes: Option<u64>,
    /// World rank of the other side, of a collective's root, or of the target of a window's lock.
    pub peer: Option<u32>,
    pub tag: Option<i32>,
    /// Of a call that sends and receives: from whom, where `peer` and `tag` are those of the send.
    pub source: Option<u32>,
    pub source_tag: Option<i32>,
    /// Index into the trace's communicators.
    pub communicator: Option<u32>,
    /// World ranks: those that an epoch of a window is opened for, or from which a neighbourhood
    /// collective receives.
    pub peers: Vec<u32>,
    /// Which window of the communicator's, of one-sided calls.
    pub window: Option<u32>,
    /// Whether a window's lock excludes all others.
    pub exclusive: Option<bool>,
    /// The request that it starts or prepares.
    pub request: Option<RequestId>,
    /// The requests that it completes.
    pub completes: Vec<RequestId>,
    /// The requests that it starts again, cancels, frees, or makes a part of ready.
    pub acts_on: Vec<RequestId>,
}

/// Names a request in all of the run.
pub type RequestId = u64;

fn request_id(token: Token) -> RequestId {
    u64::from(token.location) << 40 | token.number & ((1 << 40) - 1)
}

/// Which calls are wanted.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Calls that touch this stretch, nanoseconds since the trace's origin.
    pub begin_ns: Option<i64>,
    pub end_ns: Option<i64>,
    /// Ranks; all where there is none.
    pub ranks: Option<Vec<u32>>,
    /// Files, by index; all calls where there is none.
    pub files: Option<Vec<u32>>,
}

impl Selection {
    fn touches(&self, begin_ns: i64, end_ns: i64) -> bool {
        let begins_before = self.end_ns.is_none_or(|end| begin_ns < end);
        let ends_after = self.begin_ns.is_none_or(|begin| end_ns > begin || begin_ns >= begin);
        begins_before && ends_after
    }

    fn wants(&self, call: &Call) -> bool {
        let file_wanted = |files: &Vec<u32>| call.file.is_some_and(|file| files.contains(&file));
        self.touches(call.begin_ns, call.end_ns) && self.files.as_ref().is_none_or(file_wanted)
    }
}

/// Calls location by location; those of one location in the order in which they end. Memory holds
/// one batch of events and the calls that are open.
pub struct Calls<'a> {
    trace: &'a dyn Trace,
    selection: Selection,
    locations: Vec<usize>,
    /// How many of `locations` are done or under way.
    begun: usize,
    stream: Option<Box<dyn EventStream + Send + 'a>>,
    batch: Batch,
    taken: usize,
    /// Begin of each open call.
    open: Vec<i64>,
    /// Requests of the location so far.
    requests: u64,
    follower: Follower,
}

impl<'a> Calls<'a> {
    pub fn new(trace: &'a dyn Trace, selection: Selection) -> Self {
        let wanted = |rank: u32| selection.ranks.as_ref().is_none_or(|ranks| ranks.contains(&rank));
        let locations = trace.tables().locations.iter().enumerate();
        let locations = locations.filter(|(_, location)| wanted(location.rank));
        Self {
            trace,
            locations: locations.map(|(index, _)| index).collect(),
            selection,
            begun: 0,
            stream: None,
            batch: Batch::default(),
            taken: 0,
            open: Vec::new(),
            requests: 0,
            follower: Follower::default(),
        }
    }

    /// The next call; `None` after the last.
    ///
    /// # Errors
    /// Where the file is damaged.
    pub fn next_call(&mut self) -> Result<Option<Call>, TraceError> {
        loop {
            while let Some(event) = self.batch.events.get(self.taken).copied() {
                self.taken += 1;
                if self.is_past(&event) {
                    self.stream = None;
                    break;
                }
                if let Some(call) = self.take(event).filter(|call| self.selection.wants(call)) {
                    return Ok(Some(call));
                }
            }
            if !self.next_batch()? {
                return Ok(None);
            }
        }
    }

    /// Nothing that the location does from here on is wanted.
    fn is_past(&self, event: &Event) -> bool {
        self.open.is_empty() && self.selection.end_ns.is_some_and(|end| event.begin >= end)
    }

    fn next_batch(&mut self) -> Result<bool, TraceError> {
        self.taken = 0;
        loop {
            if let Some(stream) = &mut self.stream
                && stream.next_batch(&mut self.batch)?
            {
                return Ok(true);
            }
            self.batch.clear();
            let Some(location) = self.locations.get(self.begun) else { return Ok(false) };
            self.begun += 1;
            self.stream = Some(self.trace.events(*location));
            self.open.clear();
            self.requests = 0;
            self.follower = Follower::default();
        }
    }

    fn take(&mut self, event: Event) -> Option<Call> {
        let shape = &self.batch.shapes[event.shape as usize];
        let Shape { part, function, operation, .. } = shape;
        let location = self.locations[self.begun - 1] as u32;
        let request = shape.takes_number().then(|| {
            self.requests += 1;
            request_id(Token { location, number: self.requests - 1 })
        });
        if matches!(operation, Operation::Buffered(_) | Operation::Counted { .. }) {
            return None;
        }
        let offset = match operation {
            Operation::File(call) => offset(&mut self.follower, *part, call),
            _ => None,
        };
        let begin_ns = match part {
            Part::Call => event.begin,
            Part::Enter => {
                self.open.push(event.begin);
                return None;
            }
            Part::Leave => self.open.pop()?,
        };
        let requests = operation.requests().iter().map(|token| request_id(*token)).collect();
        let (completes, acts_on) = match operation {
            Operation::Complete { .. } => (requests, Vec::new()),
            _ => (Vec::new(), requests),
        };
        let OtherSide { peer, tag, source, source_tag, communicator } = other_side(operation);
        let (window, exclusive) = of_window(operation);
        Some(Call {
            location,
            function: *function,
            depth: self.open.len() as u32,
            begin_ns,
            end_ns: event.end,
            file: operation.file().map(|call| call.file),
            offset,
            bytes: operation.bytes(),
            peer,
            tag,
            source,
            source_tag,
            communicator,
            peers: self.peers(location, operation),
            window,
            exclusive,
            request,
            completes,
            acts_on,
        })
    }

    fn peers(&self, location: u32, operation: &Operation) -> Vec<u32> {
        let tables = self.trace.tables();
        match operation {
            Operation::OneSided {
                kind: OneSided::Post(ranks) | OneSided::Start(ranks), ..
            } => ranks.clone(),
            Operation::Collective { communicator, flow: Flow::Neighbours, .. } => {
                let rank = tables.locations[location as usize].rank;
                let neighbours = tables.neighbours.get(&(*communicator, rank));
                neighbours.map(|ranks| ranks.to_vec()).unwrap_or_default()
            }
            _ => Vec::new(),
        }
    }
}

/// Which window a one-sided call is about, and whether its lock is exclusive.
fn of_window(operation: &Operation) -> (Option<u32>, Option<bool>) {
    let Operation::OneSided { kind, window, .. } = operation else { return (None, None) };
    let exclusive = match kind {
        OneSided::Lock { exclusive, .. } => Some(*exclusive),
        _ => None,
    };
    (Some(*window), exclusive)
}

fn offset(follower: &mut Follower, part: Part, call: &FileCall) -> Option<i64> {
    let distance = call.offset?;
    Some(match part {
        Part::Enter => follower.offset_within(call.file, distance),
        Part::Call | Part::Leave => follower.offset(call.file, distance, call.bytes),
    })
}

/// With whom a call has to do, and where.
#[derive(Default)]
struct OtherSide {
    peer: Option<u32>,
    tag: Option<i32>,
    source: Option<u32>,
    source_tag: Option<i32>,
    communicator: Option<u32>,
}

fn other_side(operation: &Operation) -> OtherSide {
    let tag = |envelope: &Envelope| (envelope.tag >= 0).then_some(envelope.tag);
    let side = |envelope: &Envelope| OtherSide {
        peer: known(envelope.peer),
        tag: tag(envelope),
        communicator: Some(envelope.communicator),
        ..OtherSide::default()
    };
    let of_all = |communicator, peer| OtherSide { peer, communicator, ..OtherSide::default() };
    match operation {
        Operation::SendReceive { send, receive, .. } => {
            OtherSide { source: known(receive.peer), source_tag: tag(receive), ..side(send) }
        }
        Operation::Send { envelope, .. }
        | Operation::Receive { envelope, .. }
        | Operation::Probe { envelope } => side(envelope),
        Operation::Collective { communicator, flow, .. } => {
            let root = match flow {
                Flow::FromRoot(root) | Flow::ToRoot(root) => known(*root),
                _ => None,
            };
            of_all(Some(*communicator), root)
        }
        Operation::OneSided { kind, communicator, .. } => {
            let (OneSided::Lock { target, .. }
            | OneSided::Flush { target }
            | OneSided::Unlock { target }) = kind
            else {
                return of_all(Some(*communicator), None);
            };
            of_all(Some(*communicator), *target)
        }
        Operation::CommunicatorCreation { communicator, .. } => of_all(Some(*communicator), None),
        Operation::File(call) => of_all(call.collective, None),
        _ => OtherSide::default(),
    }
}

/// No rank is negative: nobody, or a source that is not known.
fn known(peer: i32) -> Option<u32> {
    u32::try_from(peer).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryTrace;
    use crate::event::{FileKind, Layer, Progress};

    fn write(trace: &mut MemoryTrace, distance: i64, bytes: u64) -> Operation {
        let file = trace.file(b"/f", false);
        Operation::File(FileCall {
            kind: FileKind::Write,
            layer: Layer::Posix,
            file,
            bytes,
            offset: Some(distance),
            error: 0,
            collective: None,
            progress: Progress::Blocking,
            creates: false,
            appends: false,
            opaque: false,
        })
    }

    /// Rank 0: a write of 8 bytes at 100 within a call of MPI, then one that follows; rank 1: one.
    fn sample() -> MemoryTrace {
        let mut trace = MemoryTrace::new(2);
        let (outer, inner) =
            (trace.function("MPI_Wait", Layer::Mpi), trace.function("pwrite", Layer::Posix));
        let (first, second) = (write(&mut trace, 100, 8), write(&mut trace, 0, 4));
        trace.enter(0, outer, 10, Operation::Plain);
        trace.call(0, inner, 12, 15, first.clone());
        trace.leave(0, outer, 20, Operation::Plain);
        trace.call(0, inner, 30, 33, second);
        trace.call(1, inner, 40, 41, first);
        trace
    }

    fn all(trace: &MemoryTrace, selection: Selection) -> Vec<Call> {
        let mut calls = Calls::new(trace, selection);
        std::iter::from_fn(|| calls.next_call().unwrap()).collect()
    }

    #[test]
    fn calls_are_whole_and_say_where_in_the_file() {
        let calls = all(&sample(), Selection::default());
        let times = calls.iter().map(|call| (call.begin_ns, call.end_ns, call.depth));
        assert_eq!(times.collect::<Vec<_>>(), [(12, 15, 1), (10, 20, 0), (30, 33, 0), (40, 41, 0)]);
        let places = calls.iter().map(|call| (call.offset, call.bytes, call.file));
        let written = |offset, bytes| (Some(offset), Some(bytes), Some(0));
        assert_eq!(
            places.collect::<Vec<_>>(),
            [written(100, 8), (None, None, None), written(108, 4), written(100, 8)]
        );
    }

    #[test]
    fn a_stretch_holds_what_touches_it() {
        let trace = sample();
        let begins = |begin_ns, end_ns, ranks: Option<Vec<u32>>| {
            let selection = Selection { begin_ns, end_ns, ranks, files: None };
            all(&trace, selection).iter().map(|call| call.begin_ns).collect::<Vec<_>>()
        };
        assert_eq!(begins(Some(15), Some(30), None), [10]);
        assert_eq!(begins(Some(14), Some(31), None), [12, 10, 30]);
        assert_eq!(begins(None, Some(12), None), [10]);
        assert_eq!(begins(Some(20), None, Some(vec![1])), [40]);
        let files = Selection { files: Some(vec![0]), ..Selection::default() };
        assert_eq!(all(&trace, files).len(), 3);
    }
}
