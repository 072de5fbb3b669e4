//! Time by state, and bytes moved, in bins of equal width.

/// What a rank's main thread does at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum State {
    /// Outside every captured call.
    Useful = 0,
    /// In a file call.
    Io = 1,
    /// In MPI outside file calls.
    Mpi = 2,
}

impl State {
    pub fn name(self) -> &'static str {
        match self {
            Self::Useful => "useful",
            Self::Io => "io",
            Self::Mpi => "mpi",
        }
    }
}

/// Rows of a timeline at most; more ranks share rows.
const MOST_ROWS: usize = 256;

/// Rows of ranks by bins of time; nanoseconds since the window's begin.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    /// Width of a bin; the last may reach beyond the window.
    pub bin: i64,
    pub bins: usize,
    pub rows: usize,
    pub ranks_per_row: usize,
    /// By row, then bin, then [`State`]: rows stay where they were filled.
    pub time: Vec<Vec<[i64; 3]>>,
    /// By bin: bytes read, bytes written, spread evenly over the duration of the calls that moved
    /// them.
    pub bytes: Vec<[u64; 2]>,
}

impl Timeline {
    /// Of rows that are to be added.
    pub(crate) fn new(runtime: i64, ranks: usize, most_bins: usize) -> Self {
        let bin = (runtime + most_bins.max(1) as i64 - 1) / most_bins.max(1) as i64;
        let bin = bin.max(1);
        let bins = ((runtime + bin - 1) / bin).max(1) as usize;
        let ranks_per_row = ranks.div_ceil(MOST_ROWS).max(1);
        let (rows, bytes) = (ranks.div_ceil(ranks_per_row), vec![[0; 2]; bins]);
        Self { bin, bins, rows, ranks_per_row, time: Vec::new(), bytes }
    }

    /// An empty row of this timeline.
    pub(crate) fn row_to_fill(&self) -> Row {
        Row { bin: self.bin, time: vec![[0; 3]; self.bins], bytes: Vec::new() }
    }

    /// The next row is full.
    pub(crate) fn add(&mut self, row: Row) {
        self.time.push(row.time);
    }

    /// Bytes that were moved by some rows.
    pub(crate) fn add_bytes(&mut self, more: &[[u64; 2]]) {
        for (bytes, more) in self.bytes.iter_mut().zip(more) {
            (0..2).for_each(|direction| bytes[direction] += more[direction]);
        }
    }

    pub fn row(&self, rank: u32) -> usize {
        rank as usize / self.ranks_per_row
    }

    /// By bin: the mean number of ranks in a file call.
    pub fn ranks_in_io(&self) -> Vec<f64> {
        let io = |bin: usize| self.time.iter().map(|row| row[bin][State::Io as usize]).sum::<i64>();
        (0..self.bins).map(|bin| io(bin) as f64 / self.bin as f64).collect()
    }
}

/// One row of a [`Timeline`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    bin: i64,
    time: Vec<[i64; 3]>,
    /// None as long as none moved: many ranks of many runs move none.
    pub bytes: Bytes,
}

/// By bin. Of which row they are is not asked: who fills one row after another needs no more.
pub(crate) type Bytes = Vec<[u64; 2]>;

impl Row {
    /// The bin of a moment; the window's end belongs to the last.
    fn bin_of(&self, moment: i64) -> usize {
        ((moment / self.bin) as usize).min(self.time.len() - 1)
    }

    /// Adds time in `state` from `begin` to `end`.
    pub(crate) fn add(&mut self, state: State, begin: i64, end: i64) {
        let (mut bin, mut from) = (self.bin_of(begin), begin);
        while from < end {
            let to = end.min((bin as i64 + 1) * self.bin);
            self.time[bin][state as usize] += to - from;
            (from, bin) = (to, bin + 1);
        }
    }

    /// Spreads `bytes` (direction 0: read, 1: written) over the bins from `begin` to `end`,
    /// exactly: no byte is lost.
    pub(crate) fn spread(&mut self, direction: usize, bytes: u64, begin: i64, end: i64) {
        let (first, last) = (self.bin_of(begin), self.bin_of(end));
        self.make_room();
        let duration = i128::from((end - begin).max(1));
        let mut before = 0;
        for bin in first..last {
            let share =
                i128::from((bin as i64 + 1) * self.bin - begin) * i128::from(bytes) / duration;
            self.bytes[bin][direction] += share as u64 - before;
            before = share as u64;
        }
        self.bytes[last][direction] += bytes - before;
    }

    /// Adds bytes that moved in a bin.
    fn put_bytes(&mut self, bin: usize, bytes: [u64; 2]) {
        self.make_room();
        (0..2).for_each(|direction| self.bytes[bin][direction] += bytes[direction]);
    }

    fn make_room(&mut self) {
        if self.bytes.is_empty() {
            self.bytes.resize(self.time.len(), [0; 2]);
        }
    }
}

/// The bin that a rank is in, kept beside its clocks so that most calls touch nothing else.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pen {
    bin: usize,
    /// The moment at which the bin ends.
    edge: i64,
    time: [i64; 3],
    bytes: [u64; 2],
    totals: [i64; 3],
}

impl Pen {
    pub(crate) fn new(row: &Row) -> Self {
        Self { edge: row.bin, ..Self::default() }
    }

    /// Time in `state` from `begin`, where the last stroke ended, to `end`.
    #[inline]
    pub(crate) fn stroke(&mut self, row: &mut Row, state: State, begin: i64, end: i64) {
        if end <= self.edge {
            self.time[state as usize] += end - begin;
        } else {
            self.turn(row, state, begin, end);
        }
    }

