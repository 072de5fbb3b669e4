//! Which process is which rank, and which ranks are one run.
//!
//! A rank is known by what MPI_Init said (metas `rank` and `ranks`); the number that a launcher
//! gave (`rank` alone) is inherited by everything that the rank starts, and counts only where
//! nothing better is known. Launches of mpiexec are told apart by the meta `launch`; each is a run.
//! What a rank started belongs to it.

use std::collections::{BTreeMap, HashMap};

use crate::limits::RANKS_MAX;

use super::survey::Survey;

/// A program image: a process between two `exec`s, with the streams of its threads.
#[derive(Debug, Default)]
pub(crate) struct Image {
    pub host: String,
    pub process: u32,
    /// Nanoseconds on the common clock.
    pub start_ns: i64,
    /// Indices of its streams.
    pub streams: Vec<usize>,
    pub meta: BTreeMap<String, String>,
    /// Its run; `None`: it belongs to no rank.
    pub run: Option<usize>,
    /// Its rank in the run; `None`: it belongs to none.
    pub rank: Option<u32>,
    /// What to add to a rank of its own MPI_COMM_WORLD: spawned programs come after those that
    /// spawned them.
    pub world_base: u32,
    /// The rank is another process: this one was started by it, or started it.
    pub helper: bool,
    /// The process went on as another program (`exec`).
    pub replaced: bool,
}

/// Host and number.
pub(super) type Process = (String, u32);

impl Image {
    pub(super) fn process(&self) -> Process {
        (self.host.clone(), self.process)
    }

    /// The file name of its program.
    pub(super) fn program(&self) -> &str {
        let executable = self.meta.get("exe").map_or("", String::as_str);
        executable.rsplit('/').next().unwrap_or_default()
    }

    /// What one of its streams says. `MPI_Init` is called by one thread, and what the others say of
    /// the rank is the launcher's, which may be another world's.
    fn learn(&mut self, of_stream: &BTreeMap<String, String>) {
        let initialized = self.meta.contains_key("ranks") && !of_stream.contains_key("ranks");
        let kept = self.meta.get("rank").filter(|_| initialized).cloned();
        self.meta.extend(of_stream.clone());
        self.meta.extend(kept.map(|rank| (String::from("rank"), rank)));
    }

    /// Those that started it, the nearest first: not all need be recorded.
    pub(super) fn ancestors(&self) -> impl Iterator<Item = Process> {
        let known = self.meta.get("ancestors").or_else(|| self.meta.get("parent"));
        let numbers = known.map_or("", String::as_str).split_whitespace();
        let numbers = numbers.filter_map(|number| number.parse().ok());
        numbers.filter(|&number| number != self.process).map(|number| (self.host.clone(), number))
    }

    fn number(&self, key: &str) -> Option<u32> {
        self.meta.get(key)?.trim().parse().ok().filter(|&number| number < RANKS_MAX)
    }

    fn launch(&self) -> Option<&str> {
        self.meta.get("launch").map(String::as_str).filter(|launch| !launch.is_empty())
    }

    /// What the processes of one MPI_Comm_spawn have in common: PMIx's namespace, else the daemon
    /// that started them.
    fn family(&self) -> Option<String> {
        let job = self.meta.get("job").cloned();
        job.or_else(|| Some(format!("{} {}", self.host, self.meta.get("parent")?)))
    }
}

/// Groups streams into images. `names` are host, process and number of each stream, by which they
/// are ordered: a process that replaced itself goes on counting streams but begins its threads at 0
/// again.
pub(super) fn images(
    names: &[(String, u32, u32)],
    surveys: &[Survey],
    start_ns: impl Fn(usize) -> i64,
) -> Vec<Image> {
    let mut images: Vec<Image> = Vec::new();
    for (index, (host, process, _)) in names.iter().enumerate() {
        let same = images.last().is_some_and(|i: &Image| i.host == *host && i.process == *process);
        if !same || surveys[index].header.thread == 0 {
            if let (true, Some(image)) = (same, images.last_mut()) {
                image.replaced = true;
            }
            images.push(Image {
                host: host.clone(),
                process: *process,
                start_ns: start_ns(index),
                ..Image::default()
            });
        }
        if let Some(image) = images.last_mut() {
            image.streams.push(index);
            image.start_ns = image.start_ns.min(start_ns(index));
            image.learn(&surveys[index].meta);
        }
    }
    images
}

