//! Outputs one by one: what is written into one family of files at a time, and by whom.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::families::Families;
use super::libraries::Keeps;
use super::notes::Note;
use super::shares::{Contribution, Sources};
use super::stretches::{Part, Piece, Stretch};
use super::variables::variables;

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
    /// A collective call of MPI-IO.
    pub is_together: bool,
    /// … in which each rank wrote its own data.
    pub is_unexchanged: bool,
    /// What a library would keep of it, and of which of the family's variables it is then.
    pub keeps: Keeps,
    pub variable: u32,
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
    let apart = apart.into_iter().flat_map(|((family, _), by_rank)| {
        let family = &families.list[family as usize];
        let by_part = family.is_split || family.is_through_mpi;
        joined(&sources, by_rank.into_values().collect(), by_part, family.is_split)
    });
    let all: Vec<Vec<Stretch>> = together.into_values().chain(apart).collect();
    let mut units: Vec<Unit> = all.par_iter().map(|all| unit(&sources, families, all)).collect();
    units.retain(|unit| unit.bytes() > 0);
    units.sort_by_key(|unit| (unit.begin, unit.writer));
    follow(&mut units, families);
    name_variables(&mut units);
    units
}

/// The n-th part of each rank, `by_part` and if all have as many that leave no gap; otherwise the
/// n-th stretch of each, or else each by itself.
fn joined(
    sources: &Sources<'_>,
    mut by_rank: Vec<Vec<Stretch>>,
    by_part: bool,
    is_split: bool,
) -> Vec<Vec<Stretch>> {
    let parts_of = |stretches: &Vec<Stretch>| -> usize {
        stretches.iter().map(|one| if sources.has(one) { 1 } else { one.parts.len() }).sum()
    };
    let is_gathered = || by_rank.iter().flatten().any(|one| sources.has(one));
    if by_part && by_rank.iter().map(parts_of).is_sorted_by(|one, next| one == next) {
        if is_split || by_rank.len() == 1 || is_gathered() || are_whole(&by_rank) {
            by_rank = by_rank.into_iter().map(|stretches| parts(sources, stretches)).collect();
        }
    } else if by_part && by_rank.len() > 1 {
        let own: Vec<Vec<Stretch>> =
            by_rank.iter().map(|stretches| parts(sources, stretches.clone())).collect();
        if let Some(places) = places(&own) {
            return by_place(own, &places);
        }
    }
    if !by_rank.iter().map(Vec::len).is_sorted_by(|one, next| one == next) {
        return by_rank.into_iter().flatten().map(|one| vec![one]).collect();
    }
    let count = by_rank.first().map_or(0, Vec::len);
    let mut ranks: Vec<_> = by_rank.into_iter().map(Vec::into_iter).collect();
    (0..count).map(|_| ranks.iter_mut().filter_map(Iterator::next).collect()).collect()
}

/// Whether the n-th parts of all ranks together leave no gap in the file, as those of a variable do.
/// Those that do are rows of what is written, one call each: nobody gathers row by row.
fn are_whole(by_rank: &[Vec<Stretch>]) -> bool {
    let mut next: Vec<_> =
        by_rank.iter().map(|stretches| stretches.iter().flat_map(|one| &one.parts)).collect();
    loop {
        let together: Vec<&Part> = next.iter_mut().filter_map(Iterator::next).collect();
        if together.is_empty() {
            return true;
        }
        let pieces = together.iter().flat_map(|part| part.pieces.iter().copied());
        if in_one(pieces.collect()).len() > 1 {
            return false;
        }
    }
}

