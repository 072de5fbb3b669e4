//! What a rank does instead of what it did. A run has as many of these as outputs, so their steps
//! lie in one list by rank.

use std::ops::Range;

use crate::steps::Step;

/// What a rank does between two measured times, beside computing.
#[derive(Debug)]
pub(super) struct Insert {
    pub family: u32,
    pub begin: i64,
    pub end: i64,
    /// Where its steps are among those of all; and those before and behind them, of few.
    steps: Range<usize>,
    pub before: Vec<Step>,
    pub behind: Vec<Step>,
}

/// Of a rank, as they come.
#[derive(Debug, Default)]
pub(super) struct Inserts {
    list: Vec<Insert>,
    steps: Vec<Step>,
}

impl Inserts {
    pub(super) fn begin(&mut self, family: u32, (begin, end): (i64, i64)) {
        let steps = self.steps.len()..self.steps.len();
        let (before, behind) = (Vec::new(), Vec::new());
        self.list.push(Insert { family, begin, end, steps, before, behind });
    }

    /// At the end of the last one.
    pub(super) fn push(&mut self, step: Step) {
        if let Some(insert) = self.list.last_mut() {
            self.steps.push(step);
            insert.steps.end = self.steps.len();
        }
    }

    /// Where the last one begins, before all that the rank does then.
    pub(super) fn at_begin(&mut self, step: Step) {
        if let Some(last) = self.list.pop() {
            let Insert { family, begin, .. } = last;
            let (steps, before, behind) = (0..0, vec![step], Vec::new());
            self.list.push(Insert { family, begin, end: begin, steps, before, behind });
            self.list.push(last);
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Insert> {
        self.list.iter()
    }

    pub(super) fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut Insert> {
        self.list.iter_mut()
    }

    /// In order of time, and the steps of all of them.
    pub(super) fn sorted(mut self) -> (Vec<Insert>, Vec<Step>) {
        self.list.sort_by_key(|insert| (insert.begin, insert.end));
        (self.list, self.steps)
    }

    /// How many steps there are at least.
    pub(super) fn count(&self) -> usize {
        self.steps.len()
    }
}

impl Insert {
    /// `steps`: of all inserts of the rank.
    pub(super) fn put(&self, steps: &[Step], into: &mut Vec<Step>) {
        into.extend_from_slice(&self.before);
        into.extend_from_slice(&steps[self.steps.clone()]);
        into.extend_from_slice(&self.behind);
    }
}
