//! Collective calls: the n-th on a communicator on one rank meets the n-th on the others.

use std::collections::VecDeque;

use hashbrown::HashMap;
use tailrace_trace::Tables;

use crate::graph::instance::{Instance, Side};
use crate::graph::moment::CrossingId;
use crate::graph::replayed::{Answer, Waiter};
use crate::graph::trail::Latest;
use crate::graph::vertex::{Entry, Family, Gives, Source, Waits};
use crate::options::CriticalPaths;

/// A rank's part in one instance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub instance: InstanceId,
    waits: Waits,
    /// On an intercommunicator: the side that the rank is on.
    side: Option<Side>,
    /// Rank in the communicator; known where [`Waits::Before`] and [`Waits::Neighbours`] need it.
    position: u32,
    /// It made file calls inside.
    moves: bool,
}

impl Part {
    /// Whether the rank waits for the file calls that others made inside. Where it waits whatever
    /// was measured, it does not for writes: a library may leave each rank to write by itself.
    fn is_served(&self, waiter: &Waiter<'_>) -> bool {
        match self.waits {
            Waits::Readers => true,
            Waits::Writers => !self.moves && !waiter.whatever,
            _ => false,
        }
    }

    /// Whether it waits for all.
    fn is_for_all(&self) -> bool {
        !matches!(
            self.waits,
            Waits::Nothing | Waits::PerhapsRoot | Waits::Root | Waits::Before | Waits::Neighbours
        )
    }

    /// Whether it waits for the entries of all, whatever they do inside.
    #[inline]
    fn is_for_entries(&self) -> bool {
        let whatever = match self.waits {
            Waits::All | Waits::Both | Waits::AllIfComplete => true,
            Waits::Writers => self.moves,
            _ => false,
        };
        whatever && self.side.is_none()
    }
}

/// What a rank waits for, as far as that takes few steps to tell.
pub(crate) enum Known<'a> {
    /// The last entry, and all have entered.
    Latest(&'a Latest),
    /// All, and some have not entered yet.
    SomeLack,
    InDoubt,
}

/// What is waited for where nothing is.
const NOBODY: Latest = Latest::NOTHING;

pub(crate) type InstanceId = u32;

/// Open instances at most: a rank that died leaves its instances open for good.
const MOST_OPEN: usize = 1 << 20;

/// The instances of one family on one communicator, by number.
#[derive(Default)]
struct Series {
    /// Number of the first in `instances`. Ranks enter them in order, so they open in order.
    first: u32,
    /// `None`: all ranks have left.
    instances: VecDeque<Option<InstanceId>>,
    /// The last with its number, as long as it is open: mostly ranks enter that.
    newest: Option<(u32, InstanceId)>,
}

#[derive(Default)]
pub(crate) struct Collectives {
    /// By communicator, then family.
    series: Vec<[Series; Family::COUNT]>,
    open: usize,
    critical_paths: CriticalPaths,
    slots: Vec<Instance>,
    free: Vec<InstanceId>,
    /// Instances with fresh entries.
    unsettled: Vec<InstanceId>,
    /// What was asked for last.
    found: Latest,
    positions: HashMap<u32, HashMap<u32, u32>>,
    /// By communicator and position: the positions that neighbourhood collectives receive from.
    sources: HashMap<(u32, u32), Vec<u32>>,
    /// Entries that were not followed because too many instances were open.
    pub not_followed: u64,
}

impl Collectives {
    pub(crate) fn new(critical_paths: CriticalPaths) -> Self {
        Self { critical_paths, ..Self::default() }
    }

    /// A rank enters.
    #[allow(clippy::inline_always)] // what is passed on is read before it is there
    #[inline(always)]
    pub(crate) fn enter(
        &mut self,
        tables: &Tables,
        entry: &Entry,
        source: impl FnOnce() -> Source,
    ) -> Option<Part> {
        let id = self.instance(tables, (entry.communicator, entry.family, entry.number))?;
        let instance = &mut self.slots[id as usize];
        instance.entered += 1;
        let is_for_all = entry.gives == Gives::All && entry.waits != Waits::Neighbours;
        if !is_for_all || instance.has_sides {
            return Some(self.enter_apart(tables, entry, id, source()));
        }
        instance.enter(0, source());
        if instance.entered >= instance.size {
            instance.absorb();
        }
        if !instance.open {
            self.touch(id);
        }
        Some(Part { instance: id, waits: entry.waits, side: None, position: 0, moves: false })
    }

