//! Collective calls: the n-th on a communicator on one rank meets the n-th on the others.

use std::collections::VecDeque;

use hashbrown::HashMap;
use tailrace_trace::Tables;

use crate::graph::moment::CrossingId;
use crate::graph::replayed::{Answer, Replayed, Waiter};
use crate::graph::trail::Latest;
use crate::graph::vertex::{Entry, Family, Gives, Source, Waits};

/// A rank's part in one instance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub instance: InstanceId,
    waits: Waits,
    /// On an intercommunicator: the side that the rank is on.
    side: Option<Side>,
    /// Rank in the communicator; known where [`Waits::Before`] and [`Waits::Neighbours`] need it.
    position: u32,
}

/// Group of members, or the remote one.
type Side = u8;

pub(crate) type InstanceId = u32;

/// Open instances at most: a rank that died leaves its instances open for good.
const MOST_OPEN: usize = 1 << 20;

/// An entry whose replayed time is not known, or that not every later leaver waits for.
#[derive(Clone, Copy, Debug)]
struct Entered {
    source: Source,
    side: Side,
}

/// The latest entries of some ranks, on each side.
#[derive(Clone, Copy, Debug, Default)]
struct Entries {
    sides: [Latest; 2],
    entries: u32,
}

impl Entries {
    #[inline]
    fn add(&mut self, side: Side, moment: &Latest) {
        self.entries += 1;
        let latest = &mut self.sides[usize::from(side)];
        *latest = latest.max(moment);
    }

    fn of_all(&self) -> Latest {
        self.sides[0].max(&self.sides[1])
    }
}

#[derive(Default)]
struct Instance {
    key: (u32, Family, u32),
    size: u32,
    entered: u32,
    left: u32,
    root: Option<Source>,
    /// Entries that every later leaver can have waited for, with their replayed times.
    settled: Entries,
    /// The others, by measured time once `sorted`.
    fresh: Vec<Entered>,
    sorted: bool,
    /// The settled ones and the first `known` of the fresh ones.
    latest: Entries,
    known: usize,
    /// Of prefix and neighbourhood collectives: entries by position.
    by_position: Vec<Option<Source>>,
    /// The end of the latest settled file call that a rank made inside, and the others.
    file_calls: Latest,
    fresh_file_calls: Vec<Source>,
    /// Has sources that are not settled.
    open: bool,
}

/// The instances of one family on one communicator, by number.
#[derive(Default)]
struct Series {
    /// Number of the first in `instances`. Ranks enter them in order, so they open in order.
    first: u32,
    /// `None`: all ranks have left.
    instances: VecDeque<Option<InstanceId>>,
}

#[derive(Default)]
pub(crate) struct Collectives {
    /// By communicator, then family.
    series: Vec<[Series; Family::COUNT]>,
    open: usize,
    slots: Vec<Instance>,
    free: Vec<InstanceId>,
    /// Instances with fresh entries.
    unsettled: Vec<InstanceId>,
    positions: HashMap<u32, HashMap<u32, u32>>,
    /// By communicator and position: the positions that neighbourhood collectives receive from.
    sources: HashMap<(u32, u32), Vec<u32>>,
    /// Entries that were not followed because too many instances were open.
    pub not_followed: u64,
}

impl Collectives {
    /// A rank enters.
    pub(crate) fn enter(&mut self, tables: &Tables, entry: &Entry, source: Source) -> Option<Part> {
        let id = self.instance(tables, (entry.communicator, entry.family, entry.number))?;
        let communicator = &tables.communicators[entry.communicator as usize];
        let ordered = entry.gives == Gives::ByPosition;
        let position = if ordered || communicator.remote.is_some() {
            self.position(tables, entry.communicator, source.rank)
        } else {
            0
        };
        if entry.waits == Waits::Neighbours {
            self.learn_sources(tables, entry.communicator, source.rank, position);
        }
        let remote = communicator.remote.is_some();
        let side = remote.then(|| Side::from(position as usize >= communicator.members.len()));
        let instance = &mut self.slots[id as usize];
        instance.entered += 1;
        match entry.gives {
            Gives::Nothing => {}
            Gives::Root => instance.root = Some(source),
            Gives::ByPosition => {
                instance.by_position.resize(instance.size as usize, None);
                instance.by_position[position as usize] = Some(source);
            }
            Gives::All => {
                instance.fresh.push(Entered { source, side: side.unwrap_or(0) });
                instance.sorted = false;
            }
        }
        if entry.gives != Gives::Nothing {
            self.touch(id);
        }
        Some(Part { instance: id, waits: entry.waits, side, position })
    }

    /// A file call that was made inside ended.
    pub(crate) fn file_call_ended(&mut self, id: InstanceId, source: Source) {
        self.slots[id as usize].fresh_file_calls.push(source);
        self.touch(id);
    }

