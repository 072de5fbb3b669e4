//! A batch's shapes, boiled down to what a rank's reduction asks of every event, and what it adds
//! up per shape.

use tailrace_trace::Tables;
use tailrace_trace::event::{
    FileCall, FileKind, Flow, Layer, Operation, Part, Progress, SendMode, Shape,
};
use tailrace_trace::tables::{FileEntry, Function, Place};

use crate::graph::Channel;
use crate::graph::vertex::{Entry, Family, Gives, Sending, Site, Waits};
use crate::options::CollectiveOrder;

/// How an event is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Course {
    /// A call in MPI that depends on nobody and that nobody depends on: order among ranks does not
    /// matter. Or, with [`Step::io`], one in a file that is on no file system.
    Local,
    /// A call in a file and nothing else.
    File,
    /// A call in MPI that others may depend on, but that depends on nobody itself: only its begin
    /// is in order.
    Starts,
    /// Any other call.
    Call,
    Enter,
    Leave,
}

/// What kind of file access a call makes, as the tables per file tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Access {
    Read,
    Write,
    /// Also creates.
    Open,
    Close,
    LookUp,
    Synchronize,
    Lock,
    Truncate,
    /// Renames, removes, makes directories, sets positions, …
    Other,
}

impl Access {
    pub const KINDS: usize = Self::Other as usize + 1;

    /// 0 for reads, 1 for writes.
    pub fn direction(self) -> Option<usize> {
        matches!(self, Self::Read | Self::Write).then_some(self as usize)
    }
}

/// What most calls in MPI are, with all that it takes to begin and to end them: the operation
/// itself is lines of the cache away, and what it means for the rank is found out once.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Action {
    /// See the operation.
    Other,
    /// It has no meaning for others, and waits for none.
    Nothing,
    /// On the rank's own channel of that number.
    Send {
        channel: u32,
        sending: Sending,
    },
    Receive {
        channel: u32,
    },
    /// The next of the rank's own series of that number: the entry has no number yet.
    Enter {
        entry: Entry,
        series: u32,
    },
    /// Completes the requests that the event names.
    Complete,
}

const _: () = assert!(size_of::<Action>() == 16);

/// How the loop over rows takes events of a shape; each takes the time of one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Plan {
    /// Not at all: there is more to it.
    Other,
    /// A call in MPI that is nothing but its time.
    Time,
    File,
    /// What its action starts goes on after the call.
    Start,
    /// A collective that holds no others: one vertex.
    Meet,
    /// Another call in MPI that holds no others and does what its action says.
    Call,
    /// … of MPI-IO.
    MpiIo,
    Enter,
    Leave,
}

/// A rank's own numbers.
pub(crate) trait Numbers {
    fn channel(&mut self, channel: Channel) -> u32;
    /// Of the collectives of a family on a communicator.
    fn series(&mut self, of: (u32, Family)) -> u32;
}

/// For those that look at time alone.
pub(crate) struct NoNumbers;

impl Numbers for NoNumbers {
    fn channel(&mut self, _: Channel) -> u32 {
        0
    }

    fn series(&mut self, _: (u32, Family)) -> u32 {
        0
    }
}

#[allow(clippy::struct_excessive_bools)] // facts that are independent of one another
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub course: Course,
    pub action: Action,
    /// The action goes on as a request after the call.
    pub started: bool,
    /// Time in the call, outside calls inside, is time in a file call.
    pub io: bool,
    pub mpiio: bool,
    /// Another call of MPI-IO counts as the request, with its bytes: see [`is_part`].
    pub is_part: bool,
    pub access: Access,
    pub function: u16,
    pub place: u32,
    /// Index into the trace's files, or [`Step::NO_FILE`].
    pub file: u32,
    pub layer: Layer,
    pub part: Part,
    /// Each event starts a request.
    pub takes_number: bool,
    pub plan: Plan,
    /// Requests that each event names.
    pub tokens: u32,
    pub bytes: u64,
}

impl Step {
    pub(crate) const NO_FILE: u32 = u32::MAX;

    /// Of a call that reads or writes: see [`crate::graph::Slab::moved`].
    pub(crate) fn moved(&self) -> u64 {
        self.bytes.min(u64::MAX >> 1) << 1 | u64::from(self.access == Access::Write)
    }

    pub(crate) fn site(&self) -> Site {
        Site { place: self.place, function: self.function }
    }

    pub(crate) fn is_on_file(&self) -> bool {
        self.file != Step::NO_FILE
    }

