//! All raw streams of one run, surveyed: the tables of the trace, and what each stream's numbers
//! mean.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use hashbrown::HashMap;

use crate::error::{TraceError, escape_controls};
use crate::tables::{Ended, Location, Tables, Unfinished};

use super::becoming::{self, BECAME, Piece};
use super::clock::ClockMap;
use super::command::CommandEnd;
use super::directory::{awaited_nodes, name_of, read_all};
use super::domains::Domains;
use super::halves;
use super::header::ClockKind;
use super::lasting::{capture_ns, in_flight, joined, last_known_ticks, placed};
use super::merge::{Merge, Numbers};
use super::places::MergePlaces;
use super::ranks::{self, Image};
use super::survey::Survey;
use super::translate::Translation;
use super::unseen::{
    CHILDREN_LEFT, COMPRESSED, DECOMPRESSED, OPENED, PROCESSES_STARTED, Source, USAGE_BEGIN,
    USAGE_END, Unseen, note, on_file_system,
};

/// Notes that a trace keeps; what is beyond is counted.
const NOTES_MAX: usize = 1000;
/// Waits for a processor that a trace keeps.
const WAITS_MAX: usize = 1 << 20;
/// Meta of a process that describes it and not the run.
const OF_THE_PROCESS: [&str; 18] = [
    "rank",
    "host",
    "node",
    "parent",
    "ancestors",
    "launch",
    "job",
    "spawned",
    "clock_offset",
    "started_ns",
    PROCESSES_STARTED,
    USAGE_BEGIN,
    USAGE_END,
    CHILDREN_LEFT,
    COMPRESSED,
    DECOMPRESSED,
    "cores",
    BECAME,
];

const SHELLS: [&str; 5] = ["sh", "dash", "bash", "ksh", "zsh"];
const WITH_ALL: &str = "; `tailrace run --processes all` records them";

/// A stream that became a location.
pub(crate) struct Stream {
    pub survey: Survey,
    pub location: u32,
    pub functions: HashMap<u16, u16>,
    /// Of the stream's places from 1 on.
    pub places: Vec<u32>,
    image: usize,
    domain: usize,
    /// The location has an earlier stream, of what the process was before its `exec`.
    continues: bool,
}

pub(crate) struct Run {
    /// All but what the events themselves tell: windows, opaque files, counts of events.
    pub tables: Tables,
    /// In order of locations; of one location in order of time.
    pub streams: Vec<Stream>,
    images: Vec<Image>,
    numbers: Vec<Numbers>,
    threads: Vec<HashMap<u32, u32>>,
    clocks: Vec<ClockMap>,
    pub merged_places: MergePlaces,
    /// Until then may ranks have lived whose streams do not say how they ended.
    pub until_ns: Option<i64>,
}

impl Run {
    /// Surveys `directory`, which may hold several runs, in order of their begin. Damaged streams
    /// are noted and what stands before the damage is used.
    ///
    /// # Errors
    /// If the directory cannot be read or holds no readable stream.
    pub(crate) fn survey(directory: &Path) -> Result<Vec<Self>, TraceError> {
        let mut notes = Vec::new();
        let surveys = read_all(directory, &mut notes)?;
        let runs = one_by_one(surveys);
        let mut ends = vec![None; runs.len()];
        if let Some(last) = ends.last_mut() {
            *last = CommandEnd::read(directory);
        }
        let mut new = |(surveys, end): (_, Option<CommandEnd>)| {
            Self::new(surveys, end.as_ref(), std::mem::take(&mut notes))
        };
        let mut runs: Vec<Self> = runs.into_iter().zip(ends).map(&mut new).collect();
        let awaited = awaited_nodes(directory);
        if let (false, Some(last)) = (awaited.is_empty(), runs.last_mut()) {
            last.tables.meta.insert("nodes_awaited".into(), awaited.join(","));
        }
        Ok(runs)
    }

