//! A stretch of one location's events as columns: what is read fastest, because most consumers
//! want sums of gaps and durations by shape and only some of the events one by one.

use crate::Batch;
use crate::event::{Event, Operation, Shape, Token};

/// A gap or a duration that 32 bits do not hold: [`Columns::long`] has it.
pub const LONG: u32 = u32::MAX;

/// Events of a stretch, at most: an index of a shape fits into 16 bits.
pub const EVENTS_MAX: usize = 1 << 16;

/// Some thousand events. Keep one and hand it in again: its memory is reused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// The first event's gap counts from here: no earlier than the end of the event before, and
    /// mostly that.
    pub begin_ns: i64,
    /// Of each event the index of its shape in `shapes`.
    pub shape_of: Vec<u16>,
    /// Of each event the time from the end of the one before to its begin, ns.
    pub gaps: Vec<u32>,
    /// Of each event its time, ns; 0 of an `Enter` and a `Leave`.
    pub durations: Vec<u32>,
    /// The events of which one of the two is [`LONG`], in order.
    pub long: Vec<Long>,
    pub shapes: Vec<ColumnShape>,
    /// What the events of shapes with tokens name, in order of events: each has the next
    /// [`ColumnShape::tokens`].
    pub tokens: Vec<Token>,
}

/// An event whose gap or duration is long: both as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Long {
    pub row: u32,
    pub gap_ns: i64,
    pub duration_ns: i64,
}

/// A shape; what its operation names stands beside the events, which is why two events that complete
/// other requests can have the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnShape {
    /// The lists of a `Complete` and a `Start` are empty, and the token of an `OnRequest` is none.
    pub shape: Shape,
    /// Tokens of every event of this shape.
    pub tokens: u32,
}

/// Stands in a [`ColumnShape`] for one that is among [`Columns::tokens`].
pub const NO_TOKEN: Token = Token { location: u32::MAX, number: u64::MAX };

impl Columns {
    pub fn len(&self) -> usize {
        self.shape_of.len()
    }

    pub fn is_empty(&self) -> bool {
        self.shape_of.is_empty()
    }

    pub fn clear(&mut self) {
        self.shape_of.clear();
        self.gaps.clear();
        self.durations.clear();
        self.long.clear();
        self.shapes.clear();
        self.tokens.clear();
    }

    /// The end of the last event.
    pub fn end_ns(&self) -> i64 {
        let short = |times: &[u32]| times.iter().map(|&time| i64::from(time)).sum::<i64>();
        let more = |time: u32, is: i64| if time == LONG { is - i64::from(LONG) } else { 0 };
        let long = self.long.iter().map(|long| {
            let row = long.row as usize;
            more(self.gaps[row], long.gap_ns) + more(self.durations[row], long.duration_ns)
        });
        self.begin_ns + short(&self.gaps) + short(&self.durations) + long.sum::<i64>()
    }

