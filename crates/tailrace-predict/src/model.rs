//! A file system as a model of few numbers, each with a meaning: what a call costs by itself, what
//! bytes cost on their way, and what the client keeps.
//!
//! Writes go into the client's cache and from there to the servers, in order, at the rate of the
//! way there; a write returns when it is copied, or when so much is under way that the cache has no
//! room. What the client knows is read at the speed of memory, the rest behind whatever is on its
//! way back. Some calls wait until what was written to their file is on the servers, and some until
//! all is that went before them.
//!
//! Nodes may have links of their own, and files may lie on several servers ([`crate::servers`]); a
//! part of a file may have to be handed over from node to node ([`crate::locks`]); and one service
//! may take all calls on names.

use tailrace_replay::Access;
use tailrace_replay::program::{FileCall, Naming};

use crate::beside::{Beside, Others};
use crate::by_file::{ByFile, place};
use crate::extents::{Extents, inner, outer};
use crate::locks::{Locking, Locks, Range, Wish};
use crate::processors::Processors;
use crate::queued::Queued;
use crate::replay::{FileSystem, LATEST, Together, rounded};
use crate::servers::{Load, Room, Servers, Ways};

/// Times in nanoseconds, per call or per byte.
#[allow(clippy::struct_excessive_bools)] // rules that are independent of one another
#[derive(Clone, Copy, Debug)]
pub struct Parameters {
    /// By [`Access`]: what a call takes by itself. Of reads and writes: beyond their bytes.
    pub calls: [f64; Access::KINDS],
    /// … and an open that makes the file, and one of the others that leaves its name.
    pub create: f64,
    pub attributes: f64,
    /// … and a read from the client's cache.
    pub cached_read: f64,
    /// What a write takes more that does not begin where the file's last one ended.
    pub scattered_write: f64,
    /// What synchronising a file takes to which nothing was written since the last time.
    pub synchronize_clean: f64,
    /// What locking or unlocking a file takes more to which the rank wrote since it last did.
    pub lock_after_write: f64,
    /// … of a rank that waited for no other since it last did.
    pub lock_after_write_unwaited: f64,
    /// What a write takes on its way beyond its bytes, and what more if it is scattered.
    pub sent_write: f64,
    pub sent_scattered_write: f64,
    /// … its bytes included, at least, in a file to which several ranks of the node write.
    pub shared_write: f64,
    /// … and what more for each of these that is on its way.
    pub shared_write_queued: f64,
    /// What it then takes to arrive; others may be on their way meanwhile.
    pub arrival: f64,
    /// … while the ranks of its node keep all processors but its own.
    pub arrival_beside: f64,
    /// … while other ranks of its node are in file calls, too.
    pub arrival_among: f64,
    /// Those of each node, where it is known of its ranks that they keep them while they wait.
    pub cores: Option<u32>,
    /// Per byte: into the client's cache, out of it, to the servers, from them.
    pub copy: f64,
    pub cached: f64,
    pub write: f64,
    pub read: f64,
    /// How many bytes may be under way; 0 where a write returns when they are on the servers.
    pub write_behind: f64,
    /// The room is each file's own, and not the mount's.
    pub room_by_file: bool,
    /// What is written stays in the client until a call waits for it, or there is no more room; only
    /// where nodes have nothing of their own.
    pub stays: bool,
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
    /// … of what it wrote only the pages that a write filled.
    pub whole_pages: bool,
    /// Per byte: each node's link, in and out; 0 where it holds nothing up.
    pub link: f64,
    /// Each of these takes `write` and `read` a byte; none where there is one way for all.
    pub servers: Option<Servers>,
    pub locks: Option<Locks>,
    /// Bytes of what links stood idle that they make up for.
    pub bucket: f64,
    /// What a call on a name keeps the service busy that all share.
    pub metadata: f64,
    pub processors: Processors,
}

impl Parameters {
    /// Whether nodes have anything of their own.
    pub fn are_apart(&self) -> bool {
        self.servers.is_some() || self.link > 0. || self.locks.is_some()
    }

    /// Whether it makes a difference to arrivals what other ranks do.
    fn others_matter(&self) -> bool {
        [self.arrival_beside, self.arrival_among]
            .iter()
            .any(|each| (each - self.arrival).abs() > 0.)
    }

    fn locks_take_more(&self) -> bool {
        self.lock_after_write > 0. || self.lock_after_write_unwaited > 0.
    }

