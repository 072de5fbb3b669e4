//! All raw streams of one run, surveyed: the tables of the trace, and what each stream's numbers mean.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use crate::error::{TraceError, escape_controls, printable};
use crate::tables::{Location, Tables, Unfinished};

use super::clock::{Alignment, ClockMap};
use super::header::ClockKind;
use super::merge::{Merge, Numbers};
use super::ranks::{self, Image};
use super::survey::{Reading, Survey, survey};
use super::translate::Translation;

/// Notes that a trace keeps; what is beyond is counted.
const NOTES_MAX: usize = 1000;
/// Meta of a process that describes it and not the run.
const OF_THE_PROCESS: [&str; 6] = ["rank", "host", "node", "parent", "clock_offset", "started_ns"];

/// A stream that became a location.
pub struct Stream {
    pub survey: Survey,
    pub location: u32,
    pub functions: HashMap<u16, u16>,
    image: usize,
    domain: usize,
}

pub struct Run {
    /// All but what the events themselves tell: windows, opaque files, counts of events.
    pub tables: Tables,
    /// In order of locations.
    pub streams: Vec<Stream>,
    images: Vec<Image>,
    numbers: Vec<Numbers>,
    threads: Vec<HashMap<u32, u32>>,
    clocks: Vec<ClockMap>,
}

impl Run {
    /// Surveys `directory`. Damaged streams are noted and what stands before the damage is used.
    ///
    /// # Errors
    /// If the directory cannot be read or holds no readable stream.
    pub fn survey(directory: &Path) -> Result<Self, TraceError> {
        let mut notes = Vec::new();
        let mut surveys = read_all(directory, &mut notes)?;
        surveys.sort_by_key(name_of);
        let names: Vec<_> = surveys.iter().map(name_of).collect();
        let domains = Domains::new(&surveys, &names, &mut notes);
        let start = |i: usize| domains.clocks[domains.of[i]].ns(surveys[i].header.start);
        let mut images = ranks::images(&names, &surveys, start);
        let tables = Tables { ranks: ranks::assign(&mut images), ..Tables::default() };
        let of = domains.of.clone();
        let mut run = Self {
            tables,
            streams: Vec::new(),
            images,
            numbers: Vec::new(),
            threads: Vec::new(),
            clocks: domains.clocks,
        };
        run.merge(surveys, &of, &mut notes);
        run.describe(notes);
        Ok(run)
    }

    pub fn clock(&self, stream: &Stream) -> &ClockMap {
        &self.clocks[stream.domain]
    }

