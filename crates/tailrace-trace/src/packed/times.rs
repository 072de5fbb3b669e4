//! Gaps and durations of a block: bits of a width that the event's shape tells, and a list of those
//! that do not fit.
//!
//! Shapes whose times are alike are a *group*: it has the least gap and the least duration and how
//! many bits what is above them takes, at most [`BITS_MAX`]. Eight bytes therefore hold the rest of
//! both times of an event wherever it begins, and nothing about one event depends on the value of
//! another.

use crate::columns::{Columns, LONG, Long};
use crate::cursor::{Cursor, Damage, put_varint};
use crate::limits::NS_MAX;

/// Two times and seven bits before them fit into 64.
const BITS_MAX: u32 = 28;
/// What a listed time takes beside its own bits: the distance to the one before.
const LISTED_BITS: u64 = 12;
const WORD_BYTES: usize = 8;

/// A time of some events: so much and what so many bits say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Span {
    base: u32,
    bits: u32,
}

/// The times of a group, or of a shape in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Times {
    gap: Span,
    duration: Span,
}

impl Span {
    fn mask(self) -> u64 {
        (1 << self.bits) - 1
    }

    fn put(self, bytes: &mut Vec<u8>) {
        put_varint(bytes, self.base.into());
        bytes.push(self.bits as u8);
    }

    fn read(from: &mut Cursor) -> Result<Self, Damage> {
        let (base, bits) = (from.varint()?, u32::from(from.u8()?));
        let most = base.checked_add((1 << bits.min(BITS_MAX)) - 1);
        if bits > BITS_MAX || most.is_none_or(|most| most >= LONG.into()) {
            return Err(from.damage("a group's times are out of range"));
        }
        Ok(Self { base: base as u32, bits })
    }

    /// What `time` is above the base, if that fits.
    #[inline]
    fn above(self, time: u32) -> Option<u64> {
        let above = time.wrapping_sub(self.base);
        (u64::from(above) <= self.mask()).then_some(above.into())
    }
}

/// How times are spread: the least of them, and of what is above it how many take how many bits.
#[derive(Clone, Copy, Debug)]
struct Spread {
    least: u32,
    by_bits: [u32; 33],
}

impl Spread {
    const EMPTY: Self = Self { least: LONG, by_bits: [0; 33] };

    /// The spread of all these. Four are counted side by side, because one count of the same thing
    /// has to wait for the other.
    fn of(times: &[u32]) -> Self {
        let least = times.iter().copied().min().unwrap_or(LONG);
        let mut parts = [Self { least, ..Self::EMPTY }; 4];
        for four in times.chunks(4) {
            parts.iter_mut().zip(four).for_each(|(part, &time)| part.count(time));
        }
        let mut sum = [0; 33];
        for part in &parts {
            sum.iter_mut().zip(part.by_bits).for_each(|(sum, count)| *sum += count);
        }
        Self { least, by_bits: sum }
    }

    #[inline]
    fn count(&mut self, time: u32) {
        self.by_bits[(u32::BITS - time.wrapping_sub(self.least).leading_zeros()) as usize] += 1;
    }

    fn events(&self) -> u64 {
        self.by_bits.iter().map(|&count| u64::from(count)).sum()
    }

    /// The width that makes bits and list shortest together.
    fn span(&self) -> Span {
        // A group of long times only: all are listed.
        let base = if self.least > LONG - (1 << BITS_MAX) { 0 } else { self.least };
        let events = self.events();
        let cost = |bits: &u32| {
            let beyond = self.by_bits.iter().enumerate().skip(*bits as usize + 1);
            let listed =
                beyond.map(|(bits, &count)| u64::from(count) * (LISTED_BITS + 8 * bits as u64 / 7));
            events * u64::from(*bits) + listed.sum::<u64>()
        };
        let bits = if base < self.least { 0 } else { (0..=BITS_MAX).min_by_key(cost).unwrap_or(0) };
        Span { base, bits }
    }
}

/// The times of a block on their way to the file; its memory is used again.
#[derive(Default)]
pub(super) struct TimesOut {
    spreads: Vec<[Spread; 2]>,
    pub groups: Vec<u8>,
    pub bits: Vec<u8>,
    pub listed_gaps: Vec<u8>,
    pub listed_durations: Vec<u8>,
}

/// Times of a block's events, and of which group each is.
pub(super) struct Rows<'a> {
    pub gaps: &'a [u32],
    pub durations: &'a [u32],
    pub long: &'a [Long],
    pub group_of: &'a [u32],
    pub groups: usize,
}

impl TimesOut {
    pub(super) fn put(&mut self, rows: &Rows) {
        let times = self.measure(rows);
        self.groups.clear();
        for times in &times {
            times.gap.put(&mut self.groups);
            times.duration.put(&mut self.groups);
        }
        self.put_bits(rows, &times);
    }