    /// What writes that are taken together take on their way beyond their bytes, but for the first:
    /// where nodes are apart, or else it stands as bytes in the call.
    fn more(&self, together: Together) -> f64 {
        if !self.are_apart() {
            return 0.;
        }
        let scattered = if together.is_scattered { self.sent_scattered_write } else { 0. };
        (together.calls - 1) as f64 * (self.sent_write + scattered)
    }
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
    /// Clients know all that is in the files when the run begins, if they keep anything that long,
    /// and whatever the program drops.
    warm: bool,
    /// To the servers, and back.
    there: Ways,
    back: Ways,
    locking: Option<Locking>,
    /// Until when the service for names is busy.
    named: f64,
    files: ByFile<File>,
    /// By file: whether it is known to be there.
    are_there: Vec<bool>,
    /// By node.
    writers: Vec<Writer>,
    /// By rank.
    unlocked: Vec<Unlocked>,
    beside: Option<Beside>,
    /// What client and servers took of processors so far.
    worked: f64,
}

/// A rank that locks what it writes.
#[derive(Clone, Copy, Debug, Default)]
struct Unlocked {
    /// The file to which it wrote last, until it locks or unlocks that.
    file: Option<u32>,
    /// It waited for another since then.
    waited: bool,
}

/// A node that writes: when the way is free of what it wrote.
#[derive(Debug, Default)]
struct Writer {
    sent: f64,
    /// Bytes that stay, of all its files.
    stay: f64,
    room: Room,
}

/// A call, or several as one, of a node: what is asked, and when.
#[derive(Clone, Copy)]
struct Asked<'a> {
    rank: u32,
    node: u32,
    now: f64,
    call: &'a FileCall,
    together: Together,
    /// What takes a write to arrive now.
    arrival: f64,
}

#[derive(Debug, Default)]
struct File {
    /// When the way is free of what was written, and when all of that is on the servers.
    sent: f64,
    drained: f64,
    /// Bytes that stay in the client, and what they will take on their way beyond that.
    stay: f64,
    request: f64,
    /// … and where they lie.
    staying: Extents,
    /// Where the last write ended, and whose it was.
    next: i64,
    writer: Option<u32>,
    /// Several ranks write to it; and what of that is on its way, where it matters.
    is_shared: bool,
    queued: Queued,
    /// Something was written since it was synchronised.
    is_dirty: bool,
    /// How often the node's ranks have it open.
    open: u32,
    known: Extents,
    /// Where it has one of its own.
    room: Option<Box<Room>>,
}

impl<'a> Modelled<'a> {
    pub fn new(parameters: &'a Parameters, nodes: &'a [u32], warm: bool) -> Self {
        let Parameters { rereads, link, write, read, locks, bucket, .. } = *parameters;
        let servers = parameters.servers.unwrap_or(Servers::ONE);
        Self {
            parameters,
            nodes,
            warm: warm && rereads == Rereads::Always,
            there: Ways::new(servers, link, write, bucket),
            back: Ways::new(servers, link, read, bucket),
            locking: locks.map(|locks| Locking::new(locks, servers)),
            named: 0.,
            files: ByFile::default(),
            are_there: Vec::new(),
            writers: Vec::new(),
            unlocked: Vec::new(),
            beside: parameters.others_matter().then(|| Beside::new(parameters.cores, nodes)),
            worked: 0.,
        }
    }

    /// What client and servers took of processors for the calls so far, ns.
    pub fn worked(&self) -> i64 {
        rounded(self.worked)
    }

