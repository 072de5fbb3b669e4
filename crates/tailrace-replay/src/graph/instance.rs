//! One collective call: who entered when, and what those wait for that leave.
//!
//! Mostly all have entered before anybody leaves. So the latest entry is known as soon as the last
//! is there; single entries matter to those alone that leave before others enter.

use tailrace_trace::Tables;
use tailrace_trace::tables::Communicator;

use crate::graph::moment::CrossingId;
use crate::graph::replayed::Waiter;
use crate::graph::trail::Latest;
use crate::graph::vertex::{Family, Source};
use crate::options::CriticalPaths;

/// What is waited for where nothing is.
const NOBODY: Latest = Latest::NOTHING;

/// Group of members, or the remote one.
pub(crate) type Side = u8;

/// Room for so many file calls is kept for the next instance.
const FEW: usize = 1 << 6;

/// An entry that not every later leaver waits for, perhaps.
#[derive(Clone, Copy, Debug)]
struct Entered {
    source: Source,
    side: Side,
}

/// The latest of so many entries on each side; of none it means nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Entries {
    numbers: [u32; 2],
    sides: [Latest; 2],
}

impl Entries {
    fn add(&mut self, Entered { source, side }: &Entered) {
        let side = usize::from(*side);
        if self.numbers[side] == 0 {
            self.sides[side] = Latest::of(source);
        } else {
            self.sides[side].add(source);
        }
        self.numbers[side] += 1;
    }

    /// … of one side, where nobody asks whose the moments were; when the last of these was.
    fn add_moments(&mut self, entered: &[Entered]) -> i64 {
        let [latest, _] = &mut self.sides;
        if let Some(first) = entered.first().filter(|_| self.numbers[0] == 0) {
            *latest = Latest::of(&first.source);
        }
        self.numbers[0] += entered.len() as u32;
        latest.add_moments(entered.iter().map(|entered| &entered.source))
    }

    fn number(&self) -> u32 {
        self.numbers[0] + self.numbers[1]
    }

    /// The latest of a side.
    pub(crate) fn on(&self, side: Side) -> &Latest {
        let side = usize::from(side);
        if self.numbers[side] == 0 { &NOBODY } else { &self.sides[side] }
    }

    pub(crate) fn of_all<'a>(&'a self, scratch: &'a mut Latest) -> &'a Latest {
        if self.numbers[1] == 0 {
            return self.on(0);
        }
        *scratch = self.on(0).max(&self.sides[1]);
        scratch
    }

    fn crossings(&mut self) -> impl Iterator<Item = (usize, &mut CrossingId)> {
        let sides = self.sides.iter_mut().zip(self.numbers);
        sides.filter(|(_, number)| *number > 0).flat_map(|(latest, _)| latest.crossings())
    }
}

/// What those wait for that leave before others enter.
#[derive(Debug, Default)]
struct Early {
    /// Entries that every later leaver can have waited for.
    settled: Entries,
    /// So many of the others are in order of measured time: all, or they are in none.
    sorted: usize,
    /// The settled ones and the first `known` of the others.
    latest: Entries,
    known: usize,
    /// … and those that a waiter has at the same nanosecond.
    at_once: Entries,
}

impl Early {
    fn latest(&mut self, fresh: &mut [Entered], waiter: &Waiter<'_>) -> &Entries {
        if self.sorted != fresh.len() {
            fresh.sort_unstable_by_key(|entered| (entered.source.at, entered.source.rank));
            (self.known, self.sorted) = (0, fresh.len());
        }
        let before = fresh.partition_point(|entered| entered.source.at < waiter.at);
        if before < self.known || self.known == 0 {
            (self.latest, self.known) = (self.settled, 0);
        }
        fresh[self.known..before].iter().for_each(|entered| self.latest.add(entered));
        self.known = before;
        self.at_once = self.latest;
        let at_once = fresh[before..].iter().take_while(|e| e.source.at <= waiter.at);
        let at_once = at_once.filter(|entered| waiter.counts(&entered.source));
        at_once.for_each(|entered| self.at_once.add(entered));
        &self.at_once
    }
}

#[derive(Default)]
pub(crate) struct Instance {
    pub key: (u32, Family, u32),
    pub size: u32,
    pub entered: u32,
    pub left: u32,
    /// On an intercommunicator.
    pub has_sides: bool,
    /// Has fresh sources, or had before it was closed.
    pub open: bool,
    critical_paths: CriticalPaths,
    /// Entries that others may wait for and that are not settled.
    fresh: Vec<Entered>,
    /// Of so many of these, and all that are settled; and when the last of these was.
    all: Entries,
    absorbed: usize,
    last: i64,
    early: Option<Box<Early>>,
    pub root: Option<Source>,
    /// Of prefix and neighbourhood collectives: entries by position.
    by_position: Vec<Option<Source>>,
    /// The end of the latest settled file call that a rank made inside, and the others.
    file_calls: Option<Latest>,
    fresh_file_calls: Vec<Source>,
    /// Before the moment nothing more will come from any member but that rank.
    front: Option<(i64, u32)>,
    /// The member that was not replayed far enough when somebody asked last.
    behind: Option<u32>,
}

impl Instance {
    /// A slot that was closed, or never used, is one of a collective that begins.
    pub(crate) fn begin(
        &mut self,
        key: (u32, Family, u32),
        communicator: &Communicator,
        critical_paths: CriticalPaths,
    ) {
        (self.key, self.entered, self.left) = (key, 0, 0);
        self.critical_paths = critical_paths;
        self.size = communicator.size() as u32;
        self.has_sides = communicator.remote.is_some();
        (self.all.numbers, self.last) = ([0; 2], i64::MIN);
        (self.front, self.behind, self.file_calls) = (None, None, None);
    }

