//! The words of a shape and the [`Operation`] they mean: the classes of
//! `docs/reference/internals/trace.md`, as they stand in a packed trace.
//!
//! Words are numbers of the whole trace here: world ranks, indices of files, communicators and
//! locations.

use crate::columns::NO_TOKEN;
use crate::event::{
    Buffered, Envelope, FileCall, FileKind, Flow, Layer, OneSided, Operation, Progress,
    RequestAction, SendMode, Token,
};
use crate::tables::Tables;
use crate::wire::{self, class};

/// Why words are no operation.
pub(crate) type Wrong = &'static str;

pub(crate) const TOO_FEW: Wrong = "a shape has too few words";

/// Where words are understood: the tables that they point into, and who made the call.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub tables: &'a Tables,
    pub location: u32,
}

/// How a call of this class and with these words goes on after it returns.
#[inline]
pub(crate) fn progress(class: u8, words: &[i64]) -> Progress {
    use wire::{collective, communicator, file, one_sided, receive, request, send, send_receive};
    let both = (wire::flag::STARTS, wire::flag::PERSISTENT);
    let (place, (starts, persistent)) = match class {
        class::FILE => (file::FLAGS, (file::STARTS, 0)),
        class::SEND => (send::FLAGS, both),
        class::RECEIVE => (receive::FLAGS, both),
        class::SEND_RECEIVE => (send_receive::FLAGS, both),
        class::COLLECTIVE => (collective::FLAGS, both),
        class::COMMUNICATOR => (communicator::FLAGS, (wire::flag::STARTS, 0)),
        class::ONE_SIDED => (one_sided::FLAGS, (wire::flag::STARTS, 0)),
        class::REQUEST => (request::FLAGS, both),
        _ => return Progress::Blocking,
    };
    match words.get(place).copied().unwrap_or(0) {
        flags if flags & persistent != 0 => Progress::Persistent,
        flags if flags & starts != 0 => Progress::Started,
        _ => Progress::Blocking,
    }
}

/// Whether the words of `class` hold tokens written as distances.
pub(crate) fn has_tokens(class: u8) -> bool {
    matches!(class, class::COMPLETE | class::START | class::ON_REQUEST)
}

/// Where tokens begin among the words of such a class.
pub(crate) fn first_token(class: u8) -> usize {
    match class {
        class::COMPLETE => wire::complete::FIRST,
        class::START => wire::start::FIRST,
        _ => wire::on_request::TOKEN,
    }
}

/// The operation of a class with tokens as it is for all its events, and the words that name other
/// requests in each.
///
/// # Errors
/// If there are too few words, or the class has no tokens.
pub(crate) fn nameless(class: u8, words: &[i64]) -> Result<(Operation, &[i64]), Wrong> {
    let named = |count: i64| {
        let count = usize::try_from(count).map_err(|_| TOO_FEW)?;
        let rest = words.get(first_token(class)..).ok_or(TOO_FEW)?;
        rest.get(..count).ok_or(TOO_FEW)
    };
    Ok(match class {
        class::COMPLETE => {
            let test = get(words, wire::complete::FLAGS)? & wire::complete::TEST != 0;
            let tokens = named(get(words, wire::complete::COUNT)?)?;
            (Operation::Complete { completed: Vec::new(), test }, tokens)
        }
        class::START => {
            let tokens = named(get(words, wire::start::COUNT)?)?;
            (Operation::Start { requests: Vec::new() }, tokens)
        }
        class::ON_REQUEST => {
            (Operation::OnRequest { token: NO_TOKEN, action: request_action(words) }, named(1)?)
        }
        _ => return Err("a call names no request"),
    })
}

/// The operation of `class` that `words` mean. Own tokens become numbers: `next` is the location's
/// next number.
///
/// # Errors
/// If there are too few words, or one points outside the tables or is no such thing. Surplus words
/// are ignored.
pub(crate) fn operation(
    class: u8,
    words: &[i64],
    function_layer: Layer,
    next: u64,
    context: Context,
) -> Result<Operation, Wrong> {
    let progress = progress(class, words);
    Ok(match class {
        class::FILE => Operation::File(file_call(words, function_layer, progress, context)?),
        class::BUFFERED => Operation::Buffered(buffered(words, context)?),
        class::COUNTED => {
            Operation::Counted { calls: call_count(get(words, wire::counted::CALLS)?)? }
        }
        class::SEND => send(words, context)?,
        class::RECEIVE => receive(words, context)?,
        class::SEND_RECEIVE => send_receive(words, progress, context)?,
        class::COMPLETE => Operation::Complete {
            completed: tokens(class, words, get(words, wire::complete::COUNT)?, next, context)?,
            test: get(words, wire::complete::FLAGS)? & wire::complete::TEST != 0,
        },
        class::COLLECTIVE => collective(words, progress, context)?,
        class::START => Operation::Start {
            requests: tokens(class, words, get(words, wire::start::COUNT)?, next, context)?,
        },
        class::COMMUNICATOR => Operation::CommunicatorCreation {
            communicator: communicator(makers(words)?, context)?,
            progress,
        },
        class::ONE_SIDED => one_sided(words, progress, context)?,
        class::CONTROL => control(words)?,
        class::ON_REQUEST => Operation::OnRequest {
            token: token(get(words, wire::on_request::TOKEN)?, next, context)?,
            action: request_action(words),
        },
        class::PROBE => probe(words, context)?,
        class::REQUEST => Operation::OneSided {
            kind: OneSided::Local,
            communicator: communicator(0, context)?,
            window: 0,
            bytes: 0,
            progress,
        },
        // A class that a later capture adds is a call that orders nothing, for us.
        _ => Operation::Plain,
    })
}

