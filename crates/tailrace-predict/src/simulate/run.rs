//! The run: model steps between which nothing is written are taken at once, and the others output by
//! output, so that no rank's steps are ever all in memory.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tailrace_replay::Access;
use tailrace_replay::program::Naming;

use super::alike::{Alike, State};
use super::bursts::{Alone, Burst, Neighbours};
use super::clocks::Clocks;
use super::cycles::Cycles;
use super::groups::{self, Groups};
use super::layout::{self, Layout, Parts};
use super::names::{Names, Opened};
use super::network::Network;
use super::phase::{Cursor, Ends, Item, What, Who};
use super::plans::Plans;
use super::tiles::Tiles;
use super::workload::{Method, Workload};
use crate::model::Parameters;
use crate::replay::{FileSystem, Together, added, span};

/// A stream at work.
#[derive(Debug)]
pub(super) struct Current {
    pub step: u64,
    pub steps: u64,
    pub opened: Option<Opened>,
    /// Of the file that all share.
    pub shared: Layout,
    pub parts: Parts,
}

pub(super) struct Run<'a> {
    pub workload: &'a Workload,
    pub tiles: Tiles,
    pub clocks: Clocks,
    pub names: Names,
    pub streams: Vec<Current>,
    pub groups: Groups,
    pub aggregators: Vec<u32>,
    pub plans: Plans,
    pub network: Network,
    files: &'a mut dyn FileSystem,
    alone: Alone<'a>,
    neighbours: Neighbours,
    /// So many calls of a rank may be taken as one.
    pub most: i64,
    cursors: Vec<Cursor>,
    alike: Alike,
    pub ends: Ends,
    /// Where outputs that repeat are left out; by default none are.
    pub cycles: Cycles,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        workload: &'a Workload,
        tiles: Tiles,
        network: Network,
        files: &'a mut dyn FileSystem,
        alone: Alone<'a>,
        most: i64,
    ) -> Self {
        let streams = workload.streams.iter().map(|stream| Current {
            step: 0,
            steps: stream.steps(workload.steps),
            opened: None,
            shared: Layout::shared(stream),
            parts: Parts::default(),
        });
        Self {
            workload,
            tiles,
            clocks: Clocks::new(workload.ranks, network),
            names: Names::new(),
            streams: streams.collect(),
            groups: Groups::of(workload),
            aggregators: groups::aggregators(workload),
            plans: Plans::default(),
            network,
            files,
            alone,
            neighbours: Neighbours::default(),
            most,
            cursors: vec![Cursor::default(); workload.ranks as usize],
            alike: Alike::default(),
            ends: Ends::default(),
            cycles: Cycles::default(),
        }
    }

    /// From the first state to the last output.
    pub(super) fn all(&mut self) {
        self.halo(1);
        for stream in 0..self.streams.len() {
            let described = &self.workload.streams[stream];
            if described.is_output && described.initial {
                self.write_step(stream);
            }
        }
        let mut step = 0;
        while step < self.workload.steps {
            self.read_inputs(step);
            let next = self.next_busy(step);
            self.compute(next - step);
            step = next;
            self.write_outputs(step);
            step += self.repeated(step);
        }
        self.clocks.report();
    }

    /// How many steps are as those before them, of the many that there are: they are left out.
    fn repeated(&mut self, step: u64) -> u64 {
        let left = self.workload.steps - step;
        let steps = self.cycles.repeated(step, left, self.clocks.latest());
        if steps == 0 {
            return 0;
        }
        for (stream, current) in self.workload.streams.iter().zip(&mut self.streams) {
            if stream.every < self.workload.steps {
                current.step += steps / stream.every;
            }
        }
        self.cycles.leave_out(steps);
        steps
    }

    fn read_inputs(&mut self, step: u64) {
        for stream in 0..self.streams.len() {
            let (described, current) = (&self.workload.streams[stream], &self.streams[stream]);
            let is_due = !described.is_output
                && current.step < current.steps
                && step / described.every >= current.step;
            if is_due {
                self.read_step(stream);
            }
        }
    }

    fn write_outputs(&mut self, step: u64) {
        for stream in 0..self.streams.len() {
            let described = &self.workload.streams[stream];
            if described.is_output && step.is_multiple_of(described.every) {
                self.write_step(stream);
            }
        }
    }

    /// The next step at which something is read or written, or the last.
    fn next_busy(&self, step: u64) -> u64 {
        let streams = self.workload.streams.iter();
        let next = streams.map(|stream| (step / stream.every + 1) * stream.every).min();
        next.unwrap_or(u64::MAX).min(self.workload.steps)
    }

    /// Steps of the model: each waits for its neighbours, and so in the end for the slowest.
    fn compute(&mut self, steps: u64) {
        self.clocks.meet_for(span(steps as f64 * self.workload.step_ns));
        self.halo(steps);
    }

    fn halo(&mut self, steps: u64) {
        let [y, x] = self.tiles.largest();
        let cells = 2 * (y + x) * self.workload.grid[0] * self.workload.halo_fields;
        let one = if self.workload.ranks > 1 { self.network.transfer(8 * cells) } else { 0 };
        self.clocks.meet_for((steps as i64).saturating_mul(one));
    }

    /// Ranks go through the items, each at its own pace; calls are made in order of when they begin.
    pub(super) fn phase(&mut self, items: &[Item]) {
        self.alike = Alike::default();
        if items.iter().all(|item| item.who == Who::Root) || self.workload.ranks == 1 {
            self.root_alone(items);
            return;
        }
        let mut beginning = Vec::new();
        for rank in self.actors(items) {
            self.cursors[rank as usize] = Cursor::default();
            beginning.push((self.clocks.at[rank as usize], rank));
        }
        beginning.sort_unstable();
        let mut beginning = beginning.into_iter().peekable();
        // most have a single call: whoever has more waits here for the next
        let mut waiting = BinaryHeap::new();
        loop {
            let begins = beginning.peek().copied();
            let waits = waiting.peek().map(|Reverse(first)| *first);
            let (now, rank) = match (begins, waits) {
                (Some(begins), Some(waits)) if waits < begins => waits,
                (Some(begins), _) => begins,
                (None, Some(waits)) => waits,
                (None, None) => return,
            };
            if begins == Some((now, rank)) {
                beginning.next();
            } else {
                waiting.pop();
            }
            let Some((burst, is_last)) = self.take(rank, items) else { continue };
            let end = self.serve(rank, now, &burst);
            self.clocks.at[rank as usize] = end;
            if !is_last {
                waiting.push(Reverse((end, rank)));
            }
        }
    }

    fn actors(&self, items: &[Item]) -> Vec<u32> {
        let few = |who| match who {
            Who::Root => Some([0].as_slice()),
            Who::Writers => Some(self.groups.firsts()),
            Who::Aggregators => Some(self.aggregators.as_slice()),
            Who::All | Who::Others => None,
        };
        let lists: Option<Vec<&[u32]>> = items.iter().map(|item| few(item.who)).collect();
        let Some(lists) = lists else { return (0..self.workload.ranks).collect() };
        let mut actors: Vec<u32> = lists.concat();
        actors.sort_unstable();
        actors.dedup();
        actors
    }

    fn includes(&self, who: Who, rank: u32) -> bool {
        let writes = || self.groups.firsts().binary_search(&rank).is_ok();
        match who {
            Who::Root => rank == 0,
            Who::All => true,
            Who::Writers => writes(),
            Who::Others => rank > 0 && (self.workload.method != Method::Aggregated || writes()),
            Who::Aggregators => self.aggregators.binary_search(&rank).is_ok(),
        }
    }

    fn root_alone(&mut self, items: &[Item]) {
        self.cursors[0] = Cursor::default();
        while let Some((burst, _)) = self.take(0, items) {
            self.clocks.at[0] = self.serve(0, self.clocks.at[0], &burst);
        }
    }

    fn serve(&mut self, rank: u32, now: i64, burst: &Burst) -> i64 {
        if burst.count == 0 {
            return added(now, burst.bytes);
        }
        let mut burst = *burst;
        let is_apart = self.alone.model.is_some_and(Parameters::are_apart);
        let node = rank / self.workload.ranks_per_node;
        let is_joined = is_apart && self.neighbours.join(node, &burst);
        burst.scattered &= !is_joined;
        self.cycles.sent += self.alone.sent(&burst);
        let call = self.alone.call(&burst, now);
        let Burst { count: calls, reach, scattered: is_scattered, .. } = burst;
        let together = Together { calls, reach, is_scattered, is_joined };
        let end = self.files.end_together(rank, now, &call, together).max(now);
        self.alone.end(&burst, now, end)
    }

    /// The rank's next calls, as many as may be taken together, and whether they are known to be its
    /// last.
    fn take(&mut self, rank: u32, items: &[Item]) -> Option<(Burst, bool)> {
        if self.workload.method != Method::FilePerRank {
            return self.take_alone(rank, items);
        }
        let kind = layout::kind(&self.tiles.at(rank), self.has_wholes(rank));
        let state = State { kind, is_root: rank == 0, cursor: self.cursors[rank as usize] };
        if let Some((burst, is_last, after)) = self.alike.of(rank, state, items) {
            self.cursors[rank as usize] = after;
            return Some((burst, is_last));
        }
        let (burst, is_last) = self.take_alone(rank, items)?;
        self.alike.keep(rank, state, items, (burst, is_last, self.cursors[rank as usize]));
        Some((burst, is_last))
    }

    fn take_alone(&mut self, rank: u32, items: &[Item]) -> Option<(Burst, bool)> {
        let mut cursor = self.cursors[rank as usize];
        let mut burst = self.next(rank, items, &mut cursor)?;
        self.cursors[rank as usize] = cursor;
        // a writer's batches are apart anyway, and those of one variable are known at a time
        let is_apart = self.workload.method == Method::Aggregated;
        while burst.count < self.most && !is_apart {
            let Some(next) = self.next(rank, items, &mut cursor) else {
                return Some((burst, true));
            };
            if !burst.admits(&next) {
                break;
            }
            burst.join(&next);
            self.cursors[rank as usize] = cursor;
        }
        Some((burst, false))
    }

    fn next(&mut self, rank: u32, items: &[Item], cursor: &mut Cursor) -> Option<Burst> {
        while let Some(item) = items.get(cursor.item as usize) {
            if self.includes(item.who, rank) {
                let burst = match item.what {
                    What::Data { access, number, step } => {
                        self.data(rank, item, (access, number, step), cursor)
                    }
                    What::Together { bytes } => self.together(rank, item, bytes, cursor),
                    _ => self.fixed(rank, item, cursor),
                };
                if burst.is_some() {
                    return burst;
                }
            }
            cursor.next_item();
        }
        None
    }

    fn fixed(&mut self, rank: u32, item: &Item, cursor: &mut Cursor) -> Option<Burst> {
        let (access, file, offset, bytes) = match item.what {
            What::Call { access, place, bytes, offset } => {
                (access, item.opened.file(place, rank), offset, bytes)
            }
            What::Header { access } => {
                let bytes = self.layout(item.opened.stream, rank).header_bytes;
                (access, item.opened.file(self.data_place(), rank), Some(0), bytes)
            }
            What::Data { .. } | What::Together { .. } => return None,
        };
        let is_output = self.workload.streams[item.opened.stream].is_output;
        let (naming, reach, scattered) = (naming(access, is_output), bytes, false);
        cursor.once().then_some(Burst {
            access,
            naming,
            file,
            offset,
            bytes,
            count: 1,
            reach,
            scattered,
        })
    }

    /// Whether the rank's own file has what is not tiled.
    fn has_wholes(&self, rank: u32) -> bool {
        rank == 0 || self.workload.wholes_by_all
    }

    pub(super) fn layout(&mut self, stream: usize, rank: u32) -> &Layout {
        let has_wholes = self.has_wholes(rank);
        let current = &mut self.streams[stream];
        if self.workload.method != Method::FilePerRank {
            return &current.shared;
        }
        current.parts.of(&self.workload.streams[stream], &self.tiles.at(rank), has_wholes)
    }
}

/// Outputs are made by whoever opens them first, and renamed at their end; inputs are there.
fn naming(access: Access, is_output: bool) -> Naming {
    match access {
        Access::Open if is_output => Naming::Made,
        Access::Open => Naming::Found,
        Access::Other if is_output => Naming::Gone,
        _ => Naming::Stays,
    }
}