    fn measure(&mut self, rows: &Rows) -> Vec<Times> {
        self.spreads.clear();
        if rows.groups == 1 {
            self.spreads.push([Spread::of(rows.gaps), Spread::of(rows.durations)]);
        } else {
            self.measure_groups(rows);
        }
        let times =
            |[gap, duration]: &[Spread; 2]| Times { gap: gap.span(), duration: duration.span() };
        self.spreads.iter().map(times).collect()
    }

    fn measure_groups(&mut self, rows: &Rows) {
        let both = || rows.gaps.iter().zip(rows.durations).zip(rows.group_of);
        self.spreads.resize(rows.groups, [Spread::EMPTY; 2]);
        for ((&gap, &duration), &group) in both() {
            let [gaps, durations] = &mut self.spreads[group as usize];
            gaps.least = gaps.least.min(gap);
            durations.least = durations.least.min(duration);
        }
        for ((&gap, &duration), &group) in both() {
            let [gaps, durations] = &mut self.spreads[group as usize];
            gaps.count(gap);
            durations.count(duration);
        }
    }

    fn put_bits(&mut self, rows: &Rows, times: &[Times]) {
        let (mut gaps, mut durations) =
            (Listed::new(&mut self.listed_gaps), Listed::new(&mut self.listed_durations));
        // Room for all, and for a whole word at the end.
        let bits = |(spreads, times): (&[Spread; 2], &Times)| {
            spreads[0].events() * u64::from(times.gap.bits + times.duration.bits)
        };
        let bits: u64 = self.spreads.iter().zip(times).map(bits).sum();
        self.bits.clear();
        self.bits.resize(bits as usize / 8 + WORD_BYTES, 0);
        let (mut word, mut filled, mut at) = (0u64, 0, 0);
        let long = |row: usize| {
            let place = rows.long.binary_search_by_key(&row, |long| long.row as usize);
            place.ok().map(|place| &rows.long[place])
        };
        let both = rows.gaps.iter().zip(rows.durations).zip(rows.group_of);
        for (row, ((&gap, &duration), &group)) in both.enumerate() {
            let Times { gap: of_gap, duration: of_duration } = times[group as usize];
            let listed = |time: u32, of: fn(&Long) -> i64| match time {
                LONG => long(row).map_or(0, |long| of(long) as u64),
                _ => time.into(),
            };
            let gap = of_gap.above(gap).unwrap_or_else(|| {
                gaps.put(row, listed(gap, |long| long.gap_ns));
                0
            });
            let duration = of_duration.above(duration).unwrap_or_else(|| {
                durations.put(row, listed(duration, |long| long.duration_ns));
                0
            });
            word |= (gap | duration << of_gap.bits) << filled;
            filled += of_gap.bits + of_duration.bits;
            if let Some(next) = self.bits.get_mut(at..at + WORD_BYTES) {
                next.copy_from_slice(&word.to_le_bytes());
            }
            // Seven bytes at most are full: two times have 56 bits, and 7 were there.
            at += (filled / 8) as usize;
            word >>= filled / 8 * 8;
            filled %= 8;
        }
        self.bits.truncate(at + usize::from(filled > 0));
    }
}

/// Times that are listed: of each the distance from the row before it in the list, then the time.
struct Listed<'a> {
    bytes: &'a mut Vec<u8>,
    next: usize,
}

impl<'a> Listed<'a> {
    fn new(bytes: &'a mut Vec<u8>) -> Self {
        bytes.clear();
        Self { bytes, next: 0 }
    }

    #[cold]
    fn put(&mut self, row: usize, time: u64) {
        put_varint(self.bytes, (row - self.next) as u64);
        put_varint(self.bytes, time);
        self.next = row + 1;
    }
}

/// The groups of a block.
pub(super) fn read_groups(bytes: &[u8]) -> Result<Vec<Times>, Damage> {
    let mut from = Cursor::new(bytes);
    let mut groups = Vec::new();
    while from.left() > 0 {
        let gap = Span::read(&mut from)?;
        groups.push(Times { gap, duration: Span::read(&mut from)? });
    }
    Ok(groups)
}

/// The times of a shape's group as they are unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unpacking {
    bases: [u32; 2],
    masks: [u32; 2],
    gap_bits: u32,
    bits: u32,
}

impl Times {
    fn unpacking(&self) -> Unpacking {
        let Self { gap, duration } = self;
        Unpacking {
            bases: [gap.base, duration.base],
            masks: [gap.mask() as u32, duration.mask() as u32],
            gap_bits: gap.bits,
            bits: gap.bits + duration.bits,
        }
    }
}

