//! What the program did off the path that capture sees: as sentences, and in numbers for those who
//! compare them with what was recorded.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::escape_controls;
use crate::tables::{Location, Place};

use super::merge::tidy;
use super::ranks::{Image, Process};
use super::survey::Survey;

/// Metas of a process: how many others it started, and what the kernel counted of it where the run
/// begins and where it ends (the order is `capture/usage.c`'s).
pub(super) const PROCESSES_STARTED: &str = "processes_started";
pub(super) const USAGE_BEGIN: &str = "usage_begin";
pub(super) const USAGE_END: &str = "usage_end";

/// Metas of a process whose main thread wrote and read through filters of HDF5: of each for how long,
/// by how many calls, the bytes before and after, and its number where it is not zlib
/// (`capture/filters.c`).
pub(super) const COMPRESSED: &str = "compressed";
pub(super) const DECOMPRESSED: &str = "decompressed";
const COMPRESSED_NUMBERS: [usize; 2] = [4, 5];

/// Meta of a process that did not wait for all that it started.
pub(super) const CHILDREN_LEFT: &str = "children_left";

const USAGE_NUMBERS: usize = 5;
/// Where, among those sums, the bytes and the time of the processes stand that it waited for.
const OF_CHILDREN: usize = 2;
/// Where the thread's waits for a processor stand: behind how long it ran, and those.
const DELAY: usize = USAGE_NUMBERS + 1;
/// And for how long all threads of the process ran.
const ALL_RAN: usize = DELAY + 1;
/// Where the process's page faults stand: those that memory served, and the others.
const FAULTS: usize = ALL_RAN + 1;
const COUNTED: usize = FAULTS + 2;
/// What is left of a stream's last page, at most.
const STREAM_MORE: u64 = 4096;

/// A stream that became a location.
pub(super) struct Source<'a> {
    pub survey: &'a Survey,
    pub image: usize,
    pub location: u32,
}

/// Ways to open a file or to write to it, by the keys of their notes, and the metas with the paths.
pub(super) const OPENED: [(&str, &str); 4] = [
    ("direct", "opened_direct"),
    ("synchronous", "opened_synchronous"),
    ("synchronous_writes", "written_synchronously"),
    (WRITABLE, WRITABLE),
];
/// Mapped, shared, so that much can be stored there.
const WRITABLE: &str = "mapped_writable";
/// So many paths are kept.
const OPENED_MAX: usize = 1000;

/// Of a main thread's process: how long that thread ran, if it saw the end, and the other threads,
/// if that is known, and all of them; and the differences of what the kernel counted.
struct Usage {
    ran: Option<u64>,
    others_ran: Option<u64>,
    all_ran: u64,
    counted: [u64; USAGE_NUMBERS],
    faults: [u64; 2],
}

pub(super) struct Unseen<'a> {
    streams: Vec<Source<'a>>,
    images: &'a [Image],
    /// By rank: processes that were started and that have no stream.
    started: BTreeMap<u32, u64>,
    /// Files on file systems that were mapped.
    mapped: BTreeSet<&'a str>,
}

impl<'a> Unseen<'a> {
    pub(super) fn of(streams: Vec<Source<'a>>, images: &'a [Image]) -> Self {
        let mapped = notes(&streams, "mmap").filter(|path| on_file_system(path)).collect();
        let started = started(&streams, images);
        Self { streams, images, started, mapped }
    }