/// Gives every image its run and its rank, and returns the number of ranks of each run, in order
/// of their begin.
pub(super) fn assign(images: &mut [Image]) -> Vec<u32> {
    if images.is_empty() {
        return Vec::new();
    }
    let mut assignment = Assignment::new(images);
    assignment.initialized();
    assignment.join_halves();
    assignment.relatives(None);
    assignment.numbered();
    let without_mpi = assignment.worlds.is_empty().then(|| assignment.new_world(0, 0, false));
    assignment.relatives(without_mpi);
    assignment.finish()
}

/// An MPI_COMM_WORLD, or the processes of a launch that never called MPI_Init.
struct World {
    run: usize,
    launch: Option<String>,
    family: Option<String>,
    spawned: bool,
    /// MPI_Init said how many ranks there are.
    initialized: bool,
    size: u32,
    /// The process that is the rank.
    processes: BTreeMap<u32, Process>,
}

struct Assignment<'a> {
    images: &'a mut [Image],
    /// Indices of images by the time that they started; a tie is broken by host and process, so
    /// that order is always the same.
    order: Vec<usize>,
    worlds: Vec<World>,
    runs: usize,
    /// World and rank of each image.
    places: Vec<Option<(usize, u32)>>,
}

impl<'a> Assignment<'a> {
    fn new(images: &'a mut [Image]) -> Self {
        let mut order: Vec<usize> = (0..images.len()).collect();
        order.sort_by_key(|&i| (images[i].start_ns, &images[i].host, images[i].process));
        let places = vec![None; images.len()];
        Self { images, order, worlds: Vec::new(), runs: 0, places }
    }

    /// Processes that called MPI_Init.
    fn initialized(&mut self) {
        for index in self.order.clone() {
            let image = &self.images[index];
            let (Some(rank), Some(size)) = (image.number("rank"), image.number("ranks")) else {
                continue;
            };
            if self.is_singleton_of_a_rank(image, size) {
                continue;
            }
            let process = image.process();
            let known = self.worlds.iter().position(|world| {
                world.processes.get(&rank) == Some(&process) && world.size == size.max(rank + 1)
            });
            let fitting = known.or_else(|| self.worlds.iter().position(|w| w.takes(image, rank)));
            let world = fitting.unwrap_or_else(|| self.new_world(index, size.max(rank + 1), true));
            self.worlds[world].processes.insert(rank, process);
            self.places[index] = Some((world, rank));
        }
    }

    /// A program that initializes MPI on its own, without a launcher, started by a rank: Python's
    /// multiprocessing imports mpi4py anew in each of its processes.
    fn is_singleton_of_a_rank(&self, image: &Image, size: u32) -> bool {
        let is_ours =
            |parent| self.worlds.iter().any(|w| w.processes.values().any(|p| *p == parent));
        size == 1
            && image.launch().is_none()
            && !image.meta.contains_key("spawned")
            && image.ancestors().any(is_ours)
    }

    /// A spawned world belongs to the run of its launch.
    fn new_world(&mut self, index: usize, size: u32, initialized: bool) -> usize {
        let image = &self.images[index];
        let spawned = image.meta.contains_key("spawned");
        let launch = image.launch().map(String::from);
        let same_launch = self.worlds.iter().rev().find(|world| world.launch == launch);
        let parents = same_launch.or(self.worlds.last()).filter(|_| spawned);
        let run = parents.map_or(self.runs, |world| world.run);
        self.runs = self.runs.max(run + 1);
        let family = image.family();
        let processes = BTreeMap::new();
        self.worlds.push(World { run, launch, family, spawned, initialized, size, processes });
        self.worlds.len() - 1
    }

