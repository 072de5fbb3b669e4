//! Calls of a rank that follow one another, taken as one where there are too many to take each by
//! itself.

use tailrace_replay::Access;
use tailrace_replay::program::{FileCall, Naming};

use crate::by_file::ByFile;
use crate::model::Parameters;
use crate::replay::{added, rounded};

/// So many calls of a kind on a file, one behind the other; of none, a pause of as many nanoseconds
/// as there are bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Burst {
    pub access: Access,
    pub naming: Naming,
    pub file: u32,
    pub offset: Option<i64>,
    pub bytes: i64,
    pub count: i64,
    /// From the first byte to behind the last.
    pub reach: i64,
    /// They leave gaps.
    pub scattered: bool,
}

impl Burst {
    pub(super) fn pause(time: i64) -> Self {
        let (access, naming, scattered) = (Access::Other, Naming::Stays, false);
        Self { access, naming, file: 0, offset: None, bytes: time, count: 0, reach: 0, scattered }
    }

    /// Whether `next` may be taken together with it.
    pub(super) fn admits(&self, next: &Burst) -> bool {
        let is_pause = self.count == 0 || next.count == 0;
        !is_pause && self.access == next.access && self.file == next.file
    }

    pub(super) fn join(&mut self, next: &Burst) {
        let end = self.offset.map(|offset| offset + self.bytes);
        self.scattered |= next.scattered || self.access == Access::Write && end != next.offset;
        let apart = next.offset.zip(self.offset).map_or(self.reach, |(next, own)| next - own);
        self.reach = self.reach.max(apart + next.reach);
        self.bytes += next.bytes;
        self.count += next.count;
    }
}

/// Where the last bursts of each node ended in each file, piece by piece.
#[derive(Debug, Default)]
pub(super) struct Neighbours {
    next: ByFile<Option<(i64, i64)>>,
}

impl Neighbours {
    /// Whether each piece of the burst follows one of the node's last burst.
    pub(super) fn join(&mut self, node: u32, burst: &Burst) -> bool {
        let Some(offset) =
            burst.offset.filter(|_| burst.count > 1 && burst.access == Access::Write)
        else {
            return false;
        };
        let next = (offset + burst.bytes / burst.count, burst.count);
        self.next.of(node, burst.file).replace(next) == Some((offset, burst.count))
    }
}

/// How bursts are asked of a model: as one call of all their bytes, which goes on while the rank is
/// still busy with the calls by themselves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Alone<'a> {
    pub model: Option<&'a Parameters>,
    /// So many servers have their part of what is written.
    pub servers: u32,
}

impl Alone<'_> {
    /// What the calls keep each server busy.
    pub(super) fn sent(self, burst: &Burst) -> f64 {
        let Some(model) = self.model.filter(|_| burst.access == Access::Write) else { return 0. };
        let scattered = if burst.scattered { model.sent_scattered_write } else { 0. };
        let all = burst.count as f64 * (model.sent_write + scattered);
        (all + burst.bytes as f64 * model.write) / f64::from(self.servers)
    }

    /// The one call. What requests take on the way beyond their bytes are bytes that take as long,
    /// unless the model counts them by itself.
    pub(super) fn call(self, burst: &Burst, now: i64) -> FileCall {
        let Burst { access, naming, file, offset, count, .. } = *burst;
        let mut bytes = burst.bytes as u64;
        if let Some(model) =
            self.model.filter(|model| count > 1 && model.write > 0. && !model.are_apart())
            && access == Access::Write
        {
            let scattered = if burst.scattered { model.sent_scattered_write } else { 0. };
            let more = (count - 1) as f64 * (model.sent_write + scattered);
            bytes = bytes.saturating_add((more / model.write).round() as u64);
        }
        // who locks what it writes writes by itself, and waits for nobody
        let after_wait = false;
        FileCall { begin: now, end: now, access, naming, file, bytes, offset, after_wait }
    }

    /// When the rank goes on that began at `now`, where the one call ends at `end`.
    pub(super) fn end(self, burst: &Burst, now: i64, end: i64) -> i64 {
        let Some(model) = self.model.filter(|_| burst.count > 1) else { return end };
        let (count, bytes) = (burst.count as f64, burst.bytes as f64);
        let alone = model.calls[burst.access as usize];
        let own = match burst.access {
            Access::Write if burst.scattered => {
                count * (alone + model.scattered_write) + bytes * model.copy
            }
            Access::Write => count * alone + bytes * model.copy,
            Access::Read => count * alone + bytes * model.read,
            _ => count * alone,
        };
        end.max(added(now, rounded(own)))
    }
}