    pub fn translation(&self, stream: &Stream) -> Translation<'_> {
        let image = &self.images[stream.image];
        Translation {
            numbers: &self.numbers[stream.image],
            threads: &self.threads[stream.image],
            own_rank: image.rank.unwrap_or(0),
            world_base: image.world_base,
        }
    }

    /// Makes locations of streams, in order of rank, process and thread.
    fn merge(&mut self, surveys: Vec<Survey>, domain_of: &[usize], notes: &mut Vec<String>) {
        let mut merge = Merge::default();
        self.numbers = self.images.iter().map(|image| merge.numbers(image, &surveys, &mut self.tables)).collect();
        self.threads = self.images.iter().map(|_| HashMap::new()).collect();
        let mut image_of: Vec<usize> = vec![0; surveys.len()];
        for (index, image) in self.images.iter().enumerate() {
            image.streams.iter().for_each(|&stream| image_of[stream] = index);
        }
        let mut surveys: Vec<_> = surveys.into_iter().enumerate().collect();
        surveys.sort_by_key(|(i, survey)| {
            let image = &self.images[image_of[*i]];
            (image.rank, image.start_ns, image_of[*i], survey.header.thread)
        });
        for (index, survey) in surveys {
            let image = image_of[index];
            match self.images[image].rank {
                Some(rank) => self.add(survey, image, domain_of[index], rank, &mut merge),
                None => {
                    notes.push(format!("a process that belongs to no rank was left out: {}", printable(&survey.path)))
                }
            }
        }
        self.choose_main();
    }

    fn add(&mut self, survey: Survey, image: usize, domain: usize, rank: u32, merge: &mut Merge) {
        let location = self.tables.locations.len() as u32;
        self.threads[image].insert(survey.header.thread, location);
        let functions = merge.functions(&survey, &mut self.tables);
        self.tables.locations.push(Location {
            rank,
            thread: survey.header.thread,
            main: survey.header.main,
            host: self.images[image].host.clone(),
            process: self.images[image].process,
            events: survey.events,
            ..Location::default()
        });
        self.streams.push(Stream { survey, location, functions, image, domain });
    }

    /// One main location a rank: of several the last, which is what the process became; else the last process's first thread.
    fn choose_main(&mut self) {
        let mut main: BTreeMap<u32, usize> = BTreeMap::new();
        for (index, location) in self.tables.locations.iter().enumerate() {
            let better = |&known: &usize| {
                let known = &self.tables.locations[known];
                (location.main, location.thread == 0) >= (known.main, known.thread == 0)
            };
            if main.get(&location.rank).is_none_or(better) {
                main.insert(location.rank, index);
            }
        }
        for (index, location) in self.tables.locations.iter_mut().enumerate() {
            location.main = main.get(&location.rank) == Some(&index);
        }
    }

    fn describe(&mut self, notes: Vec<String>) {
        let start_ns = |stream: &Stream| self.clock(stream).ns(stream.survey.header.start);
        let origin = self.streams.iter().map(start_ns).min().unwrap_or(0);
        self.clocks.iter_mut().for_each(|clock| clock.shift(origin));
        self.place_in_time();
        self.tables.meta = self.meta();
        self.tables.counters = vec![None; self.tables.ranks as usize];
        for stream in &self.streams {
            let location = &self.tables.locations[stream.location as usize];
            if location.main {
                self.tables.counters[location.rank as usize] = stream.survey.counters;
            }
        }
        self.quality(notes);
    }

    /// Begin, end and call in flight of each location, by the same clock as its events.
    fn place_in_time(&mut self) {
        for stream in &self.streams {
            let (clock, survey) = (&self.clocks[stream.domain], &stream.survey);
            let location = &mut self.tables.locations[stream.location as usize];
            location.begin_ns = clock.ns(survey.header.start);
            location.end_ns = clock.ns(last_known_ticks(survey)).max(location.begin_ns);
            location.unfinished = in_flight(survey).map(|(ticks, function)| Unfinished {
                function: u16::try_from(function).ok().and_then(|number| stream.functions.get(&number).copied()),
                begin_ns: clock.ns(ticks),
            });
        }
    }

    /// What rank 0 says of the run.
    fn meta(&self) -> BTreeMap<String, String> {
        let first = self.streams.iter().find(|stream| self.tables.locations[stream.location as usize].main);
        let mut meta = first.map(|stream| self.images[stream.image].meta.clone()).unwrap_or_default();
        let started = self.images.iter().filter_map(|image| image.meta.get("started_ns")?.parse::<u64>().ok()).min();
        OF_THE_PROCESS.iter().for_each(|key| drop(meta.remove(*key)));
        meta.extend(started.map(|ns| ("started_ns".into(), ns.to_string())));
        meta.extend(meta.get("exe").cloned().map(|exe| ("program".into(), exe)));
        let hosts: BTreeSet<&str> = self.images.iter().map(|image| image.host.as_str()).collect();
        meta.insert("hosts".into(), hosts.into_iter().collect::<Vec<_>>().join(","));
        let counter = self.streams.iter().all(|stream| stream.survey.header.clock == ClockKind::Counter);
        meta.insert("clock".into(), if counter { "time-stamp counter" } else { "CLOCK_MONOTONIC" }.into());
        meta
    }

    fn quality(&mut self, mut notes: Vec<String>) {
        let headers = || self.streams.iter().map(|stream| &stream.survey.header);
        let lost = headers().fold(0u64, |sum, header| sum.saturating_add(header.lost));
        let costs: Vec<u64> = headers().map(|header| header.event_cost_ps.into()).filter(|&cost| cost > 0).collect();
        let events = self.streams.iter().map(|stream| stream.survey.events).sum();
        let all_closed = headers().all(|header| header.closed && header.full_at == 0);
        let present: BTreeSet<u32> = self.tables.locations.iter().map(|location| location.rank).collect();
        let absent = self.tables.ranks as usize - present.len();
        if absent > 0 {
            notes.push(format!("{absent} of {} ranks left no stream.", self.tables.ranks));
        }
        notes.extend(self.streams.iter().flat_map(|stream| self.complaints(stream)));
        let undamaged = self.streams.iter().all(|stream| stream.survey.damage.is_none());
        notes.extend(noted(&self.streams, &self.tables));
        let capture = &mut self.tables.capture;
        capture.events = events;
        capture.lost = lost;
        capture.cost_ps_per_event = costs.iter().sum::<u64>() / costs.len().max(1) as u64;
        capture.complete = all_closed && lost == 0 && absent == 0 && undamaged;
        capture.notes = limited(notes);
    }

    /// One sentence for everything about this stream that is not as it should be.
    fn complaints(&self, stream: &Stream) -> Vec<String> {
        let location = &self.tables.locations[stream.location as usize];
        let header = &stream.survey.header;
        let who = format!("rank {}", location.rank);
        let mut complaints = Vec::new();
        if let Some(call) = &location.unfinished {
            let function = call.function.map_or("a call", |number| &self.tables.functions[usize::from(number)].name);
            complaints.push(format!("{who} was in {function} when it ended."));
        } else if !header.closed {
            complaints
                .push(format!("{who} ended without closing its stream: it was killed, or ended by abort or _exit."));
        }
        if header.full_at > 0 {
            complaints.push(format!("{who} ran out of space for its trace."));
        }
        if header.lost > 0 {
            complaints.push(format!("{} calls of {who} could not be recorded.", header.lost));
        }
        complaints.extend(stream.survey.damage.clone());
        complaints
    }
}

