//! A trace that is put together in memory: for tests, and for readers of formats that do not
//! stream.

use std::sync::Arc;

use crate::event::{Event, Layer, Operation, Part, Shape};
use crate::tables::{Communicator, FileEntry, Function, Location, Tables};
use crate::{Batch, EventStream, Trace, TraceError};

/// Events per batch: small, so that tests cross the borders between batches.
const EVENTS_PER_BATCH: usize = 1000;

/// Builds up a trace call by call; it is a [`Trace`] at any time.
///
/// Calls of one location are to be added in order of time and properly nested, as every reader
/// yields them.
#[derive(Debug, Default)]
pub struct MemoryTrace {
    /// May be changed freely; events are counted as they are added.
    pub tables: Tables,
    /// From where the calls come that are added next: [`Shape::place`].
    pub place: u32,
    events: Vec<Vec<(Event, Shape)>>,
}

impl MemoryTrace {
    /// A trace of `ranks` ranks with one main location each (location = rank) and MPI_COMM_WORLD as
    /// communicator 0.
    pub fn new(ranks: u32) -> Self {
        let mut trace = Self::default();
        trace.tables.ranks = ranks;
        trace.tables.counters = vec![None; ranks as usize];
        trace.communicator(&(0..ranks).collect::<Vec<_>>());
        for rank in 0..ranks {
            trace.location(Location {
                rank,
                main: true,
                host: "host".into(),
                ..Location::default()
            });
        }
        trace
    }

    /// Adds a location and returns its index.
    pub fn location(&mut self, location: Location) -> usize {
        self.tables.locations.push(location);
        self.events.push(Vec::new());
        self.events.len() - 1
    }

    /// The number of the function of that name and layer, added if it is new.
    pub fn function(&mut self, name: &str, layer: Layer) -> u16 {
        let function = Function { name: name.into(), layer };
        let known = self.tables.functions.iter().position(|f| *f == function);
        known.unwrap_or_else(|| {
            self.tables.functions.push(function);
            self.tables.functions.len() - 1
        }) as u16
    }

    /// The number of the file of that path, added if it is new.
    pub fn file(&mut self, path: &[u8], opaque: bool) -> u32 {
        let known = self.tables.files.iter().position(|f| f.path == path);
        known.unwrap_or_else(|| {
            self.tables.files.push(FileEntry { path: path.into(), opaque });
            self.tables.files.len() - 1
        }) as u32
    }

    /// Adds a communicator of these world ranks and returns its number.
    pub fn communicator(&mut self, members: &[u32]) -> u32 {
        let number = self.tables.communicators.len();
        let members = Arc::from(members);
        self.tables.communicators.push(Communicator {
            identity: number as u64,
            members,
            remote: None,
        });
        number as u32
    }

    /// Says whom neighbourhood collectives of `rank` on `communicator` receive from.
    pub fn neighbours(&mut self, communicator: u32, rank: u32, sources: &[u32]) {
        self.tables.neighbours.insert((communicator, rank), sources.into());
    }

    /// Adds a whole call, nanoseconds.
    pub fn call(
        &mut self,
        location: usize,
        function: u16,
        begin: i64,
        end: i64,
        operation: Operation,
    ) {
        self.push(
            location,
            Event { begin, end, shape: 0 },
            Shape { part: Part::Call, function, place: self.place, operation },
        );
    }

    /// Adds the begin of a call that holds others.
    pub fn enter(&mut self, location: usize, function: u16, at: i64, operation: Operation) {
        self.push(
            location,
            Event { begin: at, end: at, shape: 0 },
            Shape { part: Part::Enter, function, place: self.place, operation },
        );
    }

    /// Adds the end of the call entered last.
    pub fn leave(&mut self, location: usize, function: u16, at: i64, operation: Operation) {
        self.push(
            location,
            Event { begin: at, end: at, shape: 0 },
            Shape { part: Part::Leave, function, place: self.place, operation },
        );
    }

    fn push(&mut self, location: usize, event: Event, shape: Shape) {
        let known = &mut self.tables.locations[location];
        if known.events == 0 {
            known.begin_ns = known.begin_ns.min(event.begin);
        }
        known.end_ns = known.end_ns.max(event.end);
        known.events += 1;
        self.tables.capture.events += 1;
        self.events[location].push((event, shape));
    }
}

impl Trace for MemoryTrace {
    fn tables(&self) -> &Tables {
        &self.tables
    }

    fn events(&self, location: usize) -> Box<dyn EventStream + Send + '_> {
        Box::new(MemoryStream { rest: &self.events[location] })
    }
}

struct MemoryStream<'a> {
    rest: &'a [(Event, Shape)],
}

impl EventStream for MemoryStream<'_> {
    fn next_batch(&mut self, batch: &mut Batch) -> Result<bool, TraceError> {
        batch.clear();
        let (now, rest) = self.rest.split_at(self.rest.len().min(EVENTS_PER_BATCH));
        self.rest = rest;
        for (event, shape) in now {
            batch.events.push(Event { shape: batch.shapes.len() as u32, ..*event });
            batch.shapes.push(shape.clone());
        }
        Ok(!now.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_join_to_what_was_added() {
        let mut trace = MemoryTrace::new(2);
        let function = trace.function("pwrite", Layer::Posix);
        for i in 0..2500 {
            trace.call(1, function, 10 * i, 10 * i + 5, Operation::Plain);
        }
        let mut stream = trace.events(1);
        let mut batch = Batch::default();
        let mut begins = Vec::new();
        while stream.next_batch(&mut batch).unwrap() {
            begins.extend(batch.events.iter().map(|e| e.begin));
        }
        assert_eq!(begins, (0..2500).map(|i| 10 * i).collect::<Vec<_>>());
        assert_eq!(trace.tables().locations[1].events, 2500);
    }
}
