//! The words of a shape and the [`Operation`] they mean: the classes of `docs/trace.md`, as they stand in a packed trace.
//!
//! Words are numbers of the whole trace here: world ranks, indices of files, communicators and locations.

use crate::event::{Envelope, FileCall, FileKind, Flow, Layer, OneSided, Operation, Progress, SendMode, Token};
use crate::tables::Tables;

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
    pub const FORGET: u8 = 11;
    pub const PROBE: u8 = 12;
    /// Only in packed traces: something that names a request and is not understood otherwise. Words: flags.
    pub const REQUEST: u8 = 13;
}

pub const STARTS: i64 = 1;
pub const PERSISTENT: i64 = 2;
pub const FILE_OFFSET: i64 = 1;
pub const FILE_COLLECTIVE: i64 = 2;
pub const FILE_STARTS: i64 = 4;
pub const ANY_TAG: i64 = -1;
/// Another thread's token: −(thread × 2^40 + number) − 1.
pub const TOKEN_THREAD_SHIFT: u32 = 40;

const FILE_KINDS: [FileKind; 15] = [
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
];

/// Why words are no operation.
pub type Wrong = &'static str;

const TOO_FEW: Wrong = "a shape has too few words";

/// Where words are understood: the tables that they point into, and who made the call.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    pub tables: &'a Tables,
    pub location: u32,
}

/// Which requests of this class and these words take a number: the index of the flags word, and the flags.
pub fn progress(class: u8, words: &[i64]) -> Progress {
    let flags = |at: usize| words.get(at).copied().unwrap_or(0);
    let (flags, starts, persistent) = match class {
        class::FILE => (flags(1), FILE_STARTS, 0),
        class::SEND => (flags(5), STARTS, PERSISTENT),
        class::RECEIVE => (flags(4), STARTS, PERSISTENT),
        class::SEND_RECEIVE => (flags(10), STARTS, PERSISTENT),
        class::COLLECTIVE => (flags(5), STARTS, PERSISTENT),
        class::COMMUNICATOR => (flags(2), STARTS, 0),
        class::ONE_SIDED => (flags(4), STARTS, 0),
        class::REQUEST => (flags(0), STARTS, PERSISTENT),
        _ => (0, 0, 0),
    };
    match flags {
        _ if flags & persistent != 0 => Progress::Persistent,
        _ if flags & starts != 0 => Progress::Started,
        _ => Progress::Blocking,
    }
}

/// Whether the words of `class` hold tokens written as distances.
pub fn has_tokens(class: u8) -> bool {
    matches!(class, class::COMPLETE | class::START | class::FORGET)
}

/// Where tokens begin among the words of such a class.
pub fn first_token(class: u8) -> usize {
    match class {
        class::COMPLETE => 2,
        class::START => 1,
        _ => 0,
    }
}

/// The operation of `class` that `words` mean. Own tokens become numbers: `next` is the location's next number.
///
/// # Errors
/// If there are too few words, or one points outside the tables or is no such thing. Surplus words are ignored.
pub fn operation(
    class: u8,
    words: &[i64],
    function_layer: Layer,
    next: u64,
    context: Context,
) -> Result<Operation, Wrong> {
    let progress = progress(class, words);
    Ok(match class {
        class::FILE => Operation::File(file_call(words, function_layer, progress, context)?),
        class::SEND => {
            Operation::Send { envelope: envelope(words, context)?, mode: send_mode(get(words, 4)?)?, progress }
        }
        class::RECEIVE => receive(words, progress, context)?,
        class::SEND_RECEIVE => send_receive(words, progress, context)?,
        class::COMPLETE => {
            let completed = tokens(words.get(2..).ok_or(TOO_FEW)?, get(words, 1)?, next, context)?;
            Operation::Complete { completed, test: get(words, 0)? & 1 != 0 }
        }
        class::COLLECTIVE => collective(words, progress, context)?,
        class::START => {
            Operation::Start { requests: tokens(words.get(1..).ok_or(TOO_FEW)?, get(words, 0)?, next, context)? }
        }
        class::COMMUNICATOR => {
            Operation::CommunicatorCreation { communicator: communicator(get(words, 0)?, context)?, progress }
        }
        class::ONE_SIDED => one_sided(words, progress, context)?,
        class::CONTROL => control(get(words, 0)?, get(words, 1)?)?,
        class::FORGET => Operation::Forget { token: token(get(words, 0)?, next, context)? },
        class::PROBE => probe(words, context)?,
        class::REQUEST => {
            Operation::OneSided { kind: OneSided::Local, communicator: communicator(0, context)?, bytes: 0, progress }
        }
        // A class that a later capture adds is a call that orders nothing, for us.
        _ => Operation::Plain,
    })
}

