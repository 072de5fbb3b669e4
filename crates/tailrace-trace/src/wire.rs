//! The numbers of `docs/reference/internals/trace.md`, once: classes of words, the place of every
//! word in its class, and what flags and kinds mean. Capture's are in `capture/record.h` and
//! `capture/mpi/flavour.h`.

/// Classes of words.
pub mod class {
    pub const PLAIN: u8 = 0;
    pub const FILE: u8 = 1;
    pub const SEND: u8 = 2;
    pub const RECEIVE: u8 = 3;
    pub const SEND_RECEIVE: u8 = 4;
    pub const COMPLETE: u8 = 5;
    pub const COLLECTIVE: u8 = 6;
    pub const START: u8 = 7;
    pub const COMMUNICATOR: u8 = 8;
    pub const ONE_SIDED: u8 = 9;
    pub const CONTROL: u8 = 10;
    pub const ON_REQUEST: u8 = 11;
    pub const PROBE: u8 = 12;
    /// Only in packed traces: something that names a request and is not understood otherwise.
    pub const REQUEST: u8 = 13;
    pub const BUFFERED: u8 = 14;
    pub const COUNTED: u8 = 15;
    /// Only in raw streams: more words of the shape before.
    pub const MORE: u8 = 254;
    /// Only in raw streams: a shape whose words do not fit into one record.
    pub const LONG: u8 = 255;
}

/// Ranks that are none.
pub mod peer {
    /// MPI_PROC_NULL, or a root where there is none.
    pub const NOBODY: i64 = -1;
    /// MPI_ANY_SOURCE that was not resolved.
    pub const ANY: i64 = -2;
    /// MPI_ROOT of an intercommunicator's collective; only in raw streams.
    pub const ROOT: i64 = -3;
}

/// MPI_ANY_TAG.
pub const ANY_TAG: i64 = -1;

/// Flags of what can start a request, but for files.
pub mod flag {
    pub const STARTS: i64 = 1;
    pub const PERSISTENT: i64 = 2;
    pub const PARTITIONED: i64 = 4;
}

/// Tokens of requests that another thread started: −(thread × 2^40 + number) − 1.
pub mod token {
    pub const THREAD_SHIFT: u32 = 40;
    pub const NUMBER_MASK: i64 = (1 << THREAD_SHIFT) - 1;
}

pub mod layer {
    use crate::event::Layer;

    const LAYERS: [Layer; 5] =
        [Layer::Mpi, Layer::MpiIo, Layer::Posix, Layer::Stdio, Layer::Asynchronous];

    /// A layer that a later capture adds counts as MPI: its calls order nothing.
    pub fn of(number: u8) -> Layer {
        LAYERS.get(usize::from(number)).copied().unwrap_or(Layer::Mpi)
    }

    pub fn number(layer: Layer) -> u8 {
        layer as u8
    }

    #[cfg(test)]
    #[test]
    fn numbers_are_the_places_in_the_list() {
        assert!(LAYERS.iter().all(|layer| of(number(*layer)) == *layer));
    }
}

/// A call on a file.
pub mod file {
    use crate::event::FileKind;

    pub const OP: usize = 0;
    pub const FLAGS: usize = 1;
    pub const FILE: usize = 2;
    pub const BYTES: usize = 3;
    pub const OFFSET: usize = 4;
    pub const ERROR: usize = 5;
    pub const COMMUNICATOR: usize = 6;
    pub const WORDS: usize = 7;

    pub const HAS_OFFSET: i64 = 1;
    pub const COLLECTIVE: i64 = 2;
    pub const STARTS: i64 = 4;
    pub const CREATES: i64 = 8;
    /// In raw streams: the file is the one of the stream's last record *path*.
    pub const LATEST: i64 = 32;
    pub const APPENDS: i64 = 64;

    const KINDS: [FileKind; 16] = [
        FileKind::Open,
        FileKind::Close,
        FileKind::Read,
        FileKind::Write,
        FileKind::Sync,
        FileKind::Seek,
        FileKind::Stat,
        FileKind::Lock,
        FileKind::Truncate,
        FileKind::Map,
        FileKind::Unlink,
        FileKind::Rename,
        FileKind::MakeDirectory,
        FileKind::View,
        FileKind::Metadata,
        FileKind::Drop,
    ];

    /// What the number `op` means; one that a later capture adds is metadata.
    pub fn kind(op: i64) -> FileKind {
        let known = usize::try_from(op).ok().and_then(|op| KINDS.get(op));
        known.copied().unwrap_or(FileKind::Metadata)
    }
}

/// Calls of STDIO that were counted. Op is that of a file call.
pub mod buffered {
    pub const OP: usize = 0;
    pub const FILE: usize = 1;
    pub const CALLS: usize = 2;
    pub const BYTES: usize = 3;
}

/// Calls that were counted and not timed.
pub mod counted {
    pub const CALLS: usize = 0;
}

pub mod send {
    pub const COMMUNICATOR: usize = 0;
    pub const PEER: usize = 1;
    pub const TAG: usize = 2;
    pub const BYTES: usize = 3;
    pub const MODE: usize = 4;
    pub const FLAGS: usize = 5;

