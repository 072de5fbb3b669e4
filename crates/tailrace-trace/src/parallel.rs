//! One function over many things, on all processors, results in order.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

pub(crate) fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

pub(crate) fn map<T: Sync, R: Send>(things: &[T], function: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<R>>> = things.iter().map(|_| Mutex::new(None)).collect();
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(thing) = things.get(at) else { break };
            *results[at].lock().expect("no worker panics with a result in hand") =
                Some(function(thing));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads().min(things.len()) {
            scope.spawn(work);
        }
    });
    let take = |slot: Mutex<Option<R>>| {
        slot.into_inner().expect("workers have ended").expect("every thing was worked on")
    };
    results.into_iter().map(take).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn results_come_in_order() {
        let numbers: Vec<u64> = (0..1000).collect();
        assert_eq!(
            super::map(&numbers, |n| n * n),
            numbers.iter().map(|n| n * n).collect::<Vec<_>>()
        );
        assert!(super::map(&[] as &[u8], |_| 0).is_empty());
    }
}
