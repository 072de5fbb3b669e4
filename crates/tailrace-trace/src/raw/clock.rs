//! From the ticks of many processors to nanoseconds on one clock.
//!
//! The processes of a node share its counter and its CLOCK_MONOTONIC, so all their readings of the
//! one against the other make one map per node: a straight line where the readings agree with one,
//! else a line per piece. Another node's CLOCK_MONOTONIC is led onto rank 0's by the offsets that
//! capture measured at MPI_Init's end and MPI_Finalize's begin.

use crate::limits::NS_MAX;

use super::survey::Reading;

/// Pieces that a map may have; one reading, the narrowest, is used in each.
const PIECES: usize = 64;
/// Readings that lie further than this (and their own width) from the straight line show that it is
/// none.
const DEVIATION_NS: f64 = 500.0;
/// Below this distance between first and last reading the nominal frequency is better than their
/// quotient.
const SPAN_NS_MIN: u64 = 1_000_000;
const FRACTION_BITS: u32 = 40;

/// Monotone, piecewise linear. Nanoseconds are those of rank 0's CLOCK_MONOTONIC less the trace's
/// origin.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ClockMap {
    /// Ordered by ticks; the first also serves what comes before it.
    pieces: Vec<Piece>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Piece {
    ticks: u64,
    ns: i64,
    /// Nanoseconds per tick in units of 2^-40.
    slope: i128,
}

/// An offset to another node's clock that capture measured.
#[allow(clippy::struct_field_names)] // the unit is part of a name
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offset {
    pub monotonic_ns: i64,
    /// What to add to reach rank 0's clock.
    pub add_ns: i64,
    pub uncertainty_ns: i64,
}

/// When in the run an offset was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    Begin,
    End,
}

/// Leads a node's CLOCK_MONOTONIC onto rank 0's: one offset at the begin, one at the end, a
/// straight line through both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Alignment {
    pub begin: Option<Offset>,
    pub end: Option<Offset>,
}

impl Alignment {
    /// Takes in what was measured; the most certain offset of each moment counts.
    pub(crate) fn add(&mut self, moment: Moment, offset: Offset) {
        let slot = match moment {
            Moment::Begin => &mut self.begin,
            Moment::End => &mut self.end,
        };
        if slot.is_none_or(|known| offset.uncertainty_ns < known.uncertainty_ns) {
            *slot = Some(offset);
        }
    }

    /// Takes in a value of the meta `clock_offset`: `begin|end, CLOCK_MONOTONIC ns, ns to add,
    /// uncertainty ns`. What is not such a value is left out.
    pub(crate) fn add_meta(&mut self, value: &str) {
        let mut fields =
            value.split(|c: char| c == ',' || c.is_whitespace()).filter(|field| !field.is_empty());
        let moment = match fields.next() {
            Some("begin") => Moment::Begin,
            Some("end") => Moment::End,
            _ => return,
        };
        let numbers: Vec<i64> = fields.filter_map(|field| field.parse().ok()).collect();
        if let [monotonic_ns, add_ns, uncertainty_ns] = numbers[..] {
            self.add(moment, Offset { monotonic_ns, add_ns, uncertainty_ns });
        }
    }

    /// `monotonic_ns` of this node on rank 0's clock.
    fn apply(&self, monotonic_ns: i128) -> i128 {
        match (self.begin.or(self.end), self.end) {
            (None, _) => monotonic_ns,
            (Some(begin), Some(end)) if end.monotonic_ns > begin.monotonic_ns => {
                let span = i128::from(end.monotonic_ns) - i128::from(begin.monotonic_ns);
                let drift = i128::from(end.add_ns) - i128::from(begin.add_ns);
                let since = monotonic_ns - i128::from(begin.monotonic_ns);
                monotonic_ns + i128::from(begin.add_ns) + (drift * since).div_euclid(span)
            }
            (Some(only), _) => monotonic_ns + i128::from(only.add_ns),
        }
    }
}

impl ClockMap {
    /// The map of a node from all its readings (any order), its nominal frequency and its
    /// alignment. Without a reading, ticks are taken to count from zero of the clock.
    pub(crate) fn new(readings: &[Reading], ticks_per_s: u64, alignment: &Alignment) -> Self {
        let nominal = 1e9 / (ticks_per_s.max(1) as f64);
        let mut knots = choose(readings);
        if straight(&knots, nominal) {
            knots = [knots.first(), knots.last()].into_iter().flatten().copied().collect();
        }
        let aligned: Vec<(u64, i64)> =
            knots.iter().map(|knot| (knot.ticks, align(knot.monotonic_ns, alignment))).collect();
        Self { pieces: pieces(&aligned, nominal) }
    }

    /// Makes `origin_ns` the new zero.
    pub(crate) fn shift(&mut self, origin_ns: i64) {
        for piece in &mut self.pieces {
            piece.ns = piece.ns.saturating_sub(origin_ns);
        }
    }