/// Notes of the streams, equal ones once, with the number of ranks that made them.
fn noted(streams: &[Stream], tables: &Tables) -> Vec<String> {
    let mut ranks_of: BTreeMap<&(String, String), BTreeSet<u32>> = BTreeMap::new();
    for stream in streams {
        let rank = tables.locations[stream.location as usize].rank;
        for note in &stream.survey.notes {
            ranks_of.entry(note).or_default().insert(rank);
        }
    }
    let sentence = |((key, text), ranks): (&(String, String), BTreeSet<u32>)| {
        let who = if ranks.len() == 1 {
            format!("rank {}", ranks.first().unwrap_or(&0))
        } else {
            format!("{} ranks", ranks.len())
        };
        format!("{}: {} ({who})", escape_controls(key), escape_controls(text))
    };
    ranks_of.into_iter().map(sentence).collect()
}

fn limited(mut notes: Vec<String>) -> Vec<String> {
    if notes.len() > NOTES_MAX {
        let more = notes.len() - NOTES_MAX;
        notes.truncate(NOTES_MAX);
        notes.push(format!("… and {more} more."));
    }
    notes
}

/// The call that the process was in when it ended, if its stream was not closed.
fn in_flight(survey: &Survey) -> Option<(u64, u64)> {
    let (begin, function) = survey.header.in_flight;
    (!survey.header.closed && begin > survey.last_ticks).then_some((begin, function))
}

fn last_known_ticks(survey: &Survey) -> u64 {
    let clock = survey.readings.iter().map(|reading| reading.ticks).max().unwrap_or(0);
    let call = in_flight(survey).map_or(0, |(begin, _)| begin);
    survey.last_ticks.max(clock).max(call)
}

/// Host, process and number of a stream, from its name `HOST.PID.N.stream`.
fn name_of(survey: &Survey) -> (String, u32, u32) {
    let name = survey.path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let mut parts = name.rsplitn(3, '.');
    let number = parts.next().and_then(|part| part.parse().ok()).unwrap_or(0);
    let process = parts.next().and_then(|part| part.parse().ok()).unwrap_or(survey.header.process);
    let host = survey.meta.get("host").cloned().or(parts.next().map(String::from));
    (host.unwrap_or_default(), process, number)
}

