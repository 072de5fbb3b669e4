//! A file system as a model of few numbers, each with a meaning: what a call costs by itself, what
//! bytes cost on their way, and what the client keeps.
//!
//! Writes go into the client's cache and from there to the servers, in order, at the rate of the
//! way there; a write returns when it is copied, or when so much is under way that the cache has no
//! room. What the client knows is read at the speed of memory, the rest behind whatever is under
//! way. Some calls wait until what was written is on the servers.

use hashbrown::HashMap;
use tailrace_replay::Access;
use tailrace_replay::program::FileCall;

use crate::extents::Extents;
use crate::replay::FileSystem;

/// Times in nanoseconds, per call or per byte.
#[allow(clippy::struct_excessive_bools)] // rules that are independent of one another
#[derive(Clone, Copy, Debug)]
pub struct Parameters {
    /// By [`Access`]: what a call takes by itself. Of reads and writes: beyond their bytes.
    pub calls: [f64; Access::KINDS],
    /// … and a read from the client's cache.
    pub cached_read: f64,
    /// What a write takes more that does not begin where the file's last one ended.
    pub scattered_write: f64,
    /// Per byte: into the client's cache, out of it, to the servers, from them.
    pub copy: f64,
    pub cached: f64,
    pub write: f64,
    pub read: f64,
    /// How many bytes may be under way; 0 where a write returns when they are on the servers.
    pub write_behind: f64,
    /// The room is each file's own, and not the mount's.
    pub room_by_file: bool,
    /// Which calls wait for what was written to their file.
    pub close_drains: bool,
    pub look_up_drains: bool,
    /// A read at the end of a file, which finds nothing, waits likewise.
    pub end_drains: bool,
    /// What a client wrote or read it reads from its cache, as long as it keeps the file open, or
    /// even after that.
    pub rereads: Rereads,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rereads {
    Never,
    WhileOpen,
    Always,
}

/// The file system at work.
pub struct Modelled<'a> {
    parameters: &'a Parameters,
    /// By rank: the node that it is on.
    nodes: &'a [u32],
    /// When the way to and from the servers is free.
    link_free: f64,
    /// When the way is done with what was written, by node and file.
    files: HashMap<(u32, u32), File>,
    /// When the last byte of all files is on the servers, by node.
    drained: HashMap<u32, f64>,
}

#[derive(Debug, Default)]
struct File {
    /// When all that was written is on the servers.
    drained: f64,
    /// Where the last write ended.
    next: i64,
    known: Extents,
}

impl<'a> Modelled<'a> {
    pub fn new(parameters: &'a Parameters, nodes: &'a [u32]) -> Self {
        let (files, drained) = (HashMap::new(), HashMap::new());
        Self { parameters, nodes, link_free: 0., files, drained }
    }

    fn write(&mut self, node: u32, now: f64, call: &FileCall) -> f64 {
        let Parameters { calls, copy, write, write_behind, scattered_write, .. } = *self.parameters;
        let file = self.files.entry((node, call.file)).or_default();
        let begin = call.offset.unwrap_or(file.next);
        let is_scattered = begin != file.next;
        file.next = begin.wrapping_add(call.bytes as i64);
        file.known.add(begin, file.next);
        let bytes = call.bytes as f64;
        let alone = if is_scattered { scattered_write } else { 0. };
        let copied = now + calls[Access::Write as usize] + alone + bytes * copy;
        let sent = self.link_free.max(copied) + bytes * write;
        self.link_free = sent;
        file.drained = sent;
        let drained = self.drained.entry(node).or_default();
        let by_file = self.parameters.room_by_file;
        *drained = drained.max(sent);
        let ahead = if by_file { file.drained } else { *drained };
        copied.max(ahead - write_behind * write)
    }

    fn read(&mut self, node: u32, now: f64, call: &FileCall) -> f64 {
        let Parameters { calls, cached_read, cached, read, rereads, end_drains, .. } =
            *self.parameters;
        let file = self.files.entry((node, call.file)).or_default();
        let (begin, bytes) = (call.offset.unwrap_or(0), call.bytes as f64);
        let end = begin.wrapping_add(call.bytes as i64);
        let is_known = call.bytes > 0 && rereads != Rereads::Never && file.known.has(begin, end);
        if is_known || call.bytes == 0 && !end_drains {
            return now + cached_read + bytes * cached;
        }
        file.known.add(begin, end);
        let now = now + calls[Access::Read as usize];
        // The servers must know what was written before they are asked.
        let ready = now.max(file.drained);
        if call.bytes == 0 {
            return ready;
        }
        self.link_free = self.link_free.max(ready) + bytes * read;
        self.link_free
    }

