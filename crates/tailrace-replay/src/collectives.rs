//! Collective calls: the n-th on a communicator on one rank meets the n-th on the others.

use std::collections::VecDeque;
use std::sync::Arc;

use hashbrown::HashMap;
use tailrace_trace::Tables;
use tailrace_trace::event::Flow;

use crate::clocks::Clocks;
use crate::options::CollectiveOrder;

/// Collectives of different families on one communicator are counted apart: files and windows have
/// communicators of their own, duplicates of the one that they name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(crate) enum Family {
    #[default]
    Ordinary,
    File,
    Window,
}

/// What a rank waits for when it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waits {
    Nothing,
    /// For all that entered so far; on an intercommunicator for those of the other group.
    All,
    /// For the root, if it entered.
    Root,
    /// For those before it in the communicator.
    Before,
    /// For its neighbours.
    Neighbours,
    /// For everyone, but only if everyone entered: a collective file call need not synchronize.
    AllIfComplete,
    /// … and for the file calls that the others made inside: they read for this rank.
    Readers,
}

/// A rank's part in one instance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub instance: InstanceId,
    waits: Waits,
    /// On an intercommunicator: whether the rank is in the remote group.
    group: Option<bool>,
    /// Rank in the communicator; known where [`Waits::Before`] and [`Waits::Neighbours`] need it.
    position: u32,
}

pub(crate) type InstanceId = u32;

/// Open instances at most: a rank that died leaves its instances open for good.
const MOST_OPEN: usize = 1 << 20;

#[derive(Default)]
struct Instance {
    key: (u32, Family, u64),
    size: u32,
    entered: u32,
    left: u32,
    /// The latest entry, of the group of members and of the remote one.
    latest: [Clocks; 2],
    root: Option<Clocks>,
    /// For prefix collectives: a Fenwick tree of the latest entry by position; for those of
    /// neighbours: each entry.
    by_position: Vec<Clocks>,
    /// The end of the latest file call that a rank made inside.
    file_calls: Clocks,
    /// Locations inside an opaque file call, waiting for the last to enter.
    waiting: Vec<u32>,
}

/// The instances of one family on one communicator, by number. Ranks enter them in order, so they
/// open in order.
#[derive(Default)]
struct Series {
    /// Number of the first in `instances`.
    first: u64,
    /// `None`: all ranks have left.
    instances: VecDeque<Option<InstanceId>>,
}

impl Series {
    fn close(&mut self, number: u64) {
        self.instances[(number - self.first) as usize] = None;
        while let Some(None) = self.instances.front() {
            self.instances.pop_front();
            self.first += 1;
        }
    }
}

#[derive(Default)]
pub(crate) struct Collectives {
    /// Everything synchronizes everyone (Dimemas).
    order: CollectiveOrder,
    /// By communicator, then family.
    series: Vec<[Series; 3]>,
    open: usize,
    slots: Vec<Instance>,
    free: Vec<InstanceId>,
    positions: HashMap<u32, Arc<HashMap<u32, u32>>>,
    /// By communicator and position: the positions that neighbourhood collectives receive from.
    sources: HashMap<(u32, u32), Arc<[u32]>>,
    /// Entries that were not followed because too many instances were open.
    pub not_followed: u64,
}

impl Collectives {
    pub(crate) fn new(order: CollectiveOrder) -> Self {
        Self { order, ..Self::default() }
    }

    /// `rank` enters its `number`-th collective of the family on the communicator at `now`.
    pub(crate) fn enter(
        &mut self,
        tables: &Tables,
        (communicator, family, number): (u32, Family, u64),
        rank: u32,
        flow: Flow,
        now: Clocks,
    ) -> Option<Part> {
        let instance = self.instance(tables, (communicator, family, number))?;
        let flow = if self.order == CollectiveOrder::All { Flow::All } else { flow };
        let group = self.group(tables, communicator, rank);
        let position = match flow {
            Flow::Prefix => self.position(tables, communicator, rank),
            Flow::Neighbours => self.learn_sources(tables, communicator, rank),
            _ => 0,
        };
        let open = &mut self.slots[instance as usize];
        open.entered += 1;
        open.record(flow, rank, group == Some(true), now);
        match flow {
            Flow::Prefix => open.raise_position(position, now),
            Flow::Neighbours => open.by_position[position as usize] = now,
            _ => {}
        }
        Some(Part { instance, waits: waits(flow, rank), group, position })
    }

