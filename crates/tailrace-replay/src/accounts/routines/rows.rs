//! A block's calls, one after another. Most hold no others, and are made where no stretch begins or
//! ends that is kept: all there is to these is added up by shape.

use std::num::NonZeroUsize;

use tailrace_trace::Columns;
use tailrace_trace::event::Part;
use tailrace_trace::tables::Window;

use super::Routines;
use crate::accounts::made::{Call, Kind};
use crate::steps::Line;

/// What is summed up of the calls of a shape.
#[derive(Clone, Copy, Default)]
struct Sum {
    calls: u64,
    time: i64,
    /// What the last of them that was taken by itself was.
    link: Link,
}

/// How a call follows the one before.
#[derive(Clone, Copy, Default)]
struct Link {
    /// Where no stretch begins or ends that is kept: the row of the pair, and one.
    row: Option<NonZeroUsize>,
    /// Of the path to the call.
    levels: usize,
}

impl Routines {
    /// Adds a block whose shapes are compiled to `lines`; no event ends after `end_ns`.
    pub(crate) fn follow(
        &mut self,
        columns: &Columns,
        end_ns: i64,
        lines: &[Line],
        window: Window,
    ) {
        if self.levels.is_empty() {
            return;
        }
        let known = self.own.len();
        let calls = columns.shapes.iter().zip(lines);
        let calls: Vec<Call> =
            calls.map(|(shape, line)| Call::new(&shape.shape, line, known)).collect();
        let inside = columns.begin_ns >= window.begin_ns && end_ns <= window.end_ns;
        if inside && columns.long.is_empty() {
            return self.rows(columns, &calls, window.begin_ns);
        }
        let clip = |time: i64| time.clamp(window.begin_ns, window.end_ns) - window.begin_ns;
        for event in columns.events() {
            self.take(&calls[event.shape as usize], clip(event.begin), clip(event.end));
        }
    }

    /// Events that are all in the window, and none of them long.
    fn rows(&mut self, columns: &Columns, calls: &[Call], begin_ns: i64) {
        let mut sums = vec![Sum::default(); calls.len()];
        let mut reached = columns.begin_ns - begin_ns;
        let times = columns.gaps.iter().zip(&columns.durations);
        for (&shape, (&gap, &duration)) in columns.shape_of.iter().zip(times) {
            let (call, sum) = (&calls[usize::from(shape)], &mut sums[usize::from(shape)]);
            let begin = reached + i64::from(gap);
            reached = begin + i64::from(duration);
            if !self.goes_on(call, sum.link, begin, reached) {
                let before = self.last.map(|(place, _)| place);
                self.take(call, begin, reached);
                sum.link = before.map(|before| self.link(before, call.place)).unwrap_or_default();
                continue;
            }
            sum.calls += 1;
            sum.time += i64::from(duration);
        }
        for (call, sum) in calls.iter().zip(sums) {
            self.add(call, sum);
        }
    }

    fn link(&self, before: u32, place: u32) -> Link {
        let row = self.pairs.row(before, place).filter(|row| {
            let shared = self.pairs.rows[*row].relation.shared;
            self.stretches.keeps_nothing(&self.levels, (before, place), shared)
        });
        let row = row.and_then(|row| NonZeroUsize::new(row + 1));
        Link { row, levels: self.levels.of(place).len() }
    }

    /// Takes the call if it holds no others and follows shortly on one that it is linked with: all
    /// but what is summed up by shape.
    #[inline]
    fn goes_on(&mut self, call: &Call, link: Link, begin: i64, end: i64) -> bool {
        let (Some((before, ended)), Some(row)) = (self.last, link.row) else { return false };
        let Some(pair) = self.pairs.rows.get_mut(row.get() - 1) else { return false };
        let is_leaf = call.part == Part::Call && call.kind != Kind::Count && self.depth == 0;
        let is_linked = pair.before == before && pair.place == call.place;
        let time = begin - ended;
        if !is_leaf || !is_linked || begin < self.at || !self.stretches.is_short(before, time) {
            return false;
        }
        pair.count += 1;
        pair.time += time;
        pair.short += time;
        for (way, moved) in self.moved.iter_mut().enumerate() {
            if *moved > pair.relation.shared {
                pair.left(way, *moved);
                *moved = pair.relation.shared;
            }
        }
        let io = if call.kind == Kind::File { end - begin } else { 0 };
        let mut bytes = [0; 2];
        if let Some(way) = call.way {
            self.moved[way] = link.levels;
            bytes[way] = call.bytes;
        }
        self.stretches.pass(link.levels);
        self.stretches.ended(call.place, end, io, bytes);
        (self.at, self.last) = (end, Some((call.place, end)));
        true
    }

