//! The members of a communicator, as a raw stream spells them.

use std::collections::HashMap;
use std::sync::Arc;

use crate::cursor::{Cursor, Damage};
use crate::limits::RANKS_MAX;

/// More ranks than any run has; what claims more is damaged.
/// Members of one process's communicators together, equal groups counted once: bounds the memory
/// that a few bytes can claim.
const MEMBERS_MAX: usize = 1 << 23;

/// A member that is not in the process's MPI_COMM_WORLD.
pub(crate) const OUTSIDE: u32 = u32::MAX;

/// Ranks are those of the process's own MPI_COMM_WORLD, or [`OUTSIDE`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RawCommunicator {
    pub identity: u64,
    pub own_rank: i32,
    pub members: Arc<[u32]>,
    pub remote: Option<Arc<[u32]>>,
    /// Those that this rank's neighbourhood collectives receive from; `None` without a topology.
    pub sources: Option<Arc<[u32]>>,
}

/// Keeps equal groups once.
#[derive(Default)]
pub(crate) struct Groups {
    known: HashMap<Vec<u8>, Arc<[u32]>>,
    members: usize,
}

impl Groups {
    /// `number, identity, flags, own rank, runs[, runs of the remote group][, runs of sources]`;
    /// returns the communicator's number in the process, too.
    pub(crate) fn communicator(
        &mut self,
        payload: &[u8],
    ) -> Result<(u32, RawCommunicator), Damage> {
        let mut from = Cursor::new(payload);
        let (number, identity, flags) = (from.u32()?, from.u64()?, from.u8()?);
        let own_rank = from.u32()? as i32;
        let members = self.group(&mut from)?;
        let remote = if flags & 1 != 0 { Some(self.group(&mut from)?) } else { None };
        let sources = if flags & 2 != 0 { Some(self.group(&mut from)?) } else { None };
        Ok((number, RawCommunicator { identity, own_rank, members, remote, sources }))
    }

    fn group(&mut self, from: &mut Cursor) -> Result<Arc<[u32]>, Damage> {
        const RUN_BYTES: usize = 12;
        let runs = from.u32()? as usize;
        if runs > from.left() / RUN_BYTES {
            return Err(from.damage("a communicator's members are cut off"));
        }
        let coded = from.take(runs * RUN_BYTES)?;
        if let Some(known) = self.known.get(coded) {
            return Ok(known.clone());
        }
        let members = expand(coded, MEMBERS_MAX - self.members)?;
        self.members += members.len();
        let members: Arc<[u32]> = members.into();
        self.known.insert(coded.to_vec(), members.clone());
        Ok(members)
    }
}

/// Runs of first, step, count.
fn expand(coded: &[u8], members_max: usize) -> Result<Vec<u32>, Damage> {
    let mut from = Cursor::new(coded);
    let mut members = Vec::new();
    while from.left() > 0 {
        let (first, step, count) =
            (i64::from(from.u32()? as i32), i64::from(from.u32()? as i32), i64::from(from.u32()?));
        if count as usize > members_max - members.len() {
            return Err(from.damage("a communicator has too many members"));
        }
        let last = first + step * (count - 1).max(0);
        if first.max(last) >= i64::from(RANKS_MAX) || first.min(last) < -1 {
            return Err(from.damage("a communicator has a member that is not a rank"));
        }
        members.extend((0..count).map(|i| (first + step * i) as u32)); // −1 is OUTSIDE
    }
    Ok(members)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(runs: &[(u32, i32, u32)]) -> Vec<u8> {
        let words = runs.iter().flat_map(|run| [run.0, run.1 as u32, run.2]);
        words.flat_map(u32::to_le_bytes).collect()
    }

    #[test]
    fn runs_spell_members_in_order() {
        assert_eq!(expand(&runs(&[(6, -2, 3), (9, 0, 1)]), 10).unwrap(), [6, 4, 2, 9]);
    }

    #[test]
    fn a_few_bytes_claim_no_memory() {
        assert!(expand(&runs(&[(0, 0, u32::MAX)]), 1000).is_err());
        assert!(expand(&runs(&[(0, 1 << 30, 4)]), 1000).is_err());
        assert!(expand(&runs(&[(0, -1, 3)]), 1000).is_err());
        assert_eq!(expand(&runs(&[(0, -1, 2)]), 1000).unwrap(), [0, OUTSIDE]);
    }
}
