//! Call paths as routines, from the outermost, each with the place in it that the path goes on
//! from. Whether two calls one after the other came from the same activation of a routine is told
//! from these alone.

use hashbrown::HashMap;
use tailrace_trace::places::{CallPath, Frame, Places};

/// A routine on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Level {
    /// Index into [`Levels::routines`].
    pub routine: u32,
    /// Where in it the next routine, or the call itself, is called: the same number, the same
    /// place.
    pub site: u32,
    address: u64,
    line: u32,
    /// It is of Fortran's runtime library, in which a statement of the program is many routines.
    runtime: bool,
}

/// What GNU's, LLVM's, Intel's and NVIDIA's are called.
const RUNTIMES: [&str; 5] = ["libgfortran.", "libflang", "libFortran", "libifcore", "libnvf."];

fn is_runtime(module: &str) -> bool {
    let name = module.rsplit('/').next().unwrap_or(module);
    RUNTIMES.iter().any(|runtime| name.starts_with(runtime))
}

impl Level {
    /// Whether the site lies behind another of the same routine: by its address, and by its line
    /// where there are lines. A loop goes back, and so does a routine that is entered again;
    /// compilers make copies of a loop's body, which have the same lines.
    pub(crate) fn is_behind(&self, other: &Self) -> bool {
        let lines_known = self.line > 0 && other.line > 0;
        if self.address == 0 && other.address == 0 {
            return lines_known && self.line > other.line; // of a script
        }
        self.address > other.address && (!lines_known || self.line > other.line)
    }
}

/// All paths of a trace.
#[derive(Debug, Default)]
pub(crate) struct Levels {
    /// By place, less 1; empty where a path's beginning is not known.
    paths: Vec<Vec<Level>>,
    /// Of each routine a frame, as index into the trace's frames.
    pub routines: Vec<u32>,
}

/// A function; the source tells functions of one name apart.
type Name<'a> = (&'a str, &'a str, &'a str);

#[derive(Default)]
struct Numbers<'a> {
    routines: HashMap<Name<'a>, u32>,
    sites: HashMap<(u32, u64, u32), u32>,
    levels: Levels,
}

impl Levels {
    pub(crate) fn new(places: &Places) -> Self {
        let mut numbers = Numbers::default();
        for path in &places.paths {
            let levels = numbers.levels_of(places, path);
            numbers.levels.paths.push(levels);
        }
        numbers.levels
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// Numbers of places, 0 included, which stands for none that is known.
    pub(crate) fn places(&self) -> usize {
        self.paths.len() + 1
    }

    /// From the outermost; nothing where that is not known.
    pub(crate) fn of(&self, place: u32) -> &[Level] {
        let index = (place as usize).checked_sub(1);
        index.and_then(|index| self.paths.get(index)).map_or(&[], |path| path)
    }
}

impl<'a> Numbers<'a> {
    fn levels_of(&mut self, places: &'a Places, path: &CallPath) -> Vec<Level> {
        if path.cut {
            return Vec::new();
        }
        let frame_of = |index: usize| &places.frames[path.frames[index] as usize];
        let level = |index: usize| {
            let frame = frame_of(index);
            // A function that stands inside another one's code is known by the line it stands for.
            let inlined = index > 0 && {
                let inner = frame_of(index - 1);
                !frame.module.is_empty()
                    && (inner.address, &inner.module) == (frame.address, &frame.module)
            };
            self.level(frame, path.frames[index], inlined)
        };
        (0..path.frames.len()).rev().map(level).collect()
    }

    fn level(&mut self, frame: &'a Frame, number: u32, inlined: bool) -> Level {
        let function = frame.function.strip_suffix(".cold").unwrap_or(&frame.function);
        let next = self.levels.routines.len() as u32;
        let name = (function, frame.module.as_str(), frame.source.as_str());
        let routine = *self.routines.entry(name).or_insert(next);
        if routine == next {
            self.levels.routines.push(number);
        }
        let address = if inlined { 0 } else { frame.address };
        let sites = self.sites.len() as u32;
        let site = *self.sites.entry((routine, address, frame.line)).or_insert(sites);
        let runtime = is_runtime(&frame.module);
        Level { routine, site, address: frame.address, line: frame.line, runtime }
    }
}

/// Whether the routine at this level is in none further out.
pub(crate) fn is_first(path: &[Level], at: usize) -> bool {
    path[..at].iter().all(|level| level.routine != path[at].routine)
}

/// What two paths have in common, whose calls came one after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Relation {
    /// Levels that they share.
    pub shared: usize,
    /// Of these, from the outermost, those around one that goes on in its code.
    pub ahead: usize,
    /// They are as long as that, and known.
    pub whole: bool,
    /// They part in a line of the program that calls both, as one that writes several values to a
    /// stream does, or in the runtime library that one of its calls leads to.
    pub one_line: bool,
}

