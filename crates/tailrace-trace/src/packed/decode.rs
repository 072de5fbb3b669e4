//! From a block's bytes to a batch of events.

use std::cell::RefCell;

use xxhash_rust::xxh3::xxh3_64;

use crate::Batch;
use crate::cursor::{Cursor, Damage};
use crate::event::{Event, Layer, Operation, Part, Shape};
use crate::limits::NS_MAX;
use crate::words::{Context, first_token, has_tokens, operation};

use super::block::{BLOCK_HEAD_BYTES, LONG};
use super::column::Decompressor;
use super::layout::{BLOCK_EVENTS_MAX, BLOCK_TOKENS_MAX};

const NUMBER_MAX: u64 = 1 << 62;

/// What blocks are unpacked in; one a thread, because a trace of a thousand ranks has a thousand
/// streams open.
#[derive(Default)]
struct Scratch {
    columns: Columns,
    shapes: Vec<u8>,
    indices: Vec<u32>,
    gaps: Vec<u32>,
    durations: Vec<u32>,
    long_gaps: Vec<u8>,
    long_durations: Vec<u8>,
    places: Vec<u8>,
}

#[derive(Default)]
struct Columns {
    decompressor: Option<Decompressor>,
    planes: [Vec<u8>; 4],
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

/// A shape whose tokens depend on where it is used.
struct Pending {
    class: u8,
    layer: Layer,
    words: Vec<i64>,
}

/// Replaces the batch's contents by those of the block.
///
/// # Errors
/// If the block is damaged, or of another location or length than the index says.
pub(super) fn decode(
    bytes: &[u8],
    events: u32,
    context: Context,
    batch: &mut Batch,
) -> Result<(), Damage> {
    batch.clear();
    SCRATCH.with_borrow_mut(|scratch| scratch.decode(bytes, events, context, batch))
}

impl Scratch {
    fn decode(
        &mut self,
        bytes: &[u8],
        events: u32,
        context: Context,
        batch: &mut Batch,
    ) -> Result<(), Damage> {
        let head = head(bytes, events, context.location)?;
        let mut from = Cursor::new(bytes);
        from.take(BLOCK_HEAD_BYTES)?;
        self.read(&mut from, &head)?;
        let pending = shapes(&self.shapes, head.shapes, context, batch)?;
        places(&self.places, context, batch)?;
        if self.indices.iter().max().is_some_and(|&max| max as usize >= head.shapes) {
            return Err(from.damage("an event has no shape"));
        }
        if self.long_gaps.is_empty() && self.long_durations.is_empty() {
            self.short_times(&head, batch);
        } else {
            self.long_times(&head, batch)?;
        }
        if pending.iter().any(Option::is_some) {
            resolve(&pending, head.next_number, context, batch).map_err(|what| from.damage(what))
        } else {
            Ok(())
        }
    }

    fn read(&mut self, from: &mut Cursor, head: &Head) -> Result<(), Damage> {
        self.columns.bytes(from, &mut self.shapes)?;
        self.columns.numbers(from, 2, head.events, &mut self.indices)?;
        self.columns.numbers(from, 4, head.events, &mut self.gaps)?;
        self.columns.numbers(from, 4, head.events, &mut self.durations)?;
        self.columns.bytes(from, &mut self.long_gaps)?;
        self.columns.bytes(from, &mut self.long_durations)?;
        self.places.clear();
        // Blocks of an earlier version end before this column.
        if from.left() > 0 { self.columns.bytes(from, &mut self.places) } else { Ok(()) }
    }

    /// No time is longer than 32 bits, so the sums of a block cannot overflow: this is the loop
    /// that reads most traces.
    fn short_times(&self, head: &Head, batch: &mut Batch) {
        let mut cursor = head.begin_ns;
        let rows = self.indices.iter().zip(&self.gaps).zip(&self.durations);
        batch.events.extend(rows.map(|((&shape, &gap), &duration)| {
            let begin = cursor + i64::from(gap);
            cursor = begin + i64::from(duration);
            Event { begin, end: cursor, shape }
        }));
    }

    fn long_times(&self, head: &Head, batch: &mut Batch) -> Result<(), Damage> {
        let (mut gaps, mut durations) =
            (Cursor::new(&self.long_gaps), Cursor::new(&self.long_durations));
        let mut cursor = head.begin_ns;
        for ((&shape, &gap), &duration) in self.indices.iter().zip(&self.gaps).zip(&self.durations)
        {
            let begin = after(cursor, gap, &mut gaps)?;
            cursor = after(begin, duration, &mut durations)?;
            batch.events.push(Event { begin, end: cursor, shape });
        }
        Ok(())
    }
}

impl Columns {
    fn bytes(&mut self, from: &mut Cursor, into: &mut Vec<u8>) -> Result<(), Damage> {
        self.decompressor(from)?.get(from, into, None)
    }

