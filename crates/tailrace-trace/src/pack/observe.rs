//! What can only be told by seeing all events go by: the window, and which files MPI-IO moves data
//! of out of sight.

use std::sync::Arc;

use hashbrown::HashSet;

use crate::coded::CodedShape;
use crate::event::{FileKind, Layer, Part};
use crate::raw::decode::Decoded;
use crate::tables::{Ended, FileEntry, Function, Location, Window};
use crate::wire::{class, control, file};

/// What the streams of one location told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Observed {
    pub events: u64,
    /// Calls that became part of one that waits.
    pub merged: u64,
    pub not_understood: u64,
    initialized_ns: Option<i64>,
    finalize_ns: Option<i64>,
    aborted: bool,
    /// End of the first MPI_Pcontrol(1 or more), and begin of the MPI_Pcontrol(0) after which no
    /// other level was chosen.
    switched_on_ns: Option<i64>,
    switched_off_ns: Option<i64>,
    /// Files in which MPI-IO moved data, and those with POSIX data calls inside MPI calls.
    moved: HashSet<u32>,
    seen: HashSet<u32>,
}

pub(super) struct Observer<'a> {
    functions: &'a [Function],
    observed: Observed,
    open: Vec<(Arc<CodedShape>, i64)>,
}

impl<'a> Observer<'a> {
    pub(super) fn new(functions: &'a [Function]) -> Self {
        Self { functions, observed: Observed::default(), open: Vec::new() }
    }

    pub(super) fn finish(self, not_understood: u64) -> Observed {
        Observed { not_understood, ..self.observed }
    }

    /// Events that are like others which were observed.
    pub(super) fn count(&mut self, events: u64) {
        self.observed.events += events;
    }

    pub(super) fn merge(&mut self, calls: u64) {
        self.observed.merged += calls;
    }

    #[inline]
    pub(super) fn observe(&mut self, decoded: &Decoded) {
        self.observed.events += 1;
        let shape = &decoded.shape;
        let begin_ns = match shape.part {
            Part::Call => decoded.begin_ns,
            Part::Enter => return self.open.push((shape.clone(), decoded.begin_ns)),
            Part::Leave => self.open.pop().map_or(decoded.begin_ns, |(_, begin_ns)| begin_ns),
        };
        match shape.class {
            class::CONTROL => self.control(&shape.words, begin_ns, decoded.end_ns),
            class::FILE => self.file(shape),
            _ => {}
        }
    }

    fn control(&mut self, words: &[i64], begin_ns: i64, end_ns: i64) {
        let observed = &mut self.observed;
        match words {
            [control::INITIALIZE, ..] => {
                observed.initialized_ns = observed.initialized_ns.or(Some(end_ns));
            }
            [control::FINALIZE, ..] => observed.finalize_ns = Some(begin_ns),
            [control::ABORT, ..] => observed.aborted = true,
            [control::LEVEL, 0, ..] => {
                observed.switched_off_ns = observed.switched_off_ns.or(Some(begin_ns));
            }
            [control::LEVEL, level, ..] if *level > 0 => {
                observed.switched_on_ns = observed.switched_on_ns.or(Some(end_ns));
                observed.switched_off_ns = None;
            }
            _ => {}
        }
    }

    fn layer(&self, shape: &CodedShape) -> Option<Layer> {
        Some(self.functions.get(usize::from(shape.function))?.layer)
    }

    fn file(&mut self, shape: &CodedShape) {
        let (number, bytes) = (shape.words[file::FILE] as u32, shape.words[file::BYTES]);
        if !moves_data(&shape.words) || bytes <= 0 {
            return;
        }
        match self.layer(shape) {
            Some(Layer::MpiIo) => drop(self.observed.moved.insert(number)),
            // An asynchronous request only starts: its data move out of sight.
            Some(Layer::Mpi | Layer::Asynchronous) | None => {}
            Some(Layer::Posix | Layer::Stdio) => self.data_below_mpi(number),
        }
    }

    /// A POSIX call inside an MPI-IO call shows that call's file, whatever name the driver opened
    /// it by; inside a Wait its own.
    fn data_below_mpi(&mut self, number: u32) {
        for (around, _) in &self.open {
            match self.functions.get(usize::from(around.function)).map(|function| function.layer) {
                Some(Layer::MpiIo) if around.class == class::FILE && moves_data(&around.words) => {
                    self.observed.seen.extend([around.words[file::FILE] as u32, number]);
                }
                Some(Layer::MpiIo | Layer::Mpi) => self.observed.seen.extend([number]),
                _ => {}
            }
        }
    }
}

