//! Files that hold one output: one that several ranks write, or one of each rank.

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::HashMap;
use tailrace_replay::Access;
use tailrace_replay::program::FileCall;
use tailrace_trace::tables::FileEntry;

use super::notes::{Note, What};

/// Writer and file.
type Files = Vec<(u32, u32)>;

/// One file, or one of each rank, whose names differ in numbers alone.
#[derive(Clone, Debug, Default)]
pub(super) struct Family {
    /// Of a file that several write: the first of them.
    pub files: Files,
    /// Each has a file of its own.
    pub is_split: bool,
    /// Something was written through MPI-IO.
    pub is_through_mpi: bool,
    /// The ranks that call anything that writes into it.
    pub writers: BTreeSet<u32>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Families {
    pub list: Vec<Family>,
    /// By file of the trace.
    of_file: Vec<Option<u32>>,
}

impl Families {
    pub(super) fn of<'a>(
        files: &[FileEntry],
        calls: impl Iterator<Item = &'a [FileCall]>,
        notes: &[Vec<Note>],
    ) -> Self {
        let mut writers: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        // by name without its numbers, and by which of these the file is of its rank's
        let mut alike: BTreeMap<(Vec<u8>, u32), Files> = BTreeMap::new();
        let all: Vec<&[FileCall]> = calls.collect();
        let written = |call: &&FileCall| call.access == Access::Write && call.bytes > 0;
        for (calls, rank) in all.iter().zip(0..) {
            for call in calls.iter().filter(written) {
                writers.entry(call.file).or_default().insert(rank);
            }
        }
        for (calls, rank) in all.iter().zip(0..) {
            let (mut seen, mut counts) = (BTreeSet::new(), HashMap::new());
            for call in calls.iter().filter(written) {
                if writers[&call.file].len() > 1 || !seen.insert(call.file) {
                    continue;
                }
                let name = without_numbers(&files[call.file as usize].path);
                let count = counts.entry(name.clone()).or_insert(0);
                alike.entry((name, *count)).or_default().push((rank, call.file));
                *count += 1;
            }
        }
        let mut families = Self { list: Vec::new(), of_file: vec![None; files.len()] };
        for (file, writers) in writers.iter().filter(|(_, writers)| writers.len() > 1) {
            let first = writers.first().copied().unwrap_or(0);
            families.add(vec![(first, *file)], false, writers.clone());
        }
        for members in alike.into_values() {
            let is_split = members.len() > 1;
            let writers = members.iter().map(|(rank, _)| *rank).collect();
            families.add(members, is_split, writers);
        }
        families.follow(notes);
        families
    }

    fn add(&mut self, files: Files, is_split: bool, writers: BTreeSet<u32>) {
        for (_, file) in &files {
            self.of_file[*file as usize] = Some(self.list.len() as u32);
        }
        self.list.push(Family { files, is_split, is_through_mpi: false, writers });
    }

    fn follow(&mut self, notes: &[Vec<Note>]) {
        for (notes, rank) in notes.iter().zip(0..) {
            for note in notes {
                if let What::Wrote { file, .. } = note.what
                    && let Some(family) = self.find(file)
                {
                    let family = &mut self.list[family as usize];
                    family.is_through_mpi = true;
                    family.writers.insert(rank);
                }
            }
        }
    }

    /// The family of a file, if something is written to it.
    pub(super) fn find(&self, file: u32) -> Option<u32> {
        self.of_file.get(file as usize).copied().flatten()
    }
}

/// Each number as one character that no name has.
fn without_numbers(path: &[u8]) -> Vec<u8> {
    let mut name = Vec::with_capacity(path.len());
    for byte in path {
        let byte = if byte.is_ascii_digit() { 0 } else { *byte };
        if byte != 0 || name.last() != Some(&0) {
            name.push(byte);
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use tailrace_replay::program::Naming;

    use super::*;

    fn write(file: u32) -> FileCall {
        let (access, naming) = (Access::Write, Naming::Stays);
        let (offset, after_wait) = (Some(0), false);
        FileCall { begin: 0, end: 1, access, naming, file, bytes: 1, offset, after_wait }
    }

    #[test]
    fn files_whose_names_differ_in_numbers_alone_are_one_output_unless_one_rank_writes_them() {
        let file = |path: &str| FileEntry { path: path.into(), opaque: false };
        let names = ["/a/part-000", "/a/part-001", "/a/step-1", "/a/step-2", "/a/all", "/a/note"];
        let files: Vec<FileEntry> = names.into_iter().map(file).collect();
        let first = [write(0), write(2), write(3), write(4)];
        let second = [write(1), write(4), write(5)];
        let calls = [first.as_slice(), second.as_slice()];
        let families = Families::of(&files, calls.into_iter(), &[]);
        let mut found: Vec<(Vec<(u32, u32)>, bool)> =
            families.list.iter().map(|family| (family.files.clone(), family.is_split)).collect();
        found.sort();
        let one = |rank, file| (vec![(rank, file)], false);
        let parts = (vec![(0, 0), (1, 1)], true);
        assert_eq!(found, [parts, one(0, 2), one(0, 3), one(0, 4), one(1, 5)]);
        assert_eq!(families.find(0), families.find(1));
    }
}
