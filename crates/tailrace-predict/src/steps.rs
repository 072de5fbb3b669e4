//! What a rank does, as steps that can be taken in another time than they were.

use tailrace_replay::program::FileCall;

use crate::gatherings::Gatherings;
pub(crate) use crate::gatherings::{GatheringId, MomentId};

/// Fewer waits tell nothing of a network.
const FEW: usize = 32;

/// One step of a rank; times in nanoseconds, as measured.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// Time of its own: outside of calls, in file calls that are not told one by one, and in MPI
    /// without waiting for anyone.
    Local { useful: i64, io: i64, mpi: i64 },
    /// The rank's file call of that number.
    File { call: u32 },
    /// Others may wait for this instant.
    Mark { moment: MomentId },
    /// Goes on when all of `awaited` has happened, and `transfer` later.
    Wait { awaited: (u32, u32), transfer: i64 },
}

/// What a wait is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Awaited {
    Moment(MomentId),
    /// The first so many of the gathering, by measured time.
    Gathering {
        id: GatheringId,
        first: u32,
    },
}

/// A run as steps: what happens stays the same, and when is to be found.
#[derive(Debug, Default)]
pub struct Steps {
    /// What the run took.
    pub runtime: i64,
    /// By rank.
    pub(crate) ranks: Vec<RankSteps>,
    /// What waits are for; each names a range.
    pub(crate) awaited: Vec<Awaited>,
    pub(crate) moments: u32,
    pub(crate) gatherings: Gatherings,
    /// By moment: the gathering that it is in.
    pub(crate) gathered: Vec<Option<GatheringId>>,
}

impl Steps {
    /// The file calls of all ranks, by rank and in order.
    pub fn calls(&self) -> impl Iterator<Item = &FileCall> {
        self.ranks.iter().flat_map(|rank| &rank.calls)
    }

    /// What waits take beyond what they are for: of all, what one in four takes at most, half of
    /// them, and three in four. None where there are too few to tell.
    pub fn transfers(&self) -> Option<[i64; 3]> {
        let steps = self.ranks.iter().flat_map(|rank| &rank.steps);
        let transfer = |step: &Step| match step {
            Step::Wait { transfer, .. } => Some(*transfer),
            _ => None,
        };
        let mut transfers: Vec<i64> = steps.filter_map(transfer).collect();
        if transfers.len() < FEW {
            return None;
        }
        transfers.sort_unstable();
        Some([1, 2, 3].map(|quarters| transfers[transfers.len() * quarters / 4]))
    }

    /// A copy, in which ranks have their calls and do nothing yet.
    pub(crate) fn all_but_steps(&self) -> Self {
        let of_rank = |rank: &RankSteps| RankSteps {
            birth: rank.birth,
            steps: Vec::new(),
            calls: rank.calls.clone(),
        };
        Self {
            ranks: self.ranks.iter().map(of_rank).collect(),
            awaited: self.awaited.clone(),
            gatherings: self.gatherings.clone(),
            gathered: self.gathered.clone(),
            ..*self
        }
    }

    /// By rank: its file calls as it makes them.
    pub fn calls_made(&self) -> Vec<Vec<FileCall>> {
        let of_rank = |rank: &RankSteps| {
            let call = |step: &Step| match step {
                Step::File { call } => Some(rank.calls[*call as usize]),
                _ => None,
            };
            rank.steps.iter().filter_map(call).collect()
        };
        self.ranks.iter().map(of_rank).collect()
    }
}

#[derive(Debug, Default)]
pub(crate) struct RankSteps {
    pub birth: i64,
    pub steps: Vec<Step>,
    pub calls: Vec<FileCall>,
}
