//! Numbers of processes become numbers of the run: functions by name, files by path, communicators
//! by identity.

use std::borrow::Cow;
use std::sync::Arc;

use hashbrown::HashMap;

use crate::tables::{Communicator, FileEntry, Function, Tables};
use crate::wire;

use super::communicator::RawCommunicator;
use super::paths::{FileNumbers, Paths};
use super::ranks::Image;
use super::survey::Survey;

/// A communicator as a process of the run sees it, in ranks of the run.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// Index into [`Tables::communicators`].
    pub index: u32,
    pub members: Arc<[u32]>,
    pub remote: Option<Arc<[u32]>>,
}

/// The numbers of an image's files and communicators in the run.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    pub files: FileNumbers,
    pub communicators: HashMap<u32, Seen>,
}

type Group = Arc<[u32]>;

#[derive(Default)]
pub(crate) struct Merge {
    files: HashMap<Vec<u8>, u32>,
    functions: HashMap<Function, u16>,
    communicators: HashMap<(u64, Group, Option<Group>), u32>,
    groups: HashMap<Group, Group>,
}

const WORLD: u32 = 0;
const SELF: u32 = 1;

impl Merge {
    /// Function numbers of a stream → of the run. Numbers beyond what 16 bits hold are left out.
    pub(crate) fn functions(&mut self, survey: &Survey, tables: &mut Tables) -> HashMap<u16, u16> {
        let mut numbers = HashMap::new();
        for (number, layer, name) in &survey.names {
            let function = Function { name: name.clone(), layer: wire::layer::of(*layer) };
            let known = self.functions.get(&function).copied();
            let index = known.or_else(|| {
                u16::try_from(tables.functions.len()).ok().filter(|&index| index < u16::MAX)
            });
            let Some(index) = index else { continue };
            if known.is_none() {
                self.functions.insert(function.clone(), index);
                tables.functions.push(function);
            }
            numbers.insert(*number, index);
        }
        numbers
    }

    pub(crate) fn numbers(
        &mut self,
        image: &Image,
        surveys: &[Survey],
        tables: &mut Tables,
    ) -> Numbers {
        let mut numbers = Numbers::default();
        for &stream in &image.streams {
            self.files_of(&surveys[stream].paths, &mut numbers.files, tables);
            for (&number, communicator) in sorted(&surveys[stream].communicators) {
                if let Some(seen) = self.communicator(communicator, image, tables) {
                    numbers.communicators.insert(number, seen);
                }
            }
        }
        for &stream in &image.streams {
            for (file, name) in &surveys[stream].renames {
                let file = numbers.files.get(*file);
                tables.renames.extend(file.map(|file| (file, tidy(name).into_owned())));
            }
        }
        if let (Some(rank), true) = (image.rank, image.meta.contains_key("rank")) {
            self.predefined(&mut numbers, rank, image, tables);
        }
        numbers
    }

    /// MPI_COMM_WORLD and MPI_COMM_SELF need no definition.
    fn predefined(&mut self, numbers: &mut Numbers, rank: u32, image: &Image, tables: &mut Tables) {
        let size = image
            .meta
            .get("ranks")
            .and_then(|ranks| ranks.parse().ok())
            .unwrap_or(tables.ranks - image.world_base);
        let base = image.world_base;
        numbers.communicators.entry(WORLD).or_insert_with(|| {
            let end = base.saturating_add(size).min(tables.ranks);
            self.intern(u64::from(base), (base..end).collect(), None, tables)
        });
        // Identities of our own making have the top bit, so that they meet no other.
        let own = || 1 << 63 | u64::from(rank);
        numbers
            .communicators
            .entry(SELF)
            .or_insert_with(|| self.intern(own(), vec![rank].into(), None, tables));
    }

    /// Files are numbered in the order in which the stream's own numbers first name them.
    fn files_of(&mut self, paths: &Paths, files: &mut FileNumbers, tables: &mut Tables) {
        let names = paths.names();
        let mut indices: Vec<Option<u32>> = vec![None; names.len()];
        files.add(paths.files().into_iter().map(|(number, name)| {
            let name = name as usize;
            let index = indices[name].get_or_insert_with(|| self.file(names[name], tables));
            (number, *index)
        }));
    }

