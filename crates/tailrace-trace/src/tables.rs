//! What a trace holds once: the names that events point to, the machine, the run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hashbrown::HashMap;

use crate::event::Layer;
use crate::places::Places;

/// Everything about a trace but its events. Small: it is always in memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tables {
    /// Number of ranks; every [`Location::rank`] is below it. A program without MPI has one rank a
    /// process.
    pub ranks: u32,
    /// One per thread of a rank, ordered by rank, then process, then thread. A rank may have none
    /// (its stream was lost).
    pub locations: Vec<Location>,
    pub functions: Vec<Function>,
    /// One per distinct path.
    pub files: Vec<FileEntry>,
    /// Files and directories (indices into [`Tables::files`]) that were renamed, and to what.
    pub renames: BTreeSet<(u32, Vec<u8>)>,
    /// Entry 0 is MPI_COMM_WORLD, where the program has one.
    pub communicators: Vec<Communicator>,
    /// By communicator and world rank: the world ranks that neighbourhood collectives of this rank
    /// there receive from, ascending. Without an entry that is not known.
    pub neighbours: BTreeMap<(u32, u32), Arc<[u32]>>,
    /// The part of the run that the efficiencies are about; `None`: all of the trace.
    pub window: Option<Window>,
    /// About the run as a whole: program, command, mpi, hosts, started_ns, clock, ...
    pub meta: BTreeMap<String, String>,
    /// Per rank: hardware counters of the useful time of its main thread. Length [`Tables::ranks`].
    pub counters: Vec<Option<Counters>>,
    pub capture: Capture,
    /// From where in the program calls come.
    pub places: Places,
}

/// A thread of a rank: one stream of events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Location {
    pub rank: u32,
    /// Index of the thread in its process, by order of first record.
    pub thread: u32,
    /// The thread whose time makes the rank's accounts: the one that called MPI_Init. At most one a
    /// rank.
    pub main: bool,
    pub host: String,
    /// Process id on its host.
    pub process: u32,
    /// First and last moment at which the thread is known to have been alive, nanoseconds since the
    /// trace's origin.
    pub begin_ns: i64,
    pub end_ns: i64,
    /// Number of events of the location.
    pub events: u64,
    /// The call that the thread was in when its process was killed: it never returned, so it is no
    /// event.
    pub unfinished: Option<Unfinished>,
    /// How a main thread ended, as far as is known.
    pub ended: Ended,
    /// The cores that its process might use, as "0-3,8"; empty where that is not known.
    pub cores: String,
    /// When a main thread waited for a processor, in order and apart from each other; `None` where
    /// that is not known.
    pub waits: Option<Vec<Wait>>,
    /// What capture took of the thread's time, at most its length; `None` where that is not known.
    pub capture_ns: Option<i64>,
}