/// By rank: to which stretch of the rank that has most of them each belongs. It lies behind that one
/// and before the next, at most one of each rank does, and together they leave no gap in the file.
fn places(by_rank: &[Vec<Stretch>]) -> Option<Vec<Vec<usize>>> {
    let begin = |stretch: &Stretch| stretch.pieces().map(|piece| piece.0).min();
    let longest = by_rank.iter().rev().max_by_key(|stretches| stretches.len())?;
    let begins: Vec<i64> = longest.iter().map(begin).collect::<Option<_>>()?;
    let place = |stretch: &Stretch| {
        let begin = begin(stretch)?;
        begins.partition_point(|other| *other <= begin).checked_sub(1)
    };
    let of_rank = |stretches: &Vec<Stretch>| stretches.iter().map(place).collect();
    let places: Vec<Vec<usize>> = by_rank.iter().map(of_rank).collect::<Option<_>>()?;
    let is_ascending = |places: &Vec<usize>| places.is_sorted_by(|one, next| one < next);
    let mut together: Vec<Vec<Piece>> = vec![Vec::new(); begins.len()];
    for (place, stretch) in places.iter().flatten().zip(by_rank.iter().flatten()) {
        together[*place].extend(stretch.pieces());
    }
    let has_no_gap = |pieces: Vec<Piece>| in_one(pieces).len() == 1;
    (places.iter().all(is_ascending) && together.into_iter().all(has_no_gap)).then_some(places)
}

fn by_place(by_rank: Vec<Vec<Stretch>>, places: &[Vec<usize>]) -> Vec<Vec<Stretch>> {
    let mut found: BTreeMap<usize, Vec<Stretch>> = BTreeMap::new();
    for (stretch, place) in by_rank.into_iter().flatten().zip(places.iter().flatten()) {
        found.entry(*place).or_default().push(stretch);
    }
    found.into_values().collect()
}

/// Each part of what was not gathered as a stretch by itself.
fn parts(sources: &Sources<'_>, stretches: Vec<Stretch>) -> Vec<Stretch> {
    let mut found = Vec::new();
    for mut stretch in stretches {
        if sources.has(&stretch) {
            found.push(stretch);
        } else {
            let parts = std::mem::take(&mut stretch.parts).into_iter();
            let by_itself = |part| Stretch { parts: vec![part], received: Vec::new(), ..stretch };
            found.extend(parts.map(by_itself));
        }
    }
    found
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
        let calls = stretch.parts.iter().flat_map(Part::all_calls);
        (stretch.rank, calls.collect())
    };
    Unit {
        family: first.family,
        begin: by_rank.values().map(|one| one.begin).min().unwrap_or(0),
        region,
        contributions: by_rank.into_values().collect(),
        writer: first.rank,
        calls: stretches.iter().map(calls).collect(),
        is_own: stretches.iter().all(|one| one.together.is_none() && !sources.has(one)),
        is_together: stretches.iter().all(|one| one.together.is_some()),
        is_unexchanged: stretches.iter().all(|one| one.together.is_some() && one.is_by_itself()),
        keeps: kept_of(stretches),
        variable: 0,
    }
}

/// What all of its writes have in common.
fn kept_of(stretches: &[Stretch]) -> Keeps {
    let mut all = stretches.iter().flat_map(|one| &one.parts).map(|part| part.keeps);
    let first = all.next().unwrap_or_default();
    if all.all(|keeps| keeps == first) { first } else { Keeps::Nothing }
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

/// In each family by itself, of variables in chunks and others: each has the number of the first that
/// is written to it.
fn name_variables(units: &mut [Unit]) {
    let mut alike: BTreeMap<(u32, bool), Vec<usize>> = BTreeMap::new();
    for (number, unit) in units.iter().enumerate().filter(|(_, unit)| unit.keeps != Keeps::Nothing)
    {
        alike.entry((unit.family, unit.keeps == Keeps::Chunks)).or_default().push(number);
    }
    for numbers in alike.into_values() {
        let bytes: Vec<i64> = numbers.iter().map(|number| units[*number].bytes()).collect();
        for (number, variable) in numbers.iter().zip(variables(&bytes)) {
            units[*number].variable = numbers[variable] as u32;
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
