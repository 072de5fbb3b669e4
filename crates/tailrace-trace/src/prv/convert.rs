//! The calls of one thread as events.

use std::collections::VecDeque;

use hashbrown::HashMap;

use super::groups::{Counter, Groups};
use super::kinds::{Kind, Order};
use super::messages::{Attached, Ends};
use super::names::Names;
use super::parse::{Message, Records};
use super::stream::Stream;
use super::thread::{Arguments, Call, Stretch, Thread};
use super::types;
use crate::event::{
    Envelope, FileCall, FileKind, Flow, Layer, Operation, Part, Progress, SendMode, Token,
};

/// What is the same for all threads.
pub(super) struct Context<'a> {
    pub records: &'a Records,
    pub attached: &'a Attached,
    pub groups: &'a Groups,
    /// Communicator of each lane of messages.
    pub lanes: &'a [u32],
    /// Whether the program calls MPI.
    pub mpi: bool,
}

impl Context<'_> {
    /// A rank whose threads wait for each other is in no call, and neither is one of a program
    /// without MPI, unless it is in I/O.
    fn is_in_no_call(&self, rank: u32, state: u32) -> bool {
        match state {
            types::STATE_IO => false,
            types::FORK_JOIN => true,
            types::SYNCHRONIZATION if self.records.header.tasks[rank as usize].threads > 1 => true,
            _ => !self.mpi,
        }
    }
}

/// Turns the calls of one thread into events.
pub(super) struct Converter<'a> {
    context: &'a Context<'a>,
    names: &'a mut Names,
    rank: u32,
    location: u32,
    stream: Stream,
    /// Whether the thread's time outside calls is to be accounted for by its states.
    main: bool,
    /// Where the outermost calls and states that are written reach.
    reached: i64,
    stretches: VecDeque<Stretch>,
    begin_ns: i64,
    sends: VecDeque<(u32, u32)>,
    posts: VecDeque<(u32, u32, u32)>,
    arrivals: VecDeque<(u32, u32)>,
    /// Number of the request that waits for a message.
    requests: HashMap<u32, u64>,
    /// Requests of collectives that no call has completed.
    collectives: VecDeque<u64>,
    counter: Counter,
}

/// A call that holds others and has not ended.
struct Outer {
    end: i64,
    function: u16,
    operation: Operation,
}

/// One thread's events, and since when the thread exists.
pub(super) struct Converted {
    pub stream: Stream,
    pub begin_ns: i64,
}

impl<'a> Converter<'a> {
    /// `place` is rank and thread, from 0; `location` the index that the thread's tokens bear.
    pub(super) fn new(
        context: &'a Context<'a>,
        names: &'a mut Names,
        place: (u32, u32),
        location: u32,
        thread: &Thread,
    ) -> Self {
        let none = Ends::default();
        let ends = context.attached.ends.get(&place).unwrap_or(&none);
        Self {
            context,
            names,
            rank: place.0,
            location,
            stream: Stream::default(),
            main: place.1 == 0,
            reached: 0,
            stretches: if place.1 == 0 {
                thread.stretches.iter().copied().collect()
            } else {
                VecDeque::new()
            },
            begin_ns: 0,
            sends: ends.sends.iter().copied().collect(),
            posts: ends.posts.iter().copied().collect(),
            arrivals: ends.arrivals.iter().copied().collect(),
            requests: HashMap::new(),
            collectives: VecDeque::new(),
            counter: Counter::default(),
        }
    }

