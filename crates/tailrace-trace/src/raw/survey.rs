//! What a raw stream says once: read in a first pass, because a path may stand in another stream of
//! the process than its use.

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::HashMap;

use crate::error::TraceError;
use crate::tables::{Counters, Wait};
use crate::waits;

use super::communicator::{Groups, RawCommunicator};
use super::header::Header;
use super::node_file::StreamFile;
use super::paths::Paths;
use super::places::{self, Module, RawPlace};
use super::scan::{Record, Scan, plain_call};

/// Readings kept per stream: twice as many are thinned out to the narrowest of each pair.
const READINGS_KEPT: usize = 2048;
const NOTES_KEPT: usize = 1000;
/// Call paths kept per stream, as in `capture/places.h`, and modules.
const PLACES_KEPT: usize = 1 << 14;
/// Renames kept per stream.
const RENAMES_KEPT: usize = 1 << 16;
/// Waits for a processor kept per stream.
const WAITS_KEPT: usize = 1 << 16;

/// One reading of a process's ticks against the clocks of its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reading {
    pub ticks: u64,
    pub monotonic_ns: u64,
    /// The reading is right to within this.
    pub width_ticks: u32,
    pub realtime_ns: u64,
}

pub(crate) struct Survey {
    pub file: StreamFile,
    pub header: Header,
    pub meta: BTreeMap<String, String>,
    /// Values of the meta `clock_offset`, of which there are several.
    pub clock_offsets: Vec<String>,
    /// Function number, layer, name.
    pub names: Vec<(u16, u8, String)>,
    /// Functions of shapes: all should have a name.
    used: Vec<bool>,
    pub paths: Paths,
    /// File numbers, and names that they got.
    pub renames: BTreeSet<(u32, Vec<u8>)>,
    pub communicators: HashMap<u32, RawCommunicator>,
    pub readings: Vec<Reading>,
    pub notes: BTreeSet<(String, String)>,
    pub counters: Option<Counters>,
    /// Begin and end in ticks.
    pub waits: Option<Vec<Wait>>,
    /// In order of their numbers, from 1 on.
    pub modules: Vec<Module>,
    pub places: Vec<RawPlace>,
    /// Records of calls, and the bytes of the stream up to the last record.
    pub events: u64,
    pub bytes: u64,
    /// Ticks that the records reach.
    pub last_ticks: u64,
    /// Why records end before the stream does.
    pub damage: Option<String>,
}

/// Reads a stream's definitions. Damage among the records is no error: what stands before it
/// counts.
///
/// # Errors
/// If the file cannot be read or has no header of a raw stream.
pub(crate) fn survey(file: &StreamFile) -> Result<Survey, TraceError> {
    let mut scan = Scan::open(file)?;
    let mut survey = Survey::new(file, scan.header.clone());
    let mut groups = Groups::default();
    loop {
        if let Ok(ahead) = scan.ahead() {
            let bytes = survey.calls(ahead);
            scan.advance(bytes);
        }
        match scan.next_record() {
            Ok(Some(record)) => survey.add(record, &mut groups),
            Ok(None) => break,
            Err(error) => {
                survey.damage = Some(error.message);
                break;
            }
        }
    }
    survey.bytes = scan.position();
    survey.name_the_nameless();
    Ok(survey)
}

impl Survey {
    fn new(file: &StreamFile, header: Header) -> Self {
        Self {
            file: file.clone(),
            last_ticks: header.start,
            header,
            meta: BTreeMap::new(),
            clock_offsets: Vec::new(),
            names: Vec::new(),
            used: Vec::new(),
            paths: Paths::default(),
            renames: BTreeSet::new(),
            communicators: HashMap::new(),
            readings: Vec::new(),
            notes: BTreeSet::new(),
            counters: None,
            waits: None,
            modules: Vec::new(),
            places: Vec::new(),
            events: 0,
            bytes: 0,
            damage: None,
        }
    }

    /// Counts the calls that follow each other; returns their bytes.
    fn calls(&mut self, ahead: &[u8]) -> usize {
        let (mut at, mut events, mut ticks) = (0, 0, self.last_ticks);
        while let Some(call) = plain_call(ahead, at) {
            ticks = ticks.saturating_add(call.gap.wrapping_add(call.duration));
            events += 1;
            at += call.bytes;
        }
        self.events += events;
        self.last_ticks = ticks;
        at
    }

