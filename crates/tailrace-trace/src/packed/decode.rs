//! From a block's bytes to columns.

use std::cell::RefCell;

use xxhash_rust::xxh3::xxh3_64;

use crate::columns::{Columns, EVENTS_MAX};
use crate::cursor::{Cursor, Damage};
use crate::limits::NS_MAX;
use crate::words::Context;

use super::column::Decompressor;
use super::encode::BLOCK_HEAD_BYTES;
use super::shapes::{self, Named};
use super::times::{self, Unpacking};

const NUMBER_MAX: u64 = 1 << 62;

/// What blocks are unpacked in; one a thread, because a trace of a thousand ranks has a thousand
/// streams open.
#[derive(Default)]
struct Scratch {
    decompressor: Option<Decompressor>,
    shapes: Vec<u8>,
    places: Vec<u8>,
    /// Of the events' shapes: low bytes and high bytes.
    planes: [Vec<u8>; 2],
    groups: Vec<u8>,
    group_of: Vec<u8>,
    bits: Vec<u8>,
    listed_gaps: Vec<u8>,
    listed_durations: Vec<u8>,
    named: Named,
    times: Vec<Unpacking>,
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

/// Whether it is told which requests events name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Requests {
    Named,
    Ignored,
}

/// Replaces the columns' contents by those of the block, which has so many events and begins no
/// earlier than `reached_ns`.
///
/// # Errors
/// If the block is damaged, or of another location or length than the index says.
pub(super) fn decode(
    bytes: &[u8],
    (events, reached_ns): (u32, i64),
    context: Context,
    requests: Requests,
    columns: &mut Columns,
) -> Result<(), Damage> {
    columns.clear();
    SCRATCH.with_borrow_mut(|scratch| {
        let head = head(bytes, events, context.location)?;
        if head.begin_ns < reached_ns {
            return Err(Damage { at: 24, what: "a block begins before the one before it ends" });
        }
        columns.begin_ns = head.begin_ns;
        scratch.decode(bytes, &head, context, requests, columns)
    })
}

impl Scratch {
    fn decode(
        &mut self,
        bytes: &[u8],
        head: &Head,
        context: Context,
        requests: Requests,
        columns: &mut Columns,
    ) -> Result<(), Damage> {
        let mut from = Cursor::new(bytes);
        from.take(BLOCK_HEAD_BYTES)?;
        self.read(&mut from, head)?;
        let here = |damage: Damage| from.damage(damage.what);
        let Self { shapes, places, named, .. } = self;
        shapes::read(shapes, head.shapes, context, named, &mut columns.shapes).map_err(here)?;
        shapes::read_places(places, context, &mut columns.shapes).map_err(here)?;
        let [low, high] = &self.planes;
        let indices = low.iter().zip(high).map(|(&low, &high)| u16::from_le_bytes([low, high]));
        columns.shape_of.extend(indices);
        self.read_times(head, columns).map_err(here)?;
        if requests == Requests::Ignored {
            columns.shapes.iter_mut().for_each(|shape| shape.tokens = 0);
            return Ok(());
        }
        let resolved = self.named.resolve(head.next_number, context, columns);
        resolved.map_err(|what| from.damage(what))
    }

    fn read(&mut self, from: &mut Cursor, head: &Head) -> Result<(), Damage> {
        if self.decompressor.is_none() {
            self.decompressor = Decompressor::new().ok();
        }
        let Some(decompressor) = &mut self.decompressor else {
            return Err(from.damage("there is no memory to decompress it"));
        };
        let [low, high] = &mut self.planes;
        for (column, bytes) in [
            (&mut self.shapes, None),
            (&mut self.places, None),
            (low, Some(head.events)),
            (high, Some(head.events)),
            (&mut self.groups, None),
            (&mut self.group_of, None),
            (&mut self.bits, None),
            (&mut self.listed_gaps, None),
            (&mut self.listed_durations, None),
        ] {
            decompressor.get(from, column, bytes)?;
        }
        Ok(())
    }

    fn read_times(&mut self, head: &Head, columns: &mut Columns) -> Result<(), Damage> {
        let groups = times::read_groups(&self.groups)?;
        times::of_shapes(&groups, &self.group_of, head.shapes, &mut self.times)?;
        times::unpack(&mut self.bits, &self.times, columns)?;
        times::put_listed(&self.listed_gaps, &self.listed_durations, columns)
    }
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