    pub const STANDARD: i64 = 0;
    pub const BUFFERED: i64 = 1;
    pub const SYNCHRONOUS: i64 = 2;
    pub const READY: i64 = 3;
}

pub mod receive {
    pub const COMMUNICATOR: usize = 0;
    pub const PEER: usize = 1;
    pub const TAG: usize = 2;
    pub const BYTES: usize = 3;
    pub const FLAGS: usize = 4;
    pub const ACTUAL_PEER: usize = 5;
    pub const ACTUAL_TAG: usize = 6;
}

/// The first five words are those of a send.
pub mod send_receive {
    pub const COMMUNICATOR: usize = 0;
    pub const SEND_PEER: usize = 1;
    pub const RECEIVE_PEER: usize = 5;
    pub const RECEIVE_TAG: usize = 6;
    pub const RECEIVE_BYTES: usize = 7;
    pub const ACTUAL_PEER: usize = 8;
    pub const ACTUAL_TAG: usize = 9;
    pub const FLAGS: usize = 10;
}

/// Where the words of a class say what a receive asks for and what it turned out to get.
pub struct Asked {
    pub peer: usize,
    pub tag: usize,
    pub actual_peer: usize,
    pub actual_tag: usize,
    pub flags: usize,
}

impl Asked {
    pub fn of(class: u8) -> Option<Self> {
        match class {
            class::RECEIVE => Some(Self {
                peer: receive::PEER,
                tag: receive::TAG,
                actual_peer: receive::ACTUAL_PEER,
                actual_tag: receive::ACTUAL_TAG,
                flags: receive::FLAGS,
            }),
            class::SEND_RECEIVE => Some(Self {
                peer: send_receive::RECEIVE_PEER,
                tag: send_receive::RECEIVE_TAG,
                actual_peer: send_receive::ACTUAL_PEER,
                actual_tag: send_receive::ACTUAL_TAG,
                flags: send_receive::FLAGS,
            }),
            _ => None,
        }
    }
}

pub mod complete {
    pub const FLAGS: usize = 0;
    pub const COUNT: usize = 1;
    /// The first completed request: three words each in a raw stream, its token alone in a packed
    /// file.
    pub const FIRST: usize = 2;
    pub const RAW_WORDS_EACH: usize = 3;

    pub const TEST: i64 = 1;
}

pub mod collective {
    pub const COMMUNICATOR: usize = 0;
    pub const KIND: usize = 1;
    pub const ROOT: usize = 2;
    pub const BYTES_SENT: usize = 3;
    pub const BYTES_RECEIVED: usize = 4;
    pub const FLAGS: usize = 5;

    pub const ALL: i64 = 0;
    pub const FROM_ROOT: i64 = 1;
    pub const TO_ROOT: i64 = 2;
    pub const PREFIX: i64 = 3;
    pub const EXCLUSIVE_PREFIX: i64 = 4;
}

pub mod start {
    pub const COUNT: usize = 0;
    pub const FIRST: usize = 1;
}

pub mod communicator {
    pub const PARENT: usize = 0;
    pub const NEW: usize = 1;
    pub const FLAGS: usize = 2;

    /// Only the members of the new communicator make it.
    pub const MEMBERS_ONLY: i64 = 2;
}

pub mod one_sided {
    pub const OP: usize = 0;
    pub const COMMUNICATOR: usize = 1;
    pub const TARGET: usize = 2;
    pub const BYTES: usize = 3;
    pub const FLAGS: usize = 4;
    pub const COUNT: usize = 5;
    /// The first of the world ranks that a post or start names; behind them is the window.
    pub const FIRST: usize = 6;

    /// Flag of a lock.
    pub const EXCLUSIVE: i64 = 8;

    pub const FENCE: i64 = 3;
    pub const POST: i64 = 4;
    pub const START: i64 = 5;
    pub const COMPLETE: i64 = 6;
    pub const WAIT: i64 = 7;
    pub const LOCK: i64 = 8;
    pub const UNLOCK: i64 = 9;
    pub const FLUSH: i64 = 10;
    pub const CREATE: i64 = 11;
}

pub mod control {
    pub const WHAT: usize = 0;
    pub const VALUE: usize = 1;

    pub const INITIALIZE: i64 = 0;
    pub const FINALIZE: i64 = 1;
    pub const LEVEL: i64 = 2;
    pub const ABORT: i64 = 3;
}

pub mod on_request {
    pub const TOKEN: usize = 0;
    /// Freed where it is absent.
    pub const ACTION: usize = 1;

    pub const CANCEL: i64 = 1;
    pub const READY: i64 = 2;
}

pub mod probe {
    pub const COMMUNICATOR: usize = 0;
    pub const PEER: usize = 1;
    pub const TAG: usize = 2;
    pub const FLAGS: usize = 3;
    pub const ACTUAL_PEER: usize = 4;
    pub const ACTUAL_TAG: usize = 5;

    pub const NOT_BLOCKING: i64 = 1;
    pub const FOUND: i64 = 2;
}

pub mod request {
    pub const FLAGS: usize = 0;
}