    fn write(&mut self, asked: &Asked<'_>) -> f64 {
        let (parameters, Asked { rank, node, now, call, together, arrival }) =
            (self.parameters, *asked);
        if parameters.locks_take_more() {
            place(&mut self.unlocked, rank).file = Some(call.file);
        }
        let file = self.files.of(node, call.file);
        let begin = call.offset.unwrap_or(file.next);
        let is_scattered = begin != file.next;
        file.next = begin.wrapping_add(call.bytes as i64);
        file.is_shared |= file.writer.replace(rank).is_some_and(|last| last != rank);
        let pages =
            if parameters.whole_pages { inner(begin, file.next) } else { (begin, file.next) };
        file.known.add(pages.0, pages.1);
        file.is_dirty = true;
        let (mut alone, mut on_its_way) =
            (parameters.calls[Access::Write as usize], parameters.sent_write);
        if is_scattered {
            alone += parameters.scattered_write;
            on_its_way += parameters.sent_scattered_write;
            self.worked += together.calls as f64 * parameters.processors.scattered_write;
        }
        let bytes = call.bytes as f64;
        self.worked += parameters.processors.of(Access::Write, together.calls as f64, bytes);
        let a_call = bytes / together.calls.max(1) as f64;
        let mut request = on_its_way + parameters.more(together);
        if file.is_shared {
            let before = file.queued.at(now) + (together.calls - 1) as f64 / 2.;
            let each = parameters.shared_write + parameters.shared_write_queued * before;
            let least = |calls: f64, bytes: f64| calls * each - bytes * parameters.write;
            on_its_way = on_its_way.max(least(1., a_call));
            request = request.max(least(together.calls as f64, bytes));
        }
        let kept = on_its_way + a_call * parameters.write + arrival;
        let load = Load { request, ..asked.load(begin) };
        let range = Range { kept, ..asked.range(begin) };
        let wish = Wish { node, writes: true, now };
        let late = self.locking.as_mut().map_or(0., |locking| locking.wait(&range, wish));
        let copied = now + alone + bytes * parameters.copy;
        if parameters.stays && !parameters.are_apart() {
            let writer = place(&mut self.writers, node);
            // what is written there again goes once
            let again = file.staying.known(begin, file.next) as f64;
            let more = (bytes - again).max(0.);
            if writer.stay + more <= parameters.write_behind {
                writer.stay += more;
                file.stay += more;
                file.staying.add(begin, file.next);
                file.request += if more > 0. { load.request } else { 0. };
                return copied;
            }
        }
        let sent = self.there.carry(&load, copied, late);
        file.sent = file.sent.max(sent);
        file.drained = file.drained.max(sent + arrival);
        if file.is_shared && parameters.shared_write_queued > 0. {
            file.queued.put(together.calls as f64, file.sent);
        }
        if let Some(locking) = &mut self.locking {
            locking.come(&range, sent + arrival - now - late);
        }
        let writer = place(&mut self.writers, node);
        writer.sent = writer.sent.max(sent);
        let copied = copied + late;
        let room = if parameters.room_by_file {
            file.room.get_or_insert_default()
        } else {
            &mut writer.room
        };
        room.put(bytes, parameters.write_behind, copied, sent).max(copied)
    }

    fn read(&mut self, asked: &Asked<'_>) -> f64 {
        let Parameters { calls, cached_read, cached, rereads, whole_pages, end_drains, .. } =
            *self.parameters;
        let Asked { node, now, call, .. } = *asked;
        if call.bytes == 0 && end_drains {
            self.send(asked);
        }
        let file = self.files.of(node, call.file);
        let begin = call.offset.unwrap_or(0);
        let end = begin.wrapping_add(call.bytes as i64);
        // The servers must know what was written before they are asked.
        let drained = now.max(file.drained);
        if call.bytes == 0 {
            return cached_read + if end_drains { drained } else { now };
        }
        let wish = Wish { node, writes: false, now };
        let range = asked.range(begin);
        let late = self.locking.as_mut().map_or(0., |locking| locking.wait(&range, wish));
        let known = match rereads {
            Rereads::Never => 0,
            // another wrote there
            _ if late > 0. => 0,
            _ if self.warm => call.bytes,
            _ => file.known.known(begin, end),
        };
        let missing = call.bytes.saturating_sub(known) as f64;
        let copied = known as f64 * cached;
        if missing == 0. {
            return now + cached_read + copied;
        }
        let pages = if whole_pages { outer(begin, end) } else { (begin, end) };
        file.known.add(pages.0, pages.1);
        let calls_made = asked.together.calls as f64;
        self.worked += self.parameters.processors.of(Access::Read, calls_made, missing);
        let from = drained + calls[Access::Read as usize] + copied;
        self.back.carry(&Load { bytes: missing, ..asked.load(begin) }, from, late)
    }

    fn other(&mut self, asked: &Asked<'_>) -> f64 {
        let Parameters { drains, rereads, synchronize_clean, metadata, .. } = *self.parameters;
        let Asked { node, now, call, together, .. } = *asked;
        let alone = self.alone(call) + self.after_write(asked);
        self.worked += self.parameters.processors.of(call.access, together.calls as f64, 0.);
        let waits = drains[call.access as usize] || call.access == Access::Synchronize;
        if waits {
            self.send(asked);
        }
        let file = self.files.of(node, call.file);
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
        // what is still on its way stays
        if let Some(from) = call.drops().filter(|_| file.drained <= now) {
            file.known.cut(from);
        }
        // that there is a file is brought to the servers, too
        file.is_dirty |= call.naming == Naming::Made;
        let is_clean = call.access == Access::Synchronize && !std::mem::take(&mut file.is_dirty);
        let cost = if is_clean { synchronize_clean } else { alone };
        let begin = if waits { now.max(file.drained) } else { now };
        if metadata > 0. && call.access != Access::Synchronize {
            self.named = self.named.max(now) + together.calls as f64 * metadata;
            return self.named.max(begin + cost);
        }
        begin + cost
    }

