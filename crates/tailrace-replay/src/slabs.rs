//! How many events a slab holds.

use crate::options::{CriticalPaths, Options};

/// Events of a slab: what a thread that takes all by itself finds in its cache. What one thread
/// reads that another has written comes slowly while it lies in that one's cache, unless they have
/// one in common: so slabs that several threads take are larger than that. But the more ranks there
/// are, the less is it foreseen what the graph reads next: that is to lie in a common cache, at
/// least. Where few ranks meet and no paths are followed, half as large takes less time.
const SLAB_ALONE: u64 = 1 << 13;
const SLAB_TOGETHER: u64 = 1 << 17;
const SLAB_FOR_THE_GRAPH: u64 = 1 << 15;
const SLAB_WITHOUT_PATHS: u64 = 1 << 16;
pub(crate) const FEW_RANKS: usize = 1 << 3;
/// … but where there are many ranks so many of each, since in each slab what is known of a rank
/// comes into the cache again, and so many in all, since more would take too much memory; but fewer
/// of each rank in no case.
const SLAB_OF_A_RANK: u64 = 1 << 8;
const SLAB_OF_MANY: u64 = 1 << 18;
const LEAST_OF_A_RANK: u64 = 1 << 6;
const MANY: u64 = 1 << 6;

/// Of a slab in which ranks are reduced, and of one that the graph takes; as asked for, if they
/// are.
pub(crate) fn sizes(options: &Options, is_shared: bool, ranks: usize) -> (u64, u64) {
    let (events, most) = match options.slab {
        0 if is_shared => (SLAB_TOGETHER, most_for_the_graph(options, ranks)),
        0 => (SLAB_ALONE, SLAB_ALONE),
        events => (events, events),
    };
    let many = slab_of(ranks as u64);
    (events.max(many), events.min(most).max(many))
}

fn most_for_the_graph(options: &Options, ranks: usize) -> u64 {
    match options.critical_paths {
        _ if ranks > FEW_RANKS => SLAB_FOR_THE_GRAPH,
        CriticalPaths::LeftOut => SLAB_WITHOUT_PATHS,
        CriticalPaths::Followed => SLAB_TOGETHER,
    }
}

/// Events of a slab of so many ranks, at least.
fn slab_of(ranks: u64) -> u64 {
    let beyond = ranks.saturating_sub(MANY);
    (SLAB_OF_A_RANK * beyond).min(SLAB_OF_MANY).max(LEAST_OF_A_RANK * beyond)
}