    /// Spawned ranks that a script started, or that are on several nodes, seem to be of several
    /// families: two halves of a world are joined.
    fn join_halves(&mut self) {
        for later in 1..self.worlds.len() {
            let fits = |world: &World| world.is_other_half(&self.worlds[later]);
            let Some(earlier) = self.worlds[..later].iter().position(fits) else { continue };
            let processes = std::mem::take(&mut self.worlds[later].processes);
            self.worlds[later].size = 0;
            self.worlds[earlier].processes.extend(processes);
            for place in self.places.iter_mut().flatten().filter(|place| place.0 == later) {
                place.0 = earlier;
            }
        }
    }

    /// What a process was before its `exec` belongs to the rank that it became, and the other way
    /// round; what a rank started belongs to that rank, and so on down. Whoever is left is a rank
    /// of the world `otherwise`, in order of start.
    fn relatives(&mut self, otherwise: Option<usize>) {
        let mut place_of: HashMap<Process, (usize, u32)> = HashMap::new();
        for (image, place) in self.images.iter().zip(&self.places) {
            place_of.extend(place.map(|place| (image.process(), place)));
        }
        for &index in &self.order {
            let (image, process) = (&self.images[index], self.images[index].process());
            let known = self.places[index].or_else(|| place_of.get(&process).copied());
            let parents = || image.ancestors().find_map(|parent| place_of.get(&parent).copied());
            let stray = || {
                let world = &mut self.worlds[otherwise?];
                world.size += 1;
                world.processes.insert(world.size - 1, process.clone());
                Some((otherwise?, world.size - 1))
            };
            self.places[index] = known.or_else(parents).or_else(stray);
            place_of.extend(self.places[index].map(|place| (process, place)));
        }
    }

    /// Processes that only have the number that a launcher gave: what started the rank, as a
    /// wrapper script, or a rank that never called MPI_Init.
    fn numbered(&mut self) {
        for index in self.order.clone() {
            let image = &self.images[index];
            let Some(rank) = image.number("rank").filter(|_| self.places[index].is_none()) else {
                continue;
            };
            let launch = image.launch().map(String::from);
            let fits = |world: &World| {
                !world.spawned
                    && world.launch == launch
                    && (!world.initialized || rank < world.size)
            };
            let known = self.worlds.iter().position(fits);
            let process = image.process();
            // Batch systems number a script, too: without a launch it is a rank only where
            // nothing else is.
            let stray = launch.is_none() && !self.worlds.is_empty();
            let world = match known {
                Some(world) => world,
                None if stray => continue,
                None => self.new_world(index, rank + 1, false),
            };
            self.worlds[world].size = self.worlds[world].size.max(rank + 1);
            self.worlds[world].processes.entry(rank).or_insert(process);
            self.places[index] = Some((world, rank));
        }
    }

    fn finish(self) -> Vec<u32> {
        let mut ranks = vec![0u32; self.runs];
        let mut bases = Vec::new();
        for world in &self.worlds {
            bases.push(ranks[world.run]);
            ranks[world.run] = ranks[world.run].saturating_add(world.size);
        }
        for (image, place) in self.images.iter_mut().zip(&self.places) {
            let Some((world, rank)) = *place else { continue };
            image.run = Some(self.worlds[world].run);
            image.rank = Some(bases[world] + rank);
            image.world_base = bases[world];
            image.helper = self.worlds[world].processes.get(&rank) != Some(&image.process());
        }
        ranks
    }
}

