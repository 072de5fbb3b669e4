//! Which ranks write for which others (kernels/gridio/method_aggregated.c), and which are ROMIO's
//! aggregators.

use super::workload::{Workload, Writers};

/// Consecutive ranks, of which the first writes.
#[derive(Debug)]
pub(super) struct Groups {
    firsts: Vec<u32>,
    ranks: u32,
}

impl Groups {
    pub(super) fn of(workload: &Workload) -> Self {
        let (ranks, per_node) = (workload.ranks, workload.ranks_per_node);
        let nodes = ranks.div_ceil(per_node);
        let mut firsts = Vec::new();
        match workload.writers {
            Writers::All(all) if all < nodes => split(0, ranks, all, &mut firsts),
            writers => {
                for node in 0..nodes {
                    let here = per_node.min(ranks - node * per_node);
                    let count = match writers {
                        Writers::All(all) => all / nodes + u32::from(node < all % nodes),
                        Writers::OfNode(each) => each,
                    };
                    split(node * per_node, here, count, &mut firsts);
                }
            }
        }
        Self { firsts, ranks }
    }

    pub(super) fn firsts(&self) -> &[u32] {
        &self.firsts
    }

    /// The ranks of the group whose first it is.
    pub(super) fn members(&self, first: u32) -> std::ops::Range<u32> {
        let place = self.firsts.partition_point(|other| *other <= first);
        first..self.firsts.get(place).copied().unwrap_or(self.ranks)
    }
}

/// Even groups of consecutive ranks, as many as it is to have writers.
fn split(begin: u32, ranks: u32, writers: u32, firsts: &mut Vec<u32>) {
    let groups = u64::from(writers.clamp(1, ranks));
    let group = |rank: u32| u64::from(rank) * groups / u64::from(ranks);
    let mut last = None;
    for rank in 0..ranks {
        if last != Some(group(rank)) {
            last = Some(group(rank));
            firsts.push(begin + rank);
        }
    }
}

/// The ranks in such groups.
pub(crate) fn even(ranks: &[u32], groups: u32) -> Vec<Vec<u32>> {
    let mut firsts = Vec::new();
    split(0, ranks.len() as u32, groups, &mut firsts);
    let ends = firsts.iter().skip(1).copied().chain([ranks.len() as u32]);
    firsts.iter().zip(ends).map(|(a, b)| ranks[*a as usize..b as usize].to_vec()).collect()
}

/// One a node, but no more than were asked for.
pub(super) fn aggregators(workload: &Workload) -> Vec<u32> {
    let nodes = workload.ranks.div_ceil(workload.ranks_per_node);
    let count = workload.aggregators.map_or(nodes, |asked| asked.clamp(1, nodes));
    (0..count).map(|node| node * workload.ranks_per_node).collect()
}
