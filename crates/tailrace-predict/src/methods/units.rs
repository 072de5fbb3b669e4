//! Outputs one by one: what is written into one family of files at a time, and by whom.

use std::collections::BTreeMap;

use super::families::Families;
use super::notes::Note;
use super::shares::{Contribution, Sources};
use super::stretches::{Part, Piece, Stretch};

/// What ranks write together: a variable, or all of a time step.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    pub family: u32,
    /// When the first rank began with it.
    pub begin: i64,
    /// Where it lies in the file that all share, in the order in which it is written.
    pub region: Vec<Piece>,
    /// By rank.
    pub contributions: Vec<Contribution>,
    /// The first of the ranks that wrote it.
    pub writer: u32,
    /// The ranks' file calls that it consists of.
    pub calls: Vec<(u32, Vec<u32>)>,
    /// Each rank wrote its own data by itself.
    pub is_own: bool,
}

impl Unit {
    /// More than one rank has a part in it.
    pub(super) fn is_joint(&self) -> bool {
        self.contributions.iter().filter(|one| one.bytes > 0).count() > 1
    }

    pub(super) fn bytes(&self) -> i64 {
        self.contributions.iter().map(|one| one.bytes).sum()
    }
}

/// In order of time. Writes of ranks that wrote a different number of times between two meetings of
/// all are each by itself.
pub(super) fn units(
    notes: &[Vec<Note>],
    stretches: Vec<Vec<Stretch>>,
    families: &Families,
) -> Vec<Unit> {
    let sources = Sources::of(notes, &stretches, families);
    let mut together: BTreeMap<(u32, (u32, u32)), Vec<Stretch>> = BTreeMap::new();
    let mut apart: BTreeMap<(u32, u32), BTreeMap<u32, Vec<Stretch>>> = BTreeMap::new();
    for stretch in stretches.into_iter().flatten() {
        if let Some(number) = stretch.together {
            together.entry((stretch.family, number)).or_default().push(stretch);
        } else {
            let epoch = apart.entry((stretch.family, stretch.epoch)).or_default();
            epoch.entry(stretch.rank).or_default().push(stretch);
        }
    }
    let mut units: Vec<Unit> =
        together.into_values().map(|all| unit(&sources, families, &all)).collect();
    for ((family, _), by_rank) in apart {
        let family = &families.list[family as usize];
        let by_rank: Vec<Vec<Stretch>> = by_rank.into_values().collect();
        let by_part = family.is_split || family.is_through_mpi;
        let joined = by_part
            .then(|| by_rank.iter().map(|all| parts(&sources, all)).collect::<Vec<_>>())
            .and_then(|parts| joined(&parts))
            .or_else(|| joined(&by_rank))
            .unwrap_or_else(|| by_rank.into_iter().flatten().map(|one| vec![one]).collect());
        units.extend(joined.iter().map(|all| unit(&sources, families, all)));
    }
    units.retain(|unit| unit.bytes() > 0);
    units.sort_by_key(|unit| (unit.begin, unit.writer));
    follow(&mut units, families);
    units
}

/// Each part of what was not gathered as a stretch by itself.
fn parts(sources: &Sources<'_>, stretches: &[Stretch]) -> Vec<Stretch> {
    let of_part = |stretch: &Stretch, part: &Part| Stretch {
        parts: vec![part.clone()],
        received: Vec::new(),
        ..*stretch
    };
    let mut found = Vec::new();
    for stretch in stretches {
        if sources.contributions(stretch).is_none() {
            found.extend(stretch.parts.iter().map(|part| of_part(stretch, part)));
        } else {
            found.push(stretch.clone());
        }
    }
    found
}

/// The n-th of each rank, if all have as many.
fn joined(by_rank: &[Vec<Stretch>]) -> Option<Vec<Vec<Stretch>>> {
    let count = by_rank.first()?.len();
    let is_even = by_rank.iter().all(|own| own.len() == count);
    let at = |number: usize| by_rank.iter().map(|own| own[number].clone()).collect();
    is_even.then(|| (0..count).map(at).collect())
}

fn unit(sources: &Sources<'_>, families: &Families, stretches: &[Stretch]) -> Unit {
    let first = &stretches[0];
    let mut by_rank: BTreeMap<u32, Contribution> = BTreeMap::new();
    for stretch in stretches {
        for found in contributions(sources, stretch, stretches) {
            if let Some(known) = by_rank.get_mut(&found.rank) {
                known.bytes += found.bytes;
                known.begin = known.begin.min(found.begin);
                known.end = known.end.max(found.end);
                known.pieces = None;
            } else {
                by_rank.insert(found.rank, found);
            }
        }
    }
    let of_all = || stretches.iter().flat_map(Stretch::pieces);
    let region = match (families.list[first.family as usize].is_split, stretches.len()) {
        (true, 2..) => Vec::new(),
        (_, 1) => of_all().collect(),
        _ => in_one(of_all().collect()),
    };
    let calls = |stretch: &Stretch| {
        let calls = stretch.parts.iter().flat_map(|part| part.calls.iter().copied());
        (stretch.rank, calls.collect())
    };
    Unit {
        family: first.family,
        begin: by_rank.values().map(|one| one.begin).min().unwrap_or(0),
        region,
        contributions: by_rank.into_values().collect(),
        writer: first.rank,
        calls: stretches.iter().map(calls).collect(),
        is_own: stretches
            .iter()
            .all(|one| one.together.is_none() && sources.contributions(one).is_none()),
    }
}

fn contributions(sources: &Sources<'_>, stretch: &Stretch, all: &[Stretch]) -> Vec<Contribution> {
    if let Some(found) = sources.contributions(stretch) {
        return found;
    }
    // whoever writes for others through MPI-IO leaves open which bytes are whose
    let is_known = stretch.together.is_none() || all.iter().all(Stretch::is_exact);
    let is_known = is_known && stretch.is_exact();
    vec![Contribution {
        rank: stretch.rank,
        bytes: stretch.bytes(),
        begin: stretch.begin(),
        end: stretch.end(),
        pieces: is_known.then(|| stretch.pieces().collect()),
    }]
}

/// Pieces that touch or overlap as one, in the order of the file.
pub(super) fn in_one(mut pieces: Vec<Piece>) -> Vec<Piece> {
    pieces.sort_unstable();
    let mut joined: Vec<Piece> = Vec::with_capacity(pieces.len());
    for (begin, bytes) in pieces {
        match joined.last_mut() {
            Some(last) if begin <= last.0 + last.1 => {
                last.1 = last.1.max(begin + bytes - last.0);
            }
            _ => joined.push((begin, bytes)),
        }
    }
    joined
}

/// What each rank wrote into a file of its own lies one behind the other in a file of all.
fn follow(units: &mut [Unit], families: &Families) {
    let mut ends = vec![0; families.list.len()];
    for unit in units {
        if families.list[unit.family as usize].is_split {
            let end = &mut ends[unit.family as usize];
            unit.region = vec![(*end, unit.bytes())];
            *end += unit.bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::in_one;

    #[test]
    fn pieces_that_touch_become_one() {
        assert_eq!(in_one(vec![(20, 5), (0, 10), (10, 5), (12, 2)]), [(0, 15), (20, 5)]);
    }
}
