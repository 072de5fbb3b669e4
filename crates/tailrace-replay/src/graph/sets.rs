//! Of few ranks: for how long just these of them were in file calls.
//!
//! What K = ∫k dt comes to in each rank's file calls follows from that, and so it need not be known
//! at each begin and end.

/// Of more ranks there would be too many sets.
pub(crate) const FEW: usize = 8;

const SETS: usize = 1 << FEW;

pub(crate) struct Sets {
    ranks: usize,
    /// The ranks that are in file calls, a bit for each.
    inside: usize,
    /// By set of ranks: for how long just these were, and whether they ever were.
    times: [i64; SETS],
    seen: [bool; SETS],
}

/// What a stretch of time comes to.
pub(crate) struct Stretch {
    pub io: i64,
    /// With k > 0.
    pub busy: i64,
    /// The most that k was.
    pub most: u32,
    /// By rank, what K comes to in its file calls.
    pub areas: [i64; FEW],
}

impl Sets {
    /// `inside`: of each rank, whether it is in a file call.
    pub(crate) fn new(inside: impl ExactSizeIterator<Item = bool>) -> Self {
        let (ranks, times, seen) = (inside.len(), [0; SETS], [false; SETS]);
        let bits = inside.enumerate().map(|(rank, inside)| usize::from(inside) << rank);
        Self { ranks, inside: bits.sum(), times, seen }
    }

    /// No rank is in a file call.
    #[inline]
    pub(crate) fn are_outside(&self) -> bool {
        self.inside == 0
    }

    pub(crate) fn is_inside(&self, rank: usize) -> bool {
        self.inside >> rank & 1 > 0
    }

    /// How many ranks are in file calls.
    pub(crate) fn number(&self) -> u32 {
        self.inside.count_ones()
    }

    /// Time passes, then the rank begins a call, or ends it.
    #[inline]
    pub(crate) fn pass(&mut self, time: i64, rank: u32) {
        let inside = self.inside % SETS;
        self.times[inside] += time;
        self.seen[inside] = true;
        self.inside = inside ^ 1 << (rank as usize % FEW);
    }

    /// What has passed since this was asked last.
    pub(crate) fn take(&mut self) -> Stretch {
        let mut stretch = Stretch { io: 0, busy: 0, most: 0, areas: [0; FEW] };
        for set in 1..1 << self.ranks {
            if !std::mem::take(&mut self.seen[set]) {
                continue;
            }
            let (number, time) = (set.count_ones(), std::mem::take(&mut self.times[set]));
            let area = i64::from(number) * time;
            stretch.io += area;
            stretch.busy += time;
            stretch.most = stretch.most.max(number);
            for (rank, of_rank) in stretch.areas.iter_mut().enumerate() {
                *of_rank += area * (set as i64 >> rank & 1);
            }
        }
        stretch
    }
}
