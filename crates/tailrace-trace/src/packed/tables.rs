//! The tables as bytes.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::cursor::{Cursor, Damage, put_string, put_varint, put_word};
use crate::limits::{NS_MAX, RANKS_MAX};
use crate::places::Places;
use crate::tables::{
    Capture, Communicator, Counters, Ended, FileEntry, Function, Location, Tables, Unfinished,
    Window,
};
use crate::waits;
use crate::wire;

use super::layout::FUNCTIONS_MAX;

/// By their numbers.
const ENDS: [Ended; 4] = [Ended::Known, Ended::Aborted, Ended::Unknown, Ended::Left];

pub(super) fn put(tables: &Tables) -> Vec<u8> {
    let mut to = Vec::new();
    put_varint(&mut to, tables.ranks.into());
    put_list(&mut to, &tables.functions, |to, function| {
        to.push(wire::layer::number(function.layer));
        put_string(to, function.name.as_bytes());
    });
    put_list(&mut to, &tables.files, |to, file| {
        to.push(file.opaque.into());
        put_string(to, &file.path);
    });
    put_communicators(&mut to, &tables.communicators);
    put_list(&mut to, &tables.locations, put_location);
    put_option(&mut to, tables.window, |to, window| {
        put_word(to, window.begin_ns);
        put_word(to, window.end_ns);
    });
    put_list(&mut to, &tables.meta.iter().collect::<Vec<_>>(), |to, (key, value)| {
        put_string(to, key.as_bytes());
        put_string(to, value.as_bytes());
    });
    put_list(&mut to, &tables.counters, |to, counters| {
        put_option(to, *counters, |to, counters| {
            put_varint(to, counters.instructions);
            put_varint(to, counters.cycles);
        });
    });
    put_capture(&mut to, &tables.capture);
    put_list(&mut to, &tables.locations, put_processor);
    tables.places.put(&mut to);
    put_list(&mut to, &tables.locations, |to, location| {
        put_option(to, location.capture_ns, put_word);
    });
    put_list(&mut to, &tables.neighbours.iter().collect::<Vec<_>>(), |to, (of, sources)| {
        put_varint(to, of.0.into());
        put_varint(to, of.1.into());
        put_group(to, sources);
    });
    put_list(&mut to, &tables.locations, |to, location| {
        let number = ENDS.iter().position(|&ended| ended == location.ended);
        to.push(number.unwrap_or_default() as u8);
    });
    put_list(&mut to, &tables.renames.iter().collect::<Vec<_>>(), |to, (file, name)| {
        put_varint(to, (*file).into());
        put_string(to, name);
    });
    to
}

/// # Errors
/// If the bytes are no tables; fields that a later minor version appends are ignored.
pub(super) fn read(bytes: &[u8]) -> Result<Tables, Damage> {
    let from = &mut Cursor::new(bytes);
    let ranks = u32::try_from(from.varint()?).ok().filter(|&ranks| ranks <= RANKS_MAX);
    let ranks = ranks.ok_or(from.damage("there are too many ranks"))?;
    let functions = list(from, 2, |from| {
        Ok(Function { layer: wire::layer::of(from.u8()?), name: text(from)? })
    })?;
    if functions.len() > FUNCTIONS_MAX {
        return Err(from.damage("there are too many functions"));
    }
    let files = list(from, 2, |from| {
        Ok(FileEntry { opaque: from.u8()? != 0, path: from.string()?.to_vec() })
    })?;
    let communicators = communicators(from, ranks)?;
    let mut locations = list(from, 10, |from| location(from, ranks))?;
    let window =
        option(from, |from| Ok(Window { begin_ns: moment(from)?, end_ns: moment(from)? }))?;
    let meta: BTreeMap<_, _> =
        list(from, 2, |from| Ok((text(from)?, text(from)?)))?.into_iter().collect();
    let counters = list(from, 1, |from| {
        option(from, |from| Ok(Counters { instructions: from.varint()?, cycles: from.varint()? }))
    })?;
    if counters.len() != ranks as usize {
        return Err(from.damage("there are not as many counters as ranks"));
    }
    let capture = capture(from)?;
    if from.left() > 0 {
        processors(from, &mut locations)?;
    }
    let places = if from.left() > 0 { Places::read(from)? } else { Places::default() };
    if from.left() > 0 {
        costs(from, &mut locations)?;
    }
    let neighbours = if from.left() > 0 {
        let known = communicators.len() as u32;
        list(from, 3, |from| neighbours(from, known, ranks))?.into_iter().collect()
    } else {
        BTreeMap::new()
    };
    if from.left() > 0 {
        ends(from, &mut locations)?;
    }
    let renames = if from.left() > 0 {
        list(from, 2, |from| rename(from, files.len()))?.into_iter().collect()
    } else {
        BTreeSet::new()
    };
    Ok(Tables {
        ranks,
        locations,
        functions,
        files,
        renames,
        communicators,
        neighbours,
        window,
        meta,
        counters,
        capture,
        places,
    })
}

