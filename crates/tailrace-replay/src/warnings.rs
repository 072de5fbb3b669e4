//! What the reader of the results should know: what the replay left out, and every promise checked
//! on every run.

use crate::analysis::{Analysis, Warning};
use crate::options::CollectiveOrder;
use crate::reduce::Omissions;
use crate::run::Results;

const RECORD_AGAIN: &str = "record the run again";
const PART_OF_THE_RUN: &str = "to be expected if a rank ended early or MPI_Pcontrol selects a part \
     of the run; otherwise record the run again";
const LEAVES_EARLY: &str = "Dimemas' convention makes ranks wait that did not in the run; leave \
     out --collectives all to wait only for what had happened";
const DEFECT: &str = "this is a defect of Tailrace: please report it together with the trace";

pub(crate) fn collect(results: &Results<'_>, analysis: &Analysis) -> Vec<Warning> {
    let mut warnings = Vec::new();
    omissions(results, &mut warnings);
    matching(results, &mut warnings);
    conservation(results, analysis, &mut warnings);
    order(analysis, &mut warnings);
    convention(results, analysis, &mut warnings);
    warnings
}

fn omissions(results: &Results<'_>, warnings: &mut Vec<Warning>) {
    let mut found = Omissions::default();
    results.ranks.iter().for_each(|rank| found.add(&rank.omissions));
    if found.unresolved_receives > 0 {
        let count = counted(found.unresolved_receives, "receive");
        warnings.push(Warning {
            code: "unresolved-wildcards",
            message: format!(
                "the trace does not say which message answered {count} from any source; \
                 the analysis treats such a receive as if it waited for no rank"
            ),
            hint: "receives that name their source are always followed",
        });
    }
    if found.unknown_requests > 0 {
        let count = counted(found.unknown_requests, "request");
        warnings.push(Warning {
            code: "unknown-requests",
            message: format!(
                "{count} completed whose start was not recorded; \
                 the analysis treats the calls that wait for them as if they waited for no rank"
            ),
            hint: RECORD_AGAIN,
        });
    }
    if let Some((begin, location)) = found.first_disordered {
        let table = &results.common.tables.locations[location];
        let at = (begin - results.common.window.begin_ns) as f64 / 1e9;
        let count = counted(found.disordered, "call");
        warnings.push(Warning {
            code: "disordered-events",
            message: format!(
                "{count} begin before the previous call of their thread ended, \
                 the first on rank {}, thread {}, {at:.9} s into the analysed part of the run",
                table.rank, table.thread,
            ),
            hint: "the time that overlaps counts for the earlier call; \
                   if there are many, record the run again",
        });
    }
}

fn matching(results: &Results<'_>, warnings: &mut Vec<Warning>) {
    let (sends, receives) = results.graph.around.messages.unmatched();
    if sends + receives > 0 {
        let was = if sends == 1 { "was" } else { "were" };
        let sent = format!("{} {was} sent but not received", counted(sends as u64, "message"));
        let posted = format!("{} got no message", counted(receives as u64, "receive"));
        warnings.push(Warning {
            code: "unmatched-messages",
            message: match (sends, receives) {
                (_, 0) => sent,
                (0, _) => posted,
                _ => format!("{sent}, and {posted}"),
            },
            hint: PART_OF_THE_RUN,
        });
    }
    if let Some((_, source, destination)) = results.graph.around.messages.first_received_before_sent
    {
        let count = counted(results.graph.around.messages.received_before_sent, "message");
        warnings.push(Warning {
            code: "received-before-sent",
            message: format!(
                "{count} arrived before they were sent, the first from rank {source} to rank \
                 {destination}: the clocks of the hosts disagree, and the analysis treats those \
                 receives as if they waited for no rank"
            ),
            hint: "synchronize the clocks of the hosts and record the run again",
        });
    }
    let incomplete = results.graph.around.collectives.incomplete() as u64
        + results.graph.around.collectives.not_followed;
    if incomplete > 0 {
        let count = counted(incomplete, "collective call");
        warnings.push(Warning {
            code: "incomplete-collectives",
            message: format!("{count} were not entered by all ranks of their communicators"),
            hint: PART_OF_THE_RUN,
        });
    }
    let missing = results.ranks.iter().filter(|rank| rank.main.is_none()).count() as u64;
    if missing > 0 {
        let count = counted(missing, "rank");
        warnings.push(Warning {
            code: "missing-ranks",
            message: format!("the trace has no events of {count}; their time counts as MPI"),
            hint: "check that every host could write to the directory of the trace",
        });
    }
}

/// useful + io + mpi = T for each rank.
fn conservation(results: &Results<'_>, analysis: &Analysis, warnings: &mut Vec<Warning>) {
    let runtime = results.common.runtime();
    let sums = analysis.ranks.iter().map(|rank| rank.useful + rank.io + rank.mpi);
    for (rank, sum) in sums.enumerate().filter(|(_, sum)| *sum != runtime) {
        warnings.push(Warning {
            code: "time-not-conserved",
            message: format!(
                "useful, I/O and MPI time of rank {rank} add up to {sum} ns, \
                 but the run time is {runtime} ns"
            ),
            hint: DEFECT,
        });
    }
}

/// max U ≤ T_ideal ≤ T_even ≤ T_net, rank by rank.
fn order(analysis: &Analysis, warnings: &mut Vec<Warning>) {
    for (rank, account) in analysis.ranks.iter().enumerate() {
        let clocks = account.clocks;
        let chain = [account.useful, clocks.ideal, clocks.even, clocks.net];
        if !chain.is_sorted() {
            warnings.push(Warning {
                code: "replay-out-of-order",
                message: format!(
                    "the times of rank {rank} are out of order: useful {}, ideal {}, ideal \
                     network with even I/O {}, ideal network {} ns",
                    chain[0], chain[1], chain[2], chain[3],
                ),
                hint: DEFECT,
            });
        }
    }
}

/// T_net ≤ T, which only waits for what had happened, as measured, promise.
fn convention(results: &Results<'_>, analysis: &Analysis, warnings: &mut Vec<Warning>) {
    let (net, runtime) = (analysis.ideal.net, analysis.runtime);
    let all = results.common.order == CollectiveOrder::All;
    if net > runtime {
        let (beyond, whole) = ((net - runtime) as f64 / 1e9, runtime as f64 / 1e9);
        warnings.push(Warning {
            code: if all { "ideal-beyond-run" } else { "replay-out-of-order" },
            message: format!(
                "with an ideal network the run would take {beyond:.9} s longer than the \
                 {whole:.9} s that it took"
            ),
            hint: if all { LEAVES_EARLY } else { DEFECT },
        });
    }
    let forced = results.graph.around.forced;
    if forced > 0 {
        let count = counted(forced, "wait");
        warnings.push(Warning {
            code: "waits-given-up",
            message: format!(
                "{count} could not be replayed, as what they wait for never comes or waits for \
                 them in turn; the analysis treats those calls as if they waited for no rank"
            ),
            hint: PART_OF_THE_RUN,
        });
    }
}

fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