    /// What the rank has to wait for when it leaves.
    pub(crate) fn dependency(&mut self, part: &Part, waiter: &Waiter<'_>) -> Answer {
        let instance = &mut self.slots[part.instance as usize];
        if waiter.whatever && instance.entered < instance.size && part.waits != Waits::Nothing {
            return Answer::Missing;
        }
        let found = match part.waits {
            Waits::Nothing => Ok(Latest::default()),
            Waits::All => instance.latest(waiter).map(|latest| match part.side {
                Some(side) => latest.sides[usize::from(1 - side)],
                None => latest.of_all(),
            }),
            Waits::Both => instance.latest(waiter).map(|latest| latest.of_all()),
            Waits::Root => instance.root(waiter),
            Waits::Before => instance.latest_of(0..=part.position, waiter),
            Waits::Neighbours => {
                let sources = self.sources.get(&(instance.key.0, part.position));
                let sources = sources.into_iter().flatten().copied();
                instance.latest_of(sources, waiter)
            }
            Waits::AllIfComplete => instance.everyone(waiter).map(Option::unwrap_or_default),
            Waits::Readers => instance.everyone_and_file_calls(waiter),
        };
        found.map_or_else(Answer::Needs, Answer::After)
    }

    /// Everyone's entry, once everyone entered.
    pub(crate) fn completed_entry(&mut self, part: &Part, waiter: &Waiter<'_>) -> Answer {
        let found = self.slots[part.instance as usize].everyone(waiter);
        found.map_or_else(Answer::Needs, |entry| Answer::After(entry.unwrap_or_default()))
    }

    /// The rank is done with it; the last one frees it.
    pub(crate) fn leave(&mut self, part: &Part) {
        let instance = &mut self.slots[part.instance as usize];
        instance.left += 1;
        if instance.left >= instance.size {
            let (communicator, family, number) = instance.key;
            let open = instance.open;
            *instance = Instance { open, ..Instance::default() };
            self.series[communicator as usize][family as usize].close(number);
            self.open -= 1;
            self.free.push(part.instance);
        }
    }

    /// Makes replayed times of what can be told by now.
    pub(crate) fn settle(&mut self, replayed: &Replayed) {
        let slots = &mut self.slots;
        self.unsettled.retain(|id| {
            let instance = &mut slots[*id as usize];
            instance.settle(replayed);
            instance.open
        });
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.unsettled.is_empty()
    }

    /// The ends of all trails.
    pub(crate) fn crossings(&mut self) -> impl Iterator<Item = &mut CrossingId> {
        self.slots.iter_mut().flat_map(Instance::crossings)
    }

    /// Instances that not all ranks entered.
    pub(crate) fn incomplete(&self) -> usize {
        let ids = self.series.iter().flatten().flat_map(|series| series.instances.iter().flatten());
        ids.filter(|id| self.slots[**id as usize].entered < self.slots[**id as usize].size).count()
    }

    fn touch(&mut self, id: InstanceId) {
        let instance = &mut self.slots[id as usize];
        if !instance.open {
            instance.open = true;
            self.unsettled.push(id);
        }
    }

