//! The files of a stream by their numbers. A program that opens the same files again and again gives
//! them new numbers each time, but no new names.

use hashbrown::HashMap;

#[derive(Debug, Default)]
pub(crate) struct Paths {
    /// In order of definition; a number that is defined again has its last name.
    numbers: Vec<(u32, u32)>,
    known: HashMap<Vec<u8>, u32>,
    latest: Vec<u8>,
}

impl Paths {
    /// The path begins with the first `shared` bytes of the one before. One that would begin with
    /// more than there are is left out: nobody knows its name. One without bytes stands for a file
    /// that has its name already.
    pub(crate) fn insert(&mut self, file: u32, shared: usize, path: &[u8]) {
        if shared > self.latest.len() || shared == 0 && path.is_empty() {
            return;
        }
        self.latest.truncate(shared);
        self.latest.extend_from_slice(path);
        let next = self.known.len() as u32;
        let name = *self.known.entry_ref(&self.latest[..]).or_insert(next);
        self.numbers.push((file, name));
    }

    /// The names in order of their first use.
    pub(crate) fn names(&self) -> Vec<&[u8]> {
        let mut names: Vec<(&u32, &[u8])> =
            self.known.iter().map(|(name, number)| (number, &name[..])).collect();
        names.sort_unstable();
        names.into_iter().map(|(_, name)| name).collect()
    }

    /// Every number once, in order, with the index of its name.
    pub(crate) fn files(&self) -> Vec<(u32, u32)> {
        let mut files = self.numbers.clone();
        files.sort_by_key(|(file, _)| *file);
        // Of equal numbers the last counts.
        files.reverse();
        files.dedup_by_key(|(file, _)| *file);
        files.reverse();
        files
    }
}

/// The files of a process by their numbers, in numbers of the run.
///
/// Programs number them one after the other, and use them so: a list is read faster than a table.
#[derive(Debug, Default)]
pub(crate) struct FileNumbers {
    listed: Vec<Option<u32>>,
    others: HashMap<u32, u32>,
}

impl FileNumbers {
    /// `files` are those of one more stream, in order; a number that was known gets another meaning.
    pub(crate) fn add(&mut self, files: impl ExactSizeIterator<Item = (u32, u32)>) {
        /// The list is at most so many times as long as there are numbers.
        const SPARE: usize = 4;
        let most = (self.listed.len() + self.others.len() + files.len()).saturating_mul(SPARE);
        for (number, index) in files {
            let place = number as usize;
            if place >= most {
                self.others.insert(number, index);
                continue;
            }
            if place >= self.listed.len() {
                self.listed.resize(place + 1, None);
            }
            self.listed[place] = Some(index);
            self.others.remove(&number);
        }
    }

    pub(crate) fn get(&self, number: u32) -> Option<u32> {
        let listed = self.listed.get(number as usize).copied().flatten();
        listed.or_else(|| self.others.get(&number).copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_is_defined_again_has_its_last_name() {
        let mut paths = Paths::default();
        for (file, path) in [(3, "/b"), (1, "/a"), (3, "/a"), (2, "/b"), (3, "/c"), (1, "/b")] {
            paths.insert(file, 0, path.as_bytes());
        }
        assert_eq!(paths.names(), [b"/b", b"/a", b"/c"]);
        assert_eq!(paths.files(), [(1, 0), (2, 0), (3, 2)]);
    }

    #[test]
    fn a_path_begins_as_the_one_before() {
        let mut paths = Paths::default();
        let records =
            [(1, 0, "/d/a"), (2, 3, "b"), (3, 5, "/no"), (1, 0, ""), (4, 4, "/e"), (5, 0, "/d/a")];
        for (file, shared, path) in records {
            paths.insert(file, shared, path.as_bytes());
        }
        assert_eq!(paths.names(), [&b"/d/a"[..], b"/d/b", b"/d/b/e"]);
        assert_eq!(paths.files(), [(1, 0), (2, 1), (4, 2), (5, 0)], "the third shares too much");
    }

    #[test]
    fn numbers_near_and_far_are_found() {
        let mut numbers = FileNumbers::default();
        numbers.add([(0, 5), (3, 6), (u32::MAX, 7), (100, 8)].into_iter());
        numbers.add([(3, 9), (100, 10), (16, 11)].into_iter());
        let found = [0, 3, 16, 100, u32::MAX, 1, 99].map(|number| numbers.get(number));
        assert_eq!(found, [Some(5), Some(9), Some(11), Some(10), Some(7), None, None]);
        numbers.add((100..200).map(|number| (number, number)).collect::<Vec<_>>().into_iter());
        assert_eq!(
            (numbers.get(100), numbers.get(199), numbers.get(99)),
            (Some(100), Some(199), None)
        );
    }
}