    fn add(&mut self, call: &Call, Sum { calls, time, .. }: Sum) {
        let own = &mut self.own[call.place as usize];
        own.calls += calls;
        own.moving += if call.way.is_some() { calls } else { 0 };
        match call.kind {
            Kind::File => own.io += time,
            Kind::Elsewhere | Kind::Count => own.useful += time,
            Kind::Mpi | Kind::MpiIo => {
                own.mpi += time;
                own.mpi_calls += if call.kind == Kind::Mpi { calls } else { 0 };
                own.receives += if call.receives { calls } else { 0 };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::routines::accounts;
    use crate::accounts::routines::tests::levels;

    /// Some calls from six places, one of them unknown, as good as random.
    fn calls() -> Vec<Call> {
        let call = |(place, kind, part): (u32, Kind, Part)| {
            let way = (kind == Kind::File).then_some(place as usize % 2);
            let receives = kind == Kind::Mpi && place == 2;
            Call { place, part, kind, receives, way, bytes: u64::from(place) }
        };
        let of = |place| {
            [
                (place, Kind::File, Part::Call),
                (place, Kind::File, Part::Call),
                (place, Kind::Mpi, Part::Call),
            ]
        };
        let more = [
            (1, Kind::Elsewhere, Part::Call),
            (2, Kind::Count, Part::Call),
            (3, Kind::MpiIo, Part::Call),
            (4, Kind::MpiIo, Part::Enter),
            (4, Kind::MpiIo, Part::Leave),
        ];
        (0..6).flat_map(of).chain(more).map(call).collect()
    }

    #[test]
    fn rows_come_to_what_calls_one_by_one_come_to() {
        let levels = levels(&[
            &[("main", 1), ("halo", 50)],
            &[("main", 2), ("dump", 10)],
            &[("main", 2), ("dump", 20)],
            &[("main", 2), ("dump", 20), ("put", 5)],
            &[("main", 2), ("dump", 20), ("put", 7)],
        ]);
        let calls = calls();
        for seed in 0..200 {
            let mut noise = 88_172_645_463_325_252_u64 + seed;
            let mut below = |below: u64| {
                noise ^= noise << 13;
                noise ^= noise >> 7;
                noise ^= noise << 17;
                noise % below
            };
            let runtime = 20_000; // 200 are long
            let mut by_rows = Routines::new(&levels, true, runtime);
            let mut one_by_one = Routines::new(&levels, true, runtime);
            let mut at = 0;
            // often enough for stretches to be given up
            let blocks = if seed % 20 == 0 { 150 } else { 3 };
            for _ in 0..blocks {
                let mut columns = Columns { begin_ns: 100 + at, ..Columns::default() };
                let (mut shape, mut inside) = (0, false);
                for _ in 0..200 {
                    let leaves = calls.len() as u64 - 2;
                    shape = if below(3) > 0 { shape } else { below(leaves) as usize };
                    let (gap, duration) = (below(20) * (1 + 20 * (below(30) / 29)), below(9));
                    // now and then another call is entered, or left
                    let edge = below(20) == 0;
                    let of = if edge { leaves as usize + usize::from(inside) } else { shape };
                    inside ^= edge;
                    let duration = if edge { 0 } else { duration };
                    columns.shape_of.push(of as u16);
                    columns.gaps.push(gap as u32);
                    columns.durations.push(duration as u32);
                    let begin = at + gap as i64;
                    at = begin + duration as i64;
                    one_by_one.take(&calls[of], begin, at);
                }
                if inside {
                    columns.shape_of.push(calls.len() as u16 - 1);
                    columns.gaps.push(0);
                    columns.durations.push(0);
                    one_by_one.take(&calls[calls.len() - 1], at, at);
                }
                by_rows.rows(&columns, &calls, 100);
            }
            // all but what is kept to find things again, or is asked for no more
            let found = |mut routines: Routines| {
                let accounts = accounts(std::iter::once((0, &mut routines)), 1000);
                let Routines { pairs, own, depth, at, last, moved, first, .. } = routines;
                format!("{:?}", (pairs.rows, own, depth, at, last, moved, first, accounts))
            };
            let [by_rows, one_by_one] = [by_rows, one_by_one].map(found);
            assert_eq!(by_rows, one_by_one, "seed {seed}");
        }
    }
}