/// A stretch of time in which a thread was ready to run and did not for `waited_ns` of it, no one
/// knows when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Nanoseconds since the trace's origin.
    pub begin_ns: i64,
    pub end_ns: i64,
    /// At most the stretch's length.
    pub waited_ns: i64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ended {
    /// By itself, or after MPI_Finalize.
    #[default]
    Known,
    /// In MPI_Abort.
    Aborted,
    /// It was killed, or ended at once (by abort, say), at some time after the last that is known of it.
    Unknown,
    /// By itself, without the MPI_Finalize that MPI asks for: others may have been ended for it.
    Left,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfinished {
    /// Index into [`Tables::functions`]; `None` if the stream does not name it.
    pub function: Option<u16>,
    pub begin_ns: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Function {
    pub name: String,
    pub layer: Layer,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FileEntry {
    /// As the program gave it, made absolute; not necessarily UTF-8, control characters and all.
    pub path: Vec<u8>,
    /// MPI-IO moves data in this file and no POSIX data call is ever seen inside: see
    /// [`crate::event::FileCall::opaque`].
    pub opaque: bool,
}

/// What stands behind a path: only a file system can be made faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    FileSystem,
    /// /proc and /sys: the kernel's answers.
    Kernel,
    /// /dev/null and the like, terminals, and standard streams into pipes; not disks.
    Device,
    /// /dev/shm: memory, in which MPI libraries exchange messages.
    Memory,
}

/// Of /dev, what is no disk.
const DEVICES: [&str; 9] =
    ["null", "zero", "full", "random", "urandom", "tty", "pts/", "ptmx", "infiniband/"];

/// Directories and files by which MPI libraries and their launchers share memory wherever temporary
/// files go: PMIx's, MPICH's segments.
const SHARED_BY_MPI: [&str; 3] = ["pmix-", "mpich_shar_tmp", "vader_segment."];

/// What Open MPI's and PRRTE's session directories begin with.
const SESSIONS: [&str; 2] = ["ompi.", "prte."];

/// What lies in a session directory begins with one of these, or is a number.
const IN_SESSIONS: [&str; 4] = ["pid.", "jf.", "pmix", "prte"];

impl Tables {
    /// By rank: indices of its locations.
    pub fn locations_of_ranks(&self) -> Vec<Vec<usize>> {
        let mut locations = vec![Vec::new(); self.ranks as usize];
        for (index, location) in self.locations.iter().enumerate() {
            locations[location.rank as usize].push(index);
        }
        locations
    }
}

impl FileEntry {
    pub fn place(&self) -> Place {
        Place::of(&self.path)
    }
}

impl Place {
    pub fn of(path: &[u8]) -> Self {
        let path = String::from_utf8_lossy(path);
        let below = |folder: &str| path.strip_prefix(folder);
        if ["/proc", "/sys"].contains(&&*path) || below("/proc/").or(below("/sys/")).is_some() {
            return Place::Kernel;
        }
        // `<stdout: pipe>`, `<pipe>/tmp/fifo`; capture calls a standard stream that is a file
        // `<stdout>`
        if below("<pipe>").is_some() || below("<std").is_some_and(|name| name.contains(':')) {
            return Place::Device;
        }
        let shared = |part: &str| SHARED_BY_MPI.iter().any(|name| part.starts_with(name));
        if path.split('/').any(shared) || is_in_session(&path) {
            return Place::Memory;
        }
        match below("/dev/") {
            Some(name) if name == "shm" || name.starts_with("shm/") => Place::Memory,
            Some(name) if DEVICES.iter().any(|device| name.starts_with(device)) => Place::Device,
            _ => Place::FileSystem,
        }
    }
}

/// `/tmp/ompi.host.1000/pid.4711/…`, `/tmp/ompi.4711/1/…`: a name that ends with a number, and one
/// that the launcher makes in it. A user may well call a directory of results `ompi.run` or
/// `ompi.4`.
fn is_in_session(path: &str) -> bool {
    let is_number =
        |text: &str| !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
    let begins = |text: &str, names: &[&str]| names.iter().any(|name| text.starts_with(name));
    let numbered = |part: &str| part.rsplit_once('.').is_some_and(|(_, end)| is_number(end));
    path.split('/').zip(path.split('/').skip(1)).any(|(folder, inside)| {
        let session = begins(folder, &SESSIONS) && numbered(folder);
        session && (is_number(inside) || begins(inside, &IN_SESSIONS))
    })
}

/// A communicator, the same entry for all its members (and for both sides of an intercommunicator).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Communicator {
    /// Distinguishes communicators with the same members.
    pub identity: u64,
    /// World ranks in the order of the communicator's ranks; of an intercommunicator the group with
    /// the lowest world rank.
    pub members: Arc<[u32]>,
    /// The other group of an intercommunicator.
    pub remote: Option<Arc<[u32]>>,
}

impl Communicator {
    /// World ranks by position: those of the members, then those of the remote group.
    pub fn ranks(&self) -> impl Iterator<Item = u32> {
        let remote = self.remote.as_deref().unwrap_or_default();
        self.members.iter().chain(remote).copied()
    }

    /// Ranks of both groups.
    pub fn size(&self) -> usize {
        self.members.len() + self.remote.as_ref().map_or(0, |remote| remote.len())
    }

    /// Positions by world rank.
    pub fn positions(&self) -> HashMap<u32, u32> {
        self.ranks().zip(0..).collect()
    }

    /// Whether the remote group has that position.
    pub fn is_remote(&self, position: u32) -> bool {
        position as usize >= self.members.len()
    }
}

/// `begin_ns` ≤ `end_ns`, nanoseconds since the trace's origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub begin_ns: i64,
    pub end_ns: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counters {
    pub instructions: u64,
    pub cycles: u64,
}

/// How well the run was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    pub events: u64,
    /// Calls that could not be recorded.
    pub lost: u64,
    /// Calibrated cost of recording one event, picoseconds; 0 where unknown.
    pub cost_ps_per_event: u64,
    /// Every stream was closed in order and nothing was lost.
    pub complete: bool,
    /// What the reader of a report should know, one sentence each.
    pub notes: Vec<String>,
}