    /// `not_recorded` in sentences, `unseen` in words; `usage` and `ran_ns` where they are known of
    /// every rank.
    pub(super) fn meta(&self, ranks: u32, locations: &[Location]) -> BTreeMap<String, String> {
        let mut meta = BTreeMap::new();
        let mapped = match self.mapped.len() {
            0 => None,
            1 => Some("a file is mapped into memory, where reads and writes are not seen".into()),
            count => Some(format!(
                "{count} files are mapped into memory, where reads and writes are not seen"
            )),
        };
        let used = ["io_uring", "native_aio", "out_of_reach"]
            .into_iter()
            .filter(|key| notes(&self.streams, key).next().is_some());
        let named = used.clone().map(|key| note(key, ""));
        let sentences: Vec<_> = self.processes().into_iter().chain(named).chain(mapped).collect();
        if !sentences.is_empty() {
            meta.insert("not_recorded".into(), sentences.join("; "));
            let started: u64 = self.started.values().sum();
            let left = self.streams.iter().any(|s| s.survey.meta.contains_key(CHILDREN_LEFT));
            let words = (started > 0)
                .then(|| format!("processes={started}"))
                .into_iter()
                .chain((started > 0 && left).then(|| "left".into()))
                .chain(used.map(Into::into))
                .chain((!self.mapped.is_empty()).then(|| format!("mmap={}", self.mapped.len())));
            meta.insert("unseen".into(), words.collect::<Vec<_>>().join(" "));
        }
        if let (Some(path), 1) = (self.mapped.first(), self.mapped.len()) {
            meta.insert("mapped_file".into(), (*path).into());
        }
        meta.extend(self.opened());
        meta.extend(self.usage(ranks, locations));
        for key in [COMPRESSED, DECOMPRESSED] {
            meta.extend(self.filtered(key, ranks, locations));
        }
        meta
    }

    /// Files that were opened or written to in such a way.
    fn opened(&self) -> impl Iterator<Item = (String, String)> {
        OPENED.into_iter().filter_map(|(key, name)| {
            let tidied = |path: &str| String::from_utf8_lossy(&tidy(path.as_bytes())).into_owned();
            let paths = notes(&self.streams, key);
            let paths: BTreeSet<String> =
                paths.filter(|path| key != WRITABLE || on_file_system(path)).map(tidied).collect();
            let paths: Vec<String> = paths.into_iter().take(OPENED_MAX).collect();
            (!paths.is_empty()).then(|| (name.into(), paths.join("\x1f")))
        })
    }

    /// What ranks started and what has no stream.
    pub(super) fn processes(&self) -> Option<String> {
        let count: u64 = self.started.values().sum();
        let who = match self.started.len() {
            0 => return None,
            1 => format!("rank {}", self.started.keys().next()?),
            ranks => format!("{ranks} ranks"),
        };
        Some(match count {
            1 => format!("{who} started another process, which was not recorded"),
            _ => format!("{who} started {count} other processes, which were not recorded"),
        })
    }

    fn usage(&self, ranks: u32, locations: &[Location]) -> BTreeMap<String, String> {
        let mut ran = vec![String::new(); ranks as usize];
        let (mut sums, mut faults) = ([0u64; USAGE_NUMBERS], [0u64; 2]);
        let mut others = Some(0u64);
        for (number, location) in (0..).zip(locations).filter(|(_, location)| location.main) {
            let waited = waited_ns(location);
            let Some(of_rank) = self.usage_of(number, waited) else {
                return BTreeMap::new();
            };
            others = others.zip(of_rank.others_ran).map(|(sum, ran)| sum.saturating_add(ran));
            let rank = location.rank as usize;
            ran[rank] = of_rank.ran.map_or_else(String::new, |ns| ns.to_string());
            add(&mut sums, &of_rank.counted);
            add(&mut sums[OF_CHILDREN..], &self.of_survivors(location.rank, locations));
            add(&mut faults, &of_rank.faults);
        }
        let others = others.filter(|ran| *ran > 0).map(|ran| ("others_ran_ns", ran.to_string()));
        let told = [("usage", words(&sums)), ("faults", words(&faults)), ("ran_ns", ran.join(","))];
        let told = told.into_iter().chain(others);
        told.map(|(key, value)| (key.to_owned(), value)).collect()
    }

