//! By place: what lies between calls that follow each other from there, and before its calls.

use std::collections::BTreeMap;

use crate::accounts::pairs::Again;
use crate::accounts::routines::Routines;

/// By place, of all locations: a loop in the program, most often.
pub(crate) fn again<'a>(all: impl Iterator<Item = &'a Routines>) -> BTreeMap<u32, Again> {
    let mut places: BTreeMap<u32, Again> = BTreeMap::new();
    for (place, again) in all.flat_map(Routines::again) {
        let sum = places.entry(place).or_default();
        sum.count += again.count;
        sum.time += again.time;
    }
    places
}

/// By place, of all locations: what lay before the calls from there; before the first call, the
/// beginning of the run.
pub(crate) fn before<'a>(all: impl Iterator<Item = &'a Routines>) -> BTreeMap<u32, i64> {
    let mut places = BTreeMap::new();
    let each = |routines: &'a Routines| {
        let first = (!routines.pairs.lost).then_some((routines.first, routines.first_at));
        routines.pairs.before().chain(first)
    };
    for (place, time) in all.flat_map(each) {
        *places.entry(place).or_default() += time;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::routines::tests::{HALO, PUT, RUNTIME, levels, mpi};

    #[test]
    fn what_lies_before_the_first_call_lies_before_its_place() {
        // the run begins at 0
        let levels = levels(&[HALO, PUT]);
        let mut routines = Routines::new(&levels, true, RUNTIME);
        for (place, begin, end) in [(2, 10, 12), (1, 15, 16), (2, 20, 21)] {
            routines.take(&mpi(place), begin, end);
        }
        assert_eq!(before(std::iter::once(&routines)), BTreeMap::from([(1, 3), (2, 14)]));
    }

    #[test]
    fn what_lies_between_calls_whose_path_is_cut_is_counted_once() {
        // 1 from one to the next, whatever call of a known path was the last
        let levels = levels(&[PUT, &[]]);
        let mut routines = Routines::new(&levels, true, RUNTIME);
        for (place, begin, end) in [(1, 0, 1), (2, 2, 3), (2, 4, 5), (2, 6, 7)] {
            routines.take(&mpi(place), begin, end);
        }
        let between = BTreeMap::from([(2, Again { count: 2, time: 2 })]);
        assert_eq!(again(std::iter::once(&routines)), between);
    }
}