impl World {
    /// Whether this process is its rank `rank` that was still missing.
    fn takes(&self, image: &Image, rank: u32) -> bool {
        let either =
            |ours: Option<&str>, its: Option<&str>| ours.is_none() || its.is_none() || ours == its;
        rank < self.size
            && !self.processes.contains_key(&rank)
            && Some(self.size) == image.number("ranks")
            && self.spawned == image.meta.contains_key("spawned")
            && either(self.launch.as_deref(), image.launch())
            && (!self.spawned || either(self.family.as_deref(), image.family().as_deref()))
    }

    fn is_other_half(&self, other: &Self) -> bool {
        self.spawned
            && other.spawned
            && (self.run, self.size) == (other.run, other.size)
            && self.processes.len() + other.processes.len() <= self.size as usize
            && other.processes.keys().all(|rank| !self.processes.contains_key(rank))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(process: u32, start_ns: i64, meta: &[(&str, &str)]) -> Image {
        let meta = meta.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        Image { host: "a".into(), process, start_ns, meta, ..Image::default() }
    }

    /// A rank of a world of `ranks` that `launch` started.
    #[test]
    fn what_mpi_init_said_of_the_rank_stands_whatever_other_threads_were_told() {
        let meta = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect()
        };
        let mut image = Image::default();
        image.learn(&meta(&[("rank", "0"), ("ranks", "1")]));
        image.learn(&meta(&[("rank", "1"), ("exe", "/run/model")]));
        assert_eq!((image.number("rank"), image.number("ranks")), (Some(0), Some(1)));
        assert!(image.meta.contains_key("exe"));
    }

    #[test]
    fn a_rank_beyond_its_world_takes_no_place_there() {
        let mut images = [rank(1, "0", "1", "L", &[]), rank(2, "1", "1", "L", &[])];
        let ranks = assign(&mut images);
        assert!(images.iter().all(|i| i.rank.unwrap() < ranks[i.run.unwrap()]));
    }

    fn rank(process: u32, rank: &str, ranks: &str, launch: &str, more: &[(&str, &str)]) -> Image {
        let of_world = [("rank", rank), ("ranks", ranks), ("launch", launch)];
        image(process, process.into(), &[&of_world[..], more].concat())
    }

    /// Run and rank of each.
    fn places(images: &[Image]) -> Vec<Option<(usize, u32)>> {
        images.iter().map(|image| Some((image.run?, image.rank?))).collect()
    }

    #[test]
    fn a_replaced_process_and_a_child_belong_to_the_rank() {
        let mut images = [
            image(10, 0, &[]),
            image(10, 5, &[("rank", "1"), ("ranks", "3")]),
            image(11, 6, &[("parent", "10")]),
            image(99, 7, &[("parent", "1")]),
        ];
        assert_eq!(assign(&mut images), [3]);
        assert_eq!(images.each_ref().map(|image| image.rank), [Some(1), Some(1), Some(1), None]);
        assert_eq!(images.map(|image| image.helper), [false, false, true, false]);
    }

    #[test]
    fn spawned_programs_come_after_those_that_spawned_them() {
        let child = [("spawned", "yes"), ("parent", "900")];
        let mut images = [
            rank(1, "0", "1", "L", &[("parent", "800")]),
            rank(2, "0", "2", "L", &child),
            rank(3, "1", "2", "L", &child),
        ];
        assert_eq!(assign(&mut images), [3]);
        assert_eq!(
            images.map(|image| (image.rank, image.world_base)),
            [(Some(0), 0), (Some(1), 1), (Some(2), 1)]
        );
    }

    #[test]
    fn worlds_that_are_spawned_at_once_are_told_apart_by_what_started_them() {
        let family = |key, value| [("spawned", "yes"), (key, value)];
        for key in ["parent", "job"] {
            let mut images = [
                rank(1, "0", "2", "L", &[]),
                rank(2, "1", "2", "L", &[]),
                rank(3, "0", "2", "L", &family(key, "70")),
                rank(4, "1", "2", "L", &family(key, "71")),
                rank(5, "1", "2", "L", &family(key, "70")),
                rank(6, "0", "2", "L", &family(key, "71")),
            ];
            assert_eq!(assign(&mut images), [6]);
            let ranks = images.map(|image| image.rank.unwrap());
            assert_eq!(ranks, [0, 1, 2, 5, 3, 4], "by {key}");
        }
    }

