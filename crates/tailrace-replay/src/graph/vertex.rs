//! The vertices of the graph: instants at which a rank does what others may wait for, or waits.
//!
//! Between two vertices of a rank there is nothing but local time; a vertex holds the sums of it
//! since the window's begin, so that the time between any two is a difference.

use crate::graph::moment::Moment;

/// A vertex of one rank; in order of time.
#[derive(Clone, Copy, Debug)]
pub struct Vertex {
    /// Measured time, nanoseconds since the window's begin; not cut to the window.
    pub at: i64,
    /// Since when the rank's main thread does nothing but wait in MPI, if it waits. Of a
    /// [`Deed::Meet`]: when it left.
    pub since: i64,
    /// Time of the rank's main thread outside of calls, and in file calls, until then.
    pub useful: i64,
    pub io: i64,
    /// How many areas the rank asked for before: the last of them is what ∫k dt over its file calls
    /// comes to here. Wraps.
    pub areas: u32,
    /// Of a thread beside the main one: how many begins and ends of such threads' file calls there
    /// were in the rank up to the last of its own; 0 if there was none.
    pub owns: u32,
    /// The call, if it waits.
    pub site: Site,
    pub deed: Deed,
}

const _: () = assert!(size_of::<Vertex>() == 64);

/// Which function is called, and from which place of the program: indices into the trace's tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Site {
    pub place: u32,
    pub function: u16,
}

/// What a rank does at a vertex. Deeds that another may complete later take the rank's next *role*
/// number: [`Deed::takes_role`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Starts a send.
    Send {
        channel: u32,
        sending: Sending,
    },
    /// Another part of a message that is sent in parts is ready.
    Ready {
        role: u64,
    },
    /// Posts a receive.
    Post {
        channel: u32,
    },
    /// Posts a receive whose channel comes with the next [`Deed::LatePost`] of the thread.
    Mark {
        thread: u32,
    },
    LatePost {
        channel: u32,
        thread: u32,
    },
    /// Enters a collective.
    Enter(Entry),
    /// … and waits for it until it leaves, and does nothing in between.
    Meet(Entry),
    /// A file call ended that was made inside the collective call of that role.
    FileEnded {
        role: u64,
    },
    /// Waits for what the role stands for, and waits for it again later.
    Await {
        role: u64,
    },
    /// Waits for it, and is done with it.
    Finish {
        role: u64,
    },
    /// … with so many, one after another.
    FinishAll {
        first: u64,
        number: u32,
    },
    /// Another thread than the main one waited: the rank is done with the role.
    Leave {
        role: u64,
    },
    /// Nobody will wait for it: a receive that is cancelled takes no message, one that is freed
    /// does.
    Cancel {
        role: u64,
    },
    Free {
        role: u64,
    },
    /// Asks for a lock, by the rank's own number of it; begins to give it back, and has.
    Lock {
        lock: u32,
    },
    Release {
        lock: u32,
    },
    Released {
        lock: u32,
    },
    /// Waits until its locks there are granted.
    Granted {
        lock: u32,
    },
    /// Another thread than the main one is in a file call, and was for so long.
    OwnBegins {
        thread: u32,
    },
    OwnEnds {
        thread: u32,
        duration: i64,
    },
    /// Waits for the first message on the channel that no receive was posted for.
    Probe {
        channel: u32,
    },
}

impl Deed {
    pub fn takes_role(self) -> bool {
        matches!(
            self,
            Self::Send {
                sending: Sending::Rendezvous | Sending::Short | Sending::InParts { .. },
                ..
            } | Self::Post { .. }
                | Self::LatePost { .. }
                | Self::Enter(_)
                | Self::Meet(_)
        )
    }

    /// Of a send or a receive that is posted, by the rank's own number.
    pub(crate) fn channel(self) -> Option<u32> {
        match self {
            Self::Send { channel, .. } | Self::Post { channel } => Some(channel),
            _ => None,
        }
    }

    /// A [`Deed::Meet`] enters first.
    pub fn waits(self) -> bool {
        matches!(
            self,
            Self::Await { .. }
                | Self::Finish { .. }
                | Self::FinishAll { .. }
                | Self::Meet(_)
                | Self::Probe { .. }
                | Self::Granted { .. }
        )
    }
}

/// How a message leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sending {
    Eager,
    /// Eager by its size; its end is told, from which one may see whether it waited for its receive.
    Short,
    /// It completes no earlier than its receive is posted.
    Rendezvous,
    /// When the last part was ready.
    InParts {
        rendezvous: bool,
    },
}

/// A rank's part in the `number`-th collective of the family on the communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub communicator: u32,
    pub number: u32,
    pub family: Family,
    pub gives: Gives,
    pub waits: Waits,
}

/// Collectives of different families on one communicator are counted apart: files and windows have
/// communicators of their own, duplicates of the one that they name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Family {
    #[default]
    Ordinary,
    File,
    Window,
}

impl Family {
    pub const COUNT: usize = Self::Window as usize + 1;
}

/// Who may wait for an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gives {
    /// Nobody: it has no data for others.
    Nothing,
    /// Those that wait for all.
    All,
    /// Those that wait for the root.
    Root,
    /// Those that wait for its position in the communicator.
    ByPosition,
}

/// What a rank waits for when it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    Nothing,
    /// For all that entered so far; on an intercommunicator for those of the other group.
    All,
    /// For all, of both groups: an intercommunicator is made by both.
    Both,
    /// For the root, if it entered.
    Root,
    /// For nobody, by the size of what it sends to the root; its end may show that it did wait.
    PerhapsRoot,
    /// For those before it in the communicator.
    Before,
    /// For its neighbours.
    Neighbours,
    /// For everyone, but only if everyone entered: a collective file call need not synchronize.
    AllIfComplete,
    /// … and for the file calls that the others made inside: they read for this rank.
    Readers,
    /// … the same, if it made none itself: they wrote for it. A rank that writes its own part need
    /// not wait for another's.
    Writers,
}

/// What a wait may wait for: the moment of a vertex, as replayed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source {
    pub moment: Moment,
    /// Measured.
    pub at: i64,
    pub rank: u32,
    /// The rank waited at the same nanosecond before.
    pub tied: bool,
}