    fn new(surveys: Vec<Survey>, end: Option<&CommandEnd>, mut notes: Vec<String>) -> Self {
        let names: Vec<_> = surveys.iter().map(name_of).collect();
        let domains = Domains::new(&surveys, &names, &mut notes);
        let start = |i: usize| domains.clocks[domains.of[i]].ns(surveys[i].header.start);
        let mut images = ranks::images(&names, &surveys, start);
        let ranks = ranks::assign(&mut images).first().copied().unwrap_or(0);
        let tables = Tables { ranks, ..Tables::default() };
        let of = domains.of.clone();
        let mut run = Self {
            tables,
            streams: Vec::new(),
            images,
            numbers: Vec::new(),
            threads: Vec::new(),
            clocks: domains.clocks,
            merged_places: MergePlaces::default(),
            until_ns: None,
        };
        run.merge(surveys, &of, &mut notes);
        run.describe(end, notes);
        run
    }

    pub(crate) fn clock(&self, stream: &Stream) -> &ClockMap {
        &self.clocks[stream.domain]
    }

    /// The other streams of the stream's process.
    pub(crate) fn siblings<'a>(&'a self, stream: &'a Stream) -> impl Iterator<Item = &'a Stream> {
        let others = self.streams.iter().filter(|other| other.location != stream.location);
        others.filter(|other| other.image == stream.image)
    }