/// Of each shape the times of its group.
pub(super) fn of_shapes(
    groups: &[Times],
    group_of: &[u8],
    shapes: usize,
    into: &mut Vec<Unpacking>,
) -> Result<(), Damage> {
    let mut from = Cursor::new(group_of);
    into.clear();
    for _ in 0..shapes {
        let group = groups.get(usize::try_from(from.varint()?).unwrap_or(usize::MAX));
        into.push(group.ok_or(from.damage("a shape belongs to no group"))?.unpacking());
    }
    Ok(())
}

const NO_SHAPE: Damage = Damage { at: 0, what: "an event has no shape" };
const FEWER_TIMES: Damage = Damage { at: 0, what: "a block has fewer times than events" };

/// Unpacks the gaps and durations of events whose shapes are there; `bits` is made longer.
pub(super) fn unpack(
    bits: &mut Vec<u8>,
    of_shapes: &[Unpacking],
    columns: &mut Columns,
) -> Result<(), Damage> {
    let there = bits.len();
    bits.resize(there + WORD_BYTES, 0);
    let Columns { shape_of, gaps, durations, .. } = columns;
    gaps.resize(shape_of.len(), 0);
    durations.resize(shape_of.len(), 0);
    let mut at = 0usize;
    let into = gaps.iter_mut().zip(durations);
    match of_shapes {
        // Loops over reads or writes: what is the same of all need not be looked up.
        [times, others @ ..] if others.iter().all(|other| other == times) => {
            let most = shape_of.iter().copied().max().unwrap_or(0);
            of_shapes.get(usize::from(most)).ok_or(NO_SHAPE)?;
            let times = *times;
            for (gap, duration) in into {
                [*gap, *duration] = times.read(bits, at).ok_or(FEWER_TIMES)?;
                at += times.bits as usize;
            }
        }
        _ => {
            for (&shape, (gap, duration)) in shape_of.iter().zip(into) {
                let times = of_shapes.get(usize::from(shape)).ok_or(NO_SHAPE)?;
                [*gap, *duration] = times.read(bits, at).ok_or(FEWER_TIMES)?;
                at += times.bits as usize;
            }
        }
    }
    if at.div_ceil(8) == there {
        Ok(())
    } else {
        Err(Damage { at: 0, what: "a block has not as many times as events" })
    }
}

impl Unpacking {
    /// Gap and duration of an event, whose bits begin there.
    #[allow(clippy::inline_always)] // into loops over all events
    #[inline(always)]
    fn read(&self, bits: &[u8], at: usize) -> Option<[u32; 2]> {
        let word = bits.get(at / 8..)?.first_chunk::<WORD_BYTES>()?;
        let word = u64::from_le_bytes(*word) >> (at % 8);
        let Self { bases, masks, gap_bits, .. } = *self;
        let duration = (word >> gap_bits) as u32 & masks[1];
        Some([bases[0] + (word as u32 & masks[0]), bases[1] + duration])
    }
}

/// Puts the listed times in their places; [`Columns::long`] gets those that are long.
pub(super) fn put_listed(
    gaps: &[u8],
    durations: &[u8],
    columns: &mut Columns,
) -> Result<(), Damage> {
    let mut sum = columns.begin_ns;
    let long_gaps = listed(gaps, &mut columns.gaps, &mut sum)?;
    let long_durations = listed(durations, &mut columns.durations, &mut sum)?;
    let mut rows: Vec<u32> = long_gaps.iter().chain(&long_durations).map(|long| long.0).collect();
    rows.sort_unstable();
    rows.dedup();
    let of = |long: &[(u32, i64)], row: u32, short: &[u32]| {
        let place = long.binary_search_by_key(&row, |long| long.0);
        place.map_or(short[row as usize].into(), |place| long[place].1)
    };
    columns.long.extend(rows.into_iter().map(|row| Long {
        row,
        gap_ns: of(&long_gaps, row, &columns.gaps),
        duration_ns: of(&long_durations, row, &columns.durations),
    }));
    Ok(())
}

/// Rows and times of those that are long; `sum` is what they come to.
fn listed(bytes: &[u8], times: &mut [u32], sum: &mut i64) -> Result<Vec<(u32, i64)>, Damage> {
    let (mut from, mut next, mut long) = (Cursor::new(bytes), 0usize, Vec::new());
    while from.left() > 0 {
        let row = usize::try_from(from.varint()?).ok().and_then(|ahead| next.checked_add(ahead));
        let time = from.varint()?;
        let slot = row.and_then(|row| Some((row, times.get_mut(row)?)));
        let (row, slot) = slot.ok_or(from.damage("a time belongs to no event"))?;
        if time < u64::from(LONG) {
            *slot = time as u32;
        } else {
            let later = i64::try_from(time).ok().and_then(|time| sum.checked_add(time));
            let later = later.filter(|&later| later <= NS_MAX);
            *sum = later.ok_or(from.damage("a time is out of range"))?;
            *slot = LONG;
            long.push((row as u32, time as i64));
        }
        next = row + 1;
    }
    Ok(long)
}

#[cfg(test)]
mod tests;
