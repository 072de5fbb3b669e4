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

    /// Says of each call whether its rank waited for another since the one before.
    pub(crate) fn note_waits(mut self) -> Self {
        for rank in &mut self.ranks {
            let mut waited = false;
            for step in &rank.steps {
                match step {
                    Step::Wait { .. } => waited = true,
                    Step::File { call } => {
                        rank.calls[*call as usize].after_wait = std::mem::take(&mut waited);
                    }
                    Step::Local { .. } | Step::Mark { .. } => {}
                }
            }
        }
        self
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

#[cfg(test)]
mod tests {
    use tailrace_replay::Access;
    use tailrace_replay::program::Naming;

    use super::*;

    #[test]
    fn calls_know_whether_their_rank_waited_since_the_one_before() {
        let (access, naming, after_wait) = (Access::Lock, Naming::Stays, false);
        let (file, bytes, offset) = (0, 0, None);
        let call = FileCall { begin: 0, end: 0, access, naming, file, bytes, offset, after_wait };
        let wait = Step::Wait { awaited: (0, 0), transfer: 0 };
        let local = Step::Local { useful: 1, io: 0, mpi: 0 };
        let [first, second, third] = [0, 1, 2].map(|call| Step::File { call });
        // computing is no wait, and a wait counts for the next call alone
        let steps = vec![wait, local, first, local, second, wait, third];
        let rank = RankSteps { birth: 0, steps, calls: vec![call; 3] };
        let noted = Steps { ranks: vec![rank], ..Steps::default() }.note_waits();
        let waited: Vec<bool> = noted.calls().map(|call| call.after_wait).collect();
        assert_eq!(waited, [true, false, true]);
    }
}