    /// All events of the thread, whose trace ends at `end`.
    pub(super) fn convert(mut self, calls: &[Call], end: i64) -> Converted {
        self.skip_unborn(calls.first().map_or(end, |call| call.begin));
        let mut outer: Vec<Outer> = Vec::new();
        for (index, call) in calls.iter().enumerate() {
            self.leave_until(&mut outer, call.begin);
            if outer.is_empty() {
                self.fill_until(call.begin);
                self.reached = call.end;
            }
            let holds_others = calls.get(index + 1).is_some_and(|next| next.begin < call.end);
            let (function, operation) = self.operation(index as u32, call);
            if holds_others {
                self.stream.push(call.begin, call.begin, Part::Enter, function, operation.clone());
                outer.push(Outer { end: call.end, function, operation });
            } else {
                self.number(&operation);
                self.stream.push(call.begin, call.end, Part::Call, function, operation);
            }
        }
        self.leave_until(&mut outer, i64::MAX);
        self.fill_until(end);
        Converted { stream: self.stream, begin_ns: self.begin_ns }
    }

    fn leave_until(&mut self, outer: &mut Vec<Outer>, time: i64) {
        while let Some(Outer { end, function, operation }) = outer.pop_if(|outer| outer.end <= time)
        {
            self.number(&operation);
            self.stream.push(end, end, Part::Leave, function, operation);
        }
    }

    /// A rank that is not created yet has no event: its clock stands at its creation.
    fn skip_unborn(&mut self, first_call: i64) {
        let unborn = |stretch: &Stretch| {
            stretch.begin == 0 && stretch.state == types::NOT_CREATED && stretch.end <= first_call
        };
        if let Some(stretch) = self.stretches.pop_front_if(|stretch| unborn(stretch)) {
            self.begin_ns = stretch.end;
            self.reached = stretch.end;
        }
    }

    /// Only Running is useful: time outside calls in another state is a call of its own, unless it
    /// is no call's.
    fn fill_until(&mut self, time: i64) {
        while let Some(stretch) = self.stretches.front().copied() {
            let begin = stretch.begin.max(self.reached);
            if begin >= time {
                break;
            }
            let end = stretch.end.min(time);
            if begin < end && self.main && !self.context.is_in_no_call(self.rank, stretch.state) {
                self.fill(Stretch { begin, end, state: stretch.state });
            }
            if stretch.end > time {
                break;
            }
            self.stretches.pop_front();
        }
    }

    fn fill(&mut self, Stretch { begin, end, state }: Stretch) {
        let name = format!("({})", self.names.labels.state(state));
        let (layer, operation) = if state == types::STATE_IO {
            (Layer::Posix, self.file(FileKind::Metadata, Layer::Posix, None, &Arguments::default()))
        } else {
            (Layer::Mpi, Operation::Plain)
        };
        let function = self.names.function(&name, layer);
        self.stream.push(begin, end, Part::Call, function, operation);
    }

    fn operation(&mut self, index: u32, call: &Call) -> (u16, Operation) {
        let arguments = self.context.records.distinct.arguments[call.arguments as usize];
        let meaning = self.names.meaning(arguments.kind, arguments.value);
        let own = match meaning.kind {
            Kind::Messages { .. } => None,
            Kind::Initialize => Some(collective(0, Flow::All, &arguments, Progress::Blocking)),
            Kind::Collective { order, started } => {
                Some(self.collective(order, started, &arguments))
            }
            Kind::File { kind, layer, collective } => {
                let together = if collective { self.context.groups.mpi_io } else { None };
                Some(self.file(kind, layer, together, &arguments))
            }
        };
        let (mode, exchange) = match meaning.kind {
            Kind::Messages { mode, exchange } => (mode, exchange),
            _ => (SendMode::Buffered, false),
        };
        let mut deeds = self.deeds(index, mode);
        if arguments.kind != types::COLLECTIVE && own.is_none() {
            self.complete_collectives(meaning.function, &mut deeds);
        }
        (meaning.function, self.join(deeds, own, exchange, call.begin, meaning.function))
    }

