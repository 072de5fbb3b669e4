//! Which processes share a clock, and how each clock is led onto rank 0's.

use std::collections::BTreeSet;

use crate::error::escape_controls;

use super::clock::{Alignment, ClockMap, Moment, Offset};
use super::survey::{Reading, Survey};

/// Clocks: one for all processes of a node whose ticks count the same.
pub(super) struct Domains {
    pub of: Vec<usize>,
    pub clocks: Vec<ClockMap>,
}

impl Domains {
    pub(super) fn new(
        surveys: &[Survey],
        names: &[(String, u32, u32)],
        notes: &mut Vec<String>,
    ) -> Self {
        let node = |i: usize| surveys[i].meta.get("node").unwrap_or(&names[i].0);
        let keys: Vec<_> = (0..surveys.len()).map(|i| (node(i), surveys[i].header.clock)).collect();
        let distinct: Vec<_> = keys.iter().collect::<BTreeSet<_>>().into_iter().collect();
        let reference = surveys
            .iter()
            .position(|survey| survey.meta.get("rank").is_some_and(|rank| rank == "0"));
        let reference = keys[reference.unwrap_or(0)].0;
        let offset_of_reference = wall_offset(
            &mut (0..surveys.len()).filter(|&i| node(i) == reference).map(|i| &surveys[i]),
        );
        let mut clocks = Vec::new();
        for key in &distinct {
            let mut alignment = Alignment::default();
            if key.0 != reference {
                let on_node =
                    || (0..surveys.len()).filter(|&i| node(i) == key.0).map(|i| &surveys[i]);
                alignment = align(&mut on_node(), offset_of_reference, key.0, notes);
            }
            let members: Vec<&Survey> =
                (0..surveys.len()).filter(|&i| keys[i] == **key).map(|i| &surveys[i]).collect();
            let readings: Vec<Reading> =
                members.iter().flat_map(|survey| super::clock::choose(&survey.readings)).collect();
            let nominal = members.first().map_or(0, |survey| survey.header.ticks_per_s);
            clocks.push(ClockMap::new(&readings, nominal, &alignment));
        }
        let place = |key| distinct.iter().position(|known| **known == key).unwrap_or(0);
        Self { of: keys.iter().map(|key| place(*key)).collect(), clocks }
    }
}

/// A node's measured offset to rank 0's; where there is none, the wall clocks must do.
fn align(
    surveys: &mut dyn Iterator<Item = &Survey>,
    reference: Option<i64>,
    node: &str,
    notes: &mut Vec<String>,
) -> Alignment {
    let surveys: Vec<&Survey> = surveys.collect();
    let mut alignment = Alignment::default();
    surveys
        .iter()
        .flat_map(|survey| &survey.clock_offsets)
        .for_each(|value| alignment.add_meta(value));
    if alignment == Alignment::default() {
        notes.push(format!(
            "the clock of node {} is aligned by the time of day only",
            escape_controls(node)
        ));
        if let (Some(reference), Some(here)) = (reference, wall_offset(&mut surveys.into_iter())) {
            let add_ns = here.saturating_sub(reference);
            let offset = Offset { monotonic_ns: 0, add_ns, uncertainty_ns: 0 };
            alignment.add(Moment::Begin, offset);
        }
    }
    alignment
}

/// CLOCK_REALTIME less CLOCK_MONOTONIC by the narrowest reading.
fn wall_offset(surveys: &mut dyn Iterator<Item = &Survey>) -> Option<i64> {
    let narrowest =
        surveys.flat_map(|survey| &survey.readings).min_by_key(|reading| reading.width_ticks)?;
    Some(narrowest.realtime_ns.wrapping_sub(narrowest.monotonic_ns) as i64)
}
