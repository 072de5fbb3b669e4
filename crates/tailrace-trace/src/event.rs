//! What every reader yields: the calls of every rank, in integers of nanoseconds on one clock.
//!
//! A trace is a set of *locations* (threads). Each yields its events in order of time, properly
//! nested, in batches: a batch is a slice of [`Event`]s and the table of [`Shape`]s they point
//! into. Ranks are numbers in MPI_COMM_WORLD.

/// When, and which shape. 24 bytes, so that a million events are read at memory speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Nanoseconds since the trace's origin.
    pub begin: i64,
    /// Equal to `begin` for [`Part::Enter`] and [`Part::Leave`].
    pub end: i64,
    /// Index into the batch's shapes.
    pub shape: u32,
}

/// Whether an event is a whole call or one end of a call that holds others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    Call,
    Enter,
    Leave,
}

/// The software layer that a function belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    Mpi,
    MpiIo,
    Posix,
    Stdio,
    Asynchronous,
}

/// What is the same in many events: the function and its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    pub part: Part,
    /// Index into [`crate::Tables::functions`].
    pub function: u16,
    /// From where it is called: see [`crate::places::Places::path`]; 0 where that is not known.
    pub place: u32,
    pub operation: Operation,
}

/// A non-blocking operation of one location: the thread that started it and its number there (see
/// the crate's page).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Token {
    /// Index of the location that started it.
    pub location: u32,
    pub number: u64,
}

/// A point-to-point operation's other side. Ranks are world ranks (see
/// [`crate::Tables::communicators`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Envelope {
    /// Index into [`crate::Tables::communicators`].
    pub communicator: u32,
    /// World rank; [`Envelope::NOBODY`] for MPI_PROC_NULL, [`Envelope::UNKNOWN`] where a wildcard
    /// was never resolved.
    pub peer: i32,
    pub tag: i32,
    pub bytes: u64,
}

impl Envelope {
    pub const NOBODY: i32 = -1;
    pub const UNKNOWN: i32 = -2;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SendMode {
    Standard,
    Buffered,
    Synchronous,
    Ready,
    /// In parts: the message has left when the last was [`RequestAction::Ready`].
    Partitioned,
}

/// What is done to a request beside starting and completing it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RequestAction {
    /// What goes on is to be cancelled, if it can be; the request stays, and is still completed.
    Cancel,
    /// The request is gone; what goes on goes on.
    Free,
    /// A part of a partitioned send is ready.
    Ready,
}

/// How an operation is carried on after the call returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Progress {
    /// Done when the call returns.
    #[default]
    Blocking,
    /// The call starts the request; the number is the location's next (see [`Token`]): readers
    /// write it out.
    Started,
    /// An init call: nothing happens until [`Operation::Start`] names the request.
    Persistent,
}

/// Which ranks a collective makes wait for which.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flow {
    /// Everyone waits for everyone: barrier, allreduce, alltoall, ...
    All,
    /// Everyone waits for the root: bcast, scatter. World rank of the root.
    FromRoot(i32),
    /// The root waits for everyone: reduce, gather.
    ToRoot(i32),
    /// A rank waits for those before it in the communicator (scan), itself included or not
    /// (exscan).
    Prefix,
    /// A rank waits for those that it receives from ([`crate::Tables::neighbours`]), for nobody
    /// where that is not known.
    Neighbours,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileKind {
    Open,
    Close,
    Read,
    Write,
    Sync,
    Seek,
    Stat,
    Lock,
    Truncate,
    Map,
    Unlink,
    Rename,
    MakeDirectory,
    View,
    Metadata,
    /// Of what is cached, all from the offset on.
    Drop,
}

/// A call on a file, in any layer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FileCall {
    pub kind: FileKind,
    pub layer: Layer,
    /// Index into [`crate::Tables::files`].
    pub file: u32,
    pub bytes: u64,
    /// Distance from where this location's previous call on this file ended to where this one
    /// begins, so that a loop of sequential writes has one shape; [`crate::offsets::Follower`]
    /// makes it an offset in the file.
    pub offset: Option<i64>,
    /// 0 on success.
    pub error: i32,
    /// The communicator whose ranks call together, for collective MPI-IO.
    pub collective: Option<u32>,
    pub progress: Progress,
    /// Of an open: the file is made if there is none.
    pub creates: bool,
    /// Of an open: what is written goes to the file's end, or perhaps does.
    pub appends: bool,
    /// No POSIX call is ever seen inside calls on this file by MPI-IO: the call itself is the
    /// innermost layer.
    pub opaque: bool,
}

