//! Any bytes as a packed trace, replayed: what can be read can be replayed, the ideal times keep
//! their order, and they do not depend on slabs.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tailrace_replay::{Options, analyze};
use tailrace_trace_fuzz::packed;

fuzz_target!(|bytes: &[u8]| {
    let Ok(trace) = packed(bytes) else { return };
    let replayed = |slab| {
        let options = Options { bins: 64, longest: 100, threads: 1, slab, ..Options::default() };
        analyze(&*trace, &options, &mut |_, _| true).ok()
    };
    let (once, again) = (replayed(1 << 16), replayed(7));
    assert_eq!(once.is_some(), again.is_some());
    let (Some(once), Some(again)) = (once, again) else { return };
    assert_eq!(once.ideal, again.ideal);
    assert_eq!(once.ranks, again.ranks);
    let order = [once.ideal.ideal, once.ideal.even, once.ideal.net, once.runtime];
    assert!(order.is_sorted(), "{order:?}");
});