    /// The stretch around `ticks`; it holds nothing where there is none.
    pub(crate) fn stretch(&self, ticks: u64) -> Stretch {
        let next = self.pieces.partition_point(|piece| piece.ticks <= ticks);
        let Some(piece) = next.checked_sub(1).and_then(|at| self.pieces.get(at)) else {
            return Stretch::default();
        };
        let Ok(slope) = u64::try_from(piece.slope) else { return Stretch::default() };
        // So far that no time exceeds what the clamped sum can be.
        let most = ((NS_MAX as u128) << FRACTION_BITS) / u128::from(slope.max(1));
        let most = u64::try_from(most).unwrap_or(u64::MAX);
        let following = self.pieces.get(next);
        Stretch {
            from: piece.ticks,
            until: following
                .map_or(u64::MAX, |following| following.ticks)
                .min(piece.ticks.saturating_add(most)),
            ns: piece.ns,
            slope,
            latest_ns: following.map_or(NS_MAX, |following| following.ns.min(NS_MAX)),
        }
    }

    pub(crate) fn ns(&self, ticks: u64) -> i64 {
        let next = self.pieces.partition_point(|piece| piece.ticks <= ticks);
        let at = next.saturating_sub(1);
        let ns = self.pieces[at].ns(ticks);
        // Rounding must not make time run backwards where two pieces meet.
        self.pieces.get(at + 1).map_or(ns, |following| ns.min(following.ns))
    }
}

/// A stretch of ticks over which [`ClockMap::ns`] is one multiplication.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stretch {
    from: u64,
    until: u64,
    ns: i64,
    slope: u64,
    latest_ns: i64,
}

impl Stretch {
    pub(crate) fn holds(&self, first: u64, last: u64) -> bool {
        self.from <= first && last < self.until
    }

    /// The same as the map's, of ticks that it holds.
    #[inline]
    pub(crate) fn ns(&self, ticks: u64) -> i64 {
        let since = u128::from(ticks.wrapping_sub(self.from));
        let ns = (since * u128::from(self.slope) + (1 << (FRACTION_BITS - 1))) >> FRACTION_BITS;
        self.ns.wrapping_add(ns as i64).min(self.latest_ns)
    }
}

impl Piece {
    fn ns(&self, ticks: u64) -> i64 {
        let since = i128::from(ticks) - i128::from(self.ticks);
        let ns = i128::from(self.ns)
            + ((since * self.slope + (1 << (FRACTION_BITS - 1))) >> FRACTION_BITS);
        ns.clamp(i128::from(-NS_MAX), i128::from(NS_MAX)) as i64
    }
}

fn align(monotonic_ns: u64, alignment: &Alignment) -> i64 {
    let ns = alignment.apply(i128::from(monotonic_ns));
    ns.clamp(i128::from(-NS_MAX), i128::from(NS_MAX)) as i64
}

/// The narrowest reading of each of [`PIECES`] equal parts of the time, in order and monotone in
/// both clocks.
pub(crate) fn choose(readings: &[Reading]) -> Vec<Reading> {
    let mut ordered = readings.to_vec();
    ordered.sort_by_key(|reading| (reading.ticks, reading.monotonic_ns, reading.width_ticks));
    let (Some(first), Some(last)) = (ordered.first().copied(), ordered.last().copied()) else {
        return Vec::new();
    };
    let part = |r: &Reading| {
        (u128::from(r.ticks - first.ticks) * PIECES as u128)
            / (u128::from(last.ticks - first.ticks) + 1)
    };
    let narrowest =
        |pieces: &[Reading]| *pieces.iter().min_by_key(|r| r.width_ticks).unwrap_or(&pieces[0]);
    let mut chosen: Vec<Reading> = Vec::new();
    for pieces in ordered.chunk_by(|a, b| part(a) == part(b)) {
        let reading = narrowest(pieces);
        if chosen
            .last()
            .is_none_or(|l| l.ticks < reading.ticks && l.monotonic_ns < reading.monotonic_ns)
        {
            chosen.push(reading);
        }
    }
    chosen
}

/// Whether all readings lie on the line through the first and the last, as far as their widths
/// tell.
fn straight(knots: &[Reading], nominal: f64) -> bool {
    let (Some(first), Some(last)) = (knots.first(), knots.last()) else {
        return true;
    };
    let slope =
        (last.monotonic_ns - first.monotonic_ns) as f64 / (last.ticks - first.ticks).max(1) as f64;
    let off = |knot: &Reading| {
        let expected = (knot.ticks - first.ticks) as f64 * slope;
        ((knot.monotonic_ns - first.monotonic_ns) as f64 - expected).abs()
    };
    let widest = f64::from(first.width_ticks.max(last.width_ticks));
    knots
        .iter()
        .all(|knot| off(knot) <= DEVIATION_NS + (f64::from(knot.width_ticks) + widest) * nominal)
}

