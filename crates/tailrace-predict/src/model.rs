//! A file system as a model of few numbers, each with a meaning: what a call costs by itself, what
//! bytes cost on their way, and what the client keeps.
//!
//! Writes go into the client's cache and from there to the servers, in order, at the rate of the
//! way there; a write returns when it is copied, or when so much is under way that the cache has no
//! room. What the client knows is read at the speed of memory, the rest behind whatever is on its
//! way back. Some calls wait until what was written to their file is on the servers, and some until
//! all is that went before them.

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
    /// What synchronising a file takes to which nothing was written since the last time.
    pub synchronize_clean: f64,
    /// What a write takes on its way beyond its bytes, and what more if it is scattered.
    pub sent_write: f64,
    pub sent_scattered_write: f64,
    /// What it then takes to arrive; others may be on their way meanwhile.
    pub arrival: f64,
    /// Per byte: into the client's cache, out of it, to the servers, from them.
    pub copy: f64,
    pub cached: f64,
    pub write: f64,
    pub read: f64,
    /// How many bytes may be under way; 0 where a write returns when they are on the servers.
    pub write_behind: f64,
    /// The room is each file's own, and not the mount's.
    pub room_by_file: bool,
    /// By [`Access`]: which calls wait for what was written to their file. Synchronising always
    /// does, and so does reading what is not in the cache.
    pub drains: [bool; Access::KINDS],
    /// A read at the end of a file, which finds nothing, waits likewise.
    pub end_drains: bool,
    /// By [`Access`]: which calls wait behind all that is on its way from their node, whatever its
    /// file.
    pub behind_writes: [bool; Access::KINDS],
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
    /// Clients know all that is in the files when the run begins, if they keep anything that long.
    warm: bool,
    /// When the way to the servers is free, and the way back.
    sent: f64,
    received: f64,
    files: HashMap<(u32, u32), File>,
    /// When the way is free of a node's writes.
    sent_by_node: HashMap<u32, f64>,
}

#[derive(Debug, Default)]
struct File {
    /// When the way is free of what was written, and when all of that is on the servers.
    sent: f64,
    drained: f64,
    /// Where the last write ended.
    next: i64,
    /// Something was written since it was synchronised.
    is_dirty: bool,
    /// How often the node's ranks have it open.
    open: u32,
    known: Extents,
}

impl<'a> Modelled<'a> {
    pub fn new(parameters: &'a Parameters, nodes: &'a [u32], warm: bool) -> Self {
        let (files, sent_by_node) = (HashMap::new(), HashMap::new());
        let warm = warm && parameters.rereads == Rereads::Always;
        Self { parameters, nodes, warm, sent: 0., received: 0., files, sent_by_node }
    }

    fn write(&mut self, node: u32, now: f64, call: &FileCall) -> f64 {
        let parameters = self.parameters;
        let file = self.files.entry((node, call.file)).or_default();
        let begin = call.offset.unwrap_or(file.next);
        let is_scattered = begin != file.next;
        file.next = begin.wrapping_add(call.bytes as i64);
        file.known.add(begin, file.next);
        file.is_dirty = true;
        let (mut alone, mut on_its_way) =
            (parameters.calls[Access::Write as usize], parameters.sent_write);
        if is_scattered {
            alone += parameters.scattered_write;
            on_its_way += parameters.sent_scattered_write;
        }
        let bytes = call.bytes as f64;
        let copied = now + alone + bytes * parameters.copy;
        self.sent = self.sent.max(copied) + on_its_way + bytes * parameters.write;
        file.sent = self.sent;
        file.drained = self.sent + parameters.arrival;
        let sent = self.sent_by_node.entry(node).or_default();
        *sent = sent.max(self.sent);
        let ahead = if parameters.room_by_file { file.sent } else { *sent };
        copied.max(ahead - parameters.write_behind * parameters.write)
    }

