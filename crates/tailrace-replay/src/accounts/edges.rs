//! With what routines begin and end: whether one may have been left between two calls.

use hashbrown::HashSet;

use crate::accounts::levels::Level;

/// The sites from which routines were seen to call first, and last: when another routine's calls
/// came before, or behind.
#[derive(Default)]
pub(crate) struct Edges {
    first: HashSet<u32>,
    last: HashSet<u32>,
}

impl Edges {
    /// The levels of a path from this one on were entered.
    pub(crate) fn begin(&mut self, path: &[Level], from: usize) {
        self.first.extend(path.iter().skip(from).map(|level| level.site));
    }

    /// … and left.
    pub(crate) fn end(&mut self, path: &[Level], from: usize) {
        self.last.extend(path.iter().skip(from).map(|level| level.site));
    }

    /// How many levels, from the outermost, are the same activations for sure in both of two paths
    /// that share `shared` of them: those around one that went on from the first to the second.
    pub(crate) fn sure(&self, before: &[Level], place: &[Level], shared: usize) -> usize {
        let goes_on = |at: usize| {
            let (from, to) = (&before[at], &place[at]);
            to.is_behind(from) && !(self.last.contains(&from.site) && self.first.contains(&to.site))
        };
        (0..shared).rev().find(|at| goes_on(*at)).map_or(0, |at| at + 1)
    }
}
