//! Which ranks keep a processor: all that are in no file call, since who computes needs one, and
//! who waits in MPI looks for messages all the time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What the other ranks of a node do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Others {
    /// They keep all its processors but one.
    Keep,
    /// Some are in file calls.
    InCalls,
    Rest,
}

/// By node: who is where.
pub(crate) struct Beside {
    /// None: nobody keeps any.
    cores: Option<u32>,
    /// By node: how many ranks it has, and when the file calls end that they are in.
    ranks: Vec<u32>,
    ends: Vec<BinaryHeap<Reverse<i64>>>,
}

impl Beside {
    pub(crate) fn new(cores: Option<u32>, nodes: &[u32]) -> Self {
        let count = nodes.iter().max().map_or(0, |last| *last as usize + 1);
        let mut ranks = vec![0; count];
        for node in nodes {
            ranks[*node as usize] += 1;
        }
        Self { cores, ranks, ends: vec![BinaryHeap::new(); count] }
    }

    /// Beside a rank of the node that begins a call. Calls come in order of the time.
    pub(crate) fn others(&mut self, node: u32, now: i64) -> Others {
        let ends = &mut self.ends[node as usize];
        while ends.peek().is_some_and(|Reverse(end)| *end <= now) {
            ends.pop();
        }
        // the rank itself is the first of those that could
        let could = self.ranks[node as usize] - ends.len() as u32;
        if self.cores.is_some_and(|cores| could >= cores) {
            return Others::Keep;
        }
        if ends.is_empty() { Others::Rest } else { Others::InCalls }
    }

    /// A call of the node ends then.
    pub(crate) fn in_call(&mut self, node: u32, end: i64) {
        self.ends[node as usize].push(Reverse(end));
    }
}

#[cfg(test)]
mod tests {
    use super::{Beside, Others};

    #[test]
    fn who_is_in_a_file_call_keeps_no_processor() {
        // two ranks on a node of two processors: beside the first the other keeps one until it is
        // in a call itself, from 5 to 9
        let mut beside = Beside::new(Some(2), &[0, 0]);
        assert_eq!(beside.others(0, 0), Others::Keep);
        beside.in_call(0, 4);
        assert_eq!(beside.others(0, 5), Others::Keep);
        beside.in_call(0, 9);
        assert_eq!(beside.others(0, 6), Others::InCalls);
        beside.in_call(0, 7);
        assert_eq!(beside.others(0, 9), Others::Keep);
    }

    #[test]
    fn where_nobody_keeps_any_others_are_in_calls_or_not() {
        let mut beside = Beside::new(None, &[0, 0]);
        assert_eq!(beside.others(0, 0), Others::Rest);
        beside.in_call(0, 4);
        assert_eq!(beside.others(0, 3), Others::InCalls);
        assert_eq!(beside.others(0, 4), Others::Rest);
    }

    #[test]
    fn nodes_have_processors_of_their_own() {
        // the third rank is alone on a node of two; the first two share theirs
        let mut beside = Beside::new(Some(2), &[0, 0, 1]);
        assert_eq!(beside.others(0, 0), Others::Keep);
        assert_eq!(beside.others(1, 0), Others::Rest);
        // four ranks on three processors: two others that are in no call keep two of these
        let mut beside = Beside::new(Some(3), &[0; 4]);
        beside.in_call(0, 100);
        assert_eq!(beside.others(0, 10), Others::Keep);
        beside.in_call(0, 100);
        assert_eq!(beside.others(0, 10), Others::InCalls);
    }
}