    fn read(&mut self, node: u32, now: f64, call: &FileCall) -> f64 {
        let Parameters { calls, cached_read, cached, read, rereads, end_drains, .. } =
            *self.parameters;
        let file = self.files.entry((node, call.file)).or_default();
        let begin = call.offset.unwrap_or(0);
        let end = begin.wrapping_add(call.bytes as i64);
        let known = match rereads {
            Rereads::Never => 0,
            _ if self.warm => call.bytes,
            _ => file.known.known(begin, end),
        };
        let missing = call.bytes.saturating_sub(known) as f64;
        let copied = known as f64 * cached;
        // The servers must know what was written before they are asked.
        let drained = now.max(file.drained);
        if call.bytes == 0 {
            return cached_read + if end_drains { drained } else { now };
        }
        if missing == 0. {
            return now + cached_read + copied;
        }
        file.known.add(begin, end);
        let asked = drained + calls[Access::Read as usize] + copied;
        self.received = self.received.max(asked) + missing * read;
        self.received
    }

    fn other(&mut self, node: u32, now: f64, call: &FileCall) -> f64 {
        let Parameters { drains, rereads, synchronize_clean, .. } = *self.parameters;
        let file = self.files.entry((node, call.file)).or_default();
        match call.access {
            Access::Open => file.open += 1,
            Access::Close => {
                file.open = file.open.saturating_sub(1);
                if file.open == 0 && rereads == Rereads::WhileOpen {
                    file.known = Extents::default();
                }
            }
            _ => {}
        }
        let mut cost = self.parameters.calls[call.access as usize];
        if call.access == Access::Synchronize && !std::mem::take(&mut file.is_dirty) {
            cost = synchronize_clean;
        }
        let waits = drains[call.access as usize] || call.access == Access::Synchronize;
        let begin = if waits { now.max(file.drained) } else { now };
        begin + cost
    }
}