fn read_all(directory: &Path, notes: &mut Vec<String>) -> Result<Vec<Survey>, TraceError> {
    let paths = stream_paths(directory)?;
    let results = crate::parallel::map(&paths, |path| survey(path));
    let (mut surveys, mut first_error) = (Vec::new(), None);
    for result in results {
        match result {
            Ok(survey) => surveys.push(survey),
            Err(error) => {
                notes.push(error.message.clone());
                first_error = first_error.or(Some(error));
            }
        }
    }
    match (surveys.is_empty(), first_error) {
        (true, Some(error)) => Err(error),
        (true, None) => Err(TraceError::new(
            format!("{} holds no raw streams: nothing was captured.", printable(directory)),
            "check with `tailrace doctor` that the program's MPI is supported, and that the program is no static executable.",
        )),
        _ => Ok(surveys),
    }
}

/// The streams in `directory`, or in `raw/` below it.
fn stream_paths(directory: &Path) -> Result<Vec<PathBuf>, TraceError> {
    let below = directory.join("raw");
    let directory = if below.is_dir() { below } else { directory.to_path_buf() };
    let entries = std::fs::read_dir(&directory).map_err(|cause| TraceError::system("list", &directory, &cause))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "stream"));
    paths.sort();
    Ok(paths)
}

/// Clocks: one for all processes of a node whose ticks count the same.
struct Domains {
    of: Vec<usize>,
    clocks: Vec<ClockMap>,
}

impl Domains {
    fn new(surveys: &[Survey], names: &[(String, u32, u32)], notes: &mut Vec<String>) -> Self {
        let node = |i: usize| surveys[i].meta.get("node").unwrap_or(&names[i].0);
        let keys: Vec<_> = (0..surveys.len()).map(|i| (node(i), surveys[i].header.clock)).collect();
        let distinct: Vec<_> = keys.iter().collect::<BTreeSet<_>>().into_iter().collect();
        let reference = surveys.iter().position(|survey| survey.meta.get("rank").is_some_and(|rank| rank == "0"));
        let reference = keys[reference.unwrap_or(0)].0;
        let offset_of_reference =
            wall_offset(&mut (0..surveys.len()).filter(|&i| node(i) == reference).map(|i| &surveys[i]));
        let mut clocks = Vec::new();
        for key in &distinct {
            let mut alignment = Alignment::default();
            if key.0 != reference {
                let on_node = || (0..surveys.len()).filter(|&i| node(i) == key.0).map(|i| &surveys[i]);
                alignment = align(&mut on_node(), offset_of_reference, key.0, notes);
            }
            let members: Vec<&Survey> = (0..surveys.len()).filter(|&i| keys[i] == **key).map(|i| &surveys[i]).collect();
            let readings: Vec<Reading> =
                members.iter().flat_map(|survey| super::clock::choose(&survey.readings)).collect();
            let nominal = members.first().map_or(0, |survey| survey.header.ticks_per_s);
            clocks.push(ClockMap::new(&readings, nominal, &alignment));
        }
        let place = |key| distinct.iter().position(|known| **known == key).unwrap_or(0);
        Self { of: keys.iter().map(|key| place(*key)).collect(), clocks }
    }
}

/// A node's measured offset to rank 0's; where there is none, the wall clocks must do.
fn align(
    surveys: &mut dyn Iterator<Item = &Survey>,
    reference: Option<i64>,
    node: &str,
    notes: &mut Vec<String>,
) -> Alignment {
    let surveys: Vec<&Survey> = surveys.collect();
    let mut alignment = Alignment::default();
    surveys.iter().flat_map(|survey| &survey.clock_offsets).for_each(|value| alignment.add(value));
    if alignment == Alignment::default() {
        notes.push(format!("the clock of node {} is aligned by the time of day only.", escape_controls(node)));
        if let (Some(reference), Some(here)) = (reference, wall_offset(&mut surveys.into_iter())) {
            alignment.add(&format!("begin,0,{},0", here.saturating_sub(reference)));
        }
    }
    alignment
}

/// CLOCK_REALTIME less CLOCK_MONOTONIC by the narrowest reading.
fn wall_offset(surveys: &mut dyn Iterator<Item = &Survey>) -> Option<i64> {
    let narrowest = surveys.flat_map(|survey| &survey.readings).min_by_key(|reading| reading.width_ticks)?;
    Some(narrowest.realtime_ns.wrapping_sub(narrowest.monotonic_ns) as i64)
}
