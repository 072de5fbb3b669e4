//! File systems that are told by what was measured.

use tailrace_replay::Access;
use tailrace_replay::program::FileCall;

use crate::replay::{FileSystem, scaled};

/// The file system of the run, so much slower: 1 is as measured, 0 an ideal one.
#[derive(Clone, Copy, Debug)]
pub struct Scaled(pub f64);

impl FileSystem for Scaled {
    fn end(&mut self, _rank: u32, begin: i64, call: &FileCall) -> i64 {
        begin + scaled(call.end - call.begin, self.0)
    }
}

/// Another's calls, made by a thread of their own while the rank goes on: it waits for them where
/// it reads, and at its end.
pub struct Overlapped<'a> {
    under: &'a mut dyn FileSystem,
    /// By rank: until when its thread has something to do.
    busy: Vec<i64>,
}

impl<'a> Overlapped<'a> {
    pub fn new(under: &'a mut dyn FileSystem, ranks: usize) -> Self {
        Self { under, busy: vec![i64::MIN; ranks] }
    }
}

impl FileSystem for Overlapped<'_> {
    fn end(&mut self, rank: u32, begin: i64, call: &FileCall) -> i64 {
        let busy = &mut self.busy[rank as usize];
        let end = self.under.end(rank, begin.max(*busy), call);
        if call.access == Access::Read {
            return end;
        }
        *busy = end;
        begin
    }

    fn rest(&mut self, rank: u32, now: i64) -> i64 {
        now.max(self.busy[rank as usize])
    }
}