    pub(crate) fn translation(&self, stream: &Stream) -> Translation<'_> {
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
        self.numbers = self
            .images
            .iter()
            .map(|image| merge.numbers(image, &surveys, &mut self.tables))
            .collect();
        halves::join(&self.images, &surveys, &mut merge, &mut self.tables, &mut self.numbers);
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
            if let Some(rank) = self.images[image].rank {
                self.add(survey, image, domain_of[index], rank, &mut merge);
            }
        }
        self.streams.sort_by_key(|stream| stream.location);
        self.choose_main();
        notes.extend(self.left_out());
    }

    fn add(&mut self, survey: Survey, image: usize, domain: usize, rank: u32, merge: &mut Merge) {
        let earlier = self.before_exec(&survey, image, domain);
        let location = earlier.unwrap_or(self.tables.locations.len() as u32);
        self.threads[image].insert(survey.header.thread, location);
        let functions = merge.functions(&survey, &mut self.tables);
        let places =
            self.merged_places.numbers(&survey.modules, &survey.places, &mut self.tables.places);
        let cores = self.images[image].meta.get("cores").cloned().unwrap_or_default();
        if let Some(known) = self.tables.locations.get_mut(location as usize) {
            (known.main, known.cores) = (survey.header.main, cores);
            known.events += survey.events;
        } else {
            self.tables.locations.push(Location {
                rank,
                thread: survey.header.thread,
                main: survey.header.main,
                host: self.images[image].host.clone(),
                process: self.images[image].process,
                events: survey.events,
                cores,
                ..Location::default()
            });
        }
        let continues = earlier.is_some();
        self.streams.push(Stream { survey, location, functions, places, image, domain, continues });
    }

    /// The location of the same thread in what the process was before: whichever thread called
    /// `exec`, it goes on as the first.
    fn before_exec(&self, survey: &Survey, image: usize, domain: usize) -> Option<u32> {
        let before = image.checked_sub(1).filter(|_| survey.header.thread == 0)?;
        let goes_on = self.images[before].replaced
            && self.images[before].rank.is_some()
            && self.images[before].rank == self.images[image].rank;
        let location = self.threads[before].get(&0).copied().filter(|_| goes_on)?;
        let last = self.streams.iter().rfind(|stream| stream.location == location)?;
        let follows = last_known_ticks(&last.survey) <= survey.header.start;
        (last.domain == domain && follows).then_some(location)
    }

    /// What the location's process was last.
    fn last_of(&self, location: usize) -> Option<&Stream> {
        let after = self.streams.partition_point(|stream| stream.location as usize <= location);
        self.streams[..after].last().filter(|stream| stream.location as usize == location)
    }

    /// Who belongs to no rank: launchers and the like.
    fn left_out(&self) -> Option<String> {
        let strangers = self.images.iter().filter(|image| image.rank.is_none());
        let programs: Vec<&str> = strangers.map(Image::program).collect();
        let names: BTreeSet<&str> = programs.iter().copied().collect();
        let names = escape_controls(&Vec::from_iter(names).join(", "));
        match programs.len() {
            0 => None,
            1 => Some(format!("a process that belongs to no rank was left out ({names})")),
            count => {
                Some(format!("{count} processes that belong to no rank were left out ({names})"))
            }
        }
    }

    /// One main location a rank: of several of the rank's own process the last, which is what it
    /// became; else the last process's first thread.
    fn choose_main(&mut self) {
        let mut main: BTreeMap<u32, usize> = BTreeMap::new();
        let helper = |stream: &Stream| self.images[stream.image].helper;
        let own = |index: usize| !self.last_of(index).is_some_and(helper);
        for (index, location) in self.tables.locations.iter().enumerate() {
            let better = |&known: &usize| {
                let (of_known, known) = (own(known), &self.tables.locations[known]);
                (own(index), location.main, location.thread == 0)
                    >= (of_known, known.main, known.thread == 0)
            };
            if main.get(&location.rank).is_none_or(better) {
                main.insert(location.rank, index);
            }
        }
        for (index, location) in self.tables.locations.iter_mut().enumerate() {
            location.main = main.get(&location.rank) == Some(&index);
        }
    }

    fn describe(&mut self, end: Option<&CommandEnd>, notes: Vec<String>) {
        let start_ns = |stream: &Stream| self.clock(stream).ns(stream.survey.header.start);
        let origin = self.streams.iter().map(start_ns).min().unwrap_or(0);
        self.clocks.iter_mut().for_each(|clock| clock.shift(origin));
        self.place_in_time();
        self.tables.meta = self.meta();
        let first = self.images.iter().find(|image| image.rank == Some(0));
        let host = first.map_or("", |image| image.host.as_str());
        self.until_ns = end.and_then(|end| end.describe(&mut self.tables, host, origin));
        let mut meta = std::mem::take(&mut self.tables.meta);
        becoming::describe(&mut meta, &self.pieces(), self.until_ns);
        self.tables.meta = meta;
        self.tables.counters = vec![None; self.tables.ranks as usize];
        for stream in &self.streams {
            let location = &self.tables.locations[stream.location as usize];
            if location.main {
                self.tables.counters[location.rank as usize] = stream.survey.counters;
            }
        }
        self.quality(notes);
    }

    fn pieces(&self) -> Vec<Piece<'_>> {
        let of = |stream: &Stream| &self.tables.locations[stream.location as usize];
        let piece = |stream: &Stream| Piece {
            image: &self.images[stream.image],
            rank: of(stream).rank,
            begin_ns: self.clock(stream).ns(stream.survey.header.start),
            end_ns: self.clock(stream).ns(last_known_ticks(&stream.survey)),
        };
        self.streams.iter().filter(|stream| of(stream).main).map(piece).collect()
    }

    /// Begin, end and call in flight of each location, by the same clock as its events.
    fn place_in_time(&mut self) {
        let most = (WAITS_MAX / self.streams.len().max(1)).max(16);
        for stream in &self.streams {
            let (clock, survey) = (&self.clocks[stream.domain], &stream.survey);
            let closed = self.closed_where_due(stream);
            let location = &mut self.tables.locations[stream.location as usize];
            let begin_ns = clock.ns(survey.header.start);
            location.begin_ns = if stream.continues { location.begin_ns } else { begin_ns };
            location.end_ns = clock.ns(last_known_ticks(survey)).max(begin_ns);
            location.unfinished = in_flight(survey).map(|(ticks, function)| Unfinished {
                function: u16::try_from(function)
                    .ok()
                    .and_then(|number| stream.functions.get(&number).copied()),
                begin_ns: clock.ns(ticks),
            });
            location.ended = if closed || !location.main { Ended::Known } else { Ended::Unknown };
            let waits = placed(survey, clock, most).filter(|_| location.main);
            let taken_ns = capture_ns(&survey.header, location.end_ns - begin_ns);
            if stream.continues {
                location.waits = joined(location.waits.take(), waits);
                location.capture_ns = location.capture_ns.zip(taken_ns).map(|(a, b)| a + b);
            } else {
                (location.waits, location.capture_ns) = (waits, taken_ns);
            }
        }
        self.outlive_threads();
    }

    /// A process lasts as long as any of its threads: another than the first may end it. Without MPI
    /// it begins with the program that it was first: shells end with `exec`.
    fn outlive_threads(&mut self) {
        let mut ends: BTreeMap<usize, i64> = BTreeMap::new();
        let mut begins: BTreeMap<(String, u32), i64> = BTreeMap::new();
        for stream in &self.streams {
            let location = &self.tables.locations[stream.location as usize];
            let end = ends.entry(stream.image).or_default();
            *end = (*end).max(location.end_ns);
            let process = (location.host.clone(), location.process);
            let begin = begins.entry(process).or_insert(location.begin_ns);
            *begin = (*begin).min(location.begin_ns);
        }
        for stream in &self.streams {
            let location = &mut self.tables.locations[stream.location as usize];
            if location.main {
                location.end_ns = location.end_ns.max(ends[&stream.image]);
                if !self.images[stream.image].meta.contains_key("ranks") {
                    location.begin_ns = begins[&(location.host.clone(), location.process)];
                }
            }
        }
    }

    /// What rank 0 says of the run.
    fn meta(&self) -> BTreeMap<String, String> {
        let first = self.tables.locations.iter().position(|location| location.main);
        let first = first.and_then(|location| self.last_of(location));
        let mut meta =
            first.map(|stream| self.images[stream.image].meta.clone()).unwrap_or_default();
        let started = self
            .images
            .iter()
            .filter_map(|image| image.meta.get("started_ns")?.parse::<u64>().ok())
            .min();
        meta.retain(|key, _| !OF_THE_PROCESS.contains(&key.as_str()));
        meta.extend(started.map(|ns| ("started_ns".into(), ns.to_string())));
        meta.extend(meta.get("exe").cloned().map(|exe| ("program".into(), exe)));
        let hosts: BTreeSet<&str> = self.images.iter().map(|image| image.host.as_str()).collect();
        meta.insert("hosts".into(), hosts.into_iter().collect::<Vec<_>>().join(","));
        let counter =
            self.streams.iter().all(|stream| stream.survey.header.clock == ClockKind::Counter);
        meta.insert(
            "clock".into(),
            if counter { "time-stamp counter" } else { "CLOCK_MONOTONIC" }.into(),
        );
        meta
    }

    fn quality(&mut self, mut notes: Vec<String>) {
        let headers = || self.streams.iter().map(|stream| &stream.survey.header);
        let lost = headers().fold(0u64, |sum, header| sum.saturating_add(header.lost));
        let costs: Vec<u64> =
            headers().map(|header| header.event_cost_ps.into()).filter(|&cost| cost > 0).collect();
        let events = self.streams.iter().map(|stream| stream.survey.events).sum();
        let all_closed = self
            .streams
            .iter()
            .all(|stream| stream.survey.header.full_at == 0 && self.closed_where_due(stream));
        let present: BTreeSet<u32> =
            self.tables.locations.iter().map(|location| location.rank).collect();
        let absent = self.tables.ranks as usize - present.len();
        if absent > 0 {
            notes.push(format!("{absent} of {} ranks left no stream", self.tables.ranks));
        }
        let mut told = BTreeSet::new(); // the same of several threads is said once
        let complaints = self.streams.iter().flat_map(|stream| self.complaints(stream));
        notes.extend(complaints.filter(|complaint| told.insert(complaint.clone())));
        let undamaged = self.streams.iter().all(|stream| stream.survey.damage.is_none());
        let sources = self.streams.iter().map(|stream| Source {
            survey: &stream.survey,
            image: stream.image,
            location: stream.location,
        });
        let unseen = Unseen::of(sources.collect(), &self.images);
        self.tables.meta.extend(unseen.meta(self.tables.ranks, &self.tables.locations));
        notes.extend(unseen.processes().map(|sentence| format!("{sentence}{WITH_ALL}")));
        notes.extend(noted(&self.streams, &self.tables));
        let capture = &mut self.tables.capture;
        capture.events = events;
        capture.lost = lost;
        capture.cost_ps_per_event = costs.iter().sum::<u64>() / costs.len().max(1) as u64;
        capture.complete = all_closed && lost == 0 && absent == 0 && undamaged;
        capture.notes = limited(notes);
    }

    fn closed_where_due(&self, stream: &Stream) -> bool {
        stream.survey.header.closed || !self.ends_its_rank(stream)
    }

    /// Not of a program that went on as another, nor of a helper: a forked child may
    /// end as it likes.
    fn ends_its_rank(&self, stream: &Stream) -> bool {
        let image = &self.images[stream.image];
        let goes_on = image.replaced || image.ends_as_another();
        !image.helper && !goes_on && !SHELLS.contains(&image.program())
    }

    /// One sentence for everything about this stream that is not as it should be.
    fn complaints(&self, stream: &Stream) -> Vec<String> {
        let location = &self.tables.locations[stream.location as usize];
        let header = &stream.survey.header;
        let (who, ends) = (format!("rank {}", location.rank), self.ends_its_rank(stream));
        let mut complaints = Vec::new();
        if let (true, Some(call)) = (ends, &location.unfinished) {
            let name = |number: u16| self.tables.functions[usize::from(number)].name.as_str();
            let function = call.function.map_or("a call", name);
            complaints.push(format!("{who} was in {function} when it ended"));
        } else if ends && !header.closed {
            complaints.push(format!(
                "{who} ended without closing its stream: it was killed, or ended at once"
            ));
        }
        if header.full_at > 0 {
            complaints.push(format!("{who} ran out of space for its trace"));
        }
        if header.lost > 0 {
            complaints.push(format!("{} calls of {who} could not be recorded", header.lost));
        }
        complaints.extend(stream.survey.damage.clone());
        complaints
    }
}