/// What STDIO's calls asked of a file's buffer; what the buffer asked of the system are file calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Buffered {
    /// Index into [`crate::Tables::files`].
    pub file: u32,
    /// They wrote; otherwise they read.
    pub writes: bool,
    pub calls: u64,
    pub bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum OneSided {
    /// put, get, accumulate: local.
    Local,
    /// Collective over the window's communicator: fence, create, free.
    Collective,
    /// Opens exposure to these world ranks.
    Post(Vec<u32>),
    /// Opens access to these world ranks; waits for their posts.
    Start(Vec<u32>),
    /// Ends the access epoch begun by the last start on this window.
    Complete,
    /// Ends the exposure epoch; waits for the completes of those that the last post named.
    Wait,
    /// Opens a passive epoch at one world rank, or at all. What is exclusive excludes all others
    /// at that rank, but the call may return before it is granted.
    Lock { target: Option<u32>, exclusive: bool },
    /// Completes what was done there: the lock was granted by then.
    Flush { target: Option<u32> },
    /// Ends the passive epoch.
    Unlock { target: Option<u32> },
}

/// What a call means for the order of events and for the accounts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// A call that orders nothing.
    Plain,
    File(FileCall),
    /// No call, but how many there were since the location's last such event on this file.
    Buffered(Buffered),
    /// No call, but how many calls of the function there were since the location's last such event
    /// of it: calls that answer from memory, too short to be timed.
    Counted {
        calls: u64,
    },
    Send {
        envelope: Envelope,
        mode: SendMode,
        progress: Progress,
    },
    /// `wildcard`: source or tag was a wildcard; the envelope names what matched.
    Receive {
        envelope: Envelope,
        wildcard: bool,
        progress: Progress,
    },
    SendReceive {
        send: Envelope,
        receive: Envelope,
        progress: Progress,
    },
    /// Wait and Test kinds: what they completed.
    Complete {
        completed: Vec<Token>,
        test: bool,
    },
    Collective {
        communicator: u32,
        flow: Flow,
        bytes_sent: u64,
        bytes_received: u64,
        progress: Progress,
    },
    /// Persistent requests started.
    Start {
        requests: Vec<Token>,
    },
    /// Creates a communicator, collectively over `communicator`: its parent, or, where only its
    /// members or two groups without a parent make it, the new one itself. Also of an
    /// intercommunicator's two groups everyone waits for everyone.
    CommunicatorCreation {
        communicator: u32,
        progress: Progress,
    },
    OneSided {
        kind: OneSided,
        communicator: u32,
        /// Which window of the communicator's.
        window: u32,
        bytes: u64,
        progress: Progress,
    },
    /// A probe that found a message from `envelope` (bytes 0).
    Probe {
        envelope: Envelope,
    },
    Initialize,
    Finalize,
    /// MPI_Pcontrol with its level.
    Control(i32),
    Abort,
    /// Something else than completing a request.
    OnRequest {
        token: Token,
        action: RequestAction,
    },
}

impl Operation {
    /// How the operation goes on after its call returns; what starts no request is blocking.
    pub fn progress(&self) -> Progress {
        match self {
            Self::File(FileCall { progress, .. })
            | Self::Send { progress, .. }
            | Self::Receive { progress, .. }
            | Self::SendReceive { progress, .. }
            | Self::Collective { progress, .. }
            | Self::CommunicatorCreation { progress, .. }
            | Self::OneSided { progress, .. } => *progress,
            _ => Progress::Blocking,
        }
    }

    /// The call on a file that it is.
    pub fn file(&self) -> Option<&FileCall> {
        match self {
            Self::File(call) => Some(call),
            _ => None,
        }
    }

    /// The requests that it names.
    pub fn requests(&self) -> &[Token] {
        match self {
            Self::Complete { completed: tokens, .. } | Self::Start { requests: tokens } => tokens,
            Self::OnRequest { token, .. } => std::slice::from_ref(token),
            _ => &[],
        }
    }

    /// What the call moves; `None` of calls that move no data.
    pub fn bytes(&self) -> Option<u64> {
        match self {
            Self::File(call) => {
                matches!(call.kind, FileKind::Read | FileKind::Write).then_some(call.bytes)
            }
            Self::Send { envelope, progress, .. } | Self::Receive { envelope, progress, .. } => {
                (*progress != Progress::Persistent).then_some(envelope.bytes)
            }
            Self::SendReceive { send, receive, .. } => {
                Some(send.bytes.saturating_add(receive.bytes))
            }
            Self::Collective { bytes_sent, bytes_received, .. } => {
                Some(bytes_sent.saturating_add(*bytes_received))
            }
            Self::OneSided { bytes, .. } => Some(*bytes),
            _ => None,
        }
    }
}

impl Shape {
    /// Whether an event of this shape names a request: it then has its location's next [`Token`]
    /// number.
    pub fn takes_number(&self) -> bool {
        self.part != Part::Enter && self.operation.progress() != Progress::Blocking
    }
}
