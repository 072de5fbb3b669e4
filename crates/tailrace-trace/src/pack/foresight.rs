//! What wildcard receives match that are completed long after they were posted, or by another
//! thread: the streams of the process are read ahead, once, where there are such receives.

use std::collections::HashMap;

use crate::error::TraceError;
use crate::raw::decode::Decoder;
use crate::raw::run::{Run, Stream};
use crate::raw::translate::Completion;

/// By the number of the request.
pub(super) type Matches = HashMap<u64, Completion>;

/// Matches of the stream's receives that are completed `events_min` events or more after they were
/// posted, and of those that other threads complete.
///
/// # Errors
/// If a stream can no longer be opened.
pub(super) fn matches(
    run: &Run,
    stream: &Stream,
    events_min: usize,
) -> Result<Matches, TraceError> {
    let mut found = later(run, stream, events_min)?;
    for sibling in run.siblings(stream) {
        let mut decoder = Decoder::new(run, sibling)?;
        while let Some(decoded) = decoder.next_call() {
            let of_ours = decoded
                .of_others
                .iter()
                .filter(|other| other.thread == stream.survey.header.thread);
            found.extend(of_ours.map(|other| (other.number, other.completion)));
        }
    }
    Ok(found)
}

fn later(run: &Run, stream: &Stream, events_min: usize) -> Result<Matches, TraceError> {
    let (mut posted, mut found, mut events) = (HashMap::new(), Matches::new(), 0usize);
    let mut decoder = Decoder::new(run, stream)?;
    while let Some(decoded) = decoder.next_call() {
        events += 1;
        if let (Some(number), Some(_)) = (decoded.number, decoded.posted) {
            posted.insert(number, events);
        }
        for (number, completion) in decoded.completed {
            let since = posted.remove(&number).map(|then| events - then);
            if since.is_some_and(|since| since >= events_min) {
                found.insert(number, completion);
            }
        }
    }
    Ok(found)
}
