//! What single ranks spend in routines, and between calls from one place: for those who compare
//! ranks with each other.

use std::collections::BTreeMap;

use hashbrown::HashMap;

use crate::accounts::routines::{RoutineAccount, Routines};

/// Of the run, one part in so many is worth to be told of a rank.
const NOTABLE_PART: i64 = 100;

/// What a rank spent between the calls of a routine in which it reads or writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoutineRank {
    /// Row of the routines.
    pub routine: u32,
    pub rank: u32,
    pub useful: i64,
    pub unsure: i64,
}

/// The same of what lies between calls from one place that follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AgainRank {
    pub place: u32,
    pub rank: u32,
    pub time: i64,
}

/// A routine on one rank: how often it was entered, how many of these times it read and wrote, and
/// how often it got data from other ranks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Here {
    pub entries: u64,
    pub with: [u64; 2],
    pub receives: u64,
}

impl Here {
    pub(super) fn moves(&self) -> bool {
        self.with.iter().any(|with| *with > 0)
    }

    pub(super) fn add_to(self, row: &mut RoutineAccount) {
        row.ranks += 1;
        row.receivers += u32::from(self.receives > 0 && self.receives >= self.entries);
        row.entries = row.entries.max(self.entries);
        for way in (0..2).filter(|way| self.with[*way] > 0) {
            row.entries_of[way] += self.entries;
            row.entries_with[way] += self.with[way];
        }
    }
}

/// By place and rank, what is a hundredth of the run or more.
pub(crate) fn again_by_rank<'a>(
    all: impl Iterator<Item = (u32, &'a Routines)>,
    runtime: i64,
) -> Vec<AgainRank> {
    let each = all.flat_map(|(rank, routines)| {
        let mut times: BTreeMap<u32, i64> = BTreeMap::new();
        for (place, again) in routines.again() {
            *times.entry(place).or_default() += again.time;
        }
        times.into_iter().map(move |(place, time)| AgainRank { place, rank, time })
    });
    each.filter(|row| row.time > 0 && row.time >= runtime / NOTABLE_PART).collect()
}

/// What a rank added to the rows of these routines, of which useful and unsure time were so much
/// before.
pub(super) fn since(
    before: &[(i64, i64)],
    rows: &[RoutineAccount],
    rank: u32,
    moving: Vec<u32>,
) -> impl Iterator<Item = RoutineRank> {
    moving.into_iter().map(move |routine| {
        let (row, before) = (&rows[routine as usize], before[routine as usize]);
        let (useful, unsure) = (row.useful - before.0, row.unsure - before.1);
        RoutineRank { routine, rank, useful, unsure }
    })
}

/// By row of the routines that are kept, in their order, what is a hundredth of the run or more.
pub(super) fn told(mut all: Vec<RoutineRank>, order: &[u32], runtime: i64) -> Vec<RoutineRank> {
    let row_of: HashMap<u32, u32> = order.iter().copied().zip(0..).collect();
    all.retain_mut(|row| {
        let found = row_of.get(&row.routine);
        row.routine = found.copied().unwrap_or_default();
        found.is_some() && row.useful + row.unsure >= (runtime / NOTABLE_PART).max(1)
    });
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::routines::accounts;
    use crate::accounts::routines::tests::{levels, taken};

    const COUNT: &[(&str, u64)] = &[("main", 2), ("dump", 10)];
    const PUT: &[(&str, u64)] = &[("main", 2), ("dump", 30)];

    #[test]
    fn what_each_rank_spends_in_a_routine_is_told_from_a_hundredth_of_the_run_on() {
        // of 2000, 15 are less, 20 and 30 are not; where a rank writes nothing, nothing is told
        let levels = levels(&[COUNT, PUT]);
        let ranks = [(9, 15), (9, 20), (9, 0), (9, 30)].map(|(count, put): (i64, i64)| {
            let dump = [(1, 10, 10 + count, 0), (2, 10 + count + put, 60, 8)];
            taken(&levels, if put > 0 { &dump } else { &dump[..1] })
        });
        let mut ranks = ranks;
        let all = ranks.iter_mut().zip(0..).map(|(routines, rank)| (rank, routines));
        let (rows, _, by_rank) = accounts(all, 2000);
        let dump = rows.iter().position(|row| (row.useful, row.ranks) == (65, 4)).unwrap() as u32;
        let of = |rank, useful| RoutineRank { routine: dump, rank, useful, unsure: 0 };
        let told: Vec<_> = by_rank.into_iter().filter(|row| row.routine == dump).collect();
        assert_eq!(told, [of(1, 20), of(3, 30)]);
    }
}
