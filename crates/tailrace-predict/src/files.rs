//! File systems that are told by what was measured.

use tailrace_replay::Access;
use tailrace_replay::program::FileCall;

use crate::replay::{FileSystem, rounded, scaled};

/// The file system of the run, so much slower: 1 is as measured, 0 an ideal one.
#[derive(Clone, Copy, Debug)]
pub struct Scaled {
    /// Calls that move bytes, and all others.
    pub bytes: f64,
    pub others: f64,
}

impl Scaled {
    pub fn all(by: f64) -> Self {
        Self { bytes: by, others: by }
    }
}

impl FileSystem for Scaled {
    fn end(&mut self, _rank: u32, begin: i64, call: &FileCall) -> i64 {
        let by = if call.access.direction().is_some() { self.bytes } else { self.others };
        begin + scaled(call.end - call.begin, by)
    }
}

/// Some files on one file system, the others on another.
pub struct Moved<'a> {
    pub to: &'a mut dyn FileSystem,
    pub from: &'a mut dyn FileSystem,
    /// By file: whether it moves.
    pub moves: Vec<bool>,
}

impl FileSystem for Moved<'_> {
    fn end(&mut self, rank: u32, begin: i64, call: &FileCall) -> i64 {
        let moves = self.moves[call.file as usize];
        let files = if moves { &mut *self.to } else { &mut *self.from };
        files.end(rank, begin, call)
    }

    fn rest(&mut self, rank: u32, now: i64) -> i64 {
        self.to.rest(rank, now).max(self.from.rest(rank, now))
    }
}

/// Another's calls, of which some are not made.
pub struct Spared<'a> {
    pub under: &'a mut dyn FileSystem,
    /// By [`Access`]: which kinds are not, on files for which `files` says so.
    pub kinds: [bool; Access::KINDS],
    pub files: Vec<bool>,
    /// Who makes them all the same, for the others too.
    pub by: Option<u32>,
}

impl FileSystem for Spared<'_> {
    fn end(&mut self, rank: u32, begin: i64, call: &FileCall) -> i64 {
        let is_of_others = self.by != Some(rank);
        if self.kinds[call.access as usize] && self.files[call.file as usize] && is_of_others {
            return begin;
        }
        self.under.end(rank, begin, call)
    }

    fn rest(&mut self, rank: u32, now: i64) -> i64 {
        self.under.rest(rank, now)
    }
}

/// Another's calls, made by a thread of their own while the rank goes on: it waits for them where
/// it reads, and at its end. What it writes it copies first.
pub struct Overlapped<'a> {
    under: &'a mut dyn FileSystem,
    /// Nanoseconds a byte.
    copy: f64,
    /// By rank: until when its thread has something to do.
    busy: Vec<i64>,
}

impl<'a> Overlapped<'a> {
    pub fn new(under: &'a mut dyn FileSystem, copy: f64, ranks: usize) -> Self {
        Self { under, copy, busy: vec![i64::MIN; ranks] }
    }
}

impl FileSystem for Overlapped<'_> {
    fn end(&mut self, rank: u32, begin: i64, call: &FileCall) -> i64 {
        let busy = &mut self.busy[rank as usize];
        if call.access == Access::Read {
            return self.under.end(rank, begin.max(*busy), call);
        }
        let copied = begin + rounded(call.bytes as f64 * self.copy);
        *busy = self.under.end(rank, copied.max(*busy), call);
        copied
    }

    fn rest(&mut self, rank: u32, now: i64) -> i64 {
        self.under.rest(rank, now.max(self.busy[rank as usize]))
    }
}

#[cfg(test)]
mod tests {
    use tailrace_replay::program::Naming;

    use super::*;

    fn call(access: Access, begin: i64, end: i64, bytes: u64) -> FileCall {
        let naming = Naming::Stays;
        let (offset, after_wait) = (None, false);
        FileCall { begin, end, access, naming, file: 0, bytes, offset, after_wait }
    }

    #[test]
    fn files_that_do_not_move_take_what_they_took() {
        let (mut to, mut from) = (Scaled::all(2.), Scaled::all(1.));
        let mut files = Moved { to: &mut to, from: &mut from, moves: vec![true, false] };
        let moved = call(Access::Write, 0, 10, 1);
        assert_eq!(files.end(0, 0, &moved), 20);
        assert_eq!(files.end(0, 0, &FileCall { file: 1, ..moved }), 10);
    }

    #[test]
    fn calls_that_are_spared_take_no_time() {
        let mut measured = Scaled::all(1.);
        let mut kinds = [false; Access::KINDS];
        kinds[Access::Synchronize as usize] = true;
        let (files, by) = (vec![true, false], Some(1));
        let mut files = Spared { under: &mut measured, kinds, files, by };
        let sync = call(Access::Synchronize, 0, 10, 0);
        assert_eq!(files.end(0, 5, &sync), 5);
        assert_eq!(files.end(0, 5, &FileCall { file: 1, ..sync }), 15);
        assert_eq!(files.end(1, 5, &sync), 15);
        assert_eq!(files.end(0, 5, &call(Access::Write, 0, 10, 1)), 15);
    }

    #[test]
    fn what_is_overlapped_is_waited_for_where_the_rank_reads_and_at_its_end() {
        let mut measured = Scaled::all(1.);
        let mut files = Overlapped::new(&mut measured, 0.5, 1);
        // 20 bytes are copied in 10; the thread writes from 10 to 110 and closes until 130.
        assert_eq!(files.end(0, 0, &call(Access::Write, 0, 100, 20)), 10);
        assert_eq!(files.end(0, 15, &call(Access::Close, 100, 120, 0)), 15);
        assert_eq!(files.rest(0, 40), 130);
        assert_eq!(files.end(0, 50, &call(Access::Read, 0, 7, 1)), 137);
        assert_eq!(files.rest(0, 200), 200);
    }
}