    /// … where it matters for whom, or on which side.
    #[inline(never)]
    fn enter_apart(
        &mut self,
        tables: &Tables,
        entry: &Entry,
        id: InstanceId,
        source: Source,
    ) -> Part {
        let by_position = entry.gives == Gives::ByPosition || entry.waits == Waits::Neighbours;
        let (position, side) = if by_position || self.slots[id as usize].has_sides {
            self.place(tables, entry, source.rank)
        } else {
            (0, None)
        };
        let instance = &mut self.slots[id as usize];
        match entry.gives {
            Gives::Nothing => {}
            Gives::Root => instance.root = Some(source),
            Gives::ByPosition => instance.enter_at(position, source),
            Gives::All => instance.enter(side.unwrap_or(0), source),
        }
        if instance.entered >= instance.size {
            instance.absorb();
        }
        if entry.gives == Gives::All {
            self.touch(id);
        }
        Part { instance: id, waits: entry.waits, side, position, moves: false }
    }

    /// A file call that the rank made inside ended.
    pub(crate) fn file_call_ended(&mut self, part: &mut Part, source: Source) {
        part.moves = true;
        self.slots[part.instance as usize].file_call_ended(source);
        self.touch(part.instance);
    }

    /// What a rank waits for that leaves at `at`.
    #[inline]
    pub(crate) fn known(&self, part: &Part, at: i64) -> Known<'_> {
        let instance = &self.slots[part.instance as usize];
        match instance.latest_before(at) {
            Some(latest) if part.is_for_entries() => Known::Latest(latest),
            None if !instance.is_complete() && part.is_for_all() => Known::SomeLack,
            _ => Known::InDoubt,
        }
    }

    /// Whether all have entered.
    #[inline]
    pub(crate) fn is_complete(&self, part: &Part) -> bool {
        self.slots[part.instance as usize].is_complete()
    }

    /// … that goes on at `at` inside.
    #[inline]
    pub(crate) fn latest_entry_before(&self, part: &Part, at: i64) -> Option<&Latest> {
        self.slots[part.instance as usize].latest_before(at)
    }

    /// What the rank has to wait for when it leaves.
    pub(crate) fn dependency(
        &mut self,
        tables: &Tables,
        part: &Part,
        waiter: &Waiter<'_>,
    ) -> Answer<'_> {
        let Self { slots, sources, found, .. } = self;
        let instance = &mut slots[part.instance as usize];
        if waiter.is_patient && part.is_for_all() && !instance.is_complete() {
            return Answer::Missing; // as in `lacks_some`
        }
        let key = (instance.key.0, part.position);
        let neighbours = || sources.get(&key).into_iter().flatten().copied();
        let known = match part.waits {
            Waits::Nothing | Waits::PerhapsRoot => return Answer::Nothing,
            _ if instance.is_complete() => !part.is_served(waiter),
            _ if waiter.whatever => return Answer::Missing,
            Waits::Root => instance.root.is_some(),
            Waits::Before => instance.has_all_of(0..=part.position),
            Waits::Neighbours => instance.has_all_of(neighbours()),
            _ => false,
        };
        if !known && !instance.is_reached_by_all(tables, waiter) {
            return Answer::Missing;
        }
        *found = match part.waits {
            Waits::Nothing | Waits::PerhapsRoot => return Answer::Nothing,
            Waits::All => {
                let latest = instance.latest(waiter);
                return Answer::After(match part.side {
                    Some(side) => latest.on(1 - side),
                    None => latest.of_all(found),
                });
            }
            Waits::Both => return Answer::After(instance.latest(waiter).of_all(found)),
            Waits::Root => match &instance.root {
                Some(root) if waiter.counts(root) => return Answer::One(root),
                _ => return Answer::Nothing,
            },
            Waits::Before => instance.latest_of(0..=part.position, waiter),
            Waits::Neighbours => instance.latest_of(neighbours(), waiter),
            Waits::Readers | Waits::Writers if part.is_served(waiter) => {
                instance.everyone_and_file_calls(waiter)
            }
            Waits::AllIfComplete | Waits::Readers | Waits::Writers => {
                let everyone = instance.everyone(waiter, found);
                return everyone.map_or(Answer::After(&NOBODY), Answer::After);
            }
        };
        Answer::After(found)
    }

    /// Everyone's entry, once everyone entered.
    pub(crate) fn completed_entry(
        &mut self,
        tables: &Tables,
        part: &Part,
        waiter: &Waiter<'_>,
    ) -> Answer<'_> {
        let instance = &mut self.slots[part.instance as usize];
        if !instance.is_complete() && !instance.is_reached_by_all(tables, waiter) {
            return Answer::Missing;
        }
        instance.everyone(waiter, &mut self.found).map_or(Answer::Nothing, Answer::After)
    }

    /// The rank is done with it; the last one frees it.
    #[inline]
    pub(crate) fn leave(&mut self, part: &Part) {
        let instance = &mut self.slots[part.instance as usize];
        instance.left += 1;
        if instance.left >= instance.size {
            self.close(part.instance);
        }
    }

    #[inline(never)]
    fn close(&mut self, id: InstanceId) {
        let instance = &mut self.slots[id as usize];
        let (communicator, family, number) = instance.key;
        instance.close();
        self.series[communicator as usize][family as usize].close(number);
        self.open -= 1;
        self.free.push(id);
    }

    /// All later leavers leave after what is known by now.
    pub(crate) fn settle(&mut self) {
        for id in self.unsettled.drain(..) {
            self.slots[id as usize].settle();
        }
    }

    /// How many were open at once.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// The ends of all trails.
    pub(crate) fn crossings(&mut self) -> impl Iterator<Item = (usize, &mut CrossingId)> {
        self.slots.iter_mut().flat_map(Instance::crossings)
    }

    /// Instances that not all ranks entered.
    pub(crate) fn incomplete(&self) -> usize {
        let ids = self.series.iter().flatten().flat_map(|series| series.instances.iter().flatten());
        ids.filter(|id| self.slots[**id as usize].entered < self.slots[**id as usize].size).count()
    }

    fn touch(&mut self, id: InstanceId) {
        let instance = &mut self.slots[id as usize];
        if !std::mem::replace(&mut instance.open, true) {
            self.unsettled.push(id);
        }
    }

    #[allow(clippy::inline_always)] // into the two loops that enter
    #[inline(always)]
    fn instance(&mut self, tables: &Tables, key: (u32, Family, u32)) -> Option<InstanceId> {
        let (communicator, family, number) = key;
        let series = self.series.get(communicator as usize).map(|of| &of[family as usize]);
        match series.and_then(|series| series.newest) {
            Some((newest, id)) if newest == number => Some(id),
            _ => self.find(tables, key),
        }
    }

    #[inline(never)]
    fn find(&mut self, tables: &Tables, key: (u32, Family, u32)) -> Option<InstanceId> {
        let (communicator, family, number) = key;
        let series = self.series.get(communicator as usize).map(|of| &of[family as usize]);
        let found = series.and_then(|of| of.instances.get(number.wrapping_sub(of.first) as usize));
        found.copied().unwrap_or_else(|| self.open(tables, key))
    }

    /// The next one of its series.
    fn open(&mut self, tables: &Tables, key: (u32, Family, u32)) -> Option<InstanceId> {
        let (communicator, family, number) = key;
        if self.series.len() < tables.communicators.len() {
            self.series.resize_with(tables.communicators.len(), Default::default);
        }
        let series = &mut self.series[communicator as usize][family as usize];
        if series.instances.is_empty() {
            series.first = number;
        }
        let place = number.wrapping_sub(series.first) as usize;
        if place != series.instances.len() || self.open >= MOST_OPEN {
            self.not_followed += 1;
            return None;
        }
        let id = self.free.pop().unwrap_or(self.slots.len() as InstanceId);
        if id as usize == self.slots.len() {
            self.slots.push(Instance::default());
        }
        series.instances.push_back(Some(id));
        series.newest = Some((number, id));
        let communicator = &tables.communicators[communicator as usize];
        self.slots[id as usize].begin(key, communicator, self.critical_paths);
        self.open += 1;
        Some(id)
    }

    /// The rank's place in the communicator, and the side that it is on.
    #[cold]
    fn place(&mut self, tables: &Tables, entry: &Entry, rank: u32) -> (u32, Option<Side>) {
        let communicator = &tables.communicators[entry.communicator as usize];
        let remote = communicator.remote.is_some();
        let position = if remote || entry.gives == Gives::ByPosition {
            self.position(tables, entry.communicator, rank)
        } else {
            0
        };
        if entry.waits == Waits::Neighbours {
            self.learn_sources(tables, entry.communicator, rank, position);
        }
        (position, remote.then(|| Side::from(communicator.is_remote(position))))
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

    /// The rank's place in the communicator.
    fn position(&mut self, tables: &Tables, communicator: u32, rank: u32) -> u32 {
        let entry = &tables.communicators[communicator as usize];
        let positions = self.positions.entry(communicator).or_insert_with(|| entry.positions());
        positions.get(&rank).copied().unwrap_or(0)
    }
}

impl Series {
    fn close(&mut self, number: u32) {
        self.instances[(number - self.first) as usize] = None;
        self.newest = self.newest.filter(|(newest, _)| *newest != number);
        while let Some(None) = self.instances.front() {
            self.instances.pop_front();
            self.first += 1;
        }
    }
}
