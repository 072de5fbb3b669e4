//! Outputs that repeat: where one took what the one before it took, and nothing is left on its way,
//! the next ones will take as long.

use super::workload::Workload;
use crate::replay::added;

/// The first two are different: files are made, and caches fill.
const FIRST: u64 = 2;
/// Durations that differ by no more are the same.
const SAME: f64 = 1e-3;

#[derive(Debug, Default)]
pub(super) struct Cycles {
    /// Model steps after which streams do the same again; 0: they never do.
    length: u64,
    seen: u64,
    /// When the last one ended, and what it took.
    end: i64,
    last: i64,
    /// What the way to the servers is busy with since then.
    pub sent: f64,
    /// What was left out.
    pub time: i64,
    pub steps: u64,
}

impl Cycles {
    pub(super) fn of(workload: &Workload) -> Self {
        let streams = workload.streams.iter().filter(|stream| stream.every < workload.steps);
        let mut periods =
            streams.map(|stream| stream.every.checked_mul(stream.steps_per_file.max(1)));
        let length = periods.try_fold(1, |all, period| common_multiple(all, period?));
        Self { length: length.unwrap_or(0), ..Self::default() }
    }

    /// How many of the steps that are left can be left out; all but the last cycle.
    pub(super) fn repeated(&mut self, step: u64, left: u64, now: i64) -> u64 {
        if self.length == 0 || !step.is_multiple_of(self.length) {
            return 0;
        }
        let (took, before) = (now - self.end, self.last);
        let most = took as f64 * (1. + SAME);
        let is_same = (took - before).abs() as f64 <= took as f64 * SAME && self.sent <= most;
        (self.seen, self.end, self.last, self.sent) = (self.seen + 1, now, took, 0.);
        let cycles = (left / self.length).saturating_sub(1);
        if is_same && self.seen > FIRST { cycles * self.length } else { 0 }
    }

    pub(super) fn leave_out(&mut self, steps: u64) {
        self.steps += steps;
        self.time = added(self.time, ((steps / self.length) as i64).saturating_mul(self.last));
    }
}

fn common_multiple(a: u64, b: u64) -> Option<u64> {
    let (mut divisor, mut rest) = (a, b);
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    (a / divisor).checked_mul(b)
}
