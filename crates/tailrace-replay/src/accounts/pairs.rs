//! Two places whose calls came one after the other: how often, and what lay between.

use hashbrown::HashMap;

use crate::accounts::levels::Relation;

/// Beyond, no more are kept.
const PAIRS_MAX: usize = 1 << 18;
/// Places that follow a place at once, remembered for each: a loop has one, or two.
const RECENT: usize = 2;

#[derive(Clone, Debug, Default)]
pub(crate) struct Pair {
    pub before: u32,
    pub place: u32,
    pub count: u64,
    /// Between the calls.
    pub time: i64,
    /// Between the calls where that was no long time, and whether it was one at times.
    pub short: i64,
    pub any_long: bool,
    pub relation: Relation,
    /// By way: how often so many levels of `before`, from the outermost, had read, and written, of
    /// which some are left.
    pub moved: [Vec<(usize, u64)>; 2],
}

impl Pair {
    /// In place of a place: there are no more calls.
    pub(crate) const END: u32 = u32::MAX;

    pub(crate) fn left(&mut self, way: usize, moved: usize) {
        match self.moved[way].iter_mut().find(|(levels, _)| *levels == moved) {
            Some((_, count)) => *count += 1,
            None => self.moved[way].push((moved, 1)),
        }
    }

    /// How often the level had read, or written.
    pub(crate) fn moved_at(&self, way: usize, level: usize) -> u64 {
        let deep = self.moved[way].iter().filter(|(levels, _)| *levels > level);
        deep.map(|(_, count)| count).sum()
    }
}

/// Calls from one place, or one line, that followed each other with no other call in between: how
/// many did, and what lay between them where that was no long time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Again {
    pub count: u64,
    pub time: i64,
}

#[derive(Debug, Default)]
pub(crate) struct Pairs {
    pub rows: Vec<Pair>,
    index: HashMap<(u32, u32), u32>,
    /// By place before: the next one and the row.
    recent: Vec<[(u32, u32); RECENT]>,
    /// There were more than are kept.
    pub lost: bool,
}

impl Pairs {
    const NONE: (u32, u32) = (u32::MAX, 0);

    /// By place of the later call, which may have several rows; nothing where something is missing.
    /// Another call of that line was one of these if it `moves` bytes, too: no synchronisation.
    pub(crate) fn again(&self, moves: impl Fn(u32) -> bool) -> impl Iterator<Item = (u32, Again)> {
        let again = move |row: &&Pair| {
            row.before == row.place || row.relation.one_line && moves(row.before)
        };
        let rows = self.rows.iter().filter(move |row| !self.lost && again(row));
        rows.map(|row| (row.place, Again { count: row.count, time: row.short }))
    }

    /// By place of the later call, which may have several rows: what lay before calls from there,
    /// however long, and whatever call was the last. Nothing where something is missing.
    pub(crate) fn before(&self) -> impl Iterator<Item = (u32, i64)> + '_ {
        let rows = self.rows.iter().filter(|row| row.place != Pair::END && !self.lost);
        rows.map(|row| (row.place, row.time))
    }

    #[inline]
    pub(crate) fn get(
        &mut self,
        before: u32,
        place: u32,
        relation: impl FnOnce() -> Relation,
    ) -> &mut Pair {
        let recent = self.recent.get(before as usize).copied().unwrap_or([Self::NONE; RECENT]);
        let row = match recent.iter().find(|(next, _)| *next == place) {
            Some((_, row)) => *row,
            None => self.find(before, place, relation),
        };
        &mut self.rows[row as usize]
    }

    /// The row of a pair that was had lately.
    pub(crate) fn row(&self, before: u32, place: u32) -> Option<usize> {
        let recent = self.recent.get(before as usize)?.iter();
        recent.copied().find(|(next, _)| *next == place).map(|(_, row)| row as usize)
    }

    #[cold]
    fn find(&mut self, before: u32, place: u32, relation: impl FnOnce() -> Relation) -> u32 {
        if self.rows.len() > PAIRS_MAX {
            *self = Self { lost: true, ..Self::default() };
        }
        let next = self.rows.len() as u32;
        let row = *self.index.entry((before, place)).or_insert(next);
        if row == next {
            self.rows.push(Pair { before, place, relation: relation(), ..Pair::default() });
        }
        if self.recent.len() <= before as usize {
            self.recent.resize(before as usize + 1, [Self::NONE; RECENT]);
        }
        self.recent[before as usize].rotate_right(1);
        self.recent[before as usize][0] = (place, row);
        row
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_from_one_place_follow_each_other_where_no_other_is_between() {
        let mut pairs = Pairs::default();
        for (before, place, short) in [(1, 2, 5), (2, 2, 7), (2, 2, 8), (2, 1, 9), (1, 2, 5)] {
            let pair = pairs.get(before, place, Relation::default);
            pair.count += 1;
            pair.short += short;
        }
        let again: Vec<_> = pairs.again(|_| true).collect();
        assert_eq!(again, [(2, Again { count: 2, time: 15 })]);
        pairs.lost = true;
        assert_eq!(pairs.again(|_| true).count(), 0);
    }

    #[test]
    fn what_lies_before_calls_from_a_place_is_counted_whatever_came_before() {
        let mut pairs = Pairs::default();
        for (before, time) in [(1, 50), (2, 7)] {
            pairs.get(before, 2, Relation::default).time += time;
        }
        pairs.rows.push(Pair { before: 2, place: Pair::END, time: 900, ..Pair::default() });
        assert_eq!(pairs.before().map(|(_, time)| time).sum::<i64>(), 57);
    }

    #[test]
    fn so_do_calls_from_one_line() {
        let mut pairs = Pairs::default();
        for (before, place, one_line) in [(1, 2, true), (2, 1, true), (3, 1, false)] {
            let pair = pairs.get(before, place, || Relation { one_line, ..Relation::default() });
            (pair.count, pair.short) = (1, 4);
        }
        let again: Vec<_> = pairs.again(|_| true).collect();
        assert_eq!(again, [(2, Again { count: 1, time: 4 }), (1, Again { count: 1, time: 4 })]);
        let writes: Vec<_> = pairs.again(|place| place == 2).collect();
        assert_eq!(writes, [(1, Again { count: 1, time: 4 })]); // 1 is fsync, on the line of 2
    }
}
