//! What the reader of the results should know: what the replay left out, and every promise checked on every run.

use crate::analysis::{Analysis, Warning};
use crate::world::World;

pub(crate) fn collect(world: &World<'_>, analysis: &Analysis) -> Vec<Warning> {
    let mut warnings = Vec::new();
    omissions(world, &mut warnings);
    matching(world, &mut warnings);
    conservation(world, analysis, &mut warnings);
    order(analysis, &mut warnings);
    warnings
}

fn warn(warnings: &mut Vec<Warning>, wrong: bool, code: &'static str, message: impl FnOnce() -> String) {
    if wrong {
        warnings.push(Warning { code, message: message() });
    }
}

fn omissions(world: &World<'_>, warnings: &mut Vec<Warning>) {
    let found = &world.omissions;
    warn(warnings, found.unresolved_receives > 0, "unresolved-wildcards", || {
        let count = found.unresolved_receives;
        format!("The source of {count} wildcard receives is not known: the replay lets them wait for nobody.")
    });
    warn(warnings, found.unknown_requests > 0, "unknown-requests", || {
        let count = found.unknown_requests;
        format!("{count} completed requests were started by no recorded call: the replay lets them wait for nobody.")
    });
    if let Some((location, begin)) = found.first_disordered {
        let table = &world.tables.locations[location];
        let at = (begin - world.window.begin_ns) as f64 / 1e9;
        let message = format!(
            "{} events overlap the event before them; the first is on rank {}, thread {}, {at:.9} s into the window.",
            found.disordered, table.rank, table.thread,
        );
        warnings.push(Warning { code: "disordered-events", message });
    }
}

fn matching(world: &World<'_>, warnings: &mut Vec<Warning>) {
    let (sends, receives) = world.messages.unmatched();
    warn(warnings, sends + receives > 0, "unmatched-messages", || {
        format!(
            "{sends} messages sent in the window were not received in it, and {receives} receives were not satisfied."
        )
    });
    if let Some((source, destination)) = world.messages.first_received_before_sent {
        let count = world.messages.received_before_sent;
        let message = format!(
            "{count} messages were received before they were sent, the first from rank {source} to rank {destination}: clocks \
             disagree, and the replay lets those receives wait for nobody."
        );
        warnings.push(Warning { code: "received-before-sent", message });
    }
    let incomplete = world.collectives.incomplete() as u64 + world.collectives.not_followed;
    warn(warnings, incomplete > 0, "incomplete-collectives", || {
        format!("{incomplete} collective calls were not entered by all ranks of their communicators in the window.")
    });
    let missing = world.main.iter().filter(|main| main.is_none()).count();
    warn(warnings, missing > 0, "missing-ranks", || {
        format!("Of {missing} ranks there is no stream in the trace: their time counts as spent in MPI.")
    });
}

/// useful + io + mpi = T for each rank.
fn conservation(world: &World<'_>, analysis: &Analysis, warnings: &mut Vec<Warning>) {
    let sums = analysis.ranks.iter().map(|rank| rank.useful + rank.io + rank.mpi);
    for (rank, sum) in sums.enumerate().filter(|(_, sum)| *sum != world.runtime()) {
        let message = format!("The states of rank {rank} sum to {sum} ns, the run time is {} ns.", world.runtime());
        warnings.push(Warning { code: "time-not-conserved", message });
    }
}

/// max U ≤ T_ideal ≤ T_even ≤ T_net ≤ T, rank by rank.
fn order(analysis: &Analysis, warnings: &mut Vec<Warning>) {
    for (rank, account) in analysis.ranks.iter().enumerate() {
        let clocks = account.clocks;
        let chain = [account.useful, clocks.ideal, clocks.even, clocks.net, analysis.runtime];
        if !chain.is_sorted() {
            let message = format!(
                "On rank {rank} the replay ends out of order: useful {}, ideal {}, even {}, net {}, measured {} ns.",
                chain[0], chain[1], chain[2], chain[3], chain[4],
            );
            warnings.push(Warning { code: "replay-out-of-order", message });
        }
    }
}
