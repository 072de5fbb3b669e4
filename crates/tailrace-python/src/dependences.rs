//! Critical paths, and who waited for whom.

use std::collections::HashMap;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tailrace_replay::Analysis;
use tailrace_replay::analysis::{Awaited, Dependences, Replay, Share, Site};
use tailrace_trace::Tables;

use crate::arrays::{Dict, integers};
use crate::places::Paths;
use crate::tables::rows_of_files;

/// "paths" by replay, "waits" by call, "causes" by what ranks did
/// that others waited for.
pub(crate) fn dependences<'py>(
    py: Python<'py>,
    trace: &Tables,
    analysis: &Analysis,
    rows: &Paths,
) -> Dict<'py> {
    let Dependences { paths, waits, causes } = &analysis.dependences;
    let names = Names::new(trace, analysis, rows);
    let columns = PyDict::new(py);
    let by_replay = PyDict::new(py);
    for path in paths {
        let one = PyDict::new(py);
        one.set_item("runtime_ns", path.runtime)?;
        one.set_item("start_ns", path.start)?;
        one.set_item("crossings", path.crossings)?;
        names.shares(&one, &path.shares)?;
        by_replay.set_item(replay_name(path.replay), one)?;
    }
    columns.set_item("paths", by_replay)?;

    let of_waits = PyDict::new(py);
    let calls: Vec<(Awaited, Site)> =
        waits.iter().map(|(awaited, site, _)| (*awaited, *site)).collect();
    names.calls(&of_waits, &calls)?;
    integers(&of_waits, "number", waits, |(.., sum)| sum.number as i64)?;
    integers(&of_waits, "time_ns", waits, |(.., sum)| sum.time)?;
    columns.set_item("waits", of_waits)?;

    let (of_causes, did) = (PyDict::new(py), PyDict::new(py));
    let calls: Vec<(Awaited, Site)> = causes.iter().map(|row| (row.awaited, row.site)).collect();
    names.calls(&of_causes, &calls)?;
    names.shares(&did, &causes.iter().map(|row| row.cause).collect::<Vec<_>>())?;
    of_causes.set_item("cause", did)?;
    columns.set_item("causes", of_causes)?;
    Ok(columns)
}

fn replay_name(replay: Replay) -> &'static str {
    match replay {
        Replay::Measured => "measured",
        Replay::Net => "ideal_network",
        Replay::Even => "ideal_network_even_io",
        Replay::Ideal => "ideal",
    }
}

fn awaited_name(awaited: Awaited) -> &'static str {
    match awaited {
        Awaited::Sender => "late_sender",
        Awaited::Receiver => "late_receiver",
        Awaited::Others => "collective",
        Awaited::Lock => "lock",
    }
}

/// What numbers of the trace's tables are in the columns.
struct Names<'a> {
    trace: &'a Tables,
    rows: &'a Paths,
    /// By file of the trace: its row of "files".
    files: HashMap<u32, i64>,
}

impl<'a> Names<'a> {
    fn new(trace: &'a Tables, analysis: &Analysis, rows: &'a Paths) -> Self {
        Self { trace, rows, files: rows_of_files(analysis) }
    }

    /// "function" is empty outside of calls.
    fn sites<'s>(
        &self,
        columns: &Bound<'_, PyDict>,
        sites: impl Iterator<Item = &'s Site> + Clone,
    ) -> PyResult<()> {
        let function = |site: &Site| {
            let function = self.trace.functions.get(usize::from(site.function));
            function.map_or("", |function| function.name.as_str())
        };
        columns.set_item("function", sites.clone().map(function).collect::<Vec<_>>())?;
        integers(columns, "path", sites, |site| self.rows.get(&site.place).copied().unwrap_or(-1))
    }

    fn calls(&self, columns: &Bound<'_, PyDict>, calls: &[(Awaited, Site)]) -> PyResult<()> {
        let awaited: Vec<&str> = calls.iter().map(|(awaited, _)| awaited_name(*awaited)).collect();
        columns.set_item("awaited", awaited)?;
        self.sites(columns, calls.iter().map(|(_, site)| site))
    }

    /// "file" is a row of "files", or −1.
    fn shares(&self, columns: &Bound<'_, PyDict>, shares: &[Share]) -> PyResult<()> {
        integers(columns, "rank", shares, |share| i64::from(share.rank))?;
        let states: Vec<&str> = shares.iter().map(|share| share.state.name()).collect();
        columns.set_item("state", states)?;
        self.sites(columns, shares.iter().map(|share| &share.site))?;
        let row = |share: &Share| self.files.get(&share.file).copied().unwrap_or(-1);
        integers(columns, "file", shares, row)?;
        integers(columns, "time_ns", shares, |share| share.time)
    }
}
