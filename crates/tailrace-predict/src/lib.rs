//! Replays of a run with resources in place of ideals: what it would take on another machine.
//!
//! [`Steps`] are what each rank did, without when: its own time, its file calls, and its waits with
//! what they were for ([`matching`], [`building`]). [`replay()`] takes them again, at another
//! [`Pace`] and with another [`FileSystem`], in the order in which they happen then. Steps that are
//! taken as measured end when the run did, to the nanosecond; with an ideal network and an ideal
//! file system they end at T_net and T_ideal of the replay crate, which shares no code with this
//! one beyond what a rank is reduced to.

mod ahead;
mod beside;
mod beyond;
mod building;
mod by_file;
mod extents;
mod files;
mod gatherings;
mod locks;
mod matching;
mod merged;
mod methods;
pub mod model;
mod processors;
mod queued;
mod renamed;
mod replay;
mod servers;
mod short;
pub mod simulate;
mod staged;
mod steps;

pub use ahead::Ahead;
pub use beyond::{Beyond, Kept};
pub use files::{Moved, Overlapped, Scaled, Spared};
pub use locks::{Granularity, Locks};
pub use merged::{Gathering, Merged, are_apart, by_itself};
pub use methods::{Asked, Outputs, Rebuilt, Told};
pub use model::{Modelled, Parameters, Rereads};
pub use processors::Processors;
pub use renamed::{Renamed, renamed};
pub use replay::{FileSystem, Pace, RankTimes, Replayed, Together, replay, run_times, served};
pub use servers::Servers;
pub use staged::Staged;
pub use steps::Steps;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use tailrace_replay::{CollectiveOrder, Options};
use tailrace_trace::tables::FileEntry;
use tailrace_trace::{Tables, Trace, TraceError};

/// The steps of a trace. Collectives make their ranks wait where data flow, and sends of more than
/// `eager_limit_bytes` for their receives, to the root of a collective too: else a rank would take
/// for the network's time what it waited for a root that was in a file.
///
/// # Errors
/// Where the trace is damaged, or its times are beyond reason.
pub fn steps(trace: &dyn Trace, eager_limit_bytes: u64) -> Result<Steps, TraceError> {
    let collectives = CollectiveOrder::Rendezvous;
    let options = Options { eager_limit_bytes, collectives, ..Options::default() };
    let program = tailrace_replay::program(trace, &options)?;
    Ok(building::steps(trace.tables(), program))
}

/// By file of the trace: whether it lies in the directory or below it.
pub fn files_below(files: &[FileEntry], directory: &Path) -> Vec<bool> {
    let path = |entry: &FileEntry| Path::new(OsStr::from_bytes(&entry.path)).starts_with(directory);
    files.iter().map(path).collect()
}

/// By rank: the node that its main thread is on, numbered as they come.
pub fn nodes(tables: &Tables) -> Vec<u32> {
    let mut known: hashbrown::HashMap<&str, u32> = hashbrown::HashMap::new();
    let mut nodes = vec![0; tables.ranks as usize];
    for location in tables.locations.iter().filter(|location| location.main) {
        let next = known.len() as u32;
        nodes[location.rank as usize] = *known.entry(&location.host).or_insert(next);
    }
    nodes
}
