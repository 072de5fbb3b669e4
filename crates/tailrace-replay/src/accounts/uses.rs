//! When a location uses which file, in bins of time: what maps of ranks by time are drawn from.

use hashbrown::{HashMap, HashSet};

use crate::accounts::longest::Span;
use crate::steps::Access;

/// Bins over the window at most.
const BINS: i64 = 256;
/// Marks that a location keeps, of all its files together: 16 files that are used all the time.
const MOST_MARKS: usize = 16 * BINS as usize;

/// Time in calls that read, that write, and in others.
pub type Kinds = [i64; 3];

fn kind(access: Access) -> usize {
    access.direction().unwrap_or(2)
}

/// A bin in which the file was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub bin: u32,
    pub time: Kinds,
}

#[derive(Debug)]
struct Track {
    file: u32,
    time: i64,
    /// In order of their bins.
    marks: Vec<Mark>,
}

/// Width and number of the bins of a window.
pub(crate) fn bins(runtime: i64) -> (i64, usize) {
    let width = ((runtime + BINS - 1) / BINS).max(1);
    (width, ((runtime + width - 1) / width).max(1) as usize)
}

/// The files of one location. Where they take more than [`MOST_MARKS`], those with least time so
/// far are given up, for good: a map is whole or not there.
#[derive(Debug)]
pub(crate) struct Uses {
    width: i64,
    bins: usize,
    /// Index of the track that was marked last, and what its last mark spans.
    latest: usize,
    span: (i64, i64),
    tracks: Vec<Track>,
    index: HashMap<u32, usize>,
    marks: usize,
    given_up: HashSet<u32>,
}

impl Uses {
    pub(crate) fn new(runtime: i64) -> Self {
        let (width, bins) = bins(runtime);
        Self {
            width,
            bins,
            latest: 0,
            span: (0, 0),
            tracks: Vec::new(),
            index: HashMap::new(),
            marks: 0,
            given_up: HashSet::new(),
        }
    }

    /// A call on a file from `begin` to `end`, in nanoseconds since the window's begin.
    #[inline]
    pub(crate) fn add(&mut self, file: u32, access: Access, (begin, end): (i64, i64)) {
        if file == Span::NO_FILE {
            return;
        }
        if let Some(track) = self.tracks.get_mut(self.latest).filter(|track| track.file == file)
            && let Some(mark) = track.marks.last_mut()
            && (self.span.0..self.span.1).contains(&begin)
            && end <= self.span.1
        {
            mark.time[kind(access)] += end - begin;
            track.time += end - begin;
            return;
        }
        self.mark(file, kind(access), begin, end);
    }

    /// Until when calls on the file that begin from `at` on are only to be [`Uses::put`]; `None` if
    /// there is more to do.
    pub(crate) fn same_until(&self, file: u32, at: i64) -> Option<i64> {
        if file == Span::NO_FILE {
            return Some(i64::MAX);
        }
        let track = self.tracks.get(self.latest).filter(|track| track.file == file)?;
        let marked = !track.marks.is_empty() && (self.span.0..self.span.1).contains(&at);
        marked.then_some(self.span.1)
    }

    /// Time in calls on the file, in the bin of the call before.
    pub(crate) fn put(&mut self, file: u32, access: Access, time: i64) {
        if file == Span::NO_FILE {
            return;
        }
        let track = &mut self.tracks[self.latest];
        track.time += time;
        track.marks.last_mut().expect("there is a call before").time[kind(access)] += time;
    }

    #[cold]
    fn mark(&mut self, file: u32, kind: usize, begin: i64, end: i64) {
        if self.given_up.contains(&file) {
            return;
        }
        self.latest = *self.index.entry(file).or_insert_with(|| {
            self.tracks.push(Track { file, time: 0, marks: Vec::new() });
            self.tracks.len() - 1
        });
        let track = &mut self.tracks[self.latest];
        track.time += end - begin;
        let mut from = begin;
        loop {
            let bin = ((from / self.width) as usize).min(self.bins - 1);
            let edge = (bin as i64 + 1) * self.width;
            let to = if bin + 1 == self.bins { end } else { end.min(edge) };
            self.marks += track.put(bin as u32, kind, to - from);
            self.span = (bin as i64 * self.width, edge);
            from = to;
            if from >= end {
                break;
            }
        }
        if track.marks.last().is_some_and(|mark| i64::from(mark.bin) * self.width != self.span.0) {
            self.span = (0, 0); // it began before a call that is marked already
        }
        if self.marks > MOST_MARKS {
            self.give_up();
        }
    }