fn get(words: &[i64], at: usize) -> Result<i64, Wrong> {
    words.get(at).copied().ok_or(TOO_FEW)
}

fn byte_count(word: i64) -> Result<u64, Wrong> {
    u64::try_from(word).map_err(|_| "a number of bytes is negative")
}

fn communicator(word: i64, context: Context) -> Result<u32, Wrong> {
    let known = u32::try_from(word).ok().filter(|&c| (c as usize) < context.tables.communicators.len());
    known.ok_or("a communicator was never defined")
}

fn peer(word: i64, context: Context) -> Result<i32, Wrong> {
    let good = i32::try_from(word).ok().filter(|&peer| peer >= -2 && i64::from(peer) < i64::from(context.tables.ranks));
    good.ok_or("a peer is no rank of the run")
}

fn tag(word: i64) -> Result<i32, Wrong> {
    i32::try_from(word).map_err(|_| "a tag exceeds 32 bits")
}

/// Words: comm, peer, tag, bytes.
fn envelope(words: &[i64], context: Context) -> Result<Envelope, Wrong> {
    Ok(Envelope {
        communicator: communicator(get(words, 0)?, context)?,
        peer: peer(get(words, 1)?, context)?,
        tag: tag(get(words, 2)?)?,
        bytes: byte_count(get(words, 3)?)?,
    })
}

/// The envelope of a receive: what matched where that is known, what was asked for otherwise.
fn received(asked: Envelope, actual: (i64, i64), context: Context) -> Result<(Envelope, bool), Wrong> {
    let wildcard = asked.peer == Envelope::UNKNOWN || i64::from(asked.tag) == ANY_TAG;
    if !wildcard || actual.0 == i64::from(Envelope::UNKNOWN) {
        return Ok((asked, wildcard));
    }
    let found = Envelope { peer: peer(actual.0, context)?, tag: tag(actual.1)?, ..asked };
    Ok((found, wildcard))
}

fn receive(words: &[i64], progress: Progress, context: Context) -> Result<Operation, Wrong> {
    let actual = (get(words, 5)?, get(words, 6)?);
    let (envelope, wildcard) = received(envelope(words, context)?, actual, context)?;
    Ok(Operation::Receive { envelope, wildcard, progress })
}

/// Words: comm, peer, tag, bytes, mode of the send; peer, tag, bytes, actual peer, actual tag of the receive; flags.
fn send_receive(words: &[i64], progress: Progress, context: Context) -> Result<Operation, Wrong> {
    let asked = [get(words, 0)?, get(words, 5)?, get(words, 6)?, get(words, 7)?];
    let actual = (get(words, 8)?, get(words, 9)?);
    let (receive, _) = received(envelope(&asked, context)?, actual, context)?;
    Ok(Operation::SendReceive { send: envelope(words, context)?, receive, progress })
}

fn send_mode(word: i64) -> Result<SendMode, Wrong> {
    match word {
        0 => Ok(SendMode::Standard),
        1 => Ok(SendMode::Buffered),
        2 => Ok(SendMode::Synchronous),
        3 => Ok(SendMode::Ready),
        _ => Err("a send has no such mode"),
    }
}

/// A distance back from the next own number, or another location's number.
fn token(word: i64, next: u64, context: Context) -> Result<Token, Wrong> {
    if word > 0 {
        let number = next.checked_sub(word as u64).ok_or("a request was never started")?;
        return Ok(Token { location: context.location, number });
    }
    let coded = !word as u64;
    let location = (coded >> TOKEN_THREAD_SHIFT) as u32;
    if word == 0 || location as usize >= context.tables.locations.len() {
        return Err("a request belongs to no thread of the run");
    }
    Ok(Token { location, number: coded & ((1 << TOKEN_THREAD_SHIFT) - 1) })
}

