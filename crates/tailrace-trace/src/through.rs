//! A trace read from end to end, to know that it can be.

use crate::{Columns, Trace, TraceError};

/// Reads all events, and keeps none. `tell` hears how many of how many have been read, and says
/// whether to go on.
///
/// # Errors
/// Where a stream reports damage, or ends before or after the events that its location states; or
/// `tell` says so.
pub fn read_through(
    trace: &dyn Trace,
    tell: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<(), TraceError> {
    let locations = &trace.tables().locations;
    let total = locations.iter().map(|location| location.events).sum();
    let (mut columns, mut read) = (Columns::default(), 0);
    for (number, location) in locations.iter().enumerate() {
        let (mut stream, begin) = (trace.events(number), read);
        while stream.next_columns(&mut columns)? {
            read += columns.len() as u64;
            if !tell(read, total) {
                return Err(TraceError::new("reading was interrupted", "run it again"));
            }
        }
        let (events, stated) = (read - begin, location.events);
        if events != stated {
            let message =
                format!("the trace has {events} events of a thread of which it states {stated}");
            return Err(TraceError::new(message, "pack its raw directory again"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryTrace;
    use crate::event::{Layer, Operation};

    fn trace() -> MemoryTrace {
        let mut trace = MemoryTrace::new(2);
        let function = trace.function("pwrite", Layer::Posix);
        (0..2500).for_each(|i| trace.call(1, function, 10 * i, 10 * i + 5, Operation::Plain));
        trace
    }

    #[test]
    fn all_events_are_read_and_counted() {
        let mut told = Vec::new();
        let heard = read_through(&trace(), &mut |done, total| {
            told.push((done, total));
            true
        });
        assert_eq!(heard, Ok(()));
        assert_eq!(told.last(), Some(&(2500, 2500)));
    }

    #[test]
    fn events_that_are_missing_and_whoever_asks_to_stop_are_heard() {
        let mut shorter = trace();
        shorter.tables.locations[1].events += 1;
        let error = read_through(&shorter, &mut |_, _| true).unwrap_err();
        assert_eq!(error.message, "the trace has 2500 events of a thread of which it states 2501");
        let stopped = read_through(&trace(), &mut |_, _| false).unwrap_err();
        assert_eq!(stopped.message, "reading was interrupted");
    }
}