    /// What recorded processes moved and ran that ended after the one that started them, with what
    /// they had waited for: nobody waited for them, so that the kernel counts them for no other
    /// process. Python's server of forks is one.
    fn of_survivors(
        &self,
        rank: u32,
        locations: &[Location],
    ) -> [u64; USAGE_NUMBERS - OF_CHILDREN] {
        let first = locations.partition_point(|location| location.rank < rank);
        let of_rank = locations[first..].iter().take_while(|location| location.rank == rank);
        let mut ends: BTreeMap<Process, i64> = BTreeMap::new();
        let mut firsts: BTreeMap<Process, u32> = BTreeMap::new();
        for (number, location) in (first as u32..).zip(of_rank) {
            let process = (location.host.clone(), location.process);
            let end = ends.entry(process.clone()).or_insert(location.end_ns);
            *end = (*end).max(location.end_ns);
            firsts.entry(process).or_insert(number);
        }
        let mut sums = [0u64; USAGE_NUMBERS - OF_CHILDREN];
        for (process, location) in &firsts {
            let image = self.image_of(*location).filter(|image| image.helper);
            let starter_ends = image.and_then(|image| ends_of(image, &ends));
            let survives = starter_ends.is_some_and(|end| ends[process] > end);
            if let Some(usage) = survives.then(|| self.usage_of(*location, 0)).flatten() {
                let [written, read, .., children_ran] = usage.counted; // bytes: of all of them
                add(&mut sums, &[written, read, usage.all_ran.saturating_add(children_ran)]);
            }
        }
        sums
    }

    fn image_of(&self, location: u32) -> Option<&Image> {
        let first = self.streams.partition_point(|stream| stream.location < location);
        self.streams.get(first).map(|stream| &self.images[stream.image])
    }

    /// By rank, as its process says it; empty of those that say nothing.
    fn filtered(&self, key: &str, ranks: u32, locations: &[Location]) -> Option<(String, String)> {
        let mut by_rank = vec![""; ranks as usize];
        for (number, location) in (0..).zip(locations).filter(|(_, location)| location.main) {
            let main = self.streams.iter().rfind(|stream| stream.location == number)?;
            let mut of_process = self.streams.iter().filter(|other| other.image == main.image);
            let text = of_process.find_map(|stream| stream.survey.meta.get(key));
            by_rank[location.rank as usize] =
                text.filter(|text| text.split(';').all(are_numbers)).map_or("", |t| t);
        }
        let any = by_rank.iter().any(|text| !text.is_empty());
        any.then(|| (key.to_owned(), by_rank.join(",")))
    }

    /// How long the thread ran is known if it is the one that saw the end. What it wrote is less its
    /// streams, of which the kernel counts each page. An `exec` leaves the kernel's counts as they
    /// are: the run without MPI begins with the program that it was first. What the thread waited
    /// for a processor beyond `waited`, which stands in records, counts as if it had run: it slept
    /// no less.
    fn usage_of(&self, location: u32, waited: u64) -> Option<Usage> {
        let mut all = self.streams.iter().filter(|stream| stream.location == location);
        let main = all.clone().next_back()?;
        let first = all.next().filter(|_| !main.survey.meta.contains_key("ranks")).unwrap_or(main);
        let begin = numbers(first.survey.meta.get(USAGE_BEGIN)?)?;
        let same = || {
            let images = first.image..=main.image; // those of a process stand side by side
            self.streams.iter().filter(move |stream| images.contains(&stream.image))
        };
        let of_last = || same().filter(|stream| stream.image == main.image);
        let end = numbers(of_last().find_map(|stream| stream.survey.meta.get(USAGE_END))?)?;
        // what ran less in the end was counted in another way before an exec
        let counted_alike = end.1[0] >= begin.1[0];
        let by_main = main.survey.header.main && begin.0 == end.0 && counted_alike;
        let since = |i: usize| end.1[i].saturating_sub(begin.1[i]);
        let ran = by_main.then(|| since(0) + since(DELAY).saturating_sub(waited));
        let mut counted: [u64; USAGE_NUMBERS] = std::array::from_fn(|i| since(i + 1));
        let streams: u64 = same().map(|stream| stream.survey.bytes + STREAM_MORE).sum();
        counted[0] = counted[0].saturating_sub(streams);
        let others_ran =
            (by_main && end.1[ALL_RAN] > 0).then(|| since(ALL_RAN).saturating_sub(since(0)));
        let faults = [since(FAULTS), since(FAULTS + 1)];
        Some(Usage { ran, others_ran, all_ran: since(ALL_RAN), counted, faults })
    }
}

