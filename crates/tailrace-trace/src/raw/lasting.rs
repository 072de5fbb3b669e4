//! How long a stream lasts, and what is known of its thread in that time.

use crate::tables::Wait;
use crate::waits;

use super::clock::ClockMap;
use super::header::Header;
use super::survey::Survey;

/// The call that the process was in when it ended, if its stream was not closed.
pub(super) fn in_flight(survey: &Survey) -> Option<(u64, u64)> {
    let (begin, function) = survey.header.in_flight;
    (!survey.header.closed && begin > survey.last_ticks).then_some((begin, function))
}

/// A stream's waits for a processor, by the common clock.
pub(super) fn placed(survey: &Survey, clock: &ClockMap, most: usize) -> Option<Vec<Wait>> {
    let moment = |ticks: i64| clock.ns(ticks as u64);
    let place = |wait: &Wait| Wait {
        begin_ns: moment(wait.begin_ns),
        end_ns: moment(wait.end_ns),
        ..*wait
    };
    let mut placed = waits::sound(survey.waits.as_ref()?.iter().map(place));
    waits::thin(&mut placed, most);
    Some(placed)
}

/// Of what a process was and what it became; `None` where one of them is not known.
pub(super) fn joined(earlier: Option<Vec<Wait>>, later: Option<Vec<Wait>>) -> Option<Vec<Wait>> {
    let mut both = earlier?;
    both.extend(later?);
    Some(both)
}

/// What capture took of a thread that lived for `length_ns`.
pub(super) fn capture_ns(header: &Header, length_ns: i64) -> Option<i64> {
    let ns = u128::from(header.own_ticks) * 1_000_000_000 / u128::from(header.ticks_per_s.max(1));
    (ns > 0).then(|| i64::try_from(ns).unwrap_or(i64::MAX).min(length_ns.max(0)))
}

pub(super) fn last_known_ticks(survey: &Survey) -> u64 {
    let clock = survey.readings.iter().map(|reading| reading.ticks).max().unwrap_or(0);
    let call = in_flight(survey).map_or(0, |(begin, _)| begin);
    survey.last_ticks.max(clock).max(call)
}