#[inline]
fn get(words: &[i64], at: usize) -> Result<i64, Wrong> {
    words.get(at).copied().ok_or(TOO_FEW)
}

fn call_count(word: i64) -> Result<u64, Wrong> {
    u64::try_from(word).map_err(|_| "a number of calls is negative")
}

#[inline]
fn byte_count(word: i64) -> Result<u64, Wrong> {
    u64::try_from(word).map_err(|_| "a number of bytes is negative")
}

#[inline]
fn communicator(word: i64, context: Context) -> Result<u32, Wrong> {
    let known =
        u32::try_from(word).ok().filter(|&c| (c as usize) < context.tables.communicators.len());
    known.ok_or("a communicator was never defined")
}

#[inline]
fn peer(word: i64, context: Context) -> Result<i32, Wrong> {
    let good = i32::try_from(word).ok().filter(|&peer| {
        peer >= Envelope::UNKNOWN && i64::from(peer) < i64::from(context.tables.ranks)
    });
    good.ok_or("a peer is not a rank of the run")
}

#[inline]
fn tag(word: i64) -> Result<i32, Wrong> {
    i32::try_from(word).map_err(|_| "a tag exceeds 32 bits")
}

/// Who makes a communicator: the members of its parent, or of itself where only they do or there
/// is no parent.
fn makers(words: &[i64]) -> Result<i64, Wrong> {
    use wire::communicator::{FLAGS, MEMBERS_ONLY, NEW, PARENT};
    let parent = get(words, PARENT)?;
    let alone = words.get(FLAGS).is_some_and(|flags| flags & MEMBERS_ONLY != 0);
    if alone || parent == wire::peer::NOBODY { get(words, NEW) } else { Ok(parent) }
}

/// The other side of a send or a receive: their first four words are alike.
#[allow(clippy::inline_always)] // into what is made where it is kept
#[inline(always)]
fn envelope(words: &[i64], context: Context) -> Result<Envelope, Wrong> {
    use wire::send::{BYTES, COMMUNICATOR, PEER, TAG};
    Ok(Envelope {
        communicator: communicator(get(words, COMMUNICATOR)?, context)?,
        peer: peer(get(words, PEER)?, context)?,
        tag: tag(get(words, TAG)?)?,
        bytes: byte_count(get(words, BYTES)?)?,
    })
}

/// The envelope of a receive: what matched where that is known, what was asked for otherwise. What
/// was asked for is believed first: MPICH completes an MPI_Isendrecv with a tag of its own.
#[inline]
fn received(
    asked: Envelope,
    actual: (i64, i64),
    context: Context,
) -> Result<(Envelope, bool), Wrong> {
    let wildcard = asked.peer == Envelope::UNKNOWN || i64::from(asked.tag) == wire::ANY_TAG;
    if !wildcard || actual.0 == wire::peer::ANY {
        return Ok((asked, wildcard));
    }
    let mut found = asked;
    if asked.peer == Envelope::UNKNOWN {
        found.peer = peer(actual.0, context)?;
    }
    if i64::from(asked.tag) == wire::ANY_TAG {
        found.tag = tag(actual.1)?;
    }
    Ok((found, wildcard))
}

/// … of [`class::SEND`].
#[allow(clippy::inline_always)] // it is made where it is kept
#[inline(always)]
pub(crate) fn send(words: &[i64], context: Context) -> Result<Operation, Wrong> {
    let progress = progress(class::SEND, words);
    Ok(Operation::Send { envelope: envelope(words, context)?, mode: send_mode(words)?, progress })
}