fn are_numbers(text: &str) -> bool {
    let words: Vec<_> = text.split(' ').map(str::parse::<u64>).collect();
    COMPRESSED_NUMBERS.contains(&words.len()) && words.iter().all(Result::is_ok)
}

fn add(sums: &mut [u64], more: &[u64]) {
    sums.iter_mut().zip(more).for_each(|(sum, number)| *sum = sum.saturating_add(*number));
}

fn words(numbers: &[u64]) -> String {
    numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(" ")
}

/// The thread that asked, and the numbers; its delay, the time of all threads, and page faults are
/// missing in streams of earlier versions.
fn numbers(text: &str) -> Option<(u64, [u64; COUNTED])> {
    let mut words: Vec<u64> = text.split(' ').map(str::parse).collect::<Result<_, _>>().ok()?;
    if [DELAY + 1, ALL_RAN + 1, FAULTS + 1].contains(&words.len()) {
        words.resize(COUNTED + 1, 0);
    }
    let (thread, rest) = words.split_first()?;
    Some((*thread, rest.try_into().ok()?))
}

/// For a processor, as far as records say.
fn waited_ns(location: &Location) -> u64 {
    let waits = location.waits.iter().flatten();
    waits.fold(0, |sum, wait| sum.saturating_add(wait.waited_ns.max(0).cast_unsigned()))
}

fn notes<'a>(streams: &[Source<'a>], key: &str) -> impl Iterator<Item = &'a str> {
    let all = streams.iter().flat_map(|stream| &stream.survey.notes);
    all.filter(move |(k, _)| k == key).map(|(_, text)| text.as_str())
}

/// When the nearest ended of those that started it and are recorded.
fn ends_of(image: &Image, ends: &BTreeMap<Process, i64>) -> Option<i64> {
    image.ancestors().find_map(|process| ends.get(&process).copied())
}

/// By rank: what its process and all that it started and is recorded started themselves, less those
/// of them that are recorded. Not where all processes are recorded.
fn started(streams: &[Source<'_>], images: &[Image]) -> BTreeMap<u32, u64> {
    type Counts = BTreeMap<usize, u64>;
    let mut of_rank: BTreeMap<u32, (Counts, BTreeMap<Process, &Image>)> = BTreeMap::new();
    for stream in streams {
        let image = &images[stream.image];
        let counted = stream.survey.meta.get(PROCESSES_STARTED).and_then(|n| n.parse().ok());
        let all = image.meta.get("processes").is_some_and(|which| which == "all");
        let Some(rank) = image.rank.filter(|_| !all) else { continue };
        let (started, recorded) = of_rank.entry(rank).or_default();
        let of_image = started.entry(stream.image).or_default();
        *of_image = (*of_image).max(counted.unwrap_or(0));
        recorded.entry(image.process()).or_insert(image);
    }
    let left = of_rank.into_iter().map(|(rank, (counts, recorded))| {
        let count = counts.into_values().fold(0u64, u64::saturating_add);
        let known = |image: &&&Image| image.ancestors().any(|from| recorded.contains_key(&from));
        (rank, count.saturating_sub(recorded.values().filter(known).count() as u64))
    });
    left.filter(|(_, count)| *count > 0).collect()
}

/// MPI libraries map files of their own to share memory; those are not the program's.
pub(super) fn on_file_system(path: &str) -> bool {
    Place::of(path.as_bytes()) == Place::FileSystem
}

/// A note of capture in words; keys that are not known here stay as they are.
pub(super) fn note(key: &str, text: &str) -> String {
    match key {
        "mmap" => {
            format!("{text} is mapped into memory: what is read and written there is not recorded")
        }
        "io_uring" => "the program uses io_uring, whose I/O is not recorded".into(),
        "native_aio" => {
            "the program uses Linux's native asynchronous I/O, which is not recorded".into()
        }
        "out_of_reach" => "what the program started as another user, or below another root, was \
                           not recorded"
            .into(),
        "unknown_communicator" => {
            format!("calls on a communicator could not be matched among the ranks: {text}")
        }
        "late_start" => text.into(),
        _ => format!("{}: {text}", escape_controls(key)),
    }
}