    /// All have left: no trail ends here any more.
    pub(crate) fn close(&mut self) {
        (self.size, self.entered, self.all.numbers) = (0, 0, [0; 2]);
        (self.root, self.early, self.file_calls) = (None, None, None);
        self.fresh.clear();
        self.absorbed = 0;
        if self.fresh_file_calls.capacity() > FEW {
            self.fresh_file_calls = Vec::new();
        }
        self.fresh_file_calls.clear();
        self.by_position = Vec::new();
    }

    /// A rank enters for whom others may wait.
    #[inline]
    pub(crate) fn enter(&mut self, side: Side, source: Source) {
        self.fresh.push(Entered { source, side });
    }

    /// Adds up what entered: once all have, or somebody asks.
    pub(crate) fn absorb(&mut self) {
        let entered = &self.fresh[self.absorbed..];
        if self.critical_paths == CriticalPaths::LeftOut && !self.has_sides {
            self.last = self.last.max(self.all.add_moments(entered));
        } else {
            for entered in entered {
                self.last = self.last.max(entered.source.at);
                self.all.add(entered);
            }
        }
        self.absorbed = self.fresh.len();
    }

    /// … those that wait for its position.
    pub(crate) fn enter_at(&mut self, position: u32, source: Source) {
        self.by_position.resize(self.size as usize, None);
        self.by_position[position as usize] = Some(source);
    }

    pub(crate) fn file_call_ended(&mut self, source: Source) {
        self.fresh_file_calls.push(source);
    }

    /// The latest entry, if all have entered before one leaves at `at`, all on one side.
    #[inline]
    pub(crate) fn latest_before(&self, at: i64) -> Option<&Latest> {
        let all = self.all.numbers[0] >= self.size && self.last < at;
        all.then_some(&self.all.sides[0])
    }

    #[inline]
    pub(crate) fn is_complete(&self) -> bool {
        self.entered >= self.size
    }

    /// Whether all is known that counts by measured time.
    pub(crate) fn is_reached_by_all(&mut self, tables: &Tables, waiter: &Waiter<'_>) -> bool {
        if waiter.is_patient && !self.is_complete() {
            return false;
        }
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

    pub(crate) fn has_all_of(&self, mut positions: impl Iterator<Item = u32>) -> bool {
        positions.all(|place| self.by_position.get(place as usize).is_some_and(Option::is_some))
    }

    /// The latest entries that the waiter can have waited for.
    pub(crate) fn latest(&mut self, waiter: &Waiter<'_>) -> &Entries {
        self.absorb();
        if waiter.whatever || self.last < waiter.at {
            return &self.all;
        }
        self.early.get_or_insert_default().latest(&mut self.fresh, waiter)
    }

    /// `None` as long as not all have entered.
    pub(crate) fn everyone<'a>(
        &'a mut self,
        waiter: &Waiter<'_>,
        scratch: &'a mut Latest,
    ) -> Option<&'a Latest> {
        let size = self.size;
        let latest = self.latest(waiter);
        (latest.number() >= size).then(|| latest.of_all(scratch))
    }

    pub(crate) fn everyone_and_file_calls(&mut self, waiter: &Waiter<'_>) -> Latest {
        let mut scratch = Latest::default();
        let Some(&everyone) = self.everyone(waiter, &mut scratch) else { return scratch };
        let settled = self.file_calls.as_ref().unwrap_or(&NOBODY);
        let file_calls = self.fresh_file_calls.iter().filter(|source| waiter.counts(source));
        file_calls.fold(everyone.max(settled), Latest::and)
    }

    /// The latest entry of some positions.
    pub(crate) fn latest_of(
        &self,
        positions: impl Iterator<Item = u32>,
        waiter: &Waiter<'_>,
    ) -> Latest {
        let sources = positions.filter_map(|place| self.by_position.get(place as usize)?.as_ref());
        sources.filter(|source| waiter.counts(source)).fold(Latest::default(), Latest::and)
    }

    /// The ends of its trails.
    pub(crate) fn crossings(&mut self) -> impl Iterator<Item = (usize, &mut CrossingId)> {
        let fresh = self.fresh.iter_mut().map(|entered| &mut entered.source);
        let sources = fresh.chain(&mut self.fresh_file_calls).chain(self.root.as_mut());
        let sources = sources.chain(self.by_position.iter_mut().flatten());
        let early = self.early.iter_mut().map(|early| &mut early.settled);
        let entries = early.chain([&mut self.all]).flat_map(Entries::crossings);
        let file_calls = self.file_calls.iter_mut().flat_map(Latest::crossings);
        sources.flat_map(|source| source.moment.ends()).chain(entries).chain(file_calls)
    }

    /// All later leavers leave after what is known by now.
    pub(crate) fn settle(&mut self) {
        self.open = false;
        self.absorb();
        if !self.fresh.is_empty() {
            // where one leaves early of those that are still to come
            **self.early.get_or_insert_default() = Early { settled: self.all, ..Early::default() };
            self.fresh.clear();
            (self.absorbed, self.last) = (0, i64::MIN);
        }
        if !self.fresh_file_calls.is_empty() {
            let settled = self.file_calls.unwrap_or(NOBODY);
            self.file_calls = Some(self.fresh_file_calls.iter().fold(settled, Latest::and));
            self.fresh_file_calls.clear();
        }
    }
}
