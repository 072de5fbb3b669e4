//! Files under another name: programs write a file under a name of its own until it is whole, and
//! then rename it. What clients know of it, and what is on its way, goes with it; which name it got
//! is not in the trace.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use hashbrown::HashMap;
use tailrace_replay::Access;
use tailrace_replay::program::{FileCall, Naming};
use tailrace_trace::tables::FileEntry;

use crate::replay::FileSystem;
use crate::steps::Steps;

/// When the run first opened a file or did more with it, whether it wrote it, and when it may have
/// renamed it.
#[derive(Clone, Copy, Default)]
struct Use {
    first: Option<i64>,
    is_written: bool,
    renamed: Option<i64>,
}

/// By file: the one of which it is another name. It is not written itself, comes into use when the
/// other, or a directory that it is in, may have been renamed, and its path is the same but for a
/// part of one name.
pub fn renamed(files: &[FileEntry], steps: &Steps) -> Vec<Option<u32>> {
    let uses = uses(files.len(), steps);
    let moments =
        files.iter().zip(&uses).filter_map(|(file, own)| Some((path(file), own.renamed?)));
    let moments: HashMap<&Path, i64> = moments.collect();
    let mut known: HashMap<PathBuf, Before> = HashMap::new();
    for ((file, own), number) in files.iter().zip(&uses).zip(0..) {
        for prefix in path(file).ancestors().filter(|_| own.is_written) {
            let Some(at) = moments.get(prefix) else { continue };
            for (name, rest) in names(prefix, path(file)) {
                let before = Before { at: *at, rest, file: number };
                let found = known.entry(name).or_insert(before);
                *found = (*found).min(before);
            }
        }
    }
    let before = |(file, own): (&FileEntry, &Use)| {
        let first = own.first.filter(|_| !own.is_written)?;
        known.get(path(file)).filter(|before| before.at <= first).map(|before| before.file)
    };
    files.iter().zip(&uses).map(before).collect()
}

/// A file that had another name: how much of that is gone, when it was renamed, and which it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Before {
    rest: usize,
    at: i64,
    file: u32,
}

/// What the file may be called afterwards, and how much is gone, where what is at `prefix` loses
/// what is set off before or behind its name: `out.10` does not become `out.1`.
fn names<'a>(prefix: &'a Path, file: &'a Path) -> impl Iterator<Item = (PathBuf, usize)> + use<'a> {
    let old = prefix.file_name().map_or(&[][..], OsStr::as_bytes);
    let behind = file.strip_prefix(prefix).unwrap_or(Path::new(""));
    let set_off = (0..old.len()).filter(|place| !old[*place].is_ascii_alphanumeric());
    let shorter = set_off.flat_map(|place| [&old[..place], &old[place + 1..]]);
    shorter.filter(|name| !name.is_empty()).map(move |name| {
        let mut path = prefix.with_file_name(OsStr::from_bytes(name));
        if !behind.as_os_str().is_empty() {
            path.push(behind);
        }
        (path, old.len() - name.len())
    })
}

fn uses(files: usize, steps: &Steps) -> Vec<Use> {
    let mut uses = vec![Use::default(); files];
    for call in steps.calls() {
        let known = &mut uses[call.file as usize];
        let earliest = |known: Option<i64>| Some(known.map_or(call.begin, |at| at.min(call.begin)));
        match call.access {
            // whether it is there is asked of a file that is yet to be, and an old one is removed
            Access::LookUp => continue,
            Access::Other if call.naming == Naming::Gone => {
                known.renamed = earliest(known.renamed);
                continue;
            }
            Access::Other if call.drops().is_none() => continue,
            Access::Write => known.is_written = true,
            _ => {}
        }
        known.first = earliest(known.first);
    }
    uses
}

fn path(file: &FileEntry) -> &Path {
    Path::new(OsStr::from_bytes(&file.path))
}

/// Another's files, of which some are others under a new name.
pub struct Renamed<'a> {
    pub under: &'a mut dyn FileSystem,
    /// By file: which one it is.
    pub of: &'a [Option<u32>],
}