fn pieces(knots: &[(u64, i64)], nominal: f64) -> Vec<Piece> {
    let unit = (1u64 << FRACTION_BITS) as f64;
    let nominal = ((nominal * unit) as i128).max(1);
    let Some(&(first_ticks, first_ns)) = knots.first() else {
        return vec![Piece { ticks: 0, ns: 0, slope: nominal }];
    };
    let wide = |a: i64, b: i64| b.abs_diff(a) >= SPAN_NS_MIN;
    let slope = |a: &(u64, i64), b: &(u64, i64)| {
        if wide(a.1, b.1) {
            let ticks = i128::from(b.0 - a.0).max(1);
            ((((i128::from(b.1) - i128::from(a.1)) << FRACTION_BITS) + ticks / 2) / ticks).max(1)
        } else {
            nominal
        }
    };
    let mut pieces: Vec<Piece> = knots
        .windows(2)
        .map(|w| Piece { ticks: w[0].0, ns: w[0].1, slope: slope(&w[0], &w[1]) })
        .collect();
    if pieces.len() != 1 {
        // Beyond the last reading the last piece's slope goes on.
        let (ticks, ns) = knots.last().copied().unwrap_or((first_ticks, first_ns));
        pieces.push(Piece { ticks, ns, slope: pieces.last().map_or(nominal, |last| last.slope) });
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(ticks: u64, monotonic_ns: u64, width_ticks: u32) -> Reading {
        Reading { ticks, monotonic_ns, width_ticks, realtime_ns: 0 }
    }

    #[test]
    fn a_straight_clock_is_one_line() {
        // 2 GHz: tick 1,000 is 5,000 ns, and 2 s later 4e9 ticks more. The bad reading in between
        // is 90 us wide and ignored.
        let readings = [
            reading(1000, 5000, 40),
            reading(2_000_001_000, 1_000_005_040, 180_000),
            reading(4_000_001_000, 2_000_005_000, 40),
        ];
        let map = ClockMap::new(&readings, 2_100_000_000, &Alignment::default());
        assert_eq!(map.pieces.len(), 1);
        assert_eq!(
            [map.ns(1000), map.ns(1004), map.ns(2_000_001_000), map.ns(0)],
            [5000, 5002, 1_000_005_000, 4500]
        );
    }

    #[test]
    fn a_clock_that_bends_is_followed_and_stays_monotone() {
        let readings: Vec<Reading> = (0..=20)
            .map(|i: u64| {
                reading(
                    i * 2_000_000_000,
                    if i <= 10 {
                        i * 1_000_000_000
                    } else {
                        10_000_000_000 + (i - 10) * 1_000_100_000
                    },
                    40,
                )
            })
            .collect();
        let map = ClockMap::new(&readings, 2_000_000_000, &Alignment::default());
        assert_eq!(map.ns(10 * 2_000_000_000), 10_000_000_000);
        assert_eq!(map.ns(20 * 2_000_000_000), 20_001_000_000);
        let times: Vec<i64> = (0..4000).map(|i| map.ns(i * 10_000_019)).collect();
        assert!(times.is_sorted());
    }

    #[test]
    fn another_node_is_led_onto_rank_0_with_its_drift() {
        // 1000 ns at local time 0, 3000 ns at local time 10 s: at 5 s 2000 ns. The less certain one
        // is not used.
        let mut alignment = Alignment::default();
        for value in ["begin, 0, 1000, 50", "begin, 0, 9999, 500", "end, 10000000000, 3000, 50"] {
            alignment.add_meta(value);
        }
        let readings = [reading(0, 0, 1), reading(10_000_000_000, 10_000_000_000, 1)];
        let map = ClockMap::new(&readings, 1_000_000_000, &alignment);
        assert_eq!(
            [map.ns(0), map.ns(5_000_000_000), map.ns(10_000_000_000)],
            [1000, 5_000_002_000, 10_000_003_000]
        );
    }

    #[test]
    fn a_stretch_tells_the_same() {
        let readings: Vec<Reading> = (0..=20)
            .map(|i: u64| reading(5_000 + i * 2_000_000_000, i * i * 40_000_000 + 7, 40))
            .collect();
        for map in [
            ClockMap::new(&readings, 2_000_000_000, &Alignment::default()),
            ClockMap::new(&[], 1_000_000, &Alignment::default()),
        ] {
            let ends = [0, 1, 4_999, 5_000, 40_000_005_000, 40_000_005_001, 1 << 62, u64::MAX];
            let mut held = 0;
            for ticks in (0..40_000).map(|i| i * 1_000_003).chain(ends) {
                let stretch = map.stretch(ticks);
                if stretch.holds(ticks, ticks) {
                    held += 1;
                    assert_eq!(stretch.ns(ticks), map.ns(ticks), "{ticks}");
                }
            }
            assert!(held > 39_000, "{held}");
        }
    }

    #[test]
    fn one_reading_leaves_the_nominal_frequency() {
        let map = ClockMap::new(&[reading(100, 1000, 4)], 500_000_000, &Alignment::default());
        assert_eq!(map.ns(110), 1020);
    }
}
