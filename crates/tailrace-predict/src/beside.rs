//! Which ranks keep a processor: all that are in no file call, since who computes needs one, and
//! who waits in MPI looks for messages all the time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// By node: who is where.
pub(crate) struct Beside {
    cores: u32,
    /// By node: how many ranks it has, and when the file calls end that they are in.
    ranks: Vec<u32>,
    ends: Vec<BinaryHeap<Reverse<i64>>>,
}

impl Beside {
    pub(crate) fn new(cores: u32, nodes: &[u32]) -> Self {
        let count = nodes.iter().max().map_or(0, |last| *last as usize + 1);
        let mut ranks = vec![0; count];
        for node in nodes {
            ranks[*node as usize] += 1;
        }
        Self { cores, ranks, ends: vec![BinaryHeap::new(); count] }
    }

    /// Whether, beside a rank of the node that begins a call, the others keep all its processors but
    /// one. Calls come in order of the time.
    pub(crate) fn keep_all_others(&mut self, node: u32, now: i64) -> bool {
        let ends = &mut self.ends[node as usize];
        while ends.peek().is_some_and(|Reverse(end)| *end <= now) {
            ends.pop();
        }
        // the rank itself is the first of those that could
        self.ranks[node as usize] - ends.len() as u32 >= self.cores
    }

    /// A call of the node ends then.
    pub(crate) fn in_call(&mut self, node: u32, end: i64) {
        self.ends[node as usize].push(Reverse(end));
    }
}

#[cfg(test)]
mod tests {
    use super::Beside;

    #[test]
    fn who_is_in_a_file_call_keeps_no_processor() {
        // two ranks on a node of two processors: beside the first the other keeps one until it is
        // in a call itself, from 5 to 9
        let mut beside = Beside::new(2, &[0, 0]);
        assert!(beside.keep_all_others(0, 0));
        beside.in_call(0, 4);
        assert!(beside.keep_all_others(0, 5));
        beside.in_call(0, 9);
        assert!(!beside.keep_all_others(0, 6));
        beside.in_call(0, 7);
        assert!(beside.keep_all_others(0, 9));
    }

    #[test]
    fn nodes_have_processors_of_their_own() {
        // the third rank is alone on a node of two; the first two share theirs
        let mut beside = Beside::new(2, &[0, 0, 1]);
        assert!(beside.keep_all_others(0, 0));
        assert!(!beside.keep_all_others(1, 0));
        // four ranks on three processors: two others that are in no call keep two of these
        let mut beside = Beside::new(3, &[0; 4]);
        beside.in_call(0, 100);
        assert!(beside.keep_all_others(0, 10));
        beside.in_call(0, 100);
        assert!(!beside.keep_all_others(0, 10));
    }
}
