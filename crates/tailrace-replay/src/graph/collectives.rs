//! Collective calls: the n-th on a communicator on one rank meets the n-th on the others.

use std::collections::VecDeque;

use hashbrown::HashMap;
use tailrace_trace::Tables;

use crate::graph::moment::CrossingId;
use crate::graph::replayed::{Answer, Waiter};
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
}

/// What is waited for where nothing is.
const NOBODY: Latest = Latest::NOTHING;

/// Group of members, or the remote one.
type Side = u8;

pub(crate) type InstanceId = u32;

/// Open instances at most: a rank that died leaves its instances open for good.
const MOST_OPEN: usize = 1 << 20;

/// An entry that not every later leaver waits for, perhaps.
#[derive(Clone, Copy, Debug)]
struct Entered {
    source: Source,
    side: Side,
}

/// The latest entries of some ranks, on each side.
#[derive(Clone, Copy, Debug, Default)]
struct Entries {
    sides: [Latest; 2],
    number: u32,
    /// Some are on the other side than the first.
    on_both: bool,
}

impl Entries {
    #[inline]
    fn add(&mut self, side: Side, source: &Source) {
        self.number += 1;
        self.on_both |= side > 0;
        self.sides[usize::from(side)].add(source);
    }

    #[inline]
    fn of_all<'a>(&'a self, scratch: &'a mut Latest) -> &'a Latest {
        if !self.on_both {
            return &self.sides[0];
        }
        *scratch = self.sides[0].max(&self.sides[1]);
        scratch
    }
}

#[derive(Default)]
struct Instance {
    key: (u32, Family, u32),
    size: u32,
    entered: u32,
    left: u32,
    root: Option<Source>,
    /// Entries that every later leaver can have waited for.
    settled: Entries,
    /// The others, by measured time where `sorted`, and when the last of them was.
    fresh: Vec<Entered>,
    sorted: bool,
    last: i64,
    /// The settled ones and the first `known` of the fresh ones.
    latest: Entries,
    known: usize,
    /// … and those that a waiter has at the same nanosecond.
    at_once: Entries,
    /// Of prefix and neighbourhood collectives: entries by position.
    by_position: Vec<Option<Source>>,
    /// The end of the latest settled file call that a rank made inside, and the others.
    file_calls: Latest,
    fresh_file_calls: Vec<Source>,
    /// Before the moment nothing more will come from any member but that rank.
    front: Option<(i64, u32)>,
    /// The member that was not replayed far enough when somebody asked last.
    behind: Option<u32>,
    /// Has fresh sources.
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
    /// What was asked for last.
    found: Latest,
    positions: HashMap<u32, HashMap<u32, u32>>,
    /// By communicator and position: the positions that neighbourhood collectives receive from.
    sources: HashMap<(u32, u32), Vec<u32>>,
    /// Entries that were not followed because too many instances were open.
    pub not_followed: u64,
}

impl Collectives {
    /// A rank enters.
    #[allow(clippy::inline_always)] // what is passed on is read before it is there
    #[inline(always)]
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
        let side = remote.then(|| Side::from(communicator.is_remote(position)));
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
                instance.last = instance.last.max(source.at);
                instance.fresh.push(Entered { source, side: side.unwrap_or(0) });
                instance.sorted = false;
                self.touch(id);
            }
        }
        Some(Part { instance: id, waits: entry.waits, side, position, moves: false })
    }

    /// A file call that the rank made inside ended.
    pub(crate) fn file_call_ended(&mut self, part: &mut Part, source: Source) {
        part.moves = true;
        self.slots[part.instance as usize].fresh_file_calls.push(source);
        self.touch(part.instance);
    }

    /// What the rank has to wait for when it leaves.
    #[allow(clippy::inline_always)] // into the loop over vertices
    #[inline(always)]
    pub(crate) fn dependency(
        &mut self,
        tables: &Tables,
        part: &Part,
        waiter: &Waiter<'_>,
    ) -> Answer<'_> {
        let Self { slots, sources, found, .. } = self;
        let instance = &mut slots[part.instance as usize];
        let key = (instance.key.0, part.position);
        let neighbours = || sources.get(&key).into_iter().flatten().copied();
        let known = match part.waits {
            Waits::Nothing | Waits::PerhapsRoot => return Answer::Nothing,
            _ if instance.entered >= instance.size => !part.is_served(waiter),
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
                    Some(side) => &latest.sides[usize::from(1 - side)],
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
        if instance.entered < instance.size && !instance.is_reached_by_all(tables, waiter) {
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
        if !instance.open {
            instance.open = true;
            self.unsettled.push(id);
        }
    }

    #[allow(clippy::inline_always)] // into the two loops that enter
    #[inline(always)]
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

    #[inline(never)]
    fn open(&mut self, tables: &Tables, key: (u32, Family, u32)) -> InstanceId {
        let size = tables.communicators[key.0 as usize].size();
        let id = self.free.pop().unwrap_or(self.slots.len() as InstanceId);
        if id as usize == self.slots.len() {
            self.slots.push(Instance::default());
        }
        self.slots[id as usize].begin(key, size as u32);
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
        while let Some(None) = self.instances.front() {
            self.instances.pop_front();
            self.first += 1;
        }
    }
}