impl Relation {
    pub(crate) fn of(before: &[Level], place: &[Level]) -> Self {
        let shared = shared(before, place);
        let goes_on = |at: &usize| place[*at].is_behind(&before[*at]);
        let ahead = (0..shared).rev().find(goes_on).map_or(0, |at| at + 1);
        let parts = |at: usize| before[at].line > 0 && before[at].line == place[at].line;
        let of_program = (0..shared).rev().find(|&at| !place[at].runtime);
        let one_line = of_program.is_some_and(|at| at + 1 < shared || parts(at));
        let whole = shared > 0 && shared == before.len().max(place.len());
        Self { shared, ahead, whole, one_line }
    }
}

/// How many routines of two paths are the same, from the outermost, called from the same sites: as
/// far as paths tell, they may be the same activations.
fn shared(one: &[Level], other: &[Level]) -> usize {
    let mut count = 0;
    for (a, b) in one.iter().zip(other) {
        if a.routine != b.routine {
            break;
        }
        count += 1;
        if a.site != b.site {
            break;
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(function: &str, address: u64, line: u32) -> Frame {
        let module = "/model".to_owned();
        Frame { function: function.into(), source: "m.c".into(), line, module, address }
    }

    fn levels(frames: Vec<Frame>, paths: &[&[u32]]) -> Levels {
        let paths = paths.iter().map(|path| CallPath { frames: path.to_vec(), cut: false });
        Levels::new(&Places { frames, paths: paths.collect() })
    }

    #[test]
    fn paths_share_routines_up_to_the_first_other_site() {
        let frames = vec![
            frame("main", 10, 1),
            frame("dump", 20, 5),
            frame("dump", 30, 6),
            frame("f", 5, 9),
        ];
        let levels = levels(frames, &[&[1, 0], &[2, 0], &[3, 1, 0], &[3, 2, 0]]);
        let of = |place| levels.of(place);
        assert_eq!(shared(of(1), of(1)), 2);
        assert_eq!(shared(of(1), of(2)), 2); // both in dump
        assert_eq!(shared(of(1), of(3)), 2); // f is called where the other call stood
        assert_eq!(shared(of(3), of(4)), 2); // f, but called from elsewhere
        assert_eq!(shared(of(1), of(0)), 0);
        assert!(of(2)[1].is_behind(&of(1)[1]));
        assert!(!of(1)[1].is_behind(&of(2)[1]));
        assert!(!of(1)[1].is_behind(&of(1)[1]));
    }

    #[test]
    fn an_inlined_function_is_known_by_the_line_that_it_stands_for() {
        let inlined =
            |line, address, at| [frame("dump", address, at), frame("main", address, line)];
        let mut frames = inlined(3, 10, 50).to_vec();
        frames.extend(inlined(3, 20, 51));
        frames.extend(inlined(4, 30, 51));
        let levels = levels(frames, &[&[0, 1], &[2, 3], &[4, 5]]);
        assert_eq!(shared(levels.of(1), levels.of(2)), 2);
        assert_eq!(shared(levels.of(1), levels.of(3)), 1); // the other copy
    }

    #[test]
    fn calls_of_one_line_are_told_from_those_of_others() {
        let frames = vec![
            frame("dump", 20, 5),
            frame("dump", 30, 5),
            frame("dump", 40, 6),
            frame("put", 5, 0),
            frame("put", 9, 0),
        ];
        let levels = levels(frames, &[&[0], &[3, 1], &[3, 2], &[4, 1]]);
        let one_line = |one, other| Relation::of(levels.of(one), levels.of(other)).one_line;
        assert!(one_line(1, 2)); // called at two addresses of line 5
        assert!(!one_line(2, 3)); // lines 5 and 6
        assert!(!one_line(2, 4)); // they part in a library of which no lines are known
        assert!(!one_line(1, 0));
    }

    #[test]
    fn a_statement_of_fortran_is_one_line_wherever_its_runtime_calls() {
        let inside = |address| Frame {
            module: "/usr/lib/libgfortran.so.5.0.0".into(),
            ..frame("next_char", address, 0)
        };
        let main = |address| frame("main", address, 0); // without lines
        let frames = vec![main(20), main(30), inside(5), inside(9)];
        let levels = levels(frames, &[&[2, 0], &[3, 0], &[2, 1]]);
        let one_line = |one, other| Relation::of(levels.of(one), levels.of(other)).one_line;
        assert!(one_line(1, 2));
        assert!(!one_line(1, 3)); // another call of the program's
    }

    #[test]
    fn cold_parts_belong_to_their_function_and_cut_paths_to_none() {
        let frames = vec![frame("dump", 10, 0), frame("dump.cold", 99, 0)];
        let cut = CallPath { frames: vec![0], cut: true };
        let whole = |frame| CallPath { frames: vec![frame], cut: false };
        let levels = Levels::new(&Places { frames, paths: vec![whole(0), whole(1), cut] });
        assert_eq!(levels.of(1)[0].routine, levels.of(2)[0].routine);
        assert!(levels.of(3).is_empty());
    }
}