    fn file(&mut self, path: &[u8], tables: &mut Tables) -> u32 {
        let path = tidy(path);
        if let Some(&known) = self.files.get(path.as_ref()) {
            return known;
        }
        let index = tables.files.len() as u32;
        tables.files.push(FileEntry { path: path.to_vec(), opaque: false });
        self.files.insert(path.into_owned(), index);
        index
    }

    /// `None` if it has members that are no ranks of the run.
    fn communicator(
        &mut self,
        raw: &RawCommunicator,
        image: &Image,
        tables: &mut Tables,
    ) -> Option<Seen> {
        let members = self.group(&raw.members, image.world_base, tables.ranks)?;
        let remote = match &raw.remote {
            Some(remote) => Some(self.group(remote, image.world_base, tables.ranks)?),
            None => None,
        };
        let seen = self.intern(raw.identity, members, remote, tables);
        if let (Some(sources), Some(rank)) = (&raw.sources, image.rank) {
            let mut sources: Vec<u32> =
                self.group(sources, image.world_base, tables.ranks)?.to_vec();
            sources.sort_unstable();
            sources.dedup();
            tables.neighbours.insert((seen.index, rank), sources.into());
        }
        Some(seen)
    }

    fn group(&mut self, raw: &Arc<[u32]>, base: u32, ranks: u32) -> Option<Arc<[u32]>> {
        if raw.iter().any(|&rank| u64::from(rank) + u64::from(base) >= u64::from(ranks)) {
            return None;
        }
        let group: Arc<[u32]> =
            if base == 0 { raw.clone() } else { raw.iter().map(|rank| rank + base).collect() };
        Some(self.groups.entry(group.clone()).or_insert(group).clone())
    }

    pub(super) fn intern(
        &mut self,
        identity: u64,
        members: Arc<[u32]>,
        remote: Option<Arc<[u32]>>,
        tables: &mut Tables,
    ) -> Seen {
        let key = match &remote {
            Some(other) if other.iter().min() < members.iter().min() => {
                (identity, other.clone(), Some(members.clone()))
            }
            _ => (identity, members.clone(), remote.clone()),
        };
        let index = *self.communicators.entry(key.clone()).or_insert_with(|| {
            tables.communicators.push(Communicator { identity, members: key.1, remote: key.2 });
            tables.communicators.len() as u32 - 1
        });
        Seen { index, members, remote }
    }
}

/// `/run/./out//a` is `/run/out/a`: one file, however the program spells it. What `..` means, only
/// the file system knows.
pub(super) fn tidy(path: &[u8]) -> Cow<'_, [u8]> {
    let needless = |part: &[u8]| part.is_empty() || part == b".";
    let parts = || path.split(|&byte| byte == b'/').skip(1);
    if path.first() != Some(&b'/') || !parts().any(needless) {
        return Cow::Borrowed(path);
    }
    let mut tidied = Vec::with_capacity(path.len());
    for part in parts().filter(|part| !needless(part)) {
        tidied.push(b'/');
        tidied.extend_from_slice(part);
    }
    Cow::Owned(if tidied.is_empty() { vec![b'/'] } else { tidied })
}

/// In order of numbers, so that the same run is always packed to the same bytes.
fn sorted<V>(map: &HashMap<u32, V>) -> Vec<(&u32, &V)> {
    let mut entries: Vec<_> = map.iter().collect();
    entries.sort_by_key(|(number, _)| **number);
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_one_path() {
        for (given, tidied) in [
            ("/run/./out/a", "/run/out/a"),
            ("/run//out/.//a", "/run/out/a"),
            ("/run/out/", "/run/out"),
            ("/run/../out/.a", "/run/../out/.a"),
            ("/", "/"),
            ("<stdout>", "<stdout>"),
            ("relative/./a", "relative/./a"),
        ] {
            assert_eq!(tidy(given.as_bytes()), tidied.as_bytes(), "{given}");
        }
    }
}