fn put_list<T>(to: &mut Vec<u8>, things: &[T], put: impl Fn(&mut Vec<u8>, &T)) {
    put_varint(to, things.len() as u64);
    for thing in things {
        put(to, thing);
    }
}

fn list<T>(
    from: &mut Cursor,
    bytes_each: usize,
    one: impl Fn(&mut Cursor) -> Result<T, Damage>,
) -> Result<Vec<T>, Damage> {
    let count = from.count(bytes_each)?;
    (0..count).map(|_| one(from)).collect()
}

fn put_option<T>(to: &mut Vec<u8>, thing: Option<T>, put: impl Fn(&mut Vec<u8>, T)) {
    to.push(thing.is_some().into());
    if let Some(thing) = thing {
        put(to, thing);
    }
}

fn option<T>(
    from: &mut Cursor,
    one: impl Fn(&mut Cursor) -> Result<T, Damage>,
) -> Result<Option<T>, Damage> {
    if from.u8()? == 0 { Ok(None) } else { one(from).map(Some) }
}

fn word(from: &mut Cursor) -> Result<i64, Damage> {
    from.word()
}

fn text(from: &mut Cursor) -> Result<String, Damage> {
    Ok(String::from_utf8_lossy(from.string()?).into_owned())
}

/// Groups of ranks once each, then communicators that name them.
fn put_communicators(to: &mut Vec<u8>, communicators: &[Communicator]) {
    let mut numbers: HashMap<&Arc<[u32]>, u64> = HashMap::new();
    let mut groups = Vec::new();
    for group in communicators.iter().flat_map(|c| [Some(&c.members), c.remote.as_ref()]).flatten()
    {
        numbers.entry(group).or_insert_with(|| {
            groups.push(group.clone());
            groups.len() as u64 - 1
        });
    }
    put_list(to, &groups, |to, group| put_group(to, group));
    put_list(to, communicators, |to, communicator| {
        to.extend_from_slice(&communicator.identity.to_le_bytes());
        put_varint(to, numbers[&communicator.members]);
        put_option(to, communicator.remote.as_ref(), |to, remote| put_varint(to, numbers[remote]));
    });
}

/// A rank as the difference to the one before: most groups are regular and compress to nothing.
fn put_group(to: &mut Vec<u8>, group: &[u32]) {
    put_varint(to, group.len() as u64);
    let mut before = 0;
    for &rank in group {
        put_word(to, i64::from(rank) - before);
        before = i64::from(rank);
    }
}

fn group(from: &mut Cursor, ranks: u32) -> Result<Arc<[u32]>, Damage> {
    let count = from.count(1)?;
    let mut rank = 0i64;
    let mut group = Vec::with_capacity(count);
    for _ in 0..count {
        rank = rank.wrapping_add(from.word()?);
        if !(0..i64::from(ranks)).contains(&rank) {
            return Err(from.damage("a communicator has a member that is not a rank"));
        }
        group.push(rank as u32);
    }
    Ok(group.into())
}

fn communicators(from: &mut Cursor, ranks: u32) -> Result<Vec<Communicator>, Damage> {
    let groups = list(from, 1, |from| group(from, ranks))?;
    let known = |from: &mut Cursor| -> Result<Arc<[u32]>, Damage> {
        let group = usize::try_from(from.varint()?).ok().and_then(|number| groups.get(number));
        group.cloned().ok_or(from.damage("a communicator has no members"))
    };
    list(from, 10, |from| {
        Ok(Communicator {
            identity: from.u64()?,
            members: known(from)?,
            remote: option(from, known)?,
        })
    })
}

type Neighbours = ((u32, u32), Arc<[u32]>);

/// Communicator and rank, and whom that rank receives from. Earlier versions of the tables end
/// before the list of these.
fn neighbours(from: &mut Cursor, communicators: u32, ranks: u32) -> Result<Neighbours, Damage> {
    let of = (small(from)?, small(from)?);
    if of.0 >= communicators || of.1 >= ranks {
        return Err(from.damage("neighbours belong to no communicator"));
    }
    Ok((of, group(from, ranks)?))
}