    /// Puts `count` numbers of so many planes of bytes together.
    fn numbers(
        &mut self,
        from: &mut Cursor,
        planes: usize,
        count: usize,
        into: &mut Vec<u32>,
    ) -> Result<(), Damage> {
        self.decompressor(from)?;
        let Self { decompressor: Some(decompressor), planes: columns } = self else {
            return Ok(());
        };
        for column in &mut columns[..planes] {
            decompressor.get(from, column, Some(count))?;
        }
        let [p0, p1, p2, p3] = &*columns;
        let low = p0.iter().zip(p1).map(|(&a, &b)| u32::from(a) | u32::from(b) << 8);
        into.clear();
        if planes == 2 {
            into.extend(low);
        } else {
            let high = p2.iter().zip(p3).map(|(&c, &d)| u32::from(c) << 16 | u32::from(d) << 24);
            into.extend(low.zip(high).map(|(low, high)| low | high));
        }
        Ok(())
    }

    fn decompressor(&mut self, from: &Cursor) -> Result<&mut Decompressor, Damage> {
        if self.decompressor.is_none() {
            self.decompressor = Decompressor::new().ok();
        }
        self.decompressor.as_mut().ok_or(from.damage("there is no memory to decompress it"))
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
        || here as usize > BLOCK_EVENTS_MAX
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

/// Fills the batch's shapes. Those with tokens come back beside, to be resolved event by event.
fn shapes(
    bytes: &[u8],
    count: usize,
    context: Context,
    batch: &mut Batch,
) -> Result<Vec<Option<Pending>>, Damage> {
    const SHAPE_BYTES_MIN: usize = 4;
    let mut from = Cursor::new(bytes);
    if count > bytes.len() / SHAPE_BYTES_MIN {
        return Err(from.damage("a block has more shapes than bytes for them"));
    }
    let (mut pending, mut words) = (Vec::new(), Vec::new());
    batch.shapes.reserve(count);
    for index in 0..count {
        let (shape, later) = shape(&mut from, context, &mut words)?;
        batch.shapes.push(shape);
        if later.is_some() {
            pending.resize_with(index, || None);
            pending.push(later);
        }
    }
    pending.resize_with(if pending.is_empty() { 0 } else { count }, || None);
    Ok(pending)
}

/// From where each shape is called.
fn places(bytes: &[u8], context: Context, batch: &mut Batch) -> Result<(), Damage> {
    let mut from = Cursor::new(bytes);
    if bytes.is_empty() {
        return Ok(());
    }
    for shape in &mut batch.shapes {
        let place = from.varint()?;
        if place > context.tables.places.paths.len() as u64 {
            return Err(from.damage("a call comes from nowhere"));
        }
        shape.place = place as u32;
    }
    Ok(())
}

/// One shape; `words` is memory to be used again.
fn shape(
    from: &mut Cursor,
    context: Context,
    words: &mut Vec<i64>,
) -> Result<(Shape, Option<Pending>), Damage> {
    let part = match from.u8()? {
        0 => Part::Call,
        1 => Part::Enter,
        2 => Part::Leave,
        _ => return Err(from.damage("a shape is not a call, an enter or a leave")),
    };
    let number =
        u16::try_from(from.varint()?).map_err(|_| from.damage("a function was never named"))?;
    let function = context.tables.functions.get(usize::from(number));
    let layer = function.ok_or(from.damage("a function was never named"))?.layer;
    let class = from.u8()?;
    let count = from.count(1)?;
    words.clear();
    for _ in 0..count {
        words.push(from.word()?);
    }
    if has_tokens(class) && holds_distance(class, words) {
        let shape = Shape { part, function: number, place: 0, operation: Operation::Plain };
        return Ok((shape, Some(Pending { class, layer, words: words.clone() })));
    }
    let operation = operation(class, words, layer, 0, context).map_err(|what| from.damage(what))?;
    Ok((Shape { part, function: number, place: 0, operation }, None))
}

/// Whether one of the tokens is a distance: only positive ones are.
fn holds_distance(class: u8, words: &[i64]) -> bool {
    words.iter().skip(first_token(class)).any(|&word| word > 0)
}

/// Gives each event with tokens a shape of its own, with the numbers that its distances mean there.
fn resolve(
    pending: &[Option<Pending>],
    first: u64,
    context: Context,
    batch: &mut Batch,
) -> Result<(), &'static str> {
    let (mut next, mut words) = (first, 0);
    let numbered: Vec<bool> = batch.shapes.iter().map(Shape::takes_number).collect();
    for event in &mut batch.events {
        let at = event.shape as usize;
        next += u64::from(numbered[at]);
        if let Some(shape) = &pending[at] {
            words += shape.words.len();
            if words > BLOCK_TOKENS_MAX {
                return Err("a block completes too many requests");
            }
            let operation = operation(shape.class, &shape.words, shape.layer, next, context)?;
            event.shape = batch.shapes.len() as u32;
            let Shape { part, function, place, .. } = batch.shapes[at];
            batch.shapes.push(Shape { part, function, place, operation });
        }
    }
    Ok(())
}
