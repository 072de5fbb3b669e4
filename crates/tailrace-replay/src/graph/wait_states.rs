//! Waits as measured: who waited in which call, for whom, and from when to when.
//!
//! A rank waits in MPI from the moment at which it does nothing else until what it waits for has
//! happened; what is left of the call is transfer.

use hashbrown::HashMap;

use crate::graph::trail::Lane;
use crate::graph::vertex::Site;
use crate::longest::{Lasting, Longest};

/// What a rank waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Awaited {
    /// A message's send: the sender is late.
    Sender,
    /// The receive of a message that is sent only when it is received: the receiver is late.
    Receiver,
    /// Others in a collective call.
    Others,
    /// The lock of a window.
    Lock,
}

/// One wait; nanoseconds since the window's begin, cut to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    pub awaited: Awaited,
    pub site: Site,
    pub rank: u32,
    pub cause: Lane,
    pub begin: i64,
    pub end: i64,
}

impl Lasting for Wait {
    type Order = (u32, u32, Awaited, Site);

    fn span(&self) -> (i64, i64) {
        (self.begin, self.end)
    }

    fn order(&self) -> Self::Order {
        (self.rank, self.cause.rank, self.awaited, self.site)
    }
}

/// Number and length of waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitSum {
    pub number: u64,
    pub time: i64,
}

/// Of how many waits, the longest, it is asked what those did that they were for.
const MOST_FOLLOWED: usize = 1 << 18;

/// Of so many rows it is known where they are: a loop waits in a few calls.
const RECENT: usize = 16;

/// A wait's kind and the call.
type Key = (Awaited, Site);

pub(crate) struct WaitStates {
    /// Of all waits.
    pub sums: Vec<(Key, WaitSum)>,
    rows: HashMap<Key, u32>,
    recent: [u32; RECENT],
    longest: Longest<Wait>,
}

impl Default for WaitStates {
    fn default() -> Self {
        let (sums, rows, recent) = (Vec::new(), HashMap::new(), [0; RECENT]);
        Self { sums, rows, recent, longest: Longest::new(MOST_FOLLOWED) }
    }
}

impl WaitStates {
    #[inline]
    pub(crate) fn add(&mut self, wait: Wait) {
        let key = (wait.awaited, wait.site);
        let place = (wait.site.place as usize + usize::from(wait.site.function)) % RECENT;
        let recent = self.recent[place];
        let row = match self.sums.get(recent as usize) {
            Some((of, _)) if *of == key => recent,
            _ => self.find(key, place),
        };
        let (_, sum) = &mut self.sums[row as usize];
        sum.number += 1;
        sum.time += wait.end - wait.begin;
        self.longest.take(wait);
    }

    fn find(&mut self, key: Key, place: usize) -> u32 {
        let next = self.sums.len() as u32;
        let row = *self.rows.entry(key).or_insert(next);
        if row == next {
            self.sums.push((key, WaitSum::default()));
        }
        self.recent[place] = row;
        row
    }

    /// In any order.
    pub(crate) fn longest(&mut self) -> Vec<Wait> {
        std::mem::replace(&mut self.longest, Longest::new(0)).all()
    }
}