    /// What the rank has to wait for when it leaves now.
    pub(crate) fn dependency(&self, part: Part) -> Clocks {
        let open = &self.slots[part.instance as usize];
        let everyone = open.latest[0].max(open.latest[1]);
        let complete = open.entered == open.size;
        match part.waits {
            Waits::All => part.group.map_or(everyone, |remote| open.latest[usize::from(!remote)]),
            Waits::Root => open.root.unwrap_or_default(),
            Waits::Before => open.latest_up_to(part.position),
            Waits::Neighbours => self.latest_of_sources(open, part.position),
            Waits::AllIfComplete if complete => everyone,
            Waits::Readers if complete => everyone.max(open.file_calls),
            Waits::Nothing | Waits::AllIfComplete | Waits::Readers => Clocks::default(),
        }
    }

    fn latest_of_sources(&self, open: &Instance, position: u32) -> Clocks {
        let sources = self.sources.get(&(open.key.0, position));
        let entries = sources.into_iter().flat_map(|sources| sources.iter());
        entries.fold(Clocks::default(), |latest, source| {
            latest.max(open.by_position.get(*source as usize).copied().unwrap_or_default())
        })
    }

    /// Everyone's entry, once everyone entered.
    pub(crate) fn completed_entry(&self, instance: InstanceId) -> Option<Clocks> {
        let open = &self.slots[instance as usize];
        (open.entered == open.size).then(|| open.latest[0].max(open.latest[1]))
    }

    /// A file call made inside ended.
    pub(crate) fn file_call_ended(&mut self, instance: InstanceId, now: Clocks) {
        let open = &mut self.slots[instance as usize];
        open.file_calls = open.file_calls.max(now);
    }

    /// The location waits inside until the last rank enters.
    pub(crate) fn wait(&mut self, instance: InstanceId, location: u32) {
        self.slots[instance as usize].waiting.push(location);
    }

    /// Those that [`Collectives::wait`]ed.
    pub(crate) fn take_waiting(&mut self, instance: InstanceId) -> Vec<u32> {
        std::mem::take(&mut self.slots[instance as usize].waiting)
    }

    /// The location does not wait any more: it left before the last rank entered.
    pub(crate) fn stop_waiting(&mut self, instance: InstanceId, location: u32) {
        self.slots[instance as usize].waiting.retain(|waiting| *waiting != location);
    }

    /// The rank is done with it; the last one frees it.
    pub(crate) fn leave(&mut self, part: Part) {
        let open = &mut self.slots[part.instance as usize];
        open.left += 1;
        if open.left >= open.size {
            let (communicator, family, number) = open.key;
            self.series[communicator as usize][family as usize].close(number);
            self.open -= 1;
            self.slots[part.instance as usize] = Instance::default();
            self.free.push(part.instance);
        }
    }

    /// Instances that not all ranks entered.
    pub(crate) fn incomplete(&self) -> usize {
        let open =
            self.series.iter().flatten().flat_map(|series| series.instances.iter().flatten());
        open.filter(|id| self.slots[**id as usize].entered < self.slots[**id as usize].size).count()
    }