    #[test]
    fn a_spawned_world_behind_wrapper_scripts_is_one() {
        let child = |parent| [("spawned", "yes"), ("parent", parent)];
        let mut images = [
            rank(1, "0", "1", "L", &[]),
            rank(2, "0", "2", "L", &child("70")),
            rank(3, "1", "2", "L", &child("71")),
        ];
        assert_eq!(assign(&mut images), [3]);
        assert_eq!(places(&images), [Some((0, 0)), Some((0, 1)), Some((0, 2))]);
    }

    #[test]
    fn each_launch_is_a_run() {
        let mut images = [
            rank(1, "0", "2", "L", &[]),
            rank(2, "1", "2", "L", &[]),
            rank(3, "1", "2", "M", &[]),
            rank(4, "0", "2", "M", &[]),
        ];
        assert_eq!(assign(&mut images), [2, 2]);
        assert_eq!(places(&images), [Some((0, 0)), Some((0, 1)), Some((1, 1)), Some((1, 0))]);
    }

    #[test]
    fn without_a_launch_the_next_process_of_a_rank_is_another_run() {
        let mut images = [
            rank(1, "0", "2", "", &[]),
            rank(2, "1", "2", "", &[]),
            rank(3, "0", "2", "", &[]),
            rank(4, "1", "2", "", &[]),
        ];
        assert_eq!(assign(&mut images), [2, 2]);
        assert_eq!(places(&images), [Some((0, 0)), Some((0, 1)), Some((1, 0)), Some((1, 1))]);
    }

    #[test]
    fn a_launchers_number_is_inherited_and_makes_no_rank() {
        // sh → program → dd, and an sh in between that is not recorded.
        let number = [("rank", "1"), ("launch", "L")];
        let with =
            |process, parent| image(process, process.into(), &[&number[..], parent].concat());
        let mut images = [
            with(10, &[("parent", "5")]),
            rank(11, "1", "2", "L", &[("parent", "10")]),
            with(12, &[("parent", "11")]),
            with(14, &[("parent", "13")]),
        ];
        assert_eq!(assign(&mut images), [2]);
        assert_eq!(places(&images), [Some((0, 1)); 4]);
        assert_eq!(images.map(|image| image.helper), [true, false, true, true]);
    }

    #[test]
    fn ranks_that_never_initialize_mpi_are_those_of_the_launcher() {
        let number = |process, rank, parent| {
            image(process, process.into(), &[("rank", rank), ("launch", "L"), ("parent", parent)])
        };
        let mut images = [number(1, "0", "9"), number(2, "1", "9"), number(3, "1", "2")];
        assert_eq!(assign(&mut images), [2]);
        assert_eq!(places(&images), [Some((0, 0)), Some((0, 1)), Some((0, 1))]);
    }

    #[test]
    fn without_mpi_processes_are_ranks_by_start_with_what_they_started() {
        let mut images = [
            image(5, 20, &[]),
            image(6, 10, &[]),
            image(5, 30, &[]),
            image(7, 40, &[("parent", "6")]),
        ];
        assert_eq!(assign(&mut images), [2]);
        assert_eq!(images.map(|image| image.rank), [Some(1), Some(0), Some(1), Some(0)]);
    }

    #[test]
    fn a_process_that_starts_mpi_on_its_own_belongs_to_the_rank_that_started_it() {
        let mut images =
            [rank(1, "0", "1", "", &[("parent", "0")]), rank(2, "0", "1", "", &[("parent", "1")])];
        assert_eq!(assign(&mut images), [1]);
        assert_eq!(images.map(|image| image.helper), [false, true]);
    }
}