impl FileSystem for Renamed<'_> {
    fn end(&mut self, rank: u32, begin: i64, call: &FileCall) -> i64 {
        let file = self.of.get(call.file as usize).copied().flatten().unwrap_or(call.file);
        self.under.end(rank, begin, &FileCall { file, ..*call })
    }

    fn rest(&mut self, rank: u32, now: i64) -> i64 {
        self.under.rest(rank, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::RankSteps;

    fn run(calls: &[(Access, u32, i64)]) -> Steps {
        let call = |(access, file, begin): &(Access, u32, i64)| FileCall {
            begin: *begin,
            end: begin + 1,
            access: *access,
            file: *file,
            bytes: 1,
            offset: None,
            naming: if *access == Access::Other { Naming::Gone } else { Naming::Stays },
            after_wait: false,
        };
        let calls = calls.iter().map(call).collect();
        let ranks = vec![RankSteps { calls, ..RankSteps::default() }];
        Steps { ranks, ..Steps::default() }
    }

    fn found(names: &[&str], calls: &[(Access, u32, i64)]) -> Vec<Option<u32>> {
        let file = |path: &&str| FileEntry { path: (*path).into(), opaque: false };
        renamed(&names.iter().map(file).collect::<Vec<_>>(), &run(calls))
    }

    const WRITTEN_AND_RENAMED: [(Access, u32, i64); 2] =
        [(Access::Write, 0, 10), (Access::Other, 0, 20)];

    #[test]
    fn a_file_that_was_written_under_a_longer_name_is_that_one() {
        let then = |call| [WRITTEN_AND_RENAMED.as_slice(), &[call]].concat();
        let open = then((Access::Open, 1, 30));
        let of = |one, other| found(&[one, other], &open)[1];
        assert_eq!(of("/a/out.nc.partial", "/a/out.nc"), Some(0));
        assert_eq!(of("/a/.tmp-out.nc", "/a/out.nc"), Some(0));
        // a file in a directory that was renamed
        let names = ["/a/out.partial/7", "/a/out/7", "/a/out.partial", "/b/out/7", "/a/out/8"];
        let moved = [(Access::Write, 0, 10), (Access::Other, 2, 20), (Access::Open, 1, 30)];
        let both = [moved.as_slice(), &[(Access::Open, 3, 30), (Access::Open, 4, 30)]].concat();
        assert_eq!(found(&names, &both), [None, Some(0), None, None, None]);
        // of several the one that loses least
        let names = ["/a/out.nc.old.tmp", "/a/out.nc", "/a/out.nc.tmp"];
        let two = [(Access::Write, 2, 10), (Access::Other, 2, 20)];
        assert_eq!(
            found(&names, &[then((Access::Open, 1, 30)), two.to_vec()].concat())[1],
            Some(2)
        );
        // elsewhere, a number that goes on, and no part of it
        assert_eq!(of("/b/out.nc.partial", "/a/out.nc"), None);
        assert_eq!(of("/a/out.10", "/a/out.1"), None);
        assert_eq!(of("/a/out.nc.partial", "/a/in.nc"), None);
        let names = ["/a/out.nc.partial", "/a/out.nc"];
        // that it was asked for or removed before says nothing
        for access in [Access::LookUp, Access::Other] {
            let asked = [&[(access, 1, 5)], open.as_slice()].concat();
            assert_eq!(found(&names, &asked)[1], Some(0));
        }
        // it was there before, or it is written itself
        assert_eq!(found(&names, &then((Access::Open, 1, 5)))[1], None);
        assert_eq!(found(&names, &then((Access::Write, 1, 30)))[1], None);
        // nothing renamed the other
        assert_eq!(found(&names, &[(Access::Write, 0, 10), (Access::Open, 1, 30)])[1], None);
    }

    /// Files by number, of which each is dirty until it is synchronised, for 100 ns.
    #[derive(Default)]
    struct Dirty(Vec<u32>);

    impl FileSystem for Dirty {
        fn end(&mut self, _rank: u32, begin: i64, call: &FileCall) -> i64 {
            match call.access {
                Access::Write => self.0.push(call.file),
                Access::Synchronize if self.0.contains(&call.file) => return begin + 100,
                _ => {}
            }
            begin + 1
        }
    }

    #[test]
    fn what_was_written_is_still_to_be_synchronised_under_the_new_name() {
        let mut dirty = Dirty::default();
        let mut files = Renamed { under: &mut dirty, of: &[None, Some(0)] };
        let call = |access, file| {
            let naming = Naming::Stays;
            let (bytes, offset, after_wait) = (1, None, false);
            FileCall { begin: 0, end: 1, access, file, bytes, offset, naming, after_wait }
        };
        files.end(0, 0, &call(Access::Write, 0));
        assert_eq!(files.end(0, 10, &call(Access::Synchronize, 1)), 110);
        assert_eq!(files.end(0, 10, &call(Access::Synchronize, 2)), 11);
    }
}