    #[inline]
    fn add(&mut self, record: Record, groups: &mut Groups) {
        match record {
            Record::Call { gap, duration, .. } => self.advance(gap.wrapping_add(duration)),
            Record::Enter { gap, .. } | Record::Leave { gap, .. } => self.advance(gap),
            Record::Define(define) => {
                let function = usize::from(define.function);
                if function >= self.used.len() {
                    self.used.resize(function + 1, false);
                }
                self.used[function] = true;
            }
            Record::End => {}
            other => self.definition(other, groups),
        }
    }

    #[inline]
    fn advance(&mut self, ticks: u64) {
        self.events += 1;
        self.last_ticks = self.last_ticks.saturating_add(ticks);
    }

    fn definition(&mut self, record: Record, groups: &mut Groups) {
        match record {
            Record::Clock { ticks, monotonic_ns, width_ticks, realtime_ns } => {
                self.reading(Reading { ticks, monotonic_ns, width_ticks, realtime_ns });
            }
            Record::Name { function, layer, name } => {
                self.names.push((function, layer, text(name)));
            }
            Record::Module { number, build_id, name } => self.module(number, build_id, name),
            Record::Place { number, payload } => self.place(number, payload),
            Record::Path { file, shared, path } => self.paths.insert(file, shared.into(), path),
            Record::Renamed { file, path } if self.renames.len() < RENAMES_KEPT => {
                self.renames.insert((file, path.to_vec()));
            }
            Record::Communicator(payload) => self.communicator(payload, groups),
            Record::Meta { key: b"clock_offset", value } => self.clock_offsets.push(text(value)),
            Record::Meta { key, value } => drop(self.meta.insert(text(key), text(value))),
            Record::Note { key, text: note } => self.note(&text(key), &text(note)),
            Record::Counters { instructions, cycles } => {
                self.counters = Some(Counters { instructions, cycles });
            }
            Record::Wait { begin, end, waited_ns } => self.wait(begin, end, waited_ns),
            _ => {}
        }
    }

    /// Times that no clock shows are left out.
    fn wait(&mut self, begin: u64, end: u64, waited_ns: u64) {
        let kept = self.waits.get_or_insert_default();
        let numbers = [begin, end, waited_ns].map(i64::try_from);
        if let [Ok(begin_ns), Ok(end_ns), Ok(waited_ns)] = numbers
            && waited_ns > 0
        {
            kept.push(Wait { begin_ns, end_ns, waited_ns });
            if kept.len() >= 2 * WAITS_KEPT {
                waits::thin(kept, WAITS_KEPT);
            }
        }
    }

    fn communicator(&mut self, payload: &[u8], groups: &mut Groups) {
        match groups.communicator(payload) {
            Ok((number, communicator)) => drop(self.communicators.insert(number, communicator)),
            Err(damage) => self.note("unknown_communicator", damage.what),
        }
    }

    /// One that is not the next is no definition of capture's.
    fn module(&mut self, number: u32, build_id: &[u8], name: &[u8]) {
        if number as usize == self.modules.len() + 1 && self.modules.len() < PLACES_KEPT {
            self.modules.push(Module { build_id: build_id.to_vec(), name: name.to_vec() });
        }
    }

    fn place(&mut self, number: u32, payload: &[u8]) {
        if number as usize == self.places.len() + 1 && self.places.len() < PLACES_KEPT {
            self.places.push(places::place(payload).unwrap_or_default());
        }
    }

    fn name_the_nameless(&mut self) {
        let named: BTreeSet<u16> = self.names.iter().map(|(number, ..)| *number).collect();
        for (number, &used) in (0u16..=u16::MAX).zip(&self.used) {
            if used && !named.contains(&number) {
                self.names.push((number, 0, format!("function {number}")));
            }
        }
    }

    fn note(&mut self, key: &str, text: &str) {
        if self.notes.len() < NOTES_KEPT {
            self.notes.insert((key.into(), text.into()));
        }
    }

    fn reading(&mut self, reading: Reading) {
        self.readings.push(reading);
        if self.readings.len() >= 2 * READINGS_KEPT {
            let narrower =
                |pair: &[Reading]| *pair.iter().min_by_key(|r| r.width_ticks).unwrap_or(&pair[0]);
            self.readings = self.readings.chunks(2).map(narrower).collect();
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
