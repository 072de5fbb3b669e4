//! Output by way of a file system that is near.

use tailrace_replay::Access;
use tailrace_replay::program::FileCall;

use crate::replay::FileSystem;

/// Some files are made and written on a file system that is near. A mover on each node makes the same
/// calls where the files go, one after another, none before it was made here; and no rank's run
/// ends before its node's mover is done. What a node wrote it reads here, all else where it lies.
pub struct Staged<'a> {
    near: &'a mut dyn FileSystem,
    under: &'a mut dyn FileSystem,
    nodes: &'a [u32],
    /// By file: whether it is staged.
    files: Vec<bool>,
    /// By node: until when its mover has something to do, and by file whether it is here.
    movers: Vec<Mover>,
}

#[derive(Clone)]
struct Mover {
    busy: i64,
    holds: Vec<bool>,
}

impl<'a> Staged<'a> {
    /// `nodes`: that of each rank; `files`: which are staged.
    pub fn new(
        near: &'a mut dyn FileSystem,
        under: &'a mut dyn FileSystem,
        nodes: &'a [u32],
        files: Vec<bool>,
    ) -> Self {
        let count = nodes.iter().max().map_or(0, |node| *node as usize + 1);
        let idle = Mover { busy: i64::MIN, holds: vec![false; files.len()] };
        Self { near, under, nodes, files, movers: vec![idle; count] }
    }
}

/// What only asks is asked here, and nobody does it again.
fn is_moved(access: Access) -> bool {
    !matches!(access, Access::Read | Access::LookUp | Access::Lock)
}

impl FileSystem for Staged<'_> {
    fn end(&mut self, rank: u32, begin: i64, call: &FileCall) -> i64 {
        let mover = &mut self.movers[self.nodes[rank as usize] as usize];
        let holds = &mut mover.holds[call.file as usize];
        if !self.files[call.file as usize] || (call.access == Access::Read && !*holds) {
            return self.under.end(rank, begin, call);
        }
        *holds |= call.access == Access::Write;
        let end = self.near.end(rank, begin, call);
        if is_moved(call.access) {
            let from = end.max(mover.busy);
            mover.busy = self.under.end(rank, from, call).max(from);
        }
        end
    }

    fn rest(&mut self, rank: u32, now: i64) -> i64 {
        let busy = self.movers[self.nodes[rank as usize] as usize].busy;
        self.under.rest(rank, now.max(busy)).max(self.near.rest(rank, now))
    }
}

#[cfg(test)]
mod tests {
    use tailrace_replay::program::Naming;

    use super::*;
    use crate::Scaled;

    fn call(access: Access, file: u32, begin: i64, end: i64) -> FileCall {
        let naming = Naming::Stays;
        let (offset, after_wait) = (None, false);
        FileCall { begin, end, access, naming, file, bytes: 1, offset, after_wait }
    }

    /// Near, calls take a tenth. A write of 100 is over after 10; the mover has it from 10 to 110,
    /// and the next, made from 20 to 30, from 110 to 210; both ranks' runs end no earlier. What was
    /// written is read near, in 4 instead of 40, by the node that wrote it; the other node, and who
    /// reads another file, take as long as ever. A look-up is made near only, and a
    /// file that is not staged is written where it goes.
    #[test]
    fn writes_are_over_near_and_the_run_ends_when_all_was_moved() {
        let (mut near, mut far) = (Scaled::all(0.1), Scaled::all(1.));
        let mut files = Staged::new(&mut near, &mut far, &[0, 0, 1], vec![true, true, false]);
        assert_eq!(files.end(0, 0, &call(Access::Write, 0, 0, 100)), 10);
        assert_eq!(files.end(1, 20, &call(Access::Write, 0, 0, 100)), 30);
        assert_eq!(files.end(1, 30, &call(Access::Read, 0, 0, 40)), 34);
        assert_eq!(files.end(2, 30, &call(Access::Read, 0, 0, 40)), 70);
        assert_eq!(files.end(0, 30, &call(Access::Read, 1, 0, 40)), 70);
        assert_eq!(files.end(0, 70, &call(Access::LookUp, 0, 0, 40)), 74);
        assert_eq!(files.end(2, 70, &call(Access::Write, 2, 0, 40)), 110);
        assert_eq!((files.rest(0, 74), files.rest(1, 34), files.rest(2, 110)), (210, 210, 110));
    }
}