    /// Until then time and bytes are only to be [`Pen::put`].
    pub(crate) fn edge(&self) -> i64 {
        self.edge
    }

    /// Time in the bin, by [`State`].
    #[inline]
    pub(crate) fn put(&mut self, time: [i64; 3]) {
        (0..3).for_each(|state| self.time[state] += time[state]);
    }

    /// Bytes that moved in the bin.
    pub(crate) fn put_bytes(&mut self, direction: usize, bytes: u64) {
        self.bytes[direction] += bytes;
    }

    /// `bytes` moved from `begin` to `end`, where the last stroke ended.
    #[inline]
    pub(crate) fn moved(
        &mut self,
        row: &mut Row,
        direction: usize,
        bytes: u64,
        begin: i64,
        end: i64,
    ) {
        if begin > self.edge - row.bin && end < self.edge {
            self.bytes[direction] += bytes;
        } else {
            row.spread(direction, bytes, begin, end);
        }
    }

    /// Puts down what the pen holds.
    #[inline]
    pub(crate) fn flush(&mut self, row: &mut Row) {
        let time = &mut row.time[self.bin];
        (0..3).for_each(|state| time[state] += self.time[state]);
        (0..3).for_each(|state| self.totals[state] += self.time[state]);
        if self.bytes != [0; 2] {
            row.put_bytes(self.bin, self.bytes);
        }
        (self.time, self.bytes) = ([0; 3], [0; 2]);
    }

    /// Time by state over all strokes that were put down.
    pub(crate) fn totals(&self) -> [i64; 3] {
        self.totals
    }

    #[inline(never)]
    fn turn(&mut self, row: &mut Row, state: State, begin: i64, end: i64) {
        let state = state as usize;
        self.time[state] += self.edge - begin;
        self.flush(row);
        (self.bin, self.edge) = (self.bin + 1, self.edge + row.bin);
        while self.edge < end {
            row.time[self.bin][state] += row.bin;
            self.totals[state] += row.bin;
            (self.bin, self.edge) = (self.bin + 1, self.edge + row.bin);
        }
        self.time[state] = end - (self.edge - row.bin);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(runtime: i64) -> Row {
        Timeline::new(runtime, 1, 10).row_to_fill()
    }

    #[test]
    fn strokes_fill_bins_and_conserve_time() {
        let mut row = row(100);
        let mut pen = Pen::new(&row);
        pen.stroke(&mut row, State::Useful, 0, 8);
        pen.stroke(&mut row, State::Io, 8, 35); // 2 in bin 0, 10 in 1, 10 in 2, 5 in 3
        pen.stroke(&mut row, State::Mpi, 35, 100);
        pen.flush(&mut row);
        assert_eq!(row.time[0], [8, 2, 0]);
        assert_eq!(row.time[1..4], [[0, 10, 0], [0, 10, 0], [0, 5, 5]]);
        assert_eq!(row.time.iter().flatten().sum::<i64>(), 100);
        assert_eq!(pen.totals(), [8, 27, 65]);
    }

    #[test]
    fn a_stroke_may_end_in_any_bin() {
        for begin in 0..100 {
            for end in begin..=100 {
                let (mut row, mut plain) = (self::row(100), self::row(100));
                let mut pen = Pen::new(&row);
                pen.stroke(&mut row, State::Useful, 0, begin);
                pen.stroke(&mut row, State::Mpi, begin, end);
                pen.stroke(&mut row, State::Io, end, 100);
                pen.flush(&mut row);
                plain.add(State::Useful, 0, begin);
                plain.add(State::Mpi, begin, end);
                plain.add(State::Io, end, 100);
                assert_eq!(row.time, plain.time, "from {begin} to {end}");
            }
        }
    }

    #[test]
    fn a_row_without_bytes_keeps_none() {
        let mut row = row(100);
        let mut pen = Pen::new(&row);
        pen.stroke(&mut row, State::Useful, 0, 15);
        assert_eq!(row.bytes.capacity(), 0);
        pen.put_bytes(1, 7);
        pen.flush(&mut row);
        assert_eq!((row.bytes.len(), row.bytes[1]), (10, [0, 7]));
    }

    #[test]
    fn rows_that_are_filled_one_after_another_share_memory_for_bytes() {
        let mut timeline = Timeline::new(100, 2, 10);
        let (mut first, mut second) = (timeline.row_to_fill(), timeline.row_to_fill());
        first.spread(1, 10, 5, 35); // 1, 4, 3, 2: see below
        second.bytes = std::mem::take(&mut first.bytes);
        second.spread(1, 20, 0, 40); // 5 in each
        timeline.add_bytes(&second.bytes);
        assert_eq!(timeline.bytes[..5].iter().map(|b| b[1]).collect::<Vec<_>>(), [6, 9, 8, 7, 0]);
        first.add(State::Io, 5, 35);
        timeline.add(first);
        timeline.add(second);
        assert_eq!((timeline.time[0][0], timeline.time[1][0]), ([0, 5, 0], [0; 3]));
    }

    #[test]
    fn bytes_are_spread_by_time_and_none_is_lost() {
        let mut row = row(100);
        // 5 + 10 + 10 + 5 ns of 30: 1, 3 (of 5), 3 (of 8.33), the rest
        row.spread(1, 10, 5, 35);
        let written: Vec<u64> = row.bytes.iter().map(|b| b[1]).collect();
        assert_eq!(written, [1, 4, 3, 2, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn many_ranks_share_rows() {
        let timeline = Timeline::new(5000, 1000, 4096);
        assert_eq!((timeline.ranks_per_row, timeline.rows, timeline.row(999)), (4, 250, 249));
        assert_eq!((timeline.bin, timeline.bins), (2, 2500));
    }
}