impl Default for Capture {
    fn default() -> Self {
        Self { events: 0, lost: 0, cost_ps_per_event: 0, complete: true, notes: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remote_group_has_the_positions_behind_the_members() {
        let (members, remote) = ([4, 0].into(), [7].into());
        let both = Communicator { identity: 0, members, remote: Some(remote) };
        assert_eq!(both.ranks().collect::<Vec<_>>(), [4, 0, 7]);
        assert_eq!(both.size(), 3);
        assert_eq!(both.positions(), [(4, 0), (0, 1), (7, 2)].into());
        assert_eq!([0, 1, 2].map(|position| both.is_remote(position)), [false, false, true]);
        let alone = Communicator { remote: None, ..both };
        assert_eq!((alone.size(), alone.positions().get(&7)), (2, None));
    }

    #[test]
    fn the_threads_of_a_rank_are_its_locations() {
        let of_rank = |rank| Location { rank, ..Location::default() };
        let locations = [0, 0, 2].map(of_rank).into();
        let tables = Tables { ranks: 3, locations, ..Tables::default() };
        assert_eq!(tables.locations_of_ranks(), [vec![0, 1], vec![], vec![2]]);
    }

    #[test]
    fn only_a_file_system_can_be_made_faster() {
        for (path, place) in [
            ("/proc/self/statm", Place::Kernel),
            ("/sys/devices/system/cpu/online", Place::Kernel),
            ("/dev/null", Place::Device),
            ("/dev/pts/3", Place::Device),
            ("/dev/shm/osc_rdma.1", Place::Memory),
            ("/dev/shm", Place::Memory),
            ("/dev/shmem.nc", Place::FileSystem),
            ("/proc", Place::Kernel),
            ("/sys", Place::Kernel),
            ("/tmp/ompi.12143/1/pmix-gds-shmem2.vm-prterun", Place::Memory),
            ("/tmp/ompi.vm.0/pid.10142/pmix_dstor_ds12_10142/smseg-0", Place::Memory),
            ("/tmp/ompi.vm.0/jf.12/1/shared_mem", Place::Memory),
            ("/tmp/prte.vm.812.0/prterun-vm-812@1/0/segment", Place::Memory),
            ("/scratch/me/ompi.run/out.dat", Place::FileSystem),
            ("/scratch/me/ompi.4/out.dat", Place::FileSystem),
            ("/scratch/me/ompi.log", Place::FileSystem),
            ("/scratch/me/mpich_shar_tmpAb12", Place::Memory),
            ("/scratch/me/compile.ompi", Place::FileSystem),
            ("/dev/nvme0n1", Place::FileSystem),
            ("/data/proc/file", Place::FileSystem),
            ("<stdout>", Place::FileSystem),
            ("<stdout: pipe>", Place::Device),
            ("<pipe>/tmp/fifo", Place::Device),
            ("/home/<stdout: pipe>", Place::FileSystem),
        ] {
            let entry = FileEntry { path: path.into(), opaque: false };
            assert_eq!(entry.place(), place, "{path}");
        }
    }
}