impl Instance {
    /// A slot that was closed, or never used, is one of a collective that begins. What is known of
    /// entries begins anew with the first.
    fn begin(&mut self, key: (u32, Family, u32), size: u32) {
        (self.key, self.size, self.entered, self.left) = (key, size, 0, 0);
        (self.sorted, self.last, self.known) = (false, i64::MIN, 0);
        (self.front, self.behind) = (None, None);
        self.settled = Entries::default();
        self.file_calls = Latest::default();
    }

    /// All have left: no trail ends here any more.
    fn close(&mut self) {
        self.fresh.clear();
        (self.root, self.known, self.size, self.entered) = (None, 0, 0, 0);
        self.by_position = Vec::new();
        self.fresh_file_calls = Vec::new();
    }

    /// Whether all is known that counts by measured time.
    fn is_reached_by_all(&mut self, tables: &Tables, waiter: &Waiter<'_>) -> bool {
        if let Some((front, but)) = self.front
            && waiter.at < front
            && waiter.has_reached(but)
        {
            return true;
        }
        if self.behind.is_some_and(|rank| !waiter.has_reached(rank)) {
            return false;
        }
        let communicator = &tables.communicators[self.key.0 as usize];
        self.behind = communicator.ranks().find(|rank| !waiter.has_reached(*rank));
        if self.behind.is_some() {
            return false;
        }
        let others = communicator.ranks().filter(|rank| *rank != waiter.rank);
        let front = others.map(|rank| waiter.fronts[rank as usize].at).min();
        self.front = front.map(|front| (front, waiter.rank));
        true
    }

    fn has_all_of(&self, mut positions: impl Iterator<Item = u32>) -> bool {
        positions.all(|place| self.by_position.get(place as usize).is_some_and(Option::is_some))
    }

    /// The latest entries that the waiter can have waited for.
    fn latest(&mut self, waiter: &Waiter<'_>) -> &Entries {
        if self.fresh.is_empty() {
            return &self.settled;
        }
        if waiter.whatever || self.last < waiter.at {
            self.know(self.fresh.len());
            return &self.latest;
        }
        if !self.sorted {
            self.fresh.sort_unstable_by_key(|entered| (entered.source.at, entered.source.rank));
            (self.known, self.sorted) = (0, true);
        }
        let before = self.fresh.partition_point(|entered| entered.source.at < waiter.at);
        if before < self.known {
            self.known = 0;
        }
        self.know(before);
        self.at_once = self.latest;
        let at_once = self.fresh[before..].iter().take_while(|e| e.source.at <= waiter.at);
        for Entered { source, side } in at_once.filter(|e| waiter.counts(&e.source)) {
            self.at_once.add(*side, source);
        }
        &self.at_once
    }

    /// The latest of the settled ones and the first `until` of the fresh ones.
    fn know(&mut self, until: usize) {
        if self.known == 0 {
            self.latest = self.settled;
        }
        for Entered { source, side } in &self.fresh[self.known..until] {
            self.latest.add(*side, source);
        }
        self.known = until;
    }

    /// `None` as long as not all have entered.
    fn everyone<'a>(
        &'a mut self,
        waiter: &Waiter<'_>,
        scratch: &'a mut Latest,
    ) -> Option<&'a Latest> {
        let size = self.size;
        let latest = self.latest(waiter);
        (latest.number >= size).then(|| latest.of_all(scratch))
    }

    fn everyone_and_file_calls(&mut self, waiter: &Waiter<'_>) -> Latest {
        let mut scratch = Latest::default();
        let Some(&everyone) = self.everyone(waiter, &mut scratch) else { return scratch };
        let file_calls = self.fresh_file_calls.iter().filter(|source| waiter.counts(source));
        file_calls.fold(everyone.max(&self.file_calls), Latest::and)
    }

    /// The latest entry of some positions.
    fn latest_of(&self, positions: impl Iterator<Item = u32>, waiter: &Waiter<'_>) -> Latest {
        let sources = positions.filter_map(|place| self.by_position.get(place as usize)?.as_ref());
        sources.filter(|source| waiter.counts(source)).fold(Latest::default(), Latest::and)
    }

    fn crossings(&mut self) -> impl Iterator<Item = (usize, &mut CrossingId)> {
        let open = self.size > 0;
        let fresh = self.fresh.iter_mut().map(|entered| &mut entered.source);
        let sources = fresh.chain(&mut self.fresh_file_calls).chain(self.root.as_mut());
        let sources = sources.chain(self.by_position.iter_mut().flatten());
        let latest = self.settled.sides.iter_mut().chain([&mut self.file_calls]);
        let settled = latest.filter(move |_| open).flat_map(Latest::crossings);
        sources.flat_map(|source| source.moment.ends()).chain(settled)
    }

    fn settle(&mut self) {
        self.know(self.fresh.len());
        self.settled = self.latest;
        self.fresh.clear();
        self.file_calls = self.fresh_file_calls.iter().fold(self.file_calls, Latest::and);
        self.fresh_file_calls.clear();
        (self.known, self.last, self.open) = (0, i64::MIN, false);
    }
}
