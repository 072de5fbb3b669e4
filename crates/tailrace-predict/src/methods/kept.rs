//! What a library keeps of a rank's writes until it closes or synchronises the file.

use std::collections::{BTreeMap, VecDeque};

use tailrace_replay::Access;
use tailrace_replay::program::FileCall;

use super::Meetings;
use super::families::Families;
use super::layout::bytes_of;
use super::libraries::Keeps;
use super::stretches::Piece;

/// HDF5's default (H5Pset_sieve_buf_size).
const SIEVE_BYTES: i64 = 64 << 10;

/// When a rank closes or synchronises which family's files, in order of time.
#[derive(Debug, Default)]
pub(super) struct Emptied(Vec<(u32, i64)>);

impl Emptied {
    /// Where the rank meets others for that, it is when it comes to the meeting.
    pub(super) fn of(calls: &[FileCall], met: &Meetings, families: &Families) -> Self {
        let empties = |call: &&FileCall| matches!(call.access, Access::Close | Access::Synchronize);
        let when = |call: &FileCall| {
            let family = families.find(call.file)?;
            let next = met.partition_point(|(_, (begin, _))| *begin <= call.begin);
            let inside = next.checked_sub(1).map(|last| met[last].1);
            let begin = inside.filter(|(_, end)| *end > call.begin).map(|(begin, _)| begin);
            Some((family, begin.unwrap_or(call.begin)))
        };
        Self(calls.iter().filter(empties).filter_map(when).collect())
    }

    /// The next time for the family.
    pub(super) fn after(&self, family: u32, time: i64) -> Option<i64> {
        let next = self.0.partition_point(|(_, at)| *at < time);
        self.0[next..].iter().find(|(of, _)| *of == family).map(|(_, at)| *at)
    }
}

/// A family of files, the rank that writes, and when what is kept of it goes at the latest.
pub(super) type Until = (u32, u32, i64);

/// The cache of a variable: writes by when they came, the oldest first.
#[derive(Debug, Default)]
struct Cache {
    bytes: i64,
    writes: VecDeque<(usize, Vec<Piece>)>,
}

/// By until when, and by variable.
#[derive(Debug, Default)]
pub(super) struct Kept {
    caches: BTreeMap<Until, BTreeMap<u32, Cache>>,
    count: usize,
}

impl Kept {
    /// Keeps a write to the variable; answers what has to go for it, which may be itself: the cache
    /// of a variable's chunks has room for so many bytes.
    pub(super) fn keep(
        &mut self,
        until: Until,
        variable: u32,
        pieces: Vec<Piece>,
        (keeps, chunk_bytes): (Keeps, i64),
    ) -> Vec<Vec<Piece>> {
        let room = match keeps {
            Keeps::Nothing => 0,
            Keeps::Little => SIEVE_BYTES,
            Keeps::Chunks => chunk_bytes,
        };
        self.count += 1;
        let cache = self.caches.entry(until).or_default().entry(variable).or_default();
        cache.bytes += bytes_of(&pieces);
        cache.writes.push_back((self.count, pieces));
        let mut gone = Vec::new();
        while cache.bytes > room
            && let Some((_, oldest)) = cache.writes.pop_front()
        {
            cache.bytes -= bytes_of(&oldest);
            gone.push(oldest);
        }
        gone
    }

    /// All that is still kept, in the order in which it came: chunks get their place in the file
    /// when they go, one behind the other.
    pub(super) fn take(&mut self) -> Vec<(Until, Vec<Vec<Piece>>)> {
        let in_order = |(until, caches): (Until, BTreeMap<u32, Cache>)| {
            let mut writes: Vec<_> = caches.into_values().flat_map(|cache| cache.writes).collect();
            writes.sort_unstable_by_key(|(number, _)| *number);
            (until, writes.into_iter().map(|(_, pieces)| pieces).collect())
        };
        std::mem::take(&mut self.caches).into_iter().map(in_order).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_of_a_variable_goes_where_there_is_no_room() {
        let mut kept = Kept::default();
        let mut keep = |variable, offset, bytes| {
            let pieces = vec![(offset, bytes)];
            kept.keep((0, 0, 7), variable, pieces, (Keeps::Chunks, 100))
        };
        assert!(keep(1, 0, 60).is_empty());
        assert!(keep(2, 60, 60).is_empty());
        // 60 and 50 are more than 100; a write that is itself more stays nowhere
        assert_eq!(keep(1, 120, 50), [[(0, 60)]]);
        assert_eq!(keep(1, 170, 101), [[(120, 50)], [(170, 101)]]);
        assert!(keep(1, 300, 10).is_empty());
        assert_eq!(kept.take(), [((0, 0, 7), vec![vec![(60, 60)], vec![(300, 10)]])]);
        assert!(kept.take().is_empty());
    }

    #[test]
    fn a_sieve_buffer_holds_64_kib() {
        let mut kept = Kept::default();
        let mut keep = |variable, bytes| {
            kept.keep((0, 0, 7), variable, vec![(0, bytes)], (Keeps::Little, 1 << 30)).len()
        };
        assert_eq!([keep(1, 65_536), keep(2, 65_537)], [0, 1]);
    }
}
