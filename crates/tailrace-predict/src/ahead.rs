//! Reads that follow one another, made as one: each rank reads so much at once, and has the rest
//! when it asks for it.

use hashbrown::HashMap;
use tailrace_replay::Access;
use tailrace_replay::program::FileCall;

use crate::merged::{Gathering, follows};
use crate::replay::{FileSystem, rounded};

/// Another's calls, but what a rank reads of a file one behind the other, up to a size, it reads at
/// once, until it does something else with the file, or anybody writes to it.
pub struct Ahead<'a> {
    under: &'a mut dyn FileSystem,
    by: Gathering,
    /// By rank and file.
    read: HashMap<(u32, u32), Read>,
    /// By file: how often it was written to.
    written: HashMap<u32, u64>,
}

/// The last of those that are read at once, what they have so far, and how often the file had been
/// written to then.
struct Read {
    last: FileCall,
    bytes: u64,
    written: u64,
}

impl<'a> Ahead<'a> {
    pub fn new(under: &'a mut dyn FileSystem, by: Gathering) -> Self {
        Self { under, by, read: HashMap::new(), written: HashMap::new() }
    }

    fn read(&mut self, rank: u32, now: i64, call: &FileCall) -> i64 {
        let written = self.written.get(&call.file).copied().unwrap_or(0);
        let before = self.read.get(&(rank, call.file)).filter(|read| {
            read.written == written
                && follows(&read.last, call)
                && read.bytes.saturating_add(call.bytes) <= self.by.size
        });
        let bytes = call.bytes + before.map_or(0, |read| read.bytes);
        let is_there = before.is_some();
        self.read.insert((rank, call.file), Read { last: *call, bytes, written });
        if !is_there {
            return self.under.end(rank, now, call);
        }
        let rest = ((call.end - call.begin) as f64 - self.by.call).max(0.);
        let now = now + self.by.copied(call);
        self.under.end(rank, now, &FileCall { begin: now, end: now + rounded(rest), ..*call })
    }
}

impl FileSystem for Ahead<'_> {
    fn end(&mut self, rank: u32, begin: i64, call: &FileCall) -> i64 {
        if call.access == Access::Read && call.bytes > 0 {
            return self.read(rank, begin, call);
        }
        self.read.remove(&(rank, call.file));
        if call.access == Access::Write {
            *self.written.entry(call.file).or_default() += 1;
        }
        self.under.end(rank, begin, call)
    }

    fn rest(&mut self, rank: u32, now: i64) -> i64 {
        self.under.rest(rank, now)
    }
}

#[cfg(test)]
mod tests {
    use tailrace_replay::program::Naming;

    use super::*;
    use crate::Scaled;

    fn call(access: Access, offset: i64) -> FileCall {
        let (naming, offset, after_wait) = (Naming::Stays, Some(offset), false);
        FileCall { begin: 0, end: 100, access, naming, file: 0, bytes: 10, offset, after_wait }
    }

    fn times(size: u64, by_itself: f64, calls: &[(u32, FileCall)]) -> Vec<i64> {
        let mut measured = Scaled::all(1.);
        let mut files = Ahead::new(&mut measured, Gathering { size, copy: 0.1, call: by_itself });
        calls.iter().map(|(rank, call)| files.end(*rank, 1000, call) - 1000).collect()
    }

    #[test]
    fn what_follows_has_been_read_with_the_first() {
        let reads = [0, 10, 20].map(|offset| (0, call(Access::Read, offset)));
        // the second and third take 60 less, and 1 to copy
        assert_eq!(times(100, 60., &reads), [100, 41, 41]);
        // at best all take what the first took
        assert_eq!(times(100, f64::INFINITY, &reads), [100, 1, 1]);
        // room for two
        assert_eq!(times(20, 60., &reads), [100, 41, 100]);
    }

    #[test]
    fn what_lies_elsewhere_or_was_written_meanwhile_is_read_then() {
        let (first, second) = (call(Access::Read, 0), call(Access::Read, 10));
        assert_eq!(times(100, 60., &[(0, first), (0, call(Access::Read, 50))]), [100, 100]);
        assert_eq!(times(100, 60., &[(0, first), (1, second)]), [100, 100]);
        let other = (1, call(Access::Write, 90));
        assert_eq!(times(100, 60., &[(0, first), other, (0, second)]), [100, 100, 100]);
        let closed = (0, call(Access::Close, 0));
        assert_eq!(times(100, 60., &[(0, first), closed, (0, second)]), [100, 100, 100]);
    }
}