/// … of [`class::RECEIVE`].
#[allow(clippy::inline_always)] // it is made where it is kept
#[inline(always)]
pub(crate) fn receive(words: &[i64], context: Context) -> Result<Operation, Wrong> {
    use wire::receive::{ACTUAL_PEER, ACTUAL_TAG};
    let progress = progress(class::RECEIVE, words);
    let actual = (get(words, ACTUAL_PEER)?, get(words, ACTUAL_TAG)?);
    let (envelope, wildcard) = received(envelope(words, context)?, actual, context)?;
    Ok(Operation::Receive { envelope, wildcard, progress })
}

fn send_receive(words: &[i64], progress: Progress, context: Context) -> Result<Operation, Wrong> {
    use wire::send_receive::{
        ACTUAL_PEER, ACTUAL_TAG, COMMUNICATOR, RECEIVE_BYTES, RECEIVE_PEER, RECEIVE_TAG,
    };
    let asked = [
        get(words, COMMUNICATOR)?,
        get(words, RECEIVE_PEER)?,
        get(words, RECEIVE_TAG)?,
        get(words, RECEIVE_BYTES)?,
    ];
    let actual = (get(words, ACTUAL_PEER)?, get(words, ACTUAL_TAG)?);
    let (receive, _) = received(envelope(&asked, context)?, actual, context)?;
    Ok(Operation::SendReceive { send: envelope(words, context)?, receive, progress })
}

fn request_action(words: &[i64]) -> RequestAction {
    use wire::on_request::{ACTION, CANCEL, READY};
    match words.get(ACTION) {
        Some(&CANCEL) => RequestAction::Cancel,
        Some(&READY) => RequestAction::Ready,
        _ => RequestAction::Free,
    }
}

#[inline]
fn send_mode(words: &[i64]) -> Result<SendMode, Wrong> {
    let flags = words.get(wire::send::FLAGS).copied().unwrap_or(0);
    match get(words, wire::send::MODE)? {
        _ if flags & wire::flag::PARTITIONED != 0 => Ok(SendMode::Partitioned),
        wire::send::STANDARD => Ok(SendMode::Standard),
        wire::send::BUFFERED => Ok(SendMode::Buffered),
        wire::send::SYNCHRONOUS => Ok(SendMode::Synchronous),
        wire::send::READY => Ok(SendMode::Ready),
        _ => Err("a send has no such mode"),
    }
}

/// A distance back from the next own number, or another location's number.
pub(crate) fn token(word: i64, next: u64, context: Context) -> Result<Token, Wrong> {
    use wire::token::{NUMBER_MASK, THREAD_SHIFT};
    if word > 0 {
        let number = next.checked_sub(word as u64).ok_or("a request was never started")?;
        return Ok(Token { location: context.location, number });
    }
    let coded = !word;
    let location = (coded >> THREAD_SHIFT) as u32;
    if word == 0 || location as usize >= context.tables.locations.len() {
        return Err("a request belongs to no thread of the run");
    }
    Ok(Token { location, number: (coded & NUMBER_MASK) as u64 })
}

fn tokens(
    class: u8,
    words: &[i64],
    count: i64,
    next: u64,
    context: Context,
) -> Result<Vec<Token>, Wrong> {
    let count = usize::try_from(count).map_err(|_| TOO_FEW)?;
    let words = words.get(first_token(class)..).and_then(|rest| rest.get(..count));
    words.ok_or(TOO_FEW)?.iter().map(|&word| token(word, next, context)).collect()
}

fn buffered(words: &[i64], context: Context) -> Result<Buffered, Wrong> {
    use wire::buffered::{BYTES, CALLS, FILE, OP};
    let file = usize::try_from(get(words, FILE)?).ok();
    let file = file.filter(|file| *file < context.tables.files.len());
    Ok(Buffered {
        file: file.ok_or("a file was never defined")? as u32,
        writes: wire::file::kind(get(words, OP)?) == FileKind::Write,
        calls: call_count(get(words, CALLS)?)?,
        bytes: byte_count(get(words, BYTES)?)?,
    })
}

fn file_call(
    words: &[i64],
    layer: Layer,
    progress: Progress,
    context: Context,
) -> Result<FileCall, Wrong> {
    use wire::file;
    let flags = get(words, file::FLAGS)?;
    let number = get(words, file::FILE)?;
    let entry = usize::try_from(number).ok().and_then(|number| context.tables.files.get(number));
    let ranks = get(words, file::COMMUNICATOR)?;
    let collective = flags & file::COLLECTIVE != 0 && ranks >= 0;
    Ok(FileCall {
        kind: file::kind(get(words, file::OP)?),
        layer,
        file: number as u32,
        bytes: byte_count(get(words, file::BYTES)?)?,
        offset: (flags & file::HAS_OFFSET != 0).then_some(get(words, file::OFFSET)?),
        error: get(words, file::ERROR)? as i32,
        collective: if collective { Some(communicator(ranks, context)?) } else { None },
        progress,
        creates: flags & file::CREATES != 0,
        appends: flags & file::APPENDS != 0,
        opaque: entry.ok_or("a file was never defined")?.opaque && layer == Layer::MpiIo,
    })
}