impl FileSystem for Modelled<'_> {
    fn end(&mut self, rank: u32, begin: i64, call: &FileCall) -> i64 {
        let (node, mut now) = (self.nodes[rank as usize], begin as f64);
        if self.parameters.behind_writes[call.access as usize] {
            now = now.max(self.sent_by_node.get(&node).copied().unwrap_or_default());
        }
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

    const fn only(access: Access) -> [bool; Access::KINDS] {
        let mut kinds = [false; Access::KINDS];
        kinds[access as usize] = true;
        kinds
    }

    const PLAIN: Parameters = Parameters {
        calls: [10.; Access::KINDS],
        cached_read: 2.,
        scattered_write: 5.,
        synchronize_clean: 1.,
        sent_write: 0.,
        sent_scattered_write: 0.,
        arrival: 0.,
        copy: 1.,
        cached: 1.,
        write: 4.,
        read: 2.,
        write_behind: 100.,
        room_by_file: false,
        drains: only(Access::Close),
        end_drains: true,
        behind_writes: [false; Access::KINDS],
        rereads: Rereads::WhileOpen,
    };

    fn call(access: Access, offset: i64, bytes: u64) -> FileCall {
        FileCall { begin: 0, end: 0, access, file: 0, bytes, offset: Some(offset) }
    }

    fn ends(parameters: &Parameters, calls: &[FileCall]) -> Vec<i64> {
        ends_of(Modelled::new(parameters, &[0], false), calls)
    }

    /// One call after another.
    fn ends_of(mut model: Modelled<'_>, calls: &[FileCall]) -> Vec<i64> {
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
        let lazy = Parameters { drains: [false; Access::KINDS], ..PLAIN };
        assert_eq!(ends(&lazy, &calls), [110, 120]);
    }

    #[test]
    fn a_client_reads_what_it_knows_from_memory_as_long_as_the_file_is_open() {
        let calls = [
            call(Access::Read, 0, 50),  // 10 + 50 × 2
            call(Access::Read, 0, 50),  // 2 + 50
            call(Access::Close, 0, 0),  // 10
            call(Access::Read, 0, 50),  // as the first
            call(Access::Read, 25, 50), // half of it is known: 10 + 25 + 25 × 2
        ];
        assert_eq!(ends(&PLAIN, &calls), [110, 162, 172, 282, 367]);
    }

    #[test]
    fn the_end_of_a_file_may_be_asked_of_the_servers() {
        let calls = [call(Access::Write, 0, 100), call(Access::Read, 100, 0)];
        assert_eq!(ends(&PLAIN, &calls), [110, 512]);
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
        let mut model = Modelled::new(&through, &[0, 1], false);
        let write = call(Access::Write, 0, 100);
        assert_eq!(model.end(0, 0, &write), 510);
        assert_eq!(model.end(1, 0, &write), 910);
    }

    #[test]
    fn a_warm_client_knows_what_it_did_not_read_where_it_keeps_files_beyond_their_close() {
        let calls = [call(Access::Read, 0, 50)];
        let keeps = Parameters { rereads: Rereads::Always, ..PLAIN };
        // 2 + 50 instead of 10 + 100
        assert_eq!(ends_of(Modelled::new(&keeps, &[0], true), &calls), [52]);
        assert_eq!(ends_of(Modelled::new(&keeps, &[0], false), &calls), [110]);
        assert_eq!(ends_of(Modelled::new(&PLAIN, &[0], true), &calls), [110]);
    }

    #[test]
    fn the_last_of_a_nodes_ranks_that_closes_a_file_forgets_it() {
        let open = call(Access::Open, 0, 0);
        let (close, read) = (call(Access::Close, 0, 0), call(Access::Read, 0, 50));
        let calls = [open, open, read, close, read, close, read];
        assert_eq!(ends(&PLAIN, &calls), [10, 20, 130, 140, 192, 202, 312]);
    }

    #[test]
    fn bytes_go_both_ways_at_once() {
        // Written until 510; another file is read meanwhile, from 110 to 220.
        let other = FileCall { file: 1, ..call(Access::Read, 0, 50) };
        assert_eq!(ends(&PLAIN, &[call(Access::Write, 0, 100), other]), [110, 220]);
    }

    #[test]
    fn a_call_may_wait_behind_the_writes_of_other_files() {
        let other = FileCall { file: 1, ..call(Access::LookUp, 0, 0) };
        let calls = [call(Access::Write, 0, 100), other];
        assert_eq!(ends(&PLAIN, &calls), [110, 120]);
        let behind = Parameters { behind_writes: only(Access::LookUp), ..PLAIN };
        assert_eq!(ends(&behind, &calls), [110, 520]);
    }

    #[test]
    fn who_synchronizes_what_is_on_the_servers_pays_less() {
        let (write, sync) = (call(Access::Write, 0, 1), call(Access::Synchronize, 0, 0));
        assert_eq!(ends(&PLAIN, &[sync, write, sync, sync]), [1, 12, 26, 27]);
    }

    #[test]
    fn writes_may_take_their_time_on_the_way() {
        // On the servers at 11 + 20 + 4 = 35, the second, elsewhere, at 35 + 20 + 30 + 4 = 89.
        let slow = Parameters { sent_write: 20., sent_scattered_write: 30., ..PLAIN };
        let sync = call(Access::Synchronize, 0, 0);
        let calls = [call(Access::Write, 0, 1), call(Access::Write, 7, 1), sync];
        assert_eq!(ends(&slow, &calls), [11, 27, 99]);
    }

    #[test]
    fn what_takes_long_to_arrive_does_not_hold_up_the_next() {
        // Sent at 15 and 26; the second has arrived at 126.
        let far = Parameters { arrival: 100., ..PLAIN };
        let writes = [call(Access::Write, 0, 1), call(Access::Write, 1, 1)];
        let calls = [writes[0], writes[1], call(Access::Read, 2, 0)];
        assert_eq!(ends(&far, &calls), [11, 22, 128]);
        let through = Parameters { write_behind: 0., ..far };
        assert_eq!(ends(&through, &writes), [15, 30]);
    }
}