    /// What stayed of the call's file goes to the servers, for which the call waits.
    fn send(&mut self, asked: &Asked<'_>) {
        let Asked { node, now, call, .. } = *asked;
        let file = self.files.of(node, call.file);
        if file.stay == 0. {
            return;
        }
        let (bytes, request) = (std::mem::take(&mut file.stay), std::mem::take(&mut file.request));
        file.staying = Extents::default();
        let load = Load { bytes, request, ..asked.load(0) };
        let sent = self.there.carry(&load, now, 0.);
        file.sent = file.sent.max(sent);
        file.drained = file.drained.max(sent + asked.arrival);
        let writer = place(&mut self.writers, node);
        writer.sent = writer.sent.max(sent);
        writer.stay -= bytes;
    }

    /// What the call takes by itself, of its kind and by what it does to its file's name.
    fn alone(&mut self, call: &FileCall) -> f64 {
        let is_there = place(&mut self.are_there, call.file);
        let makes = call.naming == Naming::Made && !*is_there;
        match call.naming {
            Naming::Stays => {}
            Naming::Found | Naming::Made => *is_there = true,
            Naming::Gone => *is_there = false,
        }
        match call.access {
            Access::Open if makes => self.parameters.create,
            Access::Other if call.naming == Naming::Stays && call.drops().is_none() => {
                self.parameters.attributes
            }
            access => self.parameters.calls[access as usize],
        }
    }

    /// What a write takes to arrive that begins then.
    fn arrival(&mut self, node: u32, begin: i64) -> f64 {
        let Parameters { arrival, arrival_beside, arrival_among, .. } = *self.parameters;
        match self.beside.as_mut().map(|beside| beside.others(node, begin)) {
            Some(Others::Keep) => arrival_beside,
            Some(Others::InCalls) => arrival_among,
            _ => arrival,
        }
    }

    /// What a lock takes more as it follows a write of its rank.
    fn after_write(&mut self, asked: &Asked<'_>) -> f64 {
        let Asked { rank, call, .. } = *asked;
        let last = self.unlocked.get_mut(rank as usize);
        let follows = |last: &&mut Unlocked| last.file == Some(call.file);
        match last.filter(|_| call.access == Access::Lock).filter(follows).map(std::mem::take) {
            Some(Unlocked { waited: true, .. }) => self.parameters.lock_after_write,
            Some(_) => self.parameters.lock_after_write_unwaited,
            None => 0.,
        }
    }
}

impl Asked<'_> {
    /// How far its bytes reach that begin there.
    fn end(&self, begin: i64) -> i64 {
        begin.saturating_add(self.together.reach.max(0))
    }

    fn load(&self, begin: i64) -> Load {
        let FileCall { file, bytes, .. } = *self.call;
        let (end, is_one) = (self.end(begin), self.together.calls <= 1);
        Load { node: self.node, file, begin, end, bytes: bytes as f64, request: 0., is_one }
    }

    fn range(&self, begin: i64) -> Range {
        let Together { calls, reach, is_joined, .. } = self.together;
        let has_gaps = calls > 1 && reach as u64 > self.call.bytes;
        let calls = if has_gaps { calls as f64 } else { 1. };
        let (file, end) = (self.call.file, self.end(begin));
        Range { file, begin, end, calls, is_joined, kept: 0. }
    }
}

impl FileSystem for Modelled<'_> {
    fn end(&mut self, rank: u32, begin: i64, call: &FileCall) -> i64 {
        self.end_together(rank, begin, call, Together::one(call.bytes))
    }

    fn end_together(&mut self, rank: u32, begin: i64, call: &FileCall, together: Together) -> i64 {
        let (node, mut now) = (self.nodes[rank as usize], begin as f64);
        if self.parameters.behind_writes[call.access as usize] {
            now = now.max(self.writers.get(node as usize).map_or(0., |writer| writer.sent));
        }
        if call.after_wait && self.parameters.locks_take_more() {
            place(&mut self.unlocked, rank).waited = true;
        }
        let arrival = self.arrival(node, begin);
        let asked = Asked { rank, node, now, call, together, arrival };
        let end = match call.access {
            Access::Write => self.write(&asked),
            Access::Read => self.read(&asked),
            _ => self.other(&asked),
        };
        // a time that is no number is endless
        let end = rounded(end.min(now.max(LATEST as f64)));
        if let Some(beside) = &mut self.beside {
            beside.in_call(node, end);
        }
        end
    }
}

#[cfg(test)]
mod tests;