    fn collective(&mut self, order: Order, started: bool, arguments: &Arguments) -> Operation {
        let Some(communicator) = self.names.communicator(arguments.communicator, self.rank) else {
            return Operation::Plain;
        };
        let number = self.counter.next(communicator);
        let root = self.context.groups.root(communicator, number).map(|root| root as i32);
        let flow = match order {
            Order::All => Flow::All,
            Order::Prefix => Flow::Prefix,
            // A root that no rank owns up to: nothing is known of who waits.
            Order::FromRoot => root.map_or(Flow::Neighbours, Flow::FromRoot),
            Order::ToRoot => root.map_or(Flow::Neighbours, Flow::ToRoot),
            Order::Neighbours => Flow::Neighbours,
        };
        let progress = if started { Progress::Started } else { Progress::Blocking };
        collective(communicator, flow, arguments, progress)
    }

    fn file(
        &mut self,
        kind: FileKind,
        layer: Layer,
        collective: Option<u32>,
        arguments: &Arguments,
    ) -> Operation {
        let file = self.names.file_of(self.rank, layer, arguments);
        if kind == FileKind::Close {
            self.names.closed(self.rank, arguments);
        }
        let opaque = layer == Layer::MpiIo && self.names.files[file as usize].opaque;
        let bytes = if matches!(kind, FileKind::Read | FileKind::Write) {
            arguments.bytes_received
        } else {
            0
        };
        Operation::File(FileCall {
            kind,
            layer,
            file,
            bytes,
            offset: None,
            error: 0,
            collective,
            progress: Progress::Blocking,
            // such traces do not say
            creates: false,
            appends: kind == FileKind::Open,
            opaque,
        })
    }

    /// A request that the operation starts gets its number when the operation is written;
    /// collectives remember theirs.
    fn number(&mut self, operation: &Operation) {
        if matches!(operation, Operation::Collective { progress: Progress::Started, .. }) {
            self.collectives.push_back(self.stream.requests());
        }
    }
}

fn meaning_name(names: &Names, function: u16) -> String {
    names.functions[usize::from(function)].name.to_ascii_lowercase()
}

fn collective(
    communicator: u32,
    flow: Flow,
    arguments: &Arguments,
    progress: Progress,
) -> Operation {
    let Arguments { bytes_sent, bytes_received, .. } = *arguments;
    Operation::Collective { communicator, flow, bytes_sent, bytes_received, progress }
}

/// What a call does with messages.
#[derive(Debug, Default)]
struct Deeds {
    sends: Vec<Operation>,
    /// Receives that are posted and done in this call.
    receives: Vec<(u32, Operation)>,
    /// Receives that are posted here and done later.
    posts: Vec<(u32, Operation)>,
    /// Requests of this thread that are done in this call.
    completed: Vec<u64>,
}

impl Deeds {
    fn is_nothing(&self) -> bool {
        self.sends.is_empty()
            && self.receives.is_empty()
            && self.posts.is_empty()
            && self.completed.is_empty()
    }
}