/// Opening a file may read others: a driver's hints, say. Only what happens inside reads and writes
/// tells of their data.
fn moves_data(words: &[i64]) -> bool {
    matches!(file::kind(words[file::OP]), FileKind::Read | FileKind::Write)
}

/// A file is opaque if MPI-IO moved data of it on some rank and no rank showed a POSIX call inside.
pub(super) fn mark_opaque(files: &mut [FileEntry], observed: &[Observed]) {
    let moved: HashSet<u32> =
        observed.iter().flat_map(|observed| observed.moved.iter().copied()).collect();
    let seen: HashSet<u32> =
        observed.iter().flat_map(|observed| observed.seen.iter().copied()).collect();
    for file in moved.difference(&seen) {
        if let Some(entry) = files.get_mut(*file as usize) {
            entry.opaque = true;
        }
    }
}

impl Observed {
    /// What capture took of the thread's other time: in a wait it takes nothing from anybody.
    pub(super) fn of_capture(&self, taken_ns: i64) -> i64 {
        let all = u128::from(self.events + self.merged).max(1);
        (u128::from(taken_ns.unsigned_abs()) * u128::from(self.events) / all) as i64
    }

    /// The process went on as another program.
    pub(super) fn go_on(&mut self, later: Self) {
        self.events += later.events;
        self.merged += later.merged;
        self.not_understood += later.not_understood;
        self.initialized_ns = self.initialized_ns.or(later.initialized_ns);
        self.finalize_ns = later.finalize_ns.or(self.finalize_ns);
        self.aborted = later.aborted;
        self.switched_on_ns = self.switched_on_ns.or(later.switched_on_ns);
        self.switched_off_ns = later.switched_off_ns.or(self.switched_off_ns);
        self.moved.extend(later.moved);
        self.seen.extend(later.seen);
    }

    /// How the main thread of a rank ended; `by_itself`: it closed its stream.
    pub(super) fn ended(&self, by_itself: bool) -> Ended {
        match (self.aborted, self.finalize_ns.is_some(), by_itself) {
            (true, _, _) => Ended::Aborted,
            (_, true, _) => Ended::Known,
            (_, _, true) if self.initialized_ns.is_some() => Ended::Left,
            (_, _, true) => Ended::Known,
            (_, _, false) => Ended::Unknown,
        }
    }
}

/// From the first rank's leaving MPI_Init to the last's reaching MPI_Finalize or its death; without
/// MPI from the first begin to the last end. Where no rank's end is known, it may be as late as
/// `until_ns`; a rank that ended by itself has the others killed.
pub(super) fn whole(
    locations: &[Location],
    observed: &[Observed],
    until_ns: Option<i64>,
) -> Option<Window> {
    let ranks: Vec<(&Location, &Observed)> =
        locations.iter().zip(observed).filter(|(location, _)| location.main).collect();
    let begins = ranks.iter().filter_map(|(_, observed)| observed.initialized_ns);
    let begin = begins.min().or(ranks.iter().map(|(location, _)| location.begin_ns).min())?;
    let end = ranks
        .iter()
        .map(|(location, observed)| observed.finalize_ns.unwrap_or(location.end_ns))
        .max()?;
    let killed = ranks.iter().all(|(location, _)| location.ended == Ended::Unknown);
    let end = end.max(until_ns.filter(|_| killed).unwrap_or(end));
    Some(Window { begin_ns: begin, end_ns: end.max(begin) })
}

