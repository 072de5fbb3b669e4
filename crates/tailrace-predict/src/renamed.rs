//! Files under another name: programs write a file under a name of its own until it is whole, and
//! then rename it. What clients know of it, and what is on its way, goes with it.

use tailrace_replay::Access;
use tailrace_replay::program::{FileCall, Naming};
use tailrace_trace::Former;
use tailrace_trace::tables::Tables;

use crate::replay::FileSystem;
use crate::steps::Steps;

/// When the run first opened a file or did more with it, whether it wrote it, and when it renamed
/// it.
#[derive(Clone, Copy, Default)]
struct Use {
    first: Option<i64>,
    is_written: bool,
    renamed: Option<i64>,
}

/// By file: the one of which it is another name. That is written, it is not, and it comes into use
/// when the other, or a directory that it is in, may have been renamed.
pub fn renamed(tables: &Tables, steps: &Steps) -> Vec<Option<u32>> {
    let uses = uses(tables.files.len(), steps);
    let of = |(former, own): (Option<Former>, &Use)| {
        let former = former.filter(|_| !own.is_written)?;
        let before = &uses[former.file as usize];
        let at = uses[former.renamed as usize].renamed?;
        (before.is_written && at <= own.first?).then_some(former.file)
    };
    tables.former().into_iter().zip(&uses).map(of).collect()
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
    use tailrace_trace::tables::FileEntry;

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

    fn found(
        names: &[&str],
        renames: &[(u32, &str)],
        calls: &[(Access, u32, i64)],
    ) -> Vec<Option<u32>> {
        let file = |path: &&str| FileEntry { path: (*path).into(), opaque: false };
        let files = names.iter().map(file).collect();
        let renames = renames.iter().map(|(file, name)| (*file, (*name).into())).collect();
        renamed(&Tables { files, renames, ..Tables::default() }, &run(calls))
    }

    const WRITTEN_AND_RENAMED: [(Access, u32, i64); 2] =
        [(Access::Write, 0, 10), (Access::Other, 0, 20)];

    #[test]
    fn a_file_that_was_written_under_another_name_is_that_one() {
        let then = |call| [WRITTEN_AND_RENAMED.as_slice(), &[call]].concat();
        let open = then((Access::Open, 1, 30));
        let names = ["/a/x", "/a/out.nc"];
        let of = |calls: &[(Access, u32, i64)]| found(&names, &[(0, "/a/out.nc")], calls)[1];
        assert_eq!(of(&open), Some(0));
        // a file in a directory that was renamed
        let names = ["/a/out.partial/7", "/a/out/7", "/a/out.partial", "/a/out/8"];
        let moved = [(Access::Write, 0, 10), (Access::Other, 2, 20), (Access::Open, 1, 30)];
        let both = [moved.as_slice(), &[(Access::Open, 3, 30)]].concat();
        assert_eq!(found(&names, &[(2, "/a/out")], &both), [None, Some(0), None, None]);
        // that it was asked for or removed before says nothing
        for access in [Access::LookUp, Access::Other] {
            assert_eq!(of(&[&[(access, 1, 5)], open.as_slice()].concat()), Some(0));
        }
        // it was there before, or it is written itself, or the other is not
        assert_eq!(of(&then((Access::Open, 1, 5))), None);
        assert_eq!(of(&then((Access::Write, 1, 30))), None);
        assert_eq!(
            of(&[(Access::Read, 0, 10), (Access::Other, 0, 20), (Access::Open, 1, 30)]),
            None
        );
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