/// Earlier versions of the tables end before the list of these.
fn rename(from: &mut Cursor, files: usize) -> Result<(u32, Vec<u8>), Damage> {
    let file = small(from)?;
    if file as usize >= files {
        return Err(from.damage("what is renamed is no file"));
    }
    Ok((file, from.string()?.to_vec()))
}

fn put_location(to: &mut Vec<u8>, location: &Location) {
    put_varint(to, location.rank.into());
    put_varint(to, location.thread.into());
    to.push(location.main.into());
    put_string(to, location.host.as_bytes());
    put_varint(to, location.process.into());
    put_word(to, location.begin_ns);
    put_word(to, location.end_ns);
    put_varint(to, location.events);
    put_option(to, location.unfinished.as_ref(), |to, call| {
        put_word(to, call.begin_ns);
        put_option(to, call.function, |to, function| put_varint(to, function.into()));
    });
}

fn location(from: &mut Cursor, ranks: u32) -> Result<Location, Damage> {
    let rank = small(from)?;
    if rank >= ranks {
        return Err(from.damage("a location belongs to no rank"));
    }
    Ok(Location {
        rank,
        thread: small(from)?,
        main: from.u8()? != 0,
        host: text(from)?,
        process: small(from)?,
        begin_ns: moment(from)?,
        end_ns: moment(from)?,
        events: from.varint()?,
        unfinished: option(from, |from| {
            Ok(Unfinished {
                begin_ns: moment(from)?,
                function: option(from, |from| Ok(small(from)? as u16))?,
            })
        })?,
        ..Location::default()
    })
}

fn small(from: &mut Cursor) -> Result<u32, Damage> {
    let value = from.varint()?;
    u32::try_from(value).map_err(|_| from.damage("a number exceeds 32 bits"))
}

/// Within a quarter of the range, so that differences of two never overflow.
fn moment(from: &mut Cursor) -> Result<i64, Damage> {
    let ns = from.word()?;
    if ns.unsigned_abs() > NS_MAX.unsigned_abs() {
        Err(from.damage("a time is out of range"))
    } else {
        Ok(ns)
    }
}

fn put_processor(to: &mut Vec<u8>, location: &Location) {
    put_string(to, location.cores.as_bytes());
    put_option(to, location.waits.as_ref(), |to, waits| waits::put(to, waits));
}

/// Earlier versions of the tables end before this.
fn processors(from: &mut Cursor, locations: &mut [Location]) -> Result<(), Damage> {
    if from.count(2)? != locations.len() {
        return Err(from.damage("there are not as many processors as locations"));
    }
    for location in locations {
        location.cores = text(from)?;
        location.waits = option(from, waits::read)?;
    }
    Ok(())
}

/// Earlier versions of the tables end before this.
fn costs(from: &mut Cursor, locations: &mut [Location]) -> Result<(), Damage> {
    if from.count(1)? != locations.len() {
        return Err(from.damage("there are not as many costs as locations"));
    }
    for location in locations {
        let length_ns = location.end_ns.saturating_sub(location.begin_ns);
        location.capture_ns = option(from, word)?;
        if location.capture_ns.is_some_and(|ns| ns < 0 || ns > length_ns) {
            return Err(from.damage("capture took longer than there was"));
        }
    }
    Ok(())
}

/// Earlier versions of the tables end before this.
fn ends(from: &mut Cursor, locations: &mut [Location]) -> Result<(), Damage> {
    if from.count(1)? != locations.len() {
        return Err(from.damage("there are not as many ends as locations"));
    }
    for location in locations {
        let number = usize::from(from.u8()?);
        location.ended = ENDS.get(number).copied().unwrap_or(Ended::Unknown);
    }
    Ok(())
}

fn put_capture(to: &mut Vec<u8>, capture: &Capture) {
    put_varint(to, capture.events);
    put_varint(to, capture.lost);
    put_varint(to, capture.cost_ps_per_event);
    to.push(capture.complete.into());
    put_list(to, &capture.notes, |to, note| put_string(to, note.as_bytes()));
}

fn capture(from: &mut Cursor) -> Result<Capture, Damage> {
    Ok(Capture {
        events: from.varint()?,
        lost: from.varint()?,
        cost_ps_per_event: from.varint()?,
        complete: from.u8()? != 0,
        notes: list(from, 1, text)?,
    })
}
