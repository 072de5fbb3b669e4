//! What a workload's run would take, without any trace: the solver's steps in closed form, and its
//! outputs and inputs call by call, as kernels/gridio makes them.

mod alike;
mod boxes;
pub(crate) mod bursts;
mod clocks;
mod cycles;
mod data;
mod files;
pub(crate) mod groups;
mod layout;
mod names;
mod network;
pub(crate) mod phase;
mod plans;
mod run;
mod streams;
pub(crate) mod tiles;
mod workload;

use bursts::Alone;
pub use network::Network;
pub use workload::{Dimension, Format, Method, Stream, Variable, Workload, Writers};

use tailrace_replay::program::FileCall;

use crate::model::{Modelled, Parameters};
use crate::replay::{FileSystem, added};
use boxes::Piece;
use cycles::Cycles;
use run::Run;
use tiles::Tiles;

/// So many file calls are taken one by one; of more than these, some are taken together. Of more
/// than a tenth of these, outputs that repeat are left out.
pub const CALLS_AT_MOST: i64 = 1_000_000;

/// What a run took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Simulated {
    pub runtime: i64,
    /// So many calls of a rank were taken as one.
    pub together: i64,
    /// So many model steps, with their output, took what those before them took.
    pub repeated: u64,
}

/// Whether each rank has a cell.
pub fn fits(workload: &Workload) -> bool {
    Tiles::of(workload).is_some()
}

/// On what a run takes place.
#[derive(Clone, Copy, Debug)]
pub struct Conditions<'a> {
    pub network: Network,
    /// The file system; none: one that takes no time.
    pub model: Option<&'a Parameters>,
    /// Its clients know all files when the run begins.
    pub warm: bool,
    pub calls_at_most: i64,
}

/// What the run takes. Where some rank has no cell, nothing.
pub fn simulate(workload: &Workload, conditions: Conditions<'_>) -> Option<Simulated> {
    let Conditions { network, model, warm, calls_at_most } = conditions;
    let tiles = Tiles::of(workload)?;
    let nodes: Vec<u32> = (0..workload.ranks).map(|rank| rank / workload.ranks_per_node).collect();
    let calls = calls_of(workload, &tiles);
    let together = ((calls + calls_at_most - 1) / calls_at_most).max(1);
    let mut ideal = Ideal;
    let mut modelled = model.map(|model| Modelled::new(model, &nodes, warm));
    let files: &mut dyn FileSystem = match &mut modelled {
        Some(modelled) => modelled,
        None => &mut ideal,
    };
    let alone = Alone { model, servers: servers_of(workload, model) };
    let mut run = Run::new(workload, tiles, network, files, alone, together);
    if calls > calls_at_most / 10 {
        run.cycles = Cycles::of(workload);
    }
    run.all();
    let runtime = added(run.clocks.latest(), run.cycles.time);
    Some(Simulated { runtime, together, repeated: run.cycles.steps })
}

/// So many servers have their part of an output.
fn servers_of(workload: &Workload, model: Option<&Parameters>) -> u32 {
    let Some(servers) = model.and_then(|model| model.servers) else { return 1 };
    let (files, nodes) = match workload.method {
        Method::FilePerRank => (workload.ranks, workload.ranks.div_ceil(workload.ranks_per_node)),
        _ => (1, 1),
    };
    let count = if servers.count == 0 { nodes } else { servers.count };
    count.min(servers.stripe_count.saturating_mul(files).max(nodes)).max(1)
}

/// The share of the largest tile's cells that ranks have on average.
pub fn balance(workload: &Workload) -> f64 {
    let Some(tiles) = Tiles::of(workload) else { return 0. };
    let [y, x] = tiles.largest();
    let cells = workload.grid[1] * workload.grid[2];
    cells as f64 / (y * x * i64::from(workload.ranks)) as f64
}

/// About how many calls move data.
fn calls_of(workload: &Workload, tiles: &Tiles) -> i64 {
    let mut calls = 0;
    for stream in &workload.streams {
        let variables = stream.variables.iter().filter(|variable| variable.tiled);
        let a_step: i64 = match workload.method {
            Method::Serial | Method::Collective => variables.count() as i64,
            // about the rows of a group's tiles
            Method::Aggregated => variables
                .map(|variable| {
                    let nodes = workload.ranks.div_ceil(workload.ranks_per_node);
                    Piece::of(&tiles.at(0), variable).runs(variable, 0).len() * i64::from(nodes)
                })
                .sum(),
            Method::FilePerRank => variables.count() as i64 * i64::from(workload.ranks),
            Method::Independent => variables
                .map(|variable| {
                    Piece::of(&tiles.at(0), variable).runs(variable, 0).len()
                        * i64::from(workload.ranks)
                })
                .sum(),
        };
        calls += a_step * stream.steps(workload.steps) as i64;
    }
    calls
}

struct Ideal;

impl FileSystem for Ideal {
    fn end(&mut self, _rank: u32, begin: i64, _call: &FileCall) -> i64 {
        begin
    }
}

/// Keeps what is asked of it; each call takes a nanosecond.
struct Recorded(Vec<Vec<FileCall>>);

impl FileSystem for Recorded {
    fn end(&mut self, rank: u32, begin: i64, call: &FileCall) -> i64 {
        self.0[rank as usize].push(*call);
        begin + 1
    }
}

/// By rank: the calls that the run makes, with the file's name. None where some rank has no cell.
pub fn calls(workload: &Workload) -> Option<Vec<Vec<(FileCall, String)>>> {
    let tiles = Tiles::of(workload)?;
    let network = Network { latency: 0., byte: 0., eager_limit_bytes: 0 };
    let mut files = Recorded(vec![Vec::new(); workload.ranks as usize]);
    let alone = Alone { model: None, servers: 1 };
    let mut run = Run::new(workload, tiles, network, &mut files, alone, 1);
    run.all();
    let names = run.names;
    let told = |call: FileCall| (call, names.of(call.file, &workload.streams));
    Some(files.0.into_iter().map(|calls| calls.into_iter().map(told).collect()).collect())
}