    /// How many requests such calls are.
    pub(crate) fn requests(&self, sum: Sum) -> u64 {
        if self.is_part { 0 } else { sum.calls }
    }
}

/// Calls and time of one shape in one batch.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sum {
    pub calls: u64,
    pub time: i64,
}

impl Sum {
    #[inline]
    pub(crate) fn add(&mut self, other: Self) {
        self.calls += other.calls;
        self.time += other.time;
    }
}

/// All that is read and written of a shape at an event, in one line of the cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Line {
    pub step: Step,
    pub sum: Sum,
}

const _: () = assert!(size_of::<Line>() == 64);

/// What calls mean for the order of a run's ranks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules<'a> {
    pub tables: &'a Tables,
    pub order: CollectiveOrder,
    pub eager_limit_bytes: u64,
}

/// What the events of a shape, which name so many requests, are to `rank`.
pub(crate) fn line(
    rules: Rules<'_>,
    shape: &Shape,
    tokens: u32,
    rank: u32,
    numbers: &mut impl Numbers,
) -> Line {
    let action = action(rules, &shape.operation, rank, numbers);
    // There may be as many shapes of messages as events: of these it is known what they are not.
    #[allow(clippy::match_same_arms)] // in each arm the compiler knows the operation
    let step = match shape.operation {
        Operation::Send { .. } => step(rules.tables, shape, tokens, action),
        Operation::Receive { .. } => step(rules.tables, shape, tokens, action),
        _ => step_of_any(rules.tables, shape, tokens, action),
    };
    Line { step, sum: Sum::default() }
}

#[inline(never)]
fn step_of_any(tables: &Tables, shape: &Shape, tokens: u32, action: Action) -> Step {
    step(tables, shape, tokens, action)
}

#[allow(clippy::inline_always)] // once for each kind of message, and once for the rest
#[inline(always)]
fn step(tables: &Tables, shape: &Shape, tokens: u32, action: Action) -> Step {
    let layer = tables.functions[shape.function as usize].layer;
    let file = shape.operation.file();
    let counts = matches!(shape.operation, Operation::Buffered(_));
    let io = !counts && matches!(layer, Layer::Posix | Layer::Stdio | Layer::Asynchronous)
        || file.is_some_and(|f| f.opaque);
    let course = course(tables, shape, tokens, io);
    let started = shape.operation.progress() == Progress::Started;
    let is_part = file.is_some_and(|f| is_part(tables, shape.function, f.file));
    Step {
        course,
        action,
        started,
        io,
        mpiio: layer == Layer::MpiIo,
        is_part,
        access: file.map_or(Access::Other, |f| access(f.kind)),
        function: shape.function,
        place: shape.place,
        file: file.map_or(Step::NO_FILE, |f| f.file),
        layer,
        part: shape.part,
        takes_number: shape.takes_number(),
        plan: if io && course != Course::File {
            Plan::Other
        } else {
            plan(course, action, started, layer == Layer::MpiIo)
        },
        tokens,
        bytes: if is_part { 0 } else { shape.operation.bytes().unwrap_or(0) },
    }
}

#[inline]
fn course(tables: &Tables, shape: &Shape, tokens: u32, io: bool) -> Course {
    match shape.part {
        Part::Enter => Course::Enter,
        Part::Leave => Course::Leave,
        Part::Call if !io && only_starts(shape) => Course::Starts,
        Part::Call if shape.takes_number() => Course::Call,
        Part::Call if io && is_elsewhere(tables, shape) => Course::Local,
        Part::Call if io && collective_file(tables, &shape.operation).is_none() => Course::File,
        Part::Call if orders_nothing(&shape.operation, tokens) => Course::Local,
        Part::Call => Course::Call,
    }
}

/// The end of a split collective call (`MPI_File_write_all_end`), whose begin has the bytes; and
/// aio by which Open MPI moves the bytes of a call of MPI-IO, in it or in MPI_Wait.
#[inline(never)]
fn is_part(tables: &Tables, function: u16, file: u32) -> bool {
    let Function { name, layer } = &tables.functions[usize::from(function)];
    match layer {
        Layer::MpiIo => name.ends_with("_end"),
        Layer::Asynchronous => tables.files.get(file as usize).is_some_and(|file| file.opaque),
        _ => false,
    }
}