    fn instance(&mut self, tables: &Tables, key: (u32, Family, u32)) -> Option<InstanceId> {
        let (communicator, family, number) = key;
        if self.series.len() < tables.communicators.len() {
            self.series.resize_with(tables.communicators.len(), Default::default);
        }
        let series = &mut self.series[communicator as usize][family as usize];
        if series.instances.is_empty() {
            series.first = number;
        }
        let place = number.wrapping_sub(series.first) as usize;
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

    fn open(&mut self, tables: &Tables, key: (u32, Family, u32)) -> InstanceId {
        let communicator = &tables.communicators[key.0 as usize];
        let size = communicator.members.len()
            + communicator.remote.as_ref().map_or(0, |remote| remote.len());
        let id = self.free.pop().unwrap_or(self.slots.len() as InstanceId);
        if id as usize == self.slots.len() {
            self.slots.push(Instance::default());
        }
        let slot = &mut self.slots[id as usize];
        let fresh = std::mem::take(&mut slot.fresh);
        *slot = Instance { key, size: size as u32, fresh, open: slot.open, ..Instance::default() };
        self.series[key.0 as usize][key.1 as usize].instances.push_back(Some(id));
        self.open += 1;
        id
    }

    /// From whom the rank receives on the communicator is known from now on.
    fn learn_sources(&mut self, tables: &Tables, communicator: u32, rank: u32, position: u32) {
        if let Some(ranks) = tables.neighbours.get(&(communicator, rank))
            && !self.sources.contains_key(&(communicator, position))
        {
            let sources =
                ranks.iter().map(|rank| self.position(tables, communicator, *rank)).collect();
            self.sources.insert((communicator, position), sources);
        }
    }

    /// The rank's place in the communicator; the remote group follows the members.
    fn position(&mut self, tables: &Tables, communicator: u32, rank: u32) -> u32 {
        let positions = self.positions.entry(communicator).or_insert_with(|| {
            let entry = &tables.communicators[communicator as usize];
            let remote = entry.remote.as_deref().unwrap_or_default();
            let ranks = entry.members.iter().chain(remote).enumerate();
            ranks.map(|(position, rank)| (*rank, position as u32)).collect()
        });
        positions.get(&rank).copied().unwrap_or(0)
    }
}

impl Series {
    fn close(&mut self, number: u32) {
        self.instances[(number - self.first) as usize] = None;
        while let Some(None) = self.instances.front() {
            self.instances.pop_front();
            self.first += 1;
        }
    }
}

/// Or the rank whose replay has to go on first.
type Found<T> = Result<T, u32>;

impl Instance {
    /// The latest entries that the waiter can have waited for.
    fn latest(&mut self, waiter: &Waiter<'_>) -> Found<Entries> {
        if self.fresh.is_empty() {
            return Ok(self.settled);
        }
        if !self.sorted {
            self.fresh.sort_unstable_by_key(|entered| (entered.source.at, entered.source.rank));
            (self.latest, self.known, self.sorted) = (self.settled, 0, true);
        }
        let certain = |entered: &Entered| waiter.whatever || entered.source.at < waiter.at;
        let before = match self.fresh.last() {
            Some(last) if certain(last) => self.fresh.len(),
            _ => self.fresh.partition_point(certain),
        };
        if before < self.known {
            (self.latest, self.known) = (self.settled, 0);
        }
        for entered in &self.fresh[self.known..before] {
            self.latest.add(entered.side, &waiter.moment(&entered.source)?);
            self.known += 1;
        }
        let mut latest = self.latest;
        let at_once = self.fresh[before..].iter().take_while(|e| e.source.at <= waiter.at);
        for entered in at_once.filter(|entered| waiter.counts(&entered.source)) {
            latest.add(entered.side, &waiter.moment(&entered.source)?);
        }
        Ok(latest)
    }

    /// `None` as long as not all have entered.
    fn everyone(&mut self, waiter: &Waiter<'_>) -> Found<Option<Latest>> {
        let latest = self.latest(waiter)?;
        Ok((latest.entries >= self.size).then(|| latest.of_all()))
    }

    fn everyone_and_file_calls(&mut self, waiter: &Waiter<'_>) -> Found<Latest> {
        let Some(everyone) = self.everyone(waiter)? else { return Ok(Latest::default()) };
        let mut latest = everyone.max(&self.file_calls);
        for source in self.fresh_file_calls.iter().filter(|source| waiter.counts(source)) {
            latest = latest.max(&waiter.moment(source)?);
        }
        Ok(latest)
    }

    fn root(&self, waiter: &Waiter<'_>) -> Found<Latest> {
        match &self.root {
            Some(root) if waiter.counts(root) => waiter.moment(root),
            _ => Ok(Latest::default()),
        }
    }

    /// The latest entry of some positions.
    fn latest_of(
        &self,
        positions: impl Iterator<Item = u32>,
        waiter: &Waiter<'_>,
    ) -> Found<Latest> {
        let sources = positions.filter_map(|place| self.by_position.get(place as usize)?.as_ref());
        let mut latest = Latest::default();
        for source in sources.filter(|source| waiter.counts(source)) {
            latest = latest.max(&waiter.moment(source)?);
        }
        Ok(latest)
    }

    fn crossings(&mut self) -> impl Iterator<Item = &mut CrossingId> {
        let fresh = self.fresh.iter_mut().map(|entered| &mut entered.source);
        let sources = fresh.chain(&mut self.fresh_file_calls).chain(self.root.as_mut());
        let sources = sources.chain(self.by_position.iter_mut().flatten());
        let latest = self.settled.sides.iter_mut().chain([&mut self.file_calls]);
        let settled = latest.flat_map(Latest::crossings);
        sources.flat_map(|source| &mut source.trails).chain(settled)
    }

    fn settle(&mut self, replayed: &Replayed) {
        let settled = &mut self.settled;
        self.fresh.retain(|entered| match replayed.moment(&entered.source) {
            Some(moment) => {
                settled.add(entered.side, &Latest::of(&entered.source, &moment));
                false
            }
            None => true,
        });
        self.sorted = false;
        let latest = &mut self.file_calls;
        self.fresh_file_calls.retain(|source| {
            let Some(moment) = replayed.moment(source) else { return true };
            *latest = latest.max(&Latest::of(source, &moment));
            false
        });
        (self.latest, self.known) = (Entries::default(), 0);
        self.open = !self.fresh.is_empty() || !self.fresh_file_calls.is_empty();
        for source in self.by_position.iter_mut().flatten().chain(self.root.as_mut()) {
            self.open |= !replayed.settle(source);
        }
    }
}