    fn instance(&mut self, tables: &Tables, key: (u32, Family, u64)) -> Option<InstanceId> {
        let (communicator, family, number) = key;
        let communicators = tables.communicators.len();
        if self.series.len() < communicators {
            self.series.resize_with(communicators, Default::default);
        }
        let series = self.series.get_mut(communicator as usize)?.get_mut(family as usize)?;
        if series.instances.is_empty() {
            series.first = number;
        }
        let place = usize::try_from(number.checked_sub(series.first)?).ok()?;
        match series.instances.get(place) {
            Some(instance) => *instance,
            None if place == series.instances.len() && self.open < MOST_OPEN => {
                Some(self.open(tables, key))
            }
            None => {
                self.not_followed += 1;
                None
            }
        }
    }

    fn open(&mut self, tables: &Tables, key: (u32, Family, u64)) -> InstanceId {
        let communicator = &tables.communicators[key.0 as usize];
        let size = communicator.members.len()
            + communicator.remote.as_ref().map_or(0, |remote| remote.len());
        let id = self.free.pop().unwrap_or(self.slots.len() as InstanceId);
        if id as usize == self.slots.len() {
            self.slots.push(Instance::default());
        }
        self.slots[id as usize] = Instance { key, size: size as u32, ..Instance::default() };
        self.series[key.0 as usize][key.1 as usize].instances.push_back(Some(id));
        self.open += 1;
        id
    }

    fn group(&mut self, tables: &Tables, communicator: u32, rank: u32) -> Option<bool> {
        let entry = &tables.communicators[communicator as usize];
        entry.remote.as_ref()?;
        Some(self.position(tables, communicator, rank) as usize >= entry.members.len())
    }

    /// The rank's place in the communicator; from whom it receives there is known from now on.
    fn learn_sources(&mut self, tables: &Tables, communicator: u32, rank: u32) -> u32 {
        let position = self.position(tables, communicator, rank);
        if let Some(ranks) = tables.neighbours.get(&(communicator, rank))
            && !self.sources.contains_key(&(communicator, position))
        {
            let sources =
                ranks.iter().map(|rank| self.position(tables, communicator, *rank)).collect();
            self.sources.insert((communicator, position), sources);
        }
        position
    }

    /// The rank's place in the communicator; the remote group follows the members.
    fn position(&mut self, tables: &Tables, communicator: u32, rank: u32) -> u32 {
        let positions = self.positions.entry(communicator).or_insert_with(|| {
            let entry = &tables.communicators[communicator as usize];
            let remote = entry.remote.as_deref().unwrap_or_default();
            Arc::new(
                entry
                    .members
                    .iter()
                    .chain(remote)
                    .enumerate()
                    .map(|(i, rank)| (*rank, i as u32))
                    .collect(),
            )
        });
        positions.get(&rank).copied().unwrap_or(0)
    }
}

impl Instance {
    /// Rooted kinds on an intercommunicator: the root's own group but for the root takes no part.
    fn record(&mut self, flow: Flow, rank: u32, remote: bool, now: Clocks) {
        match flow {
            Flow::FromRoot(root) if root == rank as i32 => self.root = Some(now),
            Flow::FromRoot(_) | Flow::Neighbours => {}
            Flow::ToRoot(root) if root < 0 => {}
            Flow::All | Flow::ToRoot(_) | Flow::Prefix => {
                self.latest[usize::from(remote)] = self.latest[usize::from(remote)].max(now);
            }
        }
        if matches!(flow, Flow::Prefix | Flow::Neighbours) && self.by_position.is_empty() {
            self.by_position = vec![Clocks::default(); self.size as usize + 1];
        }
    }

    fn raise_position(&mut self, position: u32, now: Clocks) {
        let mut node = position as usize + 1;
        while node < self.by_position.len() {
            self.by_position[node] = self.by_position[node].max(now);
            node += node & node.wrapping_neg();
        }
    }

    fn latest_up_to(&self, position: u32) -> Clocks {
        let mut latest = Clocks::default();
        let mut node = (position as usize + 1).min(self.by_position.len().saturating_sub(1));
        while node > 0 {
            latest = latest.max(self.by_position[node]);
            node &= node - 1;
        }
        latest
    }
}