    /// Begin, end and shape of every event.
    pub fn events(&self) -> impl Iterator<Item = Event> + '_ {
        let (mut reached, mut long) = (self.begin_ns, self.long.iter().peekable());
        let rows = self.shape_of.iter().zip(&self.gaps).zip(&self.durations).enumerate();
        rows.map(move |(row, ((&shape, &gap), &duration))| {
            let told = long.next_if(|long| long.row as usize == row);
            let (gap, duration) =
                told.map_or((gap.into(), duration.into()), |long| (long.gap_ns, long.duration_ns));
            let begin = reached + gap;
            reached = begin + duration;
            Event { begin, end: reached, shape: shape.into() }
        })
    }

    /// Moves the events to a batch, each with the tokens that it names; its shapes go with them.
    pub fn move_to(&mut self, batch: &mut Batch) {
        batch.clear();
        if self.long.is_empty() {
            self.put_short(batch);
        } else {
            batch.events.extend(self.events());
        }
        let counts: Vec<u32> = if self.tokens.is_empty() {
            Vec::new()
        } else {
            self.shapes.iter().map(|shape| shape.tokens).collect()
        };
        batch.shapes.extend(self.shapes.drain(..).map(|shape| shape.shape));
        if !counts.is_empty() {
            self.name(&counts, batch);
        }
        self.clear();
    }

    /// Gives each event that names requests a shape of its own.
    fn name(&self, counts: &[u32], batch: &mut Batch) {
        let mut rest = &self.tokens[..];
        for event in &mut batch.events {
            let count = counts[event.shape as usize] as usize;
            if count > 0 {
                let (own, others) = rest.split_at(count);
                rest = others;
                let shape = &batch.shapes[event.shape as usize];
                let shape = Shape { operation: naming(&shape.operation, own), ..*shape };
                event.shape = batch.shapes.len() as u32;
                batch.shapes.push(shape);
            }
        }
    }

    /// The loop that reads most traces.
    fn put_short(&self, batch: &mut Batch) {
        let mut reached = self.begin_ns;
        let rows = self.shape_of.iter().zip(&self.gaps).zip(&self.durations);
        batch.events.extend(rows.map(|((&shape, &gap), &duration)| {
            let begin = reached + i64::from(gap);
            reached = begin + i64::from(duration);
            Event { begin, end: reached, shape: shape.into() }
        }));
    }

    /// Replaces the contents by those of a batch.
    ///
    /// # Panics
    /// If it holds more than [`EVENTS_MAX`] events.
    pub fn take_from(&mut self, batch: &Batch) {
        assert!(batch.events.len() <= EVENTS_MAX, "a batch is no longer than columns can be");
        self.clear();
        self.begin_ns = batch.events.first().map_or(0, |event| event.begin);
        let mut places: Vec<Option<u16>> = vec![None; batch.shapes.len()];
        let mut reached = self.begin_ns;
        for (row, event) in batch.events.iter().enumerate() {
            let (gap_ns, duration_ns) = (event.begin - reached, event.end - event.begin);
            reached = event.end;
            let shape = &batch.shapes[event.shape as usize];
            let place = *places[event.shape as usize].get_or_insert_with(|| {
                self.shapes.push(nameless(shape));
                (self.shapes.len() - 1) as u16
            });
            self.tokens.extend(shape.operation.requests());
            self.shape_of.push(place);
            self.push_times(row, gap_ns, duration_ns);
        }
    }

    fn push_times(&mut self, row: usize, gap_ns: i64, duration_ns: i64) {
        let [gap, duration] = [gap_ns, duration_ns].map(|time| u32::try_from(time).unwrap_or(LONG));
        self.gaps.push(gap);
        self.durations.push(duration);
        if gap == LONG || duration == LONG {
            self.long.push(Long { row: row as u32, gap_ns, duration_ns });
        }
    }
}

fn nameless(shape: &Shape) -> ColumnShape {
    let tokens = shape.operation.requests().len() as u32;
    ColumnShape { shape: Shape { operation: without(&shape.operation), ..*shape }, tokens }
}

fn without(operation: &Operation) -> Operation {
    match operation {
        Operation::Complete { test, .. } => {
            Operation::Complete { completed: Vec::new(), test: *test }
        }
        Operation::Start { .. } => Operation::Start { requests: Vec::new() },
        Operation::OnRequest { action, .. } => {
            Operation::OnRequest { token: NO_TOKEN, action: *action }
        }
        other => other.clone(),
    }
}

fn naming(operation: &Operation, tokens: &[Token]) -> Operation {
    match operation {
        Operation::Complete { test, .. } => {
            Operation::Complete { completed: tokens.to_vec(), test: *test }
        }
        Operation::Start { .. } => Operation::Start { requests: tokens.to_vec() },
        Operation::OnRequest { action, .. } => {
            Operation::OnRequest { token: tokens[0], action: *action }
        }
        other => other.clone(),
    }
}
