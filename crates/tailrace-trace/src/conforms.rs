//! The readers' promises as a check: what the tests of a new trace format call.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::columns::{EVENTS_MAX, LONG};
use crate::event::{Envelope, OneSided, Operation, Part, Shape, Token};
use crate::tables::Tables;
use crate::{Batch, Columns, EventStream, Trace, TraceError};

/// Reads all events twice and holds them against the promises on the crate's page. Returns their
/// number.
///
/// # Errors
/// Where a stream reports damage: what it yielded before has kept the promises.
///
/// # Panics
/// Where a promise is broken; the message names it.
pub fn conforms(trace: &dyn Trace) -> Result<u64, TraceError> {
    check_tables(trace.tables());
    let mut events = 0;
    for location in 0..trace.tables().locations.len() {
        let first = check_stream(trace, location, &mut |stream, batch| stream.next_batch(batch))?;
        let mut columns = Columns::default();
        let again = check_stream(trace, location, &mut |stream, batch| {
            let more = stream.next_columns(&mut columns)?;
            check_columns(&columns);
            columns.move_to(batch);
            Ok(more)
        })?;
        assert_eq!(first, again, "a stream that is opened again yields the same, as columns, too");
        events += first.events;
    }
    Ok(events)
}

fn check_tables(tables: &Tables) {
    assert_eq!(tables.counters.len(), tables.ranks as usize, "counters are by rank");
    let mut mains = vec![false; tables.ranks as usize];
    for location in &tables.locations {
        assert!(location.rank < tables.ranks, "a location belongs to a rank");
        assert!(location.begin_ns <= location.end_ns, "a thread ends after it began");
        if location.main {
            let known = std::mem::replace(&mut mains[location.rank as usize], true);
            assert!(!known, "a rank has one main location at most");
        }
    }
    assert!(tables.locations.is_sorted_by_key(|location| location.rank), "locations are by rank");
    let known = tables.renames.iter().all(|(file, _)| (*file as usize) < tables.files.len());
    assert!(known, "what is renamed is a file");
    let frames = tables.places.paths.iter().flat_map(|path| &path.frames);
    let known = frames.into_iter().all(|&frame| (frame as usize) < tables.places.frames.len());
    assert!(known, "the frames of call paths are there");
    let window = tables.window.iter().all(|window| window.begin_ns <= window.end_ns);
    assert!(window, "the window ends after it began");
}

/// What a stream came to; equal for equal streams, nearly always.
#[derive(Debug, Default, PartialEq, Eq)]
struct Account {
    events: u64,
    times: i64,
    shapes: u64,
}

fn check_columns(columns: &Columns) {
    assert!(columns.len() <= EVENTS_MAX, "columns are not longer than they may be");
    let counts = [columns.gaps.len(), columns.durations.len()];
    assert_eq!(counts, [columns.len(); 2], "columns are of one length");
    let long = |row: &usize| columns.gaps[*row] == LONG || columns.durations[*row] == LONG;
    let rows: Vec<usize> = columns.long.iter().map(|long| long.row as usize).collect();
    let expected: Vec<usize> = (0..columns.len()).filter(long).collect();
    assert_eq!(rows, expected, "long times are told of, and no others");
    let tokens_of = |shape: &u16| columns.shapes[usize::from(*shape)].tokens as usize;
    let named = columns.shape_of.iter().map(tokens_of).sum::<usize>();
    assert_eq!(named, columns.tokens.len(), "every token belongs to an event");
    let end = columns.events().last().map_or(columns.begin_ns, |event| event.end);
    assert_eq!(columns.end_ns(), end, "columns end where their last event does");
}

type Next<'a> = &'a mut dyn FnMut(&mut dyn EventStream, &mut Batch) -> Result<bool, TraceError>;

fn check_stream(trace: &dyn Trace, location: usize, next: Next) -> Result<Account, TraceError> {
    let (mut stream, mut batch) = (trace.events(location), Batch::default());
    let mut place = Place { tables: trace.tables(), location, requests: 0, open: 0 };
    let (mut account, mut last) = (Account::default(), i64::MIN);
    while next(&mut *stream, &mut batch)? {
        assert!(!batch.events.is_empty(), "a batch holds events, or the stream is over");
        for event in &batch.events {
            assert!(last <= event.begin && event.begin <= event.end, "events are in order of time");
            last = event.end;
            let shape = batch.shapes.get(event.shape as usize).expect("an event has a shape");
            place.check(shape);
            let paths = trace.tables().places.paths.len();
            assert!(shape.place as usize <= paths, "a call comes from a place that is there");
            account.events += 1;
            account.times = account.times.wrapping_mul(31).wrapping_add(event.begin ^ event.end);
            account.shapes = account.shapes.wrapping_mul(31).wrapping_add(hash(shape));
        }
    }
    assert!(batch.events.is_empty(), "the batch is empty at the end");
    assert_eq!(place.open, 0, "every call that is entered is left");
    let stated = trace.tables().locations[location].events;
    assert_eq!(account.events, stated, "a location says how many events it has");
    Ok(account)
}