fn collective(words: &[i64], progress: Progress, context: Context) -> Result<Operation, Wrong> {
    use wire::collective::{BYTES_RECEIVED, BYTES_SENT, COMMUNICATOR, KIND, ROOT};
    Ok(Operation::Collective {
        communicator: communicator(get(words, COMMUNICATOR)?, context)?,
        flow: flow(get(words, KIND)?, peer(get(words, ROOT)?, context)?),
        bytes_sent: byte_count(get(words, BYTES_SENT)?)?,
        bytes_received: byte_count(get(words, BYTES_RECEIVED)?)?,
        progress,
    })
}

/// On an intercommunicator the ranks beside the root (root −1) take no part in the data's flow.
fn flow(kind: i64, root: i32) -> Flow {
    use wire::collective::{ALL, EXCLUSIVE_PREFIX, FROM_ROOT, PREFIX, TO_ROOT};
    match kind {
        ALL => Flow::All,
        FROM_ROOT if root >= 0 => Flow::FromRoot(root),
        TO_ROOT if root >= 0 => Flow::ToRoot(root),
        PREFIX | EXCLUSIVE_PREFIX => Flow::Prefix,
        _ => Flow::Neighbours,
    }
}

fn one_sided(words: &[i64], progress: Progress, context: Context) -> Result<Operation, Wrong> {
    use wire::one_sided::{
        BYTES, COMMUNICATOR, COMPLETE, COUNT, CREATE, EXCLUSIVE, FENCE, FIRST, FLAGS, FLUSH, LOCK,
        OP, POST, START, TARGET, UNLOCK, WAIT,
    };
    let target = u32::try_from(peer(get(words, TARGET)?, context)?).ok();
    let kind = match get(words, OP)? {
        FENCE | CREATE => OneSided::Collective,
        POST => OneSided::Post(world_ranks(words, context)?),
        START => OneSided::Start(world_ranks(words, context)?),
        COMPLETE => OneSided::Complete,
        WAIT => OneSided::Wait,
        LOCK => OneSided::Lock { target, exclusive: get(words, FLAGS)? & EXCLUSIVE != 0 },
        FLUSH => OneSided::Flush { target },
        UNLOCK => OneSided::Unlock { target },
        _ => OneSided::Local,
    };
    let communicator = communicator(get(words, COMMUNICATOR)?, context)?;
    let bytes = byte_count(get(words, BYTES)?)?;
    let behind = usize::try_from(get(words, COUNT)?).map_or(0, |ranks| FIRST.saturating_add(ranks));
    let window = words.get(behind).and_then(|window| u32::try_from(*window).ok()).unwrap_or(0);
    Ok(Operation::OneSided { kind, communicator, window, bytes, progress })
}

fn world_ranks(words: &[i64], context: Context) -> Result<Vec<u32>, Wrong> {
    use wire::one_sided::{COUNT, FIRST};
    let count = usize::try_from(get(words, COUNT)?).map_err(|_| TOO_FEW)?;
    let ranks = words.get(FIRST..).and_then(|rest| rest.get(..count)).ok_or(TOO_FEW)?;
    ranks.iter().map(|&rank| peer(rank, context).map(|rank| rank.max(0) as u32)).collect()
}

fn control(words: &[i64]) -> Result<Operation, Wrong> {
    use wire::control::{ABORT, FINALIZE, INITIALIZE, LEVEL, VALUE, WHAT};
    let value = get(words, VALUE)?;
    Ok(match get(words, WHAT)? {
        INITIALIZE => Operation::Initialize,
        FINALIZE => Operation::Finalize,
        LEVEL => Operation::Control(value as i32),
        ABORT => Operation::Abort,
        _ => Operation::Plain,
    })
}

fn probe(words: &[i64], context: Context) -> Result<Operation, Wrong> {
    use wire::probe::{
        ACTUAL_PEER, ACTUAL_TAG, COMMUNICATOR, FLAGS, FOUND, NOT_BLOCKING, PEER, TAG,
    };
    let flags = get(words, FLAGS)?;
    if flags & NOT_BLOCKING != 0 && flags & FOUND == 0 {
        return Ok(Operation::Plain);
    }
    let asked = [get(words, COMMUNICATOR)?, get(words, PEER)?, get(words, TAG)?, 0];
    let actual = (get(words, ACTUAL_PEER)?, get(words, ACTUAL_TAG)?);
    let (envelope, _) = received(envelope(&asked, context)?, actual, context)?;
    Ok(Operation::Probe { envelope })
}
