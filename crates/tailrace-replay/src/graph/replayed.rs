//! How far each rank is replayed: by how much its clocks are ahead of its local time after each
//! wait. What a wait can know of others.

use crate::graph::moment::{CrossingId, Moment};
use crate::graph::trail::Latest;
use crate::graph::vertex::{Source, Vertex};

/// Of one rank.
pub(crate) struct Pace {
    /// Replayed time minus local time after each wait, from the `first`-th on, and before the next.
    pub ahead: Vec<Moment>,
    pub first: u32,
    /// Measured: until when the rank is known to have waited.
    pub waited: i64,
    /// Beside the main thread: what their file calls came to after each begin and end, from the
    /// `first_own`-th on; by thread the latest, and ∫k dt at its begin.
    pub own: Vec<Moment>,
    pub first_own: u32,
    pub threads: Vec<Own>,
}

impl Pace {
    /// `ahead`: before the first wait.
    pub(crate) fn new(ahead: Moment) -> Self {
        let (own, threads) = (Vec::new(), Vec::new());
        Self { ahead: vec![ahead], first: 0, waited: i64::MIN, own, first_own: 0, threads }
    }

    /// Since the last wait that was replayed.
    #[inline]
    pub(crate) fn ahead(&self) -> Moment {
        *self.ahead.last().expect("there is one before the first wait")
    }

    /// What the file calls of a thread came to, at the `number`-th begin or end of the rank; `None`
    /// if that is not replayed.
    fn own(&self, number: u32) -> Option<Moment> {
        match number.checked_sub(self.first_own + 1) {
            Some(place) => self.own.get(place as usize).copied(),
            None => self.threads.iter().find(|own| own.number == number).map(|own| own.moment),
        }
    }

    /// The ends of its trails.
    pub(crate) fn crossings(&mut self) -> impl Iterator<Item = &mut CrossingId> {
        let threads = self.threads.iter_mut().map(|own| &mut own.moment);
        let moments = self.ahead.iter_mut().chain(&mut self.own).chain(threads);
        moments.flat_map(|moment| &mut moment.trails)
    }

    /// Forgets the waits that no source names any more.
    pub(crate) fn forget_waits(&mut self) {
        let last = self.ahead.len() - 1;
        self.ahead.drain(..last);
        self.first = self.first.wrapping_add(last as u32);
        self.first_own += self.own.len() as u32;
        self.own.clear();
    }
}

/// File calls of another thread than the main one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Own {
    /// What they came to at the last begin or end of one, and its number.
    pub moment: Moment,
    pub number: u32,
    /// ∫k dt at the last begin.
    pub begin: i64,
}

/// By rank.
pub(crate) struct Replayed(pub Vec<Pace>);

impl Replayed {
    /// The replayed time of a source, once it is known.
    #[inline]
    pub(crate) fn moment(&self, source: &Source) -> Option<Moment> {
        if source.settled {
            return Some(Moment { clocks: source.clocks, trails: source.trails });
        }
        let pace = &self.0[source.rank as usize];
        let ahead = pace.ahead.get(source.waits.wrapping_sub(pace.first) as usize)?;
        let clocks = source.clocks.plus(ahead.clocks);
        let moment = Moment { clocks, trails: ahead.trails };
        if source.owns == 0 {
            return Some(moment);
        }
        Some(moment.max(pace.own(source.owns)?))
    }

    /// `guarded`: it waits for what happened before alone, as measured.
    #[inline]
    pub(crate) fn waiter(&self, rank: usize, vertex: &Vertex, guarded: bool) -> Waiter<'_> {
        Waiter { replayed: self, rank: rank as u32, at: vertex.at, whatever: !guarded }
    }

    /// Makes a replayed time of the source; whether that can be told by now.
    #[inline]
    pub(crate) fn settle(&self, source: &mut Source) -> bool {
        match self.moment(source) {
            Some(Moment { clocks, trails }) => {
                (source.clocks, source.trails, source.settled) = (clocks, trails, true);
                true
            }
            None => false,
        }
    }
}

/// A vertex that waits, and what it may know.
pub(crate) struct Waiter<'a> {
    pub replayed: &'a Replayed,
    pub rank: u32,
    pub at: i64,
    /// It waits whatever the measured times say.
    pub whatever: bool,
}

/// What a waiter waits for.
pub(crate) enum Answer {
    /// The moments before which it does not go on.
    After(Latest),
    /// That rank has to be replayed further first.
    Needs(u32),
    /// What has not been matched yet.
    Missing,
}

impl Waiter<'_> {
    /// The source's replayed time, or the rank that has to be replayed further first.
    #[inline]
    pub(crate) fn moment(&self, source: &Source) -> Result<Latest, u32> {
        let moment = self.replayed.moment(source).ok_or(source.rank)?;
        Ok(Latest::of(source, &moment))
    }

    /// Whether it can have waited for the source: it happened before, or at the same nanosecond
    /// but then not after a wait that itself may depend on this one. So no circle is possible.
    #[inline]
    pub(crate) fn counts(&self, source: &Source) -> bool {
        if source.at < self.at || self.whatever {
            return true;
        }
        source.at == self.at
            && if source.rank == self.rank {
                self.replayed.moment(source).is_some()
            } else {
                !source.tied || source.rank < self.rank
            }
    }

    /// What it comes to to wait for a source that may be missing.
    #[inline]
    pub(crate) fn wait_for(&self, source: Option<Source>) -> Answer {
        match source {
            Some(source) if self.counts(&source) => {
                self.moment(&source).map_or_else(Answer::Needs, Answer::After)
            }
            None if self.whatever => Answer::Missing,
            _ => Answer::After(Latest::default()),
        }
    }
}