    /// Keeps the files with most time that take half of the marks.
    fn give_up(&mut self) {
        self.tracks.sort_unstable_by_key(|track| (-track.time, track.file));
        self.marks = 0;
        let mut kept = 0;
        for track in &self.tracks {
            if self.marks + track.marks.len() > MOST_MARKS / 2 {
                break;
            }
            self.marks += track.marks.len();
            kept += 1;
        }
        self.given_up.extend(self.tracks.drain(kept..).map(|track| track.file));
        self.index = self.tracks.iter().enumerate().map(|(i, track)| (track.file, i)).collect();
        (self.latest, self.span) = (0, (0, 0));
    }

    /// The marks of a file, or that they were given up; none where it was not used.
    pub(crate) fn of(&self, file: u32) -> Option<&[Mark]> {
        if self.given_up.contains(&file) {
            return None;
        }
        Some(self.index.get(&file).map_or(&[], |index| &self.tracks[*index].marks))
    }
}

impl Track {
    /// Adds to the bin; how many marks that made more.
    fn put(&mut self, bin: u32, kind: usize, time: i64) -> usize {
        let place = match self.marks.last() {
            Some(last) if last.bin < bin => Err(self.marks.len()),
            _ => self.marks.binary_search_by_key(&bin, |mark| mark.bin),
        };
        let new = usize::from(place.is_err());
        let place = place.unwrap_or_else(|place| {
            self.marks.insert(place, Mark { bin, time: [0; 3] });
            place
        });
        self.marks[place].time[kind] += time;
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(uses: &Uses, file: u32) -> Vec<(u32, Kinds)> {
        uses.of(file).expect("kept").iter().map(|mark| (mark.bin, mark.time)).collect()
    }

    #[test]
    fn calls_fall_into_the_bins_that_they_span() {
        let mut uses = Uses::new(2560); // bins of 10
        uses.add(7, Access::Read, (2, 5));
        uses.add(7, Access::Write, (5, 9));
        uses.add(7, Access::Synchronize, (18, 41)); // 2 in bin 1, 10 in 2, 10 in 3, 1 in 4
        let expected =
            [(0, [3, 4, 0]), (1, [0, 0, 2]), (2, [0, 0, 10]), (3, [0, 0, 10]), (4, [0, 0, 1])];
        assert_eq!(time(&uses, 7), expected);
        assert_eq!(time(&uses, 8), []);
    }

    #[test]
    fn a_call_around_others_ends_after_them_and_may_begin_before() {
        let mut uses = Uses::new(2560);
        uses.add(7, Access::Write, (25, 27));
        uses.add(7, Access::Other, (5, 12)); // 5 in bin 0, 2 in 1
        uses.add(7, Access::Write, (28, 29));
        assert_eq!(time(&uses, 7), [(0, [0, 0, 5]), (1, [0, 0, 2]), (2, [0, 3, 0])]);
    }

    #[test]
    fn the_end_of_the_window_belongs_to_the_last_bin() {
        let mut uses = Uses::new(2555); // bins of 10, the last of 5
        uses.add(7, Access::Write, (2555, 2555));
        uses.add(7, Access::Write, (2545, 2555));
        assert_eq!(time(&uses, 7), [(254, [0, 5, 0]), (255, [0, 5, 0])]);
    }

    #[test]
    fn files_with_least_time_are_given_up_and_stay_so() {
        let mut uses = Uses::new(2560);
        uses.add(0, Access::Write, (0, 2560)); // the largest: 256 marks
        for file in 1..=MOST_MARKS as u32 {
            uses.add(file, Access::Write, (5, 6 + i64::from(file % 5)));
        }
        assert_eq!(time(&uses, 0).len(), 256);
        assert_eq!(uses.of(5), None);
        let kept = |file: &u32| uses.of(*file).is_some_and(|marks| !marks.is_empty());
        let number = (0..=MOST_MARKS as u32).filter(kept).count();
        assert!((MOST_MARKS / 4..MOST_MARKS).contains(&number), "{number} files kept");
        uses.add(5, Access::Write, (0, 2560));
        assert_eq!(uses.of(5), None);
    }
}