#[inline]
fn plan(course: Course, action: Action, started: bool, mpiio: bool) -> Plan {
    match (course, action) {
        (Course::File, _) if !mpiio => Plan::File,
        (Course::Local, _) if !mpiio => Plan::Time,
        (Course::File, _) | (_, Action::Other) => Plan::Other,
        // What it starts goes on after it is left.
        (Course::Enter | Course::Leave, _) if started => Plan::Other,
        (Course::Enter, _) => Plan::Enter,
        (Course::Leave, _) => Plan::Leave,
        _ if mpiio => Plan::MpiIo,
        (Course::Starts, _) => Plan::Start,
        (_, Action::Nothing) => Plan::Time,
        (_, Action::Enter { .. }) => Plan::Meet,
        _ => Plan::Call,
    }
}

/// A call below MPI-IO on what is no file system: it takes the time of what is around it, useful or
/// MPI.
#[inline]
fn is_elsewhere(tables: &Tables, shape: &Shape) -> bool {
    let layer = tables.functions[shape.function as usize].layer;
    let place = |file: u32| tables.files.get(file as usize).map(FileEntry::place);
    let on_file_system = |file: u32| place(file).is_none_or(|place| place == Place::FileSystem);
    matches!(layer, Layer::Posix | Layer::Stdio)
        && shape.operation.file().is_some_and(|call| !on_file_system(call.file))
}

fn action(
    rules: Rules<'_>,
    operation: &Operation,
    rank: u32,
    numbers: &mut impl Numbers,
) -> Action {
    let mut enter = |communicator, family, (gives, waits): (Gives, Waits)| {
        let entry = Entry { communicator, number: 0, family, gives, waits };
        Action::Enter { entry, series: numbers.series((communicator, family)) }
    };
    let progress = operation.progress();
    let of_nobody = if progress == Progress::Blocking { Action::Nothing } else { Action::Other };
    match operation {
        _ if progress == Progress::Persistent => Action::Other,
        Operation::Send { envelope, mode, .. } => match Channel::to(envelope, rank) {
            Some(channel) => Action::Send {
                channel: numbers.channel(channel),
                sending: rules.sending(envelope.bytes, *mode),
            },
            None => Action::Other,
        },
        Operation::Receive { envelope, .. } => match Channel::from(envelope, rank) {
            Some(channel) => Action::Receive { channel: numbers.channel(channel) },
            None => Action::Other,
        },
        Operation::Complete { .. } => Action::Complete,
        Operation::Finalize => Action::Other, // who reaches it last is asked
        Operation::Collective { communicator, flow, bytes_sent, bytes_received, .. }
            if is_shared(rules.tables, *communicator) =>
        {
            let bytes = bytes_sent.saturating_add(*bytes_received);
            let is_long = bytes > rules.eager_limit_bytes;
            let exchange = gives_and_waits(rules.order, *flow, rank, is_long);
            enter(*communicator, Family::Ordinary, exchange)
        }
        Operation::File(call) if call.progress == Progress::Blocking => {
            match collective_file(rules.tables, operation) {
                Some(communicator) => enter(communicator, Family::File, of_file(call)),
                None => Action::Nothing,
            }
        }
        Operation::Collective { .. } => of_nobody,
        operation if orders_nothing(operation, 0) => of_nobody,
        _ => Action::Other,
    }
}

/// What a collective file call gives and waits for: it may synchronize, and others may read or write
/// for the rank.
pub(crate) fn of_file(call: &FileCall) -> (Gives, Waits) {
    let waits = match call.kind {
        FileKind::Read => Waits::Readers,
        FileKind::Write => Waits::Writers,
        _ => Waits::AllIfComplete,
    };
    (Gives::All, waits)
}

impl Rules<'_> {
    /// How a message of so many bytes leaves.
    pub(crate) fn sending(self, bytes: u64, mode: SendMode) -> Sending {
        let rendezvous = bytes > self.eager_limit_bytes;
        match mode {
            SendMode::Partitioned => Sending::InParts { rendezvous },
            SendMode::Synchronous => Sending::Rendezvous,
            SendMode::Standard | SendMode::Ready if rendezvous => Sending::Rendezvous,
            SendMode::Standard if self.order == CollectiveOrder::Rendezvous => Sending::Short,
            SendMode::Standard | SendMode::Ready | SendMode::Buffered => Sending::Eager,
        }
    }
}

#[inline]
fn only_starts(shape: &Shape) -> bool {
    let buffered = matches!(shape.operation, Operation::Send { mode: SendMode::Buffered, .. });
    shape.takes_number() || buffered || matches!(shape.operation, Operation::Start { .. })
}

/// The communicator of a collective file call of more than one rank.
#[inline]
pub(crate) fn collective_file(tables: &Tables, operation: &Operation) -> Option<u32> {
    operation.file()?.collective.filter(|c| is_shared(tables, *c))
}