/// The part of it that MPI_Pcontrol chooses on the ranks that call it.
pub(super) fn chosen(whole: Window, locations: &[Location], observed: &[Observed]) -> Window {
    let ranks = || locations.iter().zip(observed).filter(|(location, _)| location.main);
    let on = ranks().filter_map(|(_, observed)| observed.switched_on_ns).min();
    let off = ranks().filter_map(|(_, observed)| observed.switched_off_ns).max();
    let (begin_ns, end_ns) = (on.unwrap_or(whole.begin_ns), off.unwrap_or(whole.end_ns));
    Window { begin_ns, end_ns: end_ns.max(begin_ns) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn main(begin_ns: i64, end_ns: i64) -> Location {
        Location { main: true, begin_ns, end_ns, ..Location::default() }
    }

    #[test]
    fn what_capture_takes_of_a_wait_is_not_taken_of_anything() {
        // 30 calls took it 90 ns, of which 20 became part of a wait
        let observed = Observed { events: 10, merged: 20, ..Observed::default() };
        assert_eq!(observed.of_capture(90), 30);
        assert_eq!(Observed::default().of_capture(90), 0); // of no calls at all
    }

    #[test]
    fn ranks_that_were_all_killed_may_have_lived_until_the_command_ended() {
        let killed = |end_ns| Location { ended: Ended::Unknown, ..main(0, end_ns) };
        let observed = [Observed::default(), Observed::default()];
        let both = [killed(500), killed(900)];
        let window = |end_ns| Some(Window { begin_ns: 0, end_ns });
        assert_eq!(whole(&both, &observed, Some(5000)), window(5000));
        assert_eq!(whole(&both, &observed, Some(700)), window(900));
        assert_eq!(whole(&both, &observed, None), window(900));
        let one = [main(0, 500), killed(900)];
        assert_eq!(whole(&one, &observed, Some(5000)), window(900));
    }

    #[test]
    fn a_rank_that_died_ends_the_window_with_its_last_record() {
        let locations = [main(0, 500), main(5, 900)];
        let observed = [
            Observed { initialized_ns: Some(100), finalize_ns: Some(400), ..Observed::default() },
            Observed { initialized_ns: Some(90), ..Observed::default() },
        ];
        assert_eq!(whole(&locations, &observed, None), Some(Window { begin_ns: 90, end_ns: 900 }));
    }

    #[test]
    fn how_a_rank_ended_is_known_of_its_abort_its_finalize_and_its_stream() {
        let nothing = Observed::default();
        let finalized = Observed { finalize_ns: Some(400), ..Observed::default() };
        let aborted = Observed { aborted: true, ..Observed::default() };
        let initialized = Observed { initialized_ns: Some(100), ..Observed::default() };
        let whole = Observed { initialized_ns: Some(100), ..finalized.clone() };
        assert_eq!(nothing.ended(true), Ended::Known);
        assert_eq!(initialized.ended(true), Ended::Left);
        assert_eq!(initialized.ended(false), Ended::Unknown);
        assert_eq!(whole.ended(true), Ended::Known);
        assert_eq!(nothing.ended(false), Ended::Unknown);
        assert_eq!(finalized.ended(false), Ended::Known);
        assert_eq!([aborted.ended(true), aborted.ended(false)], [Ended::Aborted; 2]);
    }

    /// Of a rank that is in MPI from 50 to 99 and calls MPI_Pcontrol, 1 ns long, with these levels.
    fn chosen_by(levels: &[(i64, i64)]) -> (i64, i64) {
        let mut observer = Observer::new(&[]);
        let levels =
            levels.iter().map(|(at_ns, level)| (*at_ns, at_ns + 1, [control::LEVEL, *level]));
        let (init, finalize) =
            ((0, 50, [control::INITIALIZE, 0]), (99, 100, [control::FINALIZE, 0]));
        for (begin_ns, end_ns, words) in [init].into_iter().chain(levels).chain([finalize]) {
            let shape = CodedShape {
                part: Part::Call,
                function: 0,
                class: class::CONTROL,
                place: 0,
                words: words.into(),
            };
            let shape = Arc::new(shape);
            observer.observe(&Decoded::new(begin_ns, end_ns, shape));
        }
        let (locations, told) = ([main(0, 120)], [observer.finish(0)]);
        let whole = whole(&locations, &told, None).unwrap();
        let Window { begin_ns, end_ns } = chosen(whole, &locations, &told);
        (begin_ns, end_ns)
    }

    #[test]
    fn pcontrol_narrows_it() {
        assert_eq!(chosen_by(&[]), (50, 99));
        // Off after MPI_Init, on for the solver, off again: from the first 1 to the last 0.
        assert_eq!(chosen_by(&[(60, 0), (70, 1), (80, 0), (90, 1), (97, 0)]), (71, 97));
        // What is said twice holds from the first time on.
        assert_eq!(chosen_by(&[(70, 1), (75, 1), (80, 0), (90, 0)]), (71, 80));
    }

    #[test]
    fn recording_is_on_at_first_and_to_the_end() {
        assert_eq!(chosen_by(&[(80, 0)]), (50, 80));
        assert_eq!(chosen_by(&[(70, 1)]), (71, 99));
        assert_eq!(chosen_by(&[(70, 1), (80, 0), (90, 1)]), (71, 99));
    }
}