    fn other(&mut self, node: u32, now: f64, call: &FileCall) -> f64 {
        let Parameters { close_drains, look_up_drains, rereads, .. } = *self.parameters;
        let done = now + self.parameters.calls[call.access as usize];
        let Some(file) = self.files.get_mut(&(node, call.file)) else { return done };
        if call.access == Access::Close && rereads == Rereads::WhileOpen {
            file.known = Extents::default();
        }
        let drains = match call.access {
            Access::Synchronize => true,
            Access::Close => close_drains,
            Access::LookUp => look_up_drains,
            _ => false,
        };
        if drains { done.max(file.drained + done - now) } else { done }
    }
}

impl FileSystem for Modelled<'_> {
    fn end(&mut self, rank: u32, begin: i64, call: &FileCall) -> i64 {
        let (node, now) = (self.nodes[rank as usize], begin as f64);
        let end = match call.access {
            Access::Write => self.write(node, now, call),
            Access::Read => self.read(node, now, call),
            _ => self.other(node, now, call),
        };
        end.round() as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Parameters = Parameters {
        calls: [10.; Access::KINDS],
        cached_read: 2.,
        scattered_write: 5.,
        copy: 1.,
        cached: 1.,
        write: 4.,
        read: 2.,
        write_behind: 100.,
        room_by_file: false,
        close_drains: true,
        look_up_drains: false,
        end_drains: true,
        rereads: Rereads::WhileOpen,
    };

    fn call(access: Access, offset: i64, bytes: u64) -> FileCall {
        FileCall { begin: 0, end: 0, access, file: 0, bytes, offset: Some(offset) }
    }

    fn ends(parameters: &Parameters, calls: &[FileCall]) -> Vec<i64> {
        let mut model = Modelled::new(parameters, &[0]);
        let mut now = 0;
        let mut end = |call| {
            now = model.end(0, now, call);
            now
        };
        calls.iter().map(&mut end).collect()
    }

    #[test]
    fn a_write_returns_when_it_is_copied_or_has_room() {
        // 10 by itself and 100 to copy; on the way until 110 + 400 = 510.
        // The second is copied at 220, and on the servers at 910: it returns when no more than 100
        // bytes are left, at 910 − 400 = 510.
        let writes = [call(Access::Write, 0, 100), call(Access::Write, 100, 100)];
        assert_eq!(ends(&PLAIN, &writes), [110, 510]);
        // Without room it is on the servers when it returns.
        let through = Parameters { write_behind: 0., ..PLAIN };
        assert_eq!(ends(&through, &writes), [510, 510 + 110 + 400]);
    }

    #[test]
    fn a_close_waits_for_what_was_written_where_it_drains() {
        let calls = [call(Access::Write, 0, 100), call(Access::Close, 0, 0)];
        assert_eq!(ends(&PLAIN, &calls), [110, 510 + 10]);
        let lazy = Parameters { close_drains: false, ..PLAIN };
        assert_eq!(ends(&lazy, &calls), [110, 120]);
    }

    #[test]
    fn a_client_reads_what_it_knows_from_memory_as_long_as_the_file_is_open() {
        let calls = [
            call(Access::Read, 0, 50),  // 10 + 50 × 2
            call(Access::Read, 0, 50),  // 2 + 50
            call(Access::Close, 0, 0),  // 10
            call(Access::Read, 0, 50),  // as the first
            call(Access::Read, 25, 50), // half of it is not known
        ];
        assert_eq!(ends(&PLAIN, &calls), [110, 162, 172, 282, 392]);
    }

    #[test]
    fn the_end_of_a_file_may_be_asked_of_the_servers() {
        let calls = [call(Access::Write, 0, 100), call(Access::Read, 100, 0)];
        assert_eq!(ends(&PLAIN, &calls), [110, 510]);
        let knows = Parameters { end_drains: false, ..PLAIN };
        assert_eq!(ends(&knows, &calls), [110, 112]);
    }

    #[test]
    fn a_write_elsewhere_costs_more() {
        let calls = [call(Access::Write, 0, 1), call(Access::Write, 7, 1)];
        assert_eq!(ends(&PLAIN, &calls), [11, 11 + 10 + 5 + 1]);
    }

    #[test]
    fn two_ranks_share_the_way() {
        let through = Parameters { write_behind: 0., ..PLAIN };
        let mut model = Modelled::new(&through, &[0, 1]);
        let write = call(Access::Write, 0, 100);
        assert_eq!(model.end(0, 0, &write), 510);
        assert_eq!(model.end(1, 0, &write), 910);
    }
}
