//! Which process is which rank.

use std::collections::{BTreeMap, HashMap};

use super::communicator::RANKS_MAX;
use super::survey::Survey;

/// A program image: a process between two `exec`s, with the streams of its threads.
#[derive(Debug, Default)]
pub struct Image {
    pub host: String,
    pub process: u32,
    /// Nanoseconds on the common clock.
    pub start_ns: i64,
    /// Indices of its streams.
    pub streams: Vec<usize>,
    pub meta: BTreeMap<String, String>,
    /// Its rank in the trace; `None`: it belongs to no rank.
    pub rank: Option<u32>,
    /// What to add to a rank of its own MPI_COMM_WORLD: spawned programs come after those that spawned them.
    pub world_base: u32,
}

/// Groups streams into images. `names` are host, process and number of each stream, by which they are ordered:
/// a process that replaced itself goes on counting streams but begins its threads at 0 again.
pub fn images(names: &[(String, u32, u32)], surveys: &[Survey], start_ns: impl Fn(usize) -> i64) -> Vec<Image> {
    let mut images: Vec<Image> = Vec::new();
    for (index, (host, process, _)) in names.iter().enumerate() {
        let same = images.last().is_some_and(|i: &Image| i.host == *host && i.process == *process);
        if !same || surveys[index].header.thread == 0 {
            images.push(Image { host: host.clone(), process: *process, start_ns: start_ns(index), ..Image::default() });
        }
        if let Some(image) = images.last_mut() {
            image.streams.push(index);
            image.start_ns = image.start_ns.min(start_ns(index));
            image.meta.extend(surveys[index].meta.clone());
        }
    }
    images
}

/// Gives every image its rank and returns the number of ranks.
pub fn assign(images: &mut [Image]) -> u32 {
    let mpi = images.iter().any(|image| number(image, "rank").is_some());
    let ranks = if mpi { assign_mpi(images) } else { assign_processes(images) };
    inherit_from_same_process(images);
    inherit_from_parents(images);
    ranks
}

fn number(image: &Image, key: &str) -> Option<u32> {
    image.meta.get(key)?.trim().parse().ok().filter(|&number| number < RANKS_MAX)
}

/// Indices of images by the time that they started; a tie is broken by host and process, so that order is always the same.
fn by_start(images: &[Image]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..images.len()).collect();
    order.sort_by_key(|&i| (images[i].start_ns, &images[i].host, images[i].process));
    order
}

/// The n-th process of the same rank belongs to the n-th MPI_COMM_WORLD (MPI_Comm_spawn).
fn assign_mpi(images: &mut [Image]) -> u32 {
    let mut processes_of: HashMap<u32, Vec<(String, u32)>> = HashMap::new();
    let mut world_of = vec![0; images.len()];
    let mut sizes: Vec<u32> = Vec::new();
    for index in by_start(images) {
        let image = &images[index];
        let Some(rank) = number(image, "rank") else { continue };
        let processes = processes_of.entry(rank).or_default();
        let process = (image.host.clone(), image.process);
        let world = processes.iter().position(|known| *known == process).unwrap_or_else(|| {
            processes.push(process);
            processes.len() - 1
        });
        world_of[index] = world;
        sizes.resize(sizes.len().max(world + 1), 0);
        sizes[world] = sizes[world].max(rank + 1).max(number(image, "ranks").unwrap_or(0));
    }
    let mut ranks = 0u32;
    let mut bases = Vec::new();
    for size in sizes {
        bases.push(ranks);
        ranks = ranks.saturating_add(size);
    }
    for (image, world) in images.iter_mut().zip(world_of) {
        image.world_base = bases[world];
        image.rank = number(image, "rank").map(|rank| bases[world] + rank);
    }
    ranks
}

/// Without MPI every process is a rank, in order of their start.
fn assign_processes(images: &mut [Image]) -> u32 {
    let mut processes: Vec<(String, u32)> = Vec::new();
    for index in by_start(images) {
        let process = (images[index].host.clone(), images[index].process);
        let known = processes.iter().position(|known| *known == process);
        images[index].rank = Some(known.unwrap_or(processes.len()) as u32);
        if known.is_none() {
            processes.push(process);
        }
    }
    processes.len() as u32
}

/// What a process was before its `exec` belongs to the rank that it became, and the other way round.
fn inherit_from_same_process(images: &mut [Image]) {
    let known = ranks_of_processes(images);
    for image in images.iter_mut().filter(|image| image.rank.is_none()) {
        image.rank = known.get(&(image.host.clone(), image.process)).copied();
    }
}

/// A process that a rank started belongs to that rank, and so on down.
fn inherit_from_parents(images: &mut [Image]) {
    for index in by_start(images) {
        let image = &images[index];
        if image.rank.is_none()
            && let Some(parent) = image.meta.get("parent").and_then(|parent| parent.trim().parse().ok())
        {
            let rank = ranks_of_processes(images).get(&(image.host.clone(), parent)).copied();
            images[index].rank = rank;
        }
    }
}

fn ranks_of_processes(images: &[Image]) -> HashMap<(String, u32), u32> {
    let known = images.iter().filter_map(|image| Some(((image.host.clone(), image.process), image.rank?)));
    known.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(process: u32, start_ns: i64, meta: &[(&str, &str)]) -> Image {
        let meta = meta.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        Image { host: "a".into(), process, start_ns, meta, ..Image::default() }
    }

    #[test]
    fn a_replaced_process_and_a_child_belong_to_the_rank() {
        let mut images = [
            image(10, 0, &[]),
            image(10, 5, &[("rank", "1"), ("ranks", "3")]),
            image(11, 6, &[("parent", "10")]),
            image(99, 7, &[("parent", "1")]),
        ];
        assert_eq!(assign(&mut images), 3);
        assert_eq!(images.map(|image| image.rank), [Some(1), Some(1), Some(1), None]);
    }

    #[test]
    fn spawned_programs_come_after_those_that_spawned_them() {
        let world = |process, start, rank| image(process, start, &[("rank", rank), ("ranks", "2")]);
        let mut images = [world(1, 0, "0"), world(2, 1, "1"), world(3, 9, "0"), world(4, 9, "1")];
        assert_eq!(assign(&mut images), 4);
        assert_eq!(
            images.map(|image| (image.rank, image.world_base)),
            [(Some(0), 0), (Some(1), 0), (Some(2), 2), (Some(3), 2)]
        );
    }

    #[test]
    fn without_mpi_processes_are_ranks_by_start() {
        let mut images = [image(5, 20, &[]), image(6, 10, &[]), image(5, 30, &[])];
        assert_eq!(assign(&mut images), 2);
        assert_eq!(images.map(|image| image.rank), [Some(1), Some(0), Some(1)]);
    }
}
