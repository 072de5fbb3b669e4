//! The events of one location, kept small, and lent in batches.

use hashbrown::HashMap;

use crate::event::{Event, Operation, Part, Shape, Token};
use crate::{Batch, EventStream, TraceError};

const EVENTS_PER_BATCH: usize = 4096;

/// An event's shape at or above this is the number of a completion: those are all different, so
/// they are not kept as shapes.
const COMPLETIONS: u32 = 1 << 31;

/// What a Wait or Test completed.
#[derive(Clone, Copy, Debug)]
struct Completion {
    function: u16,
    part: Part,
    test: bool,
    /// Where its requests begin in the list of all; they end where those of the next one begin.
    first: u32,
}

#[derive(Debug, Default)]
pub(super) struct Stream {
    events: Vec<Event>,
    shapes: Vec<Shape>,
    completions: Vec<Completion>,
    completed: Vec<Token>,
    numbers: HashMap<Shape, u32>,
    requests: u64,
}

impl Stream {
    pub(super) fn push(
        &mut self,
        begin: i64,
        end: i64,
        part: Part,
        function: u16,
        operation: Operation,
    ) {
        let shape = match operation {
            Operation::Complete { completed, test } => {
                self.completion(part, function, test, &completed)
            }
            operation => self.shape(Shape { part, function, place: 0, operation }),
        };
        self.events.push(Event { begin, end, shape });
    }

    fn completion(&mut self, part: Part, function: u16, test: bool, completed: &[Token]) -> u32 {
        let number = self.completions.len() as u32;
        self.completions.push(Completion {
            function,
            part,
            test,
            first: self.completed.len() as u32,
        });
        self.completed.extend_from_slice(completed);
        COMPLETIONS | number
    }

    fn shape(&mut self, shape: Shape) -> u32 {
        self.requests += u64::from(shape.takes_number());
        if let Some(known) = self.numbers.get(&shape) {
            return *known;
        }
        let number = self.shapes.len() as u32;
        self.shapes.push(shape.clone());
        self.numbers.insert(shape, number);
        number
    }

    /// The number that the next request gets.
    pub(super) fn requests(&self) -> u64 {
        self.requests
    }

    pub(super) fn events(&self) -> &[Event] {
        &self.events
    }

    /// Nothing is added any more: gives back memory that only adding needs.
    pub(super) fn seal(&mut self) {
        self.numbers = HashMap::new();
        self.events.shrink_to_fit();
        self.shapes.shrink_to_fit();
        self.completed.shrink_to_fit();
    }

    pub(super) fn reader(&self) -> Reader<'_> {
        Reader { stream: self, next: 0, slots: vec![u32::MAX; self.shapes.len()], used: Vec::new() }
    }

    fn completion_shape(&self, number: u32) -> Shape {
        let number = number as usize;
        let Completion { function, part, test, first } = self.completions[number];
        let end = self
            .completions
            .get(number + 1)
            .map_or(self.completed.len(), |next| next.first as usize);
        let completed = self.completed[first as usize..end].to_vec();
        Shape { part, function, place: 0, operation: Operation::Complete { completed, test } }
    }
}

/// Goes through a stream once; a batch holds only the shapes that its events use.
pub(super) struct Reader<'a> {
    stream: &'a Stream,
    next: usize,
    /// Place in the batch of each of the stream's shapes.
    slots: Vec<u32>,
    used: Vec<u32>,
}

impl Reader<'_> {
    fn place(&mut self, shape: u32, batch: &mut Batch) -> u32 {
        let fresh = batch.shapes.len() as u32;
        if shape >= COMPLETIONS {
            batch.shapes.push(self.stream.completion_shape(shape - COMPLETIONS));
            return fresh;
        }
        let slot = &mut self.slots[shape as usize];
        if *slot == u32::MAX {
            *slot = fresh;
            self.used.push(shape);
            batch.shapes.push(self.stream.shapes[shape as usize].clone());
        }
        *slot
    }
}

impl EventStream for Reader<'_> {
    fn next_batch(&mut self, batch: &mut Batch) -> Result<bool, TraceError> {
        batch.clear();
        for shape in self.used.drain(..) {
            self.slots[shape as usize] = u32::MAX;
        }
        let end = self.stream.events.len().min(self.next + EVENTS_PER_BATCH);
        for event in &self.stream.events[self.next..end] {
            let shape = self.place(event.shape, batch);
            batch.events.push(Event { shape, ..*event });
        }
        self.next = end;
        Ok(!batch.events.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_bring_the_events_with_only_the_shapes_they_use() {
        let mut stream = Stream::default();
        let token = |number| Token { location: 3, number };
        for i in 0..10_000 {
            let part = if i < 5000 { Part::Call } else { Part::Enter };
            stream.push(i, i + 1, part, (i % 2) as u16, Operation::Plain);
        }
        for number in 0..2 {
            stream.push(
                10_000,
                10_000,
                Part::Call,
                7,
                Operation::Complete { completed: vec![token(number)], test: false },
            );
        }
        stream.seal();
        let (mut reader, mut batch, mut seen, mut last) =
            (stream.reader(), Batch::default(), 0, Vec::new());
        while reader.next_batch(&mut batch).unwrap() {
            assert!(batch.shapes.len() <= 4);
            for event in &batch.events {
                let shape = &batch.shapes[event.shape as usize];
                assert!(shape.function == 7 || shape.function == (event.begin % 2) as u16);
                seen += 1;
            }
            last = batch.shapes.clone();
        }
        assert_eq!(seen, 10_002);
        let completed = |shape: &Shape| {
            shape.operation == Operation::Complete { completed: vec![token(1)], test: false }
        };
        assert!(completed(last.last().unwrap()));
    }
}
