//! A trace read from end to end, to know that it can be.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Columns, Trace, TraceError, parallel};

/// Reads all events, and keeps none. `tell` hears how many of how many have been read, on several
/// threads, and says whether to go on.
///
/// # Errors
/// Where a stream reports damage, or ends before or after the events that its location states; or
/// `tell` says so.
pub fn read_through(
    trace: &dyn Trace,
    tell: &(dyn Fn(u64, u64) -> bool + Sync),
) -> Result<(), TraceError> {
    let locations = &trace.tables().locations;
    let total = locations.iter().map(|location| location.events).sum();
    let (numbers, read): (Vec<usize>, _) = ((0..locations.len()).collect(), AtomicU64::new(0));
    let results = parallel::map(&numbers, |&number| {
        let (mut stream, mut columns, mut events) = (trace.events(number), Columns::default(), 0);
        while stream.next_columns(&mut columns)? {
            let here = columns.len() as u64;
            events += here;
            if !tell(read.fetch_add(here, Ordering::Relaxed) + here, total) {
                return Err(TraceError::new("reading was interrupted", "run it again"));
            }
        }
        let stated = locations[number].events;
        if events != stated {
            let message =
                format!("the trace has {events} events of a thread of which it states {stated}");
            return Err(TraceError::new(message, "pack its raw directory again"));
        }
        Ok(())
    });
    results.into_iter().collect()
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
        let read = AtomicU64::new(0);
        let told = |done, total| {
            read.fetch_max(done, Ordering::Relaxed);
            total == 2500
        };
        assert_eq!(read_through(&trace(), &told), Ok(()));
        assert_eq!(read.into_inner(), 2500);
    }

    #[test]
    fn events_that_are_missing_and_whoever_asks_to_stop_are_heard() {
        let mut shorter = trace();
        shorter.tables.locations[1].events += 1;
        let error = read_through(&shorter, &|_, _| true).unwrap_err();
        assert_eq!(error.message, "the trace has 2500 events of a thread of which it states 2501");
        let stopped = read_through(&trace(), &|_, _| false).unwrap_err();
        assert_eq!(stopped.message, "reading was interrupted");
    }
}