fn hash(shape: &Shape) -> u64 {
    let mut hasher = DefaultHasher::new();
    shape.hash(&mut hasher);
    hasher.finish()
}

/// Where in a location's stream the check is.
struct Place<'a> {
    tables: &'a Tables,
    location: usize,
    /// Numbers of requests that were given so far.
    requests: u64,
    /// Calls that are entered and not left.
    open: u32,
}

impl Place<'_> {
    fn check(&mut self, shape: &Shape) {
        let function = usize::from(shape.function);
        assert!(function < self.tables.functions.len(), "a function stands in the tables");
        match shape.part {
            Part::Call => {}
            Part::Enter => self.open += 1,
            Part::Leave => {
                self.open = self.open.checked_sub(1).expect("a leave has its enter");
            }
        }
        if shape.part != Part::Enter {
            self.check_operation(&shape.operation);
        }
        self.requests += u64::from(shape.takes_number());
    }

    fn check_operation(&self, operation: &Operation) {
        match operation {
            Operation::File(call) => {
                let known = (call.file as usize) < self.tables.files.len();
                assert!(known, "a file stands in the tables");
                call.collective.iter().for_each(|communicator| self.communicator(*communicator));
            }
            Operation::Buffered(count) => {
                let known = (count.file as usize) < self.tables.files.len();
                assert!(known, "a file stands in the tables");
            }
            Operation::Send { envelope, .. }
            | Operation::Receive { envelope, .. }
            | Operation::Probe { envelope } => self.envelope(envelope),
            Operation::SendReceive { send, receive, .. } => {
                self.envelope(send);
                self.envelope(receive);
            }
            Operation::Complete { completed, .. } => completed.iter().for_each(|t| self.token(t)),
            Operation::Start { requests } => requests.iter().for_each(|token| self.token(token)),
            Operation::OnRequest { token, .. } => self.token(token),
            Operation::Collective { communicator, .. }
            | Operation::CommunicatorCreation { communicator, .. } => {
                self.communicator(*communicator);
            }
            Operation::OneSided { kind, communicator, .. } => {
                self.communicator(*communicator);
                if let OneSided::Post(ranks) | OneSided::Start(ranks) = kind {
                    let known = ranks.iter().all(|rank| *rank < self.tables.ranks);
                    assert!(known, "a rank of an epoch is a rank of the run");
                }
            }
            Operation::Plain
            | Operation::Initialize
            | Operation::Finalize
            | Operation::Control(_)
            | Operation::Counted { .. }
            | Operation::Abort => {}
        }
    }

    fn communicator(&self, communicator: u32) {
        let known = (communicator as usize) < self.tables.communicators.len();
        assert!(known, "a communicator stands in the tables");
    }

    fn envelope(&self, envelope: &Envelope) {
        self.communicator(envelope.communicator);
        let known = envelope.peer >= Envelope::UNKNOWN
            && i64::from(envelope.peer) < i64::from(self.tables.ranks);
        assert!(known, "a peer is a rank of the run, nobody or unknown");
    }

    fn token(&self, token: &Token) {
        let location = token.location as usize;
        assert!(location < self.tables.locations.len(), "a request belongs to a location");
        let started = location != self.location || token.number < self.requests;
        assert!(started, "a request is started before it is completed");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryTrace;
    use crate::event::Layer;

    fn trace() -> (MemoryTrace, u16) {
        let mut trace = MemoryTrace::new(2);
        let function = trace.function("MPI_Wait", Layer::Mpi);
        trace.enter(0, function, 5, Operation::Plain);
        trace.leave(0, function, 9, Operation::Plain);
        (trace, function)
    }

    #[test]
    fn a_sound_trace_conforms() {
        assert_eq!(conforms(&trace().0), Ok(2));
    }

    #[test]
    #[should_panic(expected = "in order of time")]
    fn time_does_not_run_backwards() {
        let (mut trace, function) = trace();
        trace.call(0, function, 8, 10, Operation::Plain);
        let _ = conforms(&trace);
    }

    #[test]
    #[should_panic(expected = "every call that is entered is left")]
    fn an_enter_has_its_leave() {
        let (mut trace, function) = trace();
        trace.enter(1, function, 8, Operation::Plain);
        let _ = conforms(&trace);
    }

    #[test]
    #[should_panic(expected = "started before it is completed")]
    fn a_request_is_started_first() {
        let (mut trace, function) = trace();
        let completed = vec![Token { location: 0, number: 0 }];
        trace.call(0, function, 10, 11, Operation::Complete { completed, test: false });
        let _ = conforms(&trace);
    }
}
