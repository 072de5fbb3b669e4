//! What lies on critical paths and is waited for is read again, but for blocks of which the same
//! is asked from begin to end: the answers are those of a trace of which everything is read.

use std::sync::atomic::{AtomicUsize, Ordering};

use tailrace_replay::{Options, analyze};
use tailrace_trace::event::{
    Envelope, Event, FileCall, FileKind, Layer, Operation, Progress, SendMode, Shape,
};
use tailrace_trace::{Batch, Columns, EventStream, MemoryTrace, Tables, Trace, TraceError};

const BLOCK: usize = 5000;

/// A trace in blocks of few shapes, as packed ones are.
struct Blocks {
    tables: Tables,
    /// By location.
    events: Vec<Vec<(Event, Shape)>>,
    may_pass_over: bool,
    passed_over: AtomicUsize,
}

impl Blocks {
    fn of(trace: &MemoryTrace, may_pass_over: bool) -> Self {
        let events = |location| {
            let (mut stream, mut batch, mut all) =
                (trace.events(location), Batch::default(), Vec::new());
            while stream.next_batch(&mut batch).unwrap() {
                let shape = |event: &Event| batch.shapes[event.shape as usize].clone();
                all.extend(batch.events.iter().map(|event| (*event, shape(event))));
            }
            all
        };
        let events = (0..trace.tables().locations.len()).map(events).collect();
        let passed_over = AtomicUsize::new(0);
        Self { tables: trace.tables().clone(), events, may_pass_over, passed_over }
    }
}

impl Trace for Blocks {
    fn tables(&self) -> &Tables {
        &self.tables
    }

    fn events(&self, location: usize) -> Box<dyn EventStream + Send + '_> {
        let rest = &self.events[location][..];
        Box::new(Stream { trace: self, rest, reached: rest[0].0.begin })
    }
}

struct Stream<'a> {
    trace: &'a Blocks,
    rest: &'a [(Event, Shape)],
    reached: i64,
}

impl<'a> Stream<'a> {
    fn next(&mut self) -> &'a [(Event, Shape)] {
        let (now, rest) = self.rest.split_at(self.rest.len().min(BLOCK));
        self.rest = rest;
        now
    }
}

impl EventStream for Stream<'_> {
    fn next_batch(&mut self, batch: &mut Batch) -> Result<bool, TraceError> {
        batch.clear();
        for (event, shape) in self.next() {
            let known = batch.shapes.iter().position(|known| known == shape);
            let number = known.unwrap_or(batch.shapes.len());
            if number == batch.shapes.len() {
                batch.shapes.push(shape.clone());
            }
            batch.events.push(Event { shape: number as u32, ..*event });
        }
        Ok(!batch.events.is_empty())
    }

    fn next_columns(&mut self, columns: &mut Columns) -> Result<bool, TraceError> {
        let mut batch = Batch::default();
        let more = self.next_batch(&mut batch)?;
        columns.take_from(&batch);
        if let (Some(first), Some(last)) = (batch.events.first(), batch.events.last()) {
            columns.gaps[0] = (first.begin - self.reached) as u32;
            columns.begin_ns = std::mem::replace(&mut self.reached, last.end);
        }
        Ok(more)
    }

    fn pass_over(&mut self, end_ns: i64) -> bool {
        if !self.trace.may_pass_over {
            return false;
        }
        let passed = self.next();
        assert_eq!(passed.last().map(|(event, _)| event.end), Some(end_ns));
        self.reached = end_ns;
        self.trace.passed_over.fetch_add(1, Ordering::Relaxed);
        true
    }
}

/// One rank writes and sends to the other, which waits for it, writes and sends back: three times.
#[test]
fn passing_over_blocks_changes_no_answer() {
    let mut trace = MemoryTrace::new(2);
    let [write, send, receive] =
        [("pwrite", Layer::Posix), ("send", Layer::Mpi), ("recv", Layer::Mpi)]
            .map(|(name, layer)| trace.function(name, layer));
    let file = trace.file(b"/scratch/a", false);
    let (mode, progress) = (SendMode::Standard, Progress::Blocking);
    let call = FileCall {
        kind: FileKind::Write,
        layer: Layer::Posix,
        file,
        bytes: 8,
        offset: Some(0),
        error: 0,
        collective: None,
        progress,
        creates: false,
        appends: false,
        opaque: false,
    };
    let envelope = |peer| Envelope { communicator: 0, peer, tag: 0, bytes: 8 };
    let mut at = [0, 0];
    for turn in 0..6 {
        let (rank, other) = (turn % 2, 1 - turn % 2);
        for i in 0..17_000 + 1_000 * turn as i64 {
            let kind = if i % 5 == 0 { FileKind::Read } else { FileKind::Write };
            let call = Operation::File(FileCall { kind, ..call });
            let begin = at[rank] + 3 + i % 4;
            at[rank] = begin + 7 + i % 3;
            trace.call(rank, write, begin, at[rank], call);
        }
        let sends = Operation::Send { envelope: envelope(other as i32), mode, progress };
        trace.call(rank, send, at[rank] + 5, at[rank] + 10, sends);
        let receives =
            Operation::Receive { envelope: envelope(rank as i32), wildcard: false, progress };
        trace.call(other, receive, at[other] + 5, at[rank] + 20, receives);
        at = [at[rank] + 20; 2];
        at[rank] -= 10;
    }
    let analyses = [false, true].map(|may_pass_over| {
        let blocks = Blocks::of(&trace, may_pass_over);
        let analysis = analyze(&blocks, &Options::default(), &mut |_, _| true).unwrap();
        (analysis.dependences, blocks.passed_over.into_inner())
    });
    let [(read, none), (passed, blocks)] = analyses;
    assert!(read.paths[0].crossings > 0 && !read.causes.is_empty());
    assert_eq!(read, passed);
    assert!(none == 0 && blocks > 4, "{blocks} blocks were passed over");
}
