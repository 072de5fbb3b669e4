//! Events of parallel programs: the trace on disk, and readers of foreign traces.
//!
//! Everything downstream sees a [`Trace`]: [`Tables`] (names, ranks, communicators, the window)
//! and, for each location (a thread of a rank), a stream of [`event::Event`]s in batches.
//!
//! # Adding a format
//!
//! A reader is one module with a type that implements [`Trace`], and one line in [`open::FORMATS`]
//! that recognizes a file by its first bytes. A reader keeps these promises, and its consumers rely
//! on them:
//!
//! - Events of a location come in order of time and properly nested: `begin ≤ end`; the next
//!   event's `begin` is no earlier than
//!   the `end` before it; every [`event::Part::Enter`] has its [`event::Part::Leave`].
//! - Indices are good: `event.shape < batch.shapes.len()`, and functions, files, communicators and
//!   ranks stand in the tables.
//! - A stream can be opened any number of times, in parallel, and yields the same events each time.
//! - A location says how many events it has.
//! - A batch holds at most [`columns::EVENTS_MAX`] events.
//! - Memory is bounded by the batch, not by the length of the trace.
//!
//! [`conforms`] checks all but the last: the tests of a reader call it on every trace that it
//! reads.
//!
//! # Numbers of requests
//!
//! [`event::Token`] is a location and the operation's number there. The number is not written
//! beside the operation that starts the request: a consumer counts. A location's first event whose
//! operation has [`event::Progress::Started`] or [`event::Progress::Persistent`] and whose part is
//! [`event::Part::Call`] or [`event::Part::Leave`] (not `Enter`) has number 0, the next 1, and so
//! on in the order of the stream. [`event::Shape::takes_number`] is that rule in code.

pub mod calls;
pub mod coded;
pub mod columns;
mod conforms;
mod cursor;
pub mod error;
pub mod event;
mod limits;
mod memory;
pub mod offsets;
pub mod open;
pub mod pack;
pub mod packed;
mod parallel;
pub mod places;
pub mod prv;
mod raw;
mod renames;
pub mod tables;
mod through;
mod waits;
pub mod wire;
mod words;

pub use columns::Columns;
pub use conforms::conforms;
pub use error::TraceError;
pub use memory::MemoryTrace;
pub use open::open;
pub use pack::pack;
pub use renames::Former;
pub use tables::Tables;
pub use through::read_through;

/// A trace that is open for reading, whatever its format.
pub trait Trace: Send + Sync {
    fn tables(&self) -> &Tables;

    /// The events of `tables().locations[location]` from the first on.
    ///
    /// # Panics
    /// If there is no such location.
    fn events(&self, location: usize) -> Box<dyn EventStream + Send + '_>;
}

/// The events of one location.
pub trait EventStream {
    /// Replaces the batch's contents by the next events; `false` and an empty batch at the end.
    ///
    /// # Errors
    /// Where the file is damaged; the stream is then at its end.
    fn next_batch(&mut self, batch: &mut Batch) -> Result<bool, TraceError>;

    /// The same events as columns, for a stream that is read by this alone. Packed traces are
    /// decoded into them; others put them together.
    ///
    /// # Errors
    /// Where the file is damaged; the stream is then at its end.
    fn next_columns(&mut self, columns: &mut Columns) -> Result<bool, TraceError> {
        let mut batch = Batch::default();
        let more = self.next_batch(&mut batch)?;
        columns.take_from(&batch);
        Ok(more)
    }

    /// … for a reader that looks at times alone: shapes may say that their events name no requests
    /// though they do, which takes less time to find out.
    ///
    /// # Errors
    /// Where the file is damaged; the stream is then at its end.
    fn next_times(&mut self, columns: &mut Columns) -> Result<bool, TraceError> {
        self.next_columns(columns)
    }

    /// Leaves out what would come next, which the caller has read before and of which the last
    /// event ends at `end_ns`; whether it could.
    fn pass_over(&mut self, _end_ns: i64) -> bool {
        false
    }
}

/// A few thousand events and the shapes that they point into. Keep one and hand it in again: its
/// memory is reused.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    pub events: Vec<event::Event>,
    /// An event's shape is `shapes[event.shape]`. Not all need be in use, and two may be equal.
    pub shapes: Vec<event::Shape>,
}

impl Batch {
    pub fn clear(&mut self) {
        self.events.clear();
        self.shapes.clear();
    }
}
