//! Locks on parts of files, which nodes hold until another wants them.
//!
//! A node that wants what another has written waits until that has come to the servers and the lock
//! is handed over. One part is handed over at a time; several parts of one call at once.

use std::collections::BTreeMap;

use crate::by_file::place;
use crate::servers::Servers;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Locks {
    pub granularity: Granularity,
    /// Nanoseconds.
    pub hand_over: f64,
}

/// What of a file is held together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granularity {
    File,
    /// What of it lies on one server.
    Object,
    Bytes(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holder {
    One { node: u32, wrote: bool },
    Readers,
}

impl Holder {
    /// Whether the node must wait for it.
    fn excludes(self, node: u32, writes: bool) -> bool {
        match self {
            Self::One { node: holder, wrote } => holder != node && (wrote || writes),
            Self::Readers => writes,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Held {
    /// The last part.
    end: i64,
    holder: Holder,
    /// When the holder had it, and when it may give it away.
    since: f64,
    free: f64,
}

impl Held {
    /// How it is held by who wishes for it, and has it when it is free.
    fn handed(self, wish: Wish, hand_over: f64) -> Self {
        let Wish { node, writes, now } = wish;
        let own = Holder::One { node, wrote: writes };
        let since = if self.holder.excludes(node, writes) {
            self.free.max(now) + hand_over
        } else {
            self.since.max(now)
        };
        let holder = if writes { own } else { shared(own, self.holder) };
        Self { holder, since, free: since, ..self }
    }
}

/// Who wants what, and when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish {
    pub node: u32,
    pub writes: bool,
    pub now: f64,
}

/// What is wanted of a file: its bytes from `begin` to `end`, by so many calls that leave gaps there
/// for others, or by one call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    pub file: u32,
    pub begin: i64,
    pub end: i64,
    pub calls: f64,
    /// Each comes with one of another rank of the node, and waits with it.
    pub is_joined: bool,
    /// What each call keeps the lock after it is granted, where they are many.
    pub kept: f64,
}

/// The locks on all files.
#[derive(Debug)]
pub(crate) struct Locking {
    locks: Locks,
    servers: Servers,
    /// By file.
    files: Vec<Parts>,
}

impl Locking {
    pub(crate) fn new(locks: Locks, servers: Servers) -> Self {
        Self { locks, servers, files: Vec::new() }
    }

    /// So long the node waits.
    pub(crate) fn wait(&mut self, range: &Range, wish: Wish) -> f64 {
        let (one, other) = self.parts(range);
        let hand_over = self.locks.hand_over;
        let parts = place(&mut self.files, range.file);
        if range.calls > 1. {
            let count = [Some(one), other].into_iter().flatten().map(|(first, last)| last - first);
            let count = count.fold(0., |all, more| all + more as f64 + 1.);
            let calls = Calls { count: range.calls, is_joined: range.is_joined, parts: count };
            return parts.take_together(&calls, wish, hand_over + range.kept) - wish.now;
        }
        let granted = parts.take(one, wish, hand_over);
        granted.max(other.map_or(granted, |other| parts.take(other, wish, hand_over))) - wish.now
    }

    /// What was written there has come, so long after the node had it.
    pub(crate) fn come(&mut self, range: &Range, after: f64) {
        let (one, other) = self.parts(range);
        let Some(parts) = self.files.get_mut(range.file as usize) else { return };
        for part in [Some(one), other].into_iter().flatten() {
            parts.come(part, after);
        }
    }

    /// The first and the last part; where they go on at the beginning of a circle, those there too.
    fn parts(&self, range: &Range) -> ((i64, i64), Option<(i64, i64)>) {
        let (begin, end) = (range.begin, range.end.max(range.begin.saturating_add(1)));
        match self.locks.granularity {
            Granularity::File => ((0, 0), None),
            Granularity::Bytes(bytes) => {
                let bytes = bytes.clamp(1, 1 << 62) as i64;
                ((begin.div_euclid(bytes), (end - 1).div_euclid(bytes)), None)
            }
            Granularity::Object => {
                let (first, count) = self.servers.objects(begin, end);
                let behind = first + count - self.servers.lanes();
                if behind > 0 && first > 0 {
                    ((first, self.servers.lanes() - 1), Some((0, behind - 1)))
                } else {
                    ((first, first + count - 1), None)
                }
            }
        }
    }
}

/// Writes or reads with gaps, taken as one, in so many parts of a file.
struct Calls {
    count: f64,
    parts: f64,
    is_joined: bool,
}

/// Of a file: who holds which parts.
#[derive(Debug, Default)]
struct Parts {
    /// All that is held, where that is in one state, as in most files; and its first part.
    only: Option<(i64, Held)>,
    /// By the first part, where states are several.
    held: BTreeMap<i64, Held>,
    /// Who had any, and whether something was written.
    used: Option<Holder>,
    was_written: bool,
    /// Until when calls that are taken together keep all parts busy.
    busy: f64,
}

impl Parts {
    /// When the node has all parts from the first to the last: it gets each when that is free.
    fn take(&mut self, (first, last): (i64, i64), wish: Wish, hand_over: f64) -> f64 {
        let Wish { node, writes, now } = wish;
        self.use_by(node, writes);
        if let Some(since) = self.take_only((first, last), wish, hand_over) {
            return since.max(now);
        }
        self.held.extend(self.only.take());
        let own = Holder::One { node, wrote: writes };
        let mut taken: Vec<(i64, Held)> = Vec::new();
        let mut next = first;
        for (begin, held) in self.overlapping(first, last) {
            self.held.remove(&begin);
            if begin < first {
                self.held.insert(begin, Held { end: first - 1, ..held });
            }
            if held.end > last {
                self.held.insert(last + 1, held);
            }
            if begin > next {
                join(&mut taken, next, Held { end: begin - 1, holder: own, since: now, free: now });
            }
            let end = held.end.min(last);
            join(&mut taken, begin.max(first), Held { end, ..held.handed(wish, hand_over) });
            next = end + 1;
        }
        if next <= last {
            join(&mut taken, next, Held { end: last, holder: own, since: now, free: now });
        }
        self.held.extend(taken.iter().copied());
        taken.iter().map(|(_, held)| held.since).fold(now, f64::max)
    }

    /// … where that is all that anybody has of the file, or nobody has any: since when.
    fn take_only(&mut self, (first, last): (i64, i64), wish: Wish, hand_over: f64) -> Option<f64> {
        let Wish { node, writes, now } = wish;
        let held = match self.only {
            None if self.held.is_empty() => {
                let holder = Holder::One { node, wrote: writes };
                Held { end: last, holder, since: now, free: now }
            }
            Some((begin, held)) if (begin, held.end) == (first, last) => {
                held.handed(wish, hand_over)
            }
            _ => return None,
        };
        self.only = Some((first, held));
        Some(held.since)
    }

    fn use_by(&mut self, node: u32, writes: bool) {
        let own = Holder::One { node, wrote: false };
        self.used = Some(self.used.map_or(own, |before| shared(own, before)));
        self.was_written |= writes;
    }

    fn overlapping(&self, first: i64, last: i64) -> Vec<(i64, Held)> {
        let before = self.held.range(..first).next_back().filter(|(_, held)| held.end >= first);
        let ranges = before.into_iter().chain(self.held.range(first..=last));
        ranges.map(|(begin, held)| (*begin, *held)).collect()
    }

    /// What the node wrote there came so long after it had each.
    fn come(&mut self, (first, last): (i64, i64), after: f64) {
        let only = self.only.as_mut().filter(|(begin, _)| (first..=last).contains(begin));
        let several = self.held.range_mut(first..=last).map(|(_, held)| held);
        for held in only.map(|(_, held)| held).into_iter().chain(several) {
            held.free = held.free.max(held.since + after);
        }
    }

    /// So many writes with gaps, taken as one, in which others of as many write: each waits for a
    /// hand-over, but as many go on at a time as there are parts. Whoever reads waits once.
    fn take_together(&mut self, calls: &Calls, wish: Wish, hand_over: f64) -> f64 {
        let Wish { node, writes, now } = wish;
        let own = Some(Holder::One { node, wrote: false });
        let waits = self.used.is_some() && self.used != own && (writes || self.was_written);
        self.use_by(node, writes);
        if !waits {
            return now;
        }
        let count = if writes { calls.count } else { 1. };
        if !calls.is_joined {
            self.busy = self.busy.max(now) + count * hand_over / calls.parts.max(1.);
        }
        self.busy.max(now + count * hand_over)
    }
}

/// So many parts of a call may have different states; more become one.
const STATES_AT_MOST: usize = 16;

/// Adds parts that come behind the others.
fn join(taken: &mut Vec<(i64, Held)>, begin: i64, held: Held) {
    let is_full = taken.len() >= STATES_AT_MOST;
    match taken.last_mut() {
        Some((_, last)) if is_full || (last.holder, last.since) == (held.holder, held.since) => {
            last.end = held.end;
            last.since = last.since.max(held.since);
            last.free = last.since;
            if last.holder != held.holder {
                last.holder = Holder::Readers;
            }
        }
        _ => taken.push((begin, held)),
    }
}

/// What one that reads makes of it.
fn shared(reader: Holder, before: Holder) -> Holder {
    match (reader, before) {
        (Holder::One { node, wrote }, Holder::One { node: holder, wrote: earlier })
            if node == holder =>
        {
            Holder::One { node, wrote: wrote || earlier }
        }
        _ => Holder::Readers,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn write(node: u32, now: f64) -> Wish {
        Wish { node, writes: true, now }
    }

    const fn read(node: u32, now: f64) -> Wish {
        Wish { node, writes: false, now }
    }

    fn is(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
    }

    #[test]
    fn who_holds_a_part_keeps_it_and_others_wait_one_after_the_other() {
        let mut parts = Parts::default();
        is(parts.take((0, 0), write(0, 5.), 100.), 5.);
        is(parts.take((0, 0), write(0, 7.), 100.), 7.);
        parts.come((0, 0), 33.);
        // given away when what was written has come
        is(parts.take((0, 0), write(1, 10.), 100.), 140.);
        is(parts.take((0, 0), write(2, 11.), 100.), 240.);
        // another part is free
        is(parts.take((1, 1), write(2, 11.), 100.), 11.);
    }

    #[test]
    fn parts_of_one_call_are_handed_over_at_once() {
        let mut parts = Parts::default();
        is(parts.take((0, 3), write(0, 0.), 100.), 0.);
        is(parts.take((4, 9), write(1, 0.), 100.), 0.);
        parts.come((4, 9), 50.);
        // the second half is free at 50 only, which does not hold up the first
        is(parts.take((2, 5), write(2, 10.), 100.), 150.);
        is(parts.take((2, 3), write(2, 10.), 100.), 110.);
        // what is left on both sides is still theirs
        is(parts.take((0, 1), write(0, 20.), 100.), 20.);
        is(parts.take((6, 9), write(1, 20.), 100.), 20.);
        is(parts.take((5, 6), write(1, 20.), 100.), 250.);
    }

    #[test]
    fn readers_wait_for_what_was_written_once_and_writers_for_readers() {
        let mut parts = Parts::default();
        is(parts.take((0, 0), write(0, 0.), 100.), 0.);
        is(parts.take((0, 0), read(0, 1.), 100.), 1.);
        is(parts.take((0, 0), read(1, 2.), 100.), 102.);
        // it is on its way to all readers until then
        is(parts.take((0, 0), read(2, 3.), 100.), 102.);
        is(parts.take((0, 0), read(2, 200.), 100.), 200.);
        is(parts.take((0, 0), write(2, 300.), 100.), 400.);
        // nobody waits for another who only reads
        is(parts.take((7, 7), read(0, 0.), 100.), 0.);
        is(parts.take((7, 7), read(1, 0.), 100.), 0.);
    }

    #[test]
    fn calls_that_are_taken_together_wait_as_often_as_they_are_many() {
        let calls = Calls { count: 10., parts: 5., is_joined: false };
        let mut parts = Parts::default();
        is(parts.take_together(&calls, write(0, 0.), 100.), 0.);
        // ten hand-overs one after the other; the parts are busy until 10 × 100 / 5
        is(parts.take_together(&calls, write(1, 0.), 100.), 1000.);
        // another rank of that node writes beside it, and waits no longer
        let joined = Calls { is_joined: true, ..calls };
        is(parts.take_together(&joined, write(1, 0.), 100.), 1000.);
        for (node, until) in [(2, 1000.), (3, 1000.), (4, 1000.), (5, 1000.), (6, 1200.)] {
            is(parts.take_together(&calls, write(node, 0.), 100.), until);
        }
        // a node by itself waits for nobody
        let mut own = Parts::default();
        is(own.take_together(&calls, write(0, 0.), 100.), 0.);
        is(own.take_together(&calls, write(0, 0.), 100.), 0.);
    }

    #[test]
    fn a_part_is_a_file_or_what_lies_on_one_server_or_a_block() {
        let servers = Servers { count: 4, stripe_bytes: 10, stripe_count: 3 };
        let parts = |granularity, begin, end| {
            let locking = Locking::new(Locks { granularity, hand_over: 0. }, servers);
            locking.parts(&Range { file: 0, begin, end, calls: 1., is_joined: false, kept: 0. })
        };
        assert_eq!(parts(Granularity::File, 55, 99), ((0, 0), None));
        assert_eq!(parts(Granularity::Bytes(20), 39, 41), ((1, 2), None));
        assert_eq!(parts(Granularity::Object, 0, 11), ((0, 1), None));
        // stripes 2 and 3, which is on the first server again
        assert_eq!(parts(Granularity::Object, 25, 35), ((2, 2), Some((0, 0))));
        assert_eq!(parts(Granularity::Object, 0, 1000), ((0, 2), None));
        assert_eq!(parts(Granularity::Object, 10, 1000), ((1, 2), Some((0, 0))));
    }
}
