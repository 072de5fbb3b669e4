//! From a block's bytes to columns.

use std::cell::RefCell;

use xxhash_rust::xxh3::xxh3_64;

use crate::columns::{Columns, EVENTS_MAX, LONG, Long};
use crate::cursor::{Cursor, Damage};
use crate::limits::NS_MAX;
use crate::words::Context;

use super::block::BLOCK_HEAD_BYTES;
use super::column::Decompressor;
use super::shapes::{self, Named};

const NUMBER_MAX: u64 = 1 << 62;

/// What blocks are unpacked in; one a thread, because a trace of a thousand ranks has a thousand
/// streams open.
#[derive(Default)]
struct Scratch {
    decompressor: Option<Decompressor>,
    planes: [Vec<u8>; 4],
    shapes: Vec<u8>,
    long_gaps: Vec<u8>,
    long_durations: Vec<u8>,
    places: Vec<u8>,
    named: Named,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

struct Head {
    events: usize,
    shapes: usize,
    begin_ns: i64,
    next_number: u64,
}

/// Replaces the columns' contents by those of the block, which begins no earlier than `reached_ns`.
///
/// # Errors
/// If the block is damaged, or of another location or length than the index says.
pub(super) fn decode(
    bytes: &[u8],
    events: u32,
    reached_ns: i64,
    context: Context,
    columns: &mut Columns,
) -> Result<(), Damage> {
    columns.clear();
    SCRATCH.with_borrow_mut(|scratch| {
        let head = head(bytes, events, context.location)?;
        if head.begin_ns < reached_ns {
            return Err(Damage { at: 24, what: "a block begins before the one before it ends" });
        }
        columns.begin_ns = head.begin_ns;
        scratch.decode(bytes, &head, context, columns)
    })
}

impl Scratch {
    fn decode(
        &mut self,
        bytes: &[u8],
        head: &Head,
        context: Context,
        columns: &mut Columns,
    ) -> Result<(), Damage> {
        let mut from = Cursor::new(bytes);
        from.take(BLOCK_HEAD_BYTES)?;
        self.read(&mut from, head, columns)?;
        let Self { shapes, places, named, .. } = self;
        shapes::read(shapes, head.shapes, context, named, &mut columns.shapes)?;
        shapes::read_places(places, context, &mut columns.shapes)?;
        if columns.shape_of.iter().max().is_some_and(|&max| usize::from(max) >= head.shapes) {
            return Err(from.damage("an event has no shape"));
        }
        if !self.long_gaps.is_empty() || !self.long_durations.is_empty() {
            self.long_times(columns)?;
        } else if columns.gaps.contains(&LONG) || columns.durations.contains(&LONG) {
            return Err(from.damage("a long time is not there"));
        }
        let resolved = self.named.resolve(head.next_number, context, columns);
        resolved.map_err(|what| from.damage(what))
    }

    fn read(
        &mut self,
        from: &mut Cursor,
        head: &Head,
        columns: &mut Columns,
    ) -> Result<(), Damage> {
        if self.decompressor.is_none() {
            self.decompressor = Decompressor::new().ok();
        }
        let Self { decompressor: Some(decompressor), planes, .. } = self else {
            return Err(from.damage("there is no memory to decompress it"));
        };
        decompressor.get(from, &mut self.shapes, None)?;
        let mut planes_of = |count: usize, from: &mut Cursor| {
            let next = &mut planes[..count];
            next.iter_mut().try_for_each(|plane| decompressor.get(from, plane, Some(head.events)))
        };
        planes_of(2, from)?;
        let [low, high, ..] = &self.planes;
        let indices = low.iter().zip(high).map(|(&a, &b)| u16::from_le_bytes([a, b]));
        columns.shape_of.extend(indices);
        for times in [&mut columns.gaps, &mut columns.durations] {
            let planes = &mut self.planes;
            for plane in planes.iter_mut() {
                decompressor.get(from, plane, Some(head.events))?;
            }
            let [a, b, c, d] = &*planes;
            let (low, high) = (a.iter().zip(b), c.iter().zip(d));
            let together = low.zip(high).map(|((&a, &b), (&c, &d))| [a, b, c, d]);
            times.extend(together.map(u32::from_le_bytes));
        }
        decompressor.get(from, &mut self.long_gaps, None)?;
        decompressor.get(from, &mut self.long_durations, None)?;
        self.places.clear();
        // Blocks of an earlier version end before this column.
        if from.left() > 0 { decompressor.get(from, &mut self.places, None) } else { Ok(()) }
    }

    fn long_times(&self, columns: &mut Columns) -> Result<(), Damage> {
        let (mut gaps, mut durations) =
            (Cursor::new(&self.long_gaps), Cursor::new(&self.long_durations));
        let mut reached = columns.begin_ns;
        for (row, (&gap, &duration)) in columns.gaps.iter().zip(&columns.durations).enumerate() {
            let begin = after(reached, gap, &mut gaps)?;
            let end = after(begin, duration, &mut durations)?;
            if gap == LONG || duration == LONG {
                let (gap_ns, duration_ns) = (begin - reached, end - begin);
                columns.long.push(Long { row: row as u32, gap_ns, duration_ns });
            }
            reached = end;
        }
        Ok(())
    }
}

/// The moment `time` after `moment`; a long time stands in the list.
fn after(moment: i64, time: u32, long: &mut Cursor) -> Result<i64, Damage> {
    let time = if time == LONG { long.varint()? } else { time.into() };
    let later = i64::try_from(time).ok().and_then(|time| moment.checked_add(time));
    later.filter(|&later| later <= NS_MAX).ok_or(long.damage("a time is out of range"))
}

fn head(bytes: &[u8], events: u32, location: u32) -> Result<Head, Damage> {
    let mut from = Cursor::new(bytes);
    let checksum = from.u64()?;
    if checksum != xxh3_64(&bytes[8..]) {
        return Err(Damage { at: 0, what: "a block's checksum differs" });
    }
    let (whole, of, here, shapes) = (from.u32()?, from.u32()?, from.u32()?, from.u32()?);
    let (begin_ns, next_number) = (from.u64()? as i64, from.u64()?);
    if whole as usize != bytes.len()
        || of != location
        || here != events
        || here as usize > EVENTS_MAX
    {
        return Err(Damage { at: 8, what: "a block is not the one that the index names" });
    }
    if shapes > here {
        return Err(Damage { at: 20, what: "a block has more shapes than events" });
    }
    if begin_ns.unsigned_abs() > NS_MAX as u64 || next_number > NUMBER_MAX {
        return Err(Damage { at: 24, what: "a block begins out of range" });
    }
    Ok(Head { events: here as usize, shapes: shapes as usize, begin_ns, next_number })
}