impl Converter<'_> {
    fn deeds(&mut self, call: u32, mode: SendMode) -> Deeds {
        let mut deeds = Deeds::default();
        while let Some((_, message)) = self.sends.pop_front_if(|(owner, _)| *owner == call) {
            let (_, envelope) = self.envelopes(message);
            deeds.sends.push(Operation::Send { envelope, mode, progress: Progress::Blocking });
        }
        while let Some((_, message, done)) = self.posts.pop_front_if(|(owner, ..)| *owner == call) {
            let (envelope, _) = self.envelopes(message);
            let list = if done == call { &mut deeds.receives } else { &mut deeds.posts };
            let progress = if done == call { Progress::Blocking } else { Progress::Started };
            list.push((message, Operation::Receive { envelope, wildcard: false, progress }));
        }
        while let Some((_, message)) = self.arrivals.pop_front_if(|(owner, _)| *owner == call) {
            deeds.completed.extend(self.requests.remove(&message));
        }
        deeds
    }

    /// As the receiver and as the sender see the message.
    fn envelopes(&self, message: u32) -> (Envelope, Envelope) {
        let Message { sender, receiver, bytes, tag, .. } =
            self.context.records.messages[message as usize];
        let communicator =
            self.context.lanes[self.context.attached.lanes[message as usize] as usize];
        let with = |peer: u32| Envelope { communicator, peer: peer as i32, tag, bytes };
        (with(sender.0), with(receiver.0))
    }

    /// Wait completes the oldest non-blocking collective if it completes no message, Waitall
    /// completes all: the trace does not say which.
    fn complete_collectives(&mut self, function: u16, deeds: &mut Deeds) {
        if self.collectives.is_empty() {
            return; // of most calls: the name is not needed
        }
        let count = match meaning_name(self.names, function).as_str() {
            "mpi_waitall" => self.collectives.len(),
            "mpi_wait" | "mpi_waitany" | "mpi_waitsome" if deeds.completed.is_empty() => {
                self.collectives.len().min(1)
            }
            _ => 0,
        };
        deeds.completed.extend(self.collectives.drain(..count));
    }

    /// One operation for the call. What does not fit in it precedes the call as calls without
    /// duration.
    fn join(
        &mut self,
        mut deeds: Deeds,
        own: Option<Operation>,
        exchange: bool,
        begin: i64,
        function: u16,
    ) -> Operation {
        if own.is_none() && deeds.is_nothing() {
            return Operation::Plain;
        }
        if own.is_none()
            && deeds.completed.is_empty()
            && let Some(whole) = self.whole(&mut deeds, exchange)
        {
            return whole;
        }
        for operation in deeds.sends.drain(..) {
            self.stream.push(begin, begin, Part::Call, function, operation);
        }
        for (message, operation) in deeds.posts.drain(..) {
            self.start(message, operation, begin, function);
        }
        for (message, operation) in deeds.receives.drain(..) {
            self.start(message, started(operation), begin, function);
            deeds.completed.extend(self.requests.remove(&message));
        }
        own.unwrap_or_else(|| self.completion(&deeds.completed, function))
    }

    /// The operation of a call that does one thing, or an exchange.
    fn whole(&mut self, deeds: &mut Deeds, exchange: bool) -> Option<Operation> {
        let nobody = Envelope { communicator: 0, peer: Envelope::NOBODY, tag: 0, bytes: 0 };
        match (deeds.sends.as_slice(), deeds.receives.as_slice(), deeds.posts.as_slice()) {
            (sends @ ([] | [_]), receives @ ([] | [_]), []) if exchange => {
                let send = sends.first().map_or(nobody, envelope);
                let receive = receives.first().map_or(nobody, |(_, operation)| envelope(operation));
                Some(Operation::SendReceive { send, receive, progress: Progress::Blocking })
            }
            ([_], [], []) => deeds.sends.pop(),
            ([], [_], []) => deeds.receives.pop().map(|(_, operation)| operation),
            ([], [], [_]) => {
                let (message, operation) = deeds.posts.pop()?;
                self.requests.insert(message, self.stream.requests());
                Some(operation)
            }
            _ => None,
        }
    }

    fn completion(&self, completed: &[u64], function: u16) -> Operation {
        let token = |number: &u64| Token { location: self.location, number: *number };
        let test = meaning_name(self.names, function).starts_with("mpi_test");
        Operation::Complete { completed: completed.iter().map(token).collect(), test }
    }

    fn start(&mut self, message: u32, operation: Operation, begin: i64, function: u16) {
        self.requests.insert(message, self.stream.requests());
        self.stream.push(begin, begin, Part::Call, function, operation);
    }
}

fn envelope(operation: &Operation) -> Envelope {
    match operation {
        Operation::Send { envelope, .. } | Operation::Receive { envelope, .. } => *envelope,
        _ => unreachable!("deeds are sends and receives"),
    }
}

fn started(operation: Operation) -> Operation {
    match operation {
        Operation::Receive { envelope, wildcard, .. } => {
            Operation::Receive { envelope, wildcard, progress: Progress::Started }
        }
        other => other,
    }
}