fn tokens(words: &[i64], count: i64, next: u64, context: Context) -> Result<Vec<Token>, Wrong> {
    let count = usize::try_from(count).map_err(|_| TOO_FEW)?;
    let words = words.get(..count).ok_or(TOO_FEW)?;
    let mut tokens = Vec::with_capacity(count);
    for &word in words {
        tokens.push(token(word, next, context)?);
    }
    Ok(tokens)
}

fn file_call(words: &[i64], layer: Layer, progress: Progress, context: Context) -> Result<FileCall, Wrong> {
    let flags = get(words, 1)?;
    let file = get(words, 2)?;
    let entry = usize::try_from(file).ok().and_then(|file| context.tables.files.get(file));
    let collective = flags & FILE_COLLECTIVE != 0 && get(words, 6)? >= 0;
    Ok(FileCall {
        kind: *usize::try_from(get(words, 0)?).ok().and_then(|op| FILE_KINDS.get(op)).unwrap_or(&FileKind::Metadata),
        layer,
        file: file as u32,
        bytes: byte_count(get(words, 3)?)?,
        offset: (flags & FILE_OFFSET != 0).then_some(get(words, 4)?),
        error: get(words, 5)? as i32,
        collective: if collective { Some(communicator(get(words, 6)?, context)?) } else { None },
        progress,
        opaque: entry.ok_or("a file was never defined")?.opaque && layer == Layer::MpiIo,
    })
}

/// Words: comm, kind, root, bytes sent, bytes received, flags.
fn collective(words: &[i64], progress: Progress, context: Context) -> Result<Operation, Wrong> {
    Ok(Operation::Collective {
        communicator: communicator(get(words, 0)?, context)?,
        flow: flow(get(words, 1)?, peer(get(words, 2)?, context)?),
        bytes_sent: byte_count(get(words, 3)?)?,
        bytes_received: byte_count(get(words, 4)?)?,
        progress,
    })
}

/// On an intercommunicator the ranks beside the root (root −1) take no part in the data's flow.
fn flow(kind: i64, root: i32) -> Flow {
    match kind {
        0 => Flow::All,
        1 if root >= 0 => Flow::FromRoot(root),
        2 if root >= 0 => Flow::ToRoot(root),
        3 | 4 => Flow::Prefix,
        _ => Flow::Neighbours,
    }
}

/// Words: op, comm of the window, target, bytes, flags, n, n world ranks.
fn one_sided(words: &[i64], progress: Progress, context: Context) -> Result<Operation, Wrong> {
    let kind = match get(words, 0)? {
        3 | 11 => OneSided::Collective,
        4 => OneSided::Post(world_ranks(words, context)?),
        5 => OneSided::Start(world_ranks(words, context)?),
        6 => OneSided::Complete,
        7 => OneSided::Wait,
        _ => OneSided::Local,
    };
    let communicator = communicator(get(words, 1)?, context)?;
    Ok(Operation::OneSided { kind, communicator, bytes: byte_count(get(words, 3)?)?, progress })
}

fn world_ranks(words: &[i64], context: Context) -> Result<Vec<u32>, Wrong> {
    let count = usize::try_from(get(words, 5)?).map_err(|_| TOO_FEW)?;
    let ranks = words.get(6..).and_then(|rest| rest.get(..count)).ok_or(TOO_FEW)?;
    ranks.iter().map(|&rank| peer(rank, context).map(|rank| rank.max(0) as u32)).collect()
}

fn control(what: i64, value: i64) -> Result<Operation, Wrong> {
    match what {
        0 => Ok(Operation::Initialize),
        1 => Ok(Operation::Finalize),
        2 => Ok(Operation::Control(value as i32)),
        3 => Ok(Operation::Abort),
        _ => Ok(Operation::Plain),
    }
}

/// Words: comm, peer, tag, flags (bit 0 non-blocking, bit 1 found), actual peer, actual tag.
fn probe(words: &[i64], context: Context) -> Result<Operation, Wrong> {
    const NOT_BLOCKING: i64 = 1;
    const FOUND: i64 = 2;
    let flags = get(words, 3)?;
    if flags & NOT_BLOCKING != 0 && flags & FOUND == 0 {
        return Ok(Operation::Plain);
    }
    let asked = envelope(&[get(words, 0)?, get(words, 1)?, get(words, 2)?, 0], context)?;
    let (envelope, _) = received(asked, (get(words, 4)?, get(words, 5)?), context)?;
    Ok(Operation::Probe { envelope })
}