/// Whether the communicator has more than one member.
pub(crate) fn is_shared(tables: &Tables, communicator: u32) -> bool {
    let entry = tables.communicators.get(communicator as usize);
    entry.is_some_and(|communicator| communicator.size() > 1)
}

#[inline]
fn orders_nothing(operation: &Operation, tokens: u32) -> bool {
    match operation {
        Operation::Plain
        | Operation::Buffered(_)
        | Operation::Counted { .. }
        | Operation::Initialize
        | Operation::Control(_)
        | Operation::Abort => true,
        Operation::Complete { .. } => tokens == 0,
        Operation::File(call) => call.collective.is_none(),
        _ => false,
    }
}

fn access(kind: FileKind) -> Access {
    match kind {
        FileKind::Read => Access::Read,
        FileKind::Write => Access::Write,
        FileKind::Open => Access::Open,
        FileKind::Close => Access::Close,
        FileKind::Stat => Access::LookUp,
        FileKind::Sync => Access::Synchronize,
        FileKind::Lock => Access::Lock,
        FileKind::Truncate => Access::Truncate,
        _ => Access::Other,
    }
}

/// What a rank's entry gives to others, and what it waits for when it leaves. Of rooted kinds on an
/// intercommunicator, the root's own group but for the root takes no part (root −1). `is_long`: it
/// has more bytes to send than the eager limit.
pub(crate) fn gives_and_waits(
    order: CollectiveOrder,
    flow: Flow,
    rank: u32,
    is_long: bool,
) -> (Gives, Waits) {
    let meets = order == CollectiveOrder::Rendezvous;
    match flow {
        _ if order == CollectiveOrder::All => (Gives::All, Waits::All),
        Flow::All => (Gives::All, Waits::All),
        Flow::FromRoot(root) if root == rank as i32 => (Gives::Root, Waits::Nothing),
        Flow::FromRoot(root) if root < 0 => (Gives::Nothing, Waits::Nothing),
        Flow::FromRoot(_) => (Gives::Nothing, Waits::Root),
        Flow::ToRoot(root) if root == rank as i32 => {
            // what the root itself has need not be waited for
            (if meets { Gives::Root } else { Gives::All }, Waits::All)
        }
        Flow::ToRoot(root) if root < 0 => (Gives::Nothing, Waits::Nothing),
        Flow::ToRoot(_) if meets && is_long => (Gives::All, Waits::Root),
        Flow::ToRoot(_) if meets => (Gives::All, Waits::PerhapsRoot),
        Flow::ToRoot(_) => (Gives::All, Waits::Nothing),
        Flow::Prefix => (Gives::ByPosition, Waits::Before),
        Flow::Neighbours => (Gives::ByPosition, Waits::Neighbours),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_imposed_only_where_data_flow() {
        let of = |flow, rank| gives_and_waits(CollectiveOrder::Data, flow, rank, true);
        assert_eq!(of(Flow::All, 1), (Gives::All, Waits::All));
        assert_eq!(of(Flow::FromRoot(1), 1), (Gives::Root, Waits::Nothing));
        assert_eq!(of(Flow::FromRoot(1), 0), (Gives::Nothing, Waits::Root));
        assert_eq!(of(Flow::ToRoot(1), 1), (Gives::All, Waits::All));
        assert_eq!(of(Flow::ToRoot(1), 0), (Gives::All, Waits::Nothing));
        assert_eq!(of(Flow::ToRoot(-1), 0), (Gives::Nothing, Waits::Nothing));
        assert_eq!(of(Flow::Prefix, 0), (Gives::ByPosition, Waits::Before));
        assert_eq!(of(Flow::Neighbours, 0), (Gives::ByPosition, Waits::Neighbours));
        let all = gives_and_waits(CollectiveOrder::All, Flow::FromRoot(1), 0, false);
        assert_eq!(all, (Gives::All, Waits::All));
    }

    #[test]
    fn what_is_long_meets_its_root() {
        let of =
            |flow, rank, is_long| gives_and_waits(CollectiveOrder::Rendezvous, flow, rank, is_long);
        assert_eq!(of(Flow::ToRoot(1), 1, false), (Gives::Root, Waits::All));
        assert_eq!(of(Flow::ToRoot(1), 0, false), (Gives::All, Waits::PerhapsRoot));
        assert_eq!(of(Flow::ToRoot(1), 0, true), (Gives::All, Waits::Root));
        assert_eq!(of(Flow::FromRoot(1), 0, true), (Gives::Nothing, Waits::Root));
    }
}