/// The streams of each run.
fn one_by_one(mut surveys: Vec<Survey>) -> Vec<Vec<Survey>> {
    surveys.sort_by_key(name_of);
    let names: Vec<_> = surveys.iter().map(name_of).collect();
    let domains = Domains::new(&surveys, &names, &mut Vec::new());
    let start = |i: usize| domains.clocks[domains.of[i]].ns(surveys[i].header.start);
    let mut images = ranks::images(&names, &surveys, start);
    let runs = ranks::assign(&mut images).len().max(1);
    let mut run_of = vec![0; surveys.len()]; // whoever belongs to none is told of with the first
    for image in &images {
        image.streams.iter().for_each(|&stream| run_of[stream] = image.run.unwrap_or(0));
    }
    let mut parts: Vec<Vec<Survey>> = (0..runs).map(|_| Vec::new()).collect();
    surveys.into_iter().zip(run_of).for_each(|(survey, run)| parts[run].push(survey));
    parts
}

/// Notes of the streams, equal ones once, with the number of ranks that made them.
fn noted(streams: &[Stream], tables: &Tables) -> Vec<String> {
    let mut ranks_of: BTreeMap<&(String, String), BTreeSet<u32>> = BTreeMap::new();
    for stream in streams {
        let rank = tables.locations[stream.location as usize].rank;
        let of_the_program =
            |(key, text): &&(String, String)| key != "mmap" || on_file_system(text);
        let of_the_program = |note: &&(String, String)| {
            of_the_program(note) && !OPENED.iter().any(|o| o.0 == note.0)
        };
        for note in stream.survey.notes.iter().filter(of_the_program) {
            ranks_of.entry(note).or_default().insert(rank);
        }
    }
    let sentence = |((key, text), ranks): (&(String, String), BTreeSet<u32>)| {
        let who = if ranks.len() == 1 {
            format!("rank {}", ranks.first().unwrap_or(&0))
        } else {
            format!("{} ranks", ranks.len())
        };
        format!("{} ({who})", note(key, &escape_controls(text)))
    };
    ranks_of.into_iter().map(sentence).collect()
}

fn limited(mut notes: Vec<String>) -> Vec<String> {
    if notes.len() > NOTES_MAX {
        let more = notes.split_off(NOTES_MAX).len();
        notes.push(format!("… and {more} more"));
    }
    notes
}