fn waits(flow: Flow, rank: u32) -> Waits {
    match flow {
        Flow::All => Waits::All,
        Flow::FromRoot(root) if root == rank as i32 || root < 0 => Waits::Nothing,
        Flow::FromRoot(_) => Waits::Root,
        Flow::ToRoot(root) if root == rank as i32 => Waits::All,
        Flow::ToRoot(_) => Waits::Nothing,
        Flow::Neighbours => Waits::Neighbours,
        Flow::Prefix => Waits::Before,
    }
}

impl Part {
    /// Both groups of an intercommunicator wait for each other and for themselves.
    #[must_use]
    pub(crate) fn of_creation(self) -> Self {
        Self { group: None, ..self }
    }

    /// A collective file call: it may synchronize, and a read brings others' data.
    #[must_use]
    pub(crate) fn of_file(self, reads: bool) -> Self {
        Self { waits: if reads { Waits::Readers } else { Waits::AllIfComplete }, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailrace_trace::MemoryTrace;
    use tailrace_trace::tables::Communicator;

    fn enter(of: &mut Collectives, tables: &Tables, rank: u32, flow: Flow, at: i64) -> Part {
        of.enter(tables, (0, Family::Ordinary, 0), rank, flow, Clocks::all(at)).unwrap()
    }

    fn dependencies(flow: Flow, order: CollectiveOrder) -> [i64; 3] {
        let trace = MemoryTrace::new(3);
        let mut collectives = Collectives::new(order);
        let parts = [30, 20, 10].iter().enumerate();
        let parts: Vec<_> = parts
            .map(|(rank, at)| enter(&mut collectives, &trace.tables, rank as u32, flow, *at))
            .collect();
        let found = [0, 1, 2].map(|rank: usize| collectives.dependency(parts[rank]).net);
        for part in parts {
            collectives.leave(part);
        }
        assert_eq!(collectives.open, 0);
        found
    }

    #[test]
    fn order_is_imposed_only_where_data_flow() {
        assert_eq!(dependencies(Flow::All, CollectiveOrder::Data), [30, 30, 30]);
        assert_eq!(dependencies(Flow::FromRoot(1), CollectiveOrder::Data), [20, 0, 20]);
        assert_eq!(dependencies(Flow::ToRoot(1), CollectiveOrder::Data), [0, 30, 0]);
        assert_eq!(dependencies(Flow::Prefix, CollectiveOrder::Data), [30, 30, 30]);
        assert_eq!(dependencies(Flow::Neighbours, CollectiveOrder::Data), [0, 0, 0]);
        assert_eq!(dependencies(Flow::FromRoot(1), CollectiveOrder::All), [30, 30, 30]);
    }

    #[test]
    fn a_rank_that_left_before_another_entered_did_not_wait_for_it() {
        let trace = MemoryTrace::new(2);
        let mut collectives = Collectives::new(CollectiveOrder::Data);
        let first = enter(&mut collectives, &trace.tables, 0, Flow::All, 5);
        assert_eq!(collectives.dependency(first).net, 5);
        assert_eq!(collectives.completed_entry(first.instance), None);
        let second = enter(&mut collectives, &trace.tables, 1, Flow::All, 9);
        assert_eq!(collectives.dependency(second).net, 9);
    }

    #[test]
    fn groups_of_an_intercommunicator_wait_for_each_other() {
        let mut trace = MemoryTrace::new(4);
        let (members, remote) = ([0, 1].into(), [2, 3].into());
        trace.tables.communicators.push(Communicator {
            identity: 9,
            members,
            remote: Some(remote),
        });
        let mut collectives = Collectives::new(CollectiveOrder::Data);
        let mut enter = |rank, at| {
            collectives
                .enter(&trace.tables, (1, Family::Ordinary, 0), rank, Flow::All, Clocks::all(at))
                .unwrap()
        };
        let parts = [enter(0, 10), enter(1, 40), enter(2, 20), enter(3, 30)];
        assert_eq!(parts.map(|part| collectives.dependency(part).net), [30, 30, 40, 40]);
    }
}
