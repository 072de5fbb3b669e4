//! Tables of the places in the program from which calls come.

use std::collections::BTreeMap;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tailrace_replay::Analysis;
use tailrace_replay::analysis::{AgainRank, Dependences, PlaceAccount};
use tailrace_trace::Tables;
use tailrace_trace::places::Frame;

use crate::arrays::{Dict, integers};
use crate::tables::{KINDS, rows_of_files};

/// By place of the trace: its row of "paths".
pub(crate) type Paths = BTreeMap<u32, i64>;

/// All places that the tables name.
pub(crate) fn paths(analysis: &Analysis) -> Paths {
    let Dependences { paths, waits, causes } = &analysis.dependences;
    let on_paths = paths.iter().flat_map(|path| &path.shares).map(|share| share.site.place);
    let waits = waits.iter().map(|(_, site, _)| site.place);
    let causes = causes.iter().flat_map(|row| [row.site.place, row.cause.site.place]);
    let places = analysis.places.iter().map(|row| row.place).chain(on_paths);
    numbered(places.chain(waits).chain(causes).filter(|place| *place > 0))
}

/// One row per place and file, or place and MPI ("file" −1; "file" is a row of "files"): calls and
/// time by kind, "path" an index into "paths", lists of rows of "frames" from the innermost; by path
/// how often a call from it, or from its line, was the next one, "again", and the time until then;
/// "before_ns" is what lay before its calls, whatever call was the last.
pub(crate) fn places<'py>(
    py: Python<'py>,
    trace: &Tables,
    analysis: &Analysis,
    used: &Paths,
) -> Dict<'py> {
    let columns = PyDict::new(py);
    let row_of = rows_of_files(analysis);
    let known = |row: &&PlaceAccount| row.file.is_none_or(|file| row_of.contains_key(&file));
    let rows: Vec<&PlaceAccount> = analysis.places.iter().filter(known).collect();
    integers(&columns, "file", &rows, |row| row.file.map_or(-1, |file| row_of[&file]))?;
    integers(&columns, "path", &rows, |row| used[&row.place])?;
    for (kind, (calls, time)) in KINDS.into_iter().enumerate() {
        integers(&columns, calls, &rows, |row| row.tally.calls[kind] as i64)?;
        integers(&columns, time, &rows, |row| row.tally.time[kind])?;
    }
    integers(&columns, "bytes_read", &rows, |row| row.tally.bytes[0] as i64)?;
    integers(&columns, "bytes_written", &rows, |row| row.tally.bytes[1] as i64)?;
    let of = |place: &u32| trace.places.path(*place);
    let frames_of = |place: &u32| of(place).map_or(&[][..], |path| &path.frames);
    let frames = numbered(used.keys().flat_map(|place| frames_of(place).iter().copied()));
    let paths: Vec<Vec<i64>> = used
        .keys()
        .map(|place| frames_of(place).iter().map(|frame| frames[frame]).collect())
        .collect();
    columns.set_item("paths", paths)?;
    let again = |place: &u32| analysis.again.get(place).copied().unwrap_or_default();
    integers(&columns, "again", used.keys(), |place| again(place).count as i64)?;
    integers(&columns, "again_ns", used.keys(), |place| again(place).time)?;
    let before = |place: &u32| analysis.before.get(place).copied().unwrap_or_default();
    integers(&columns, "before_ns", used.keys(), before)?;
    columns.set_item("again_rank", again_ranks(py, analysis, used)?)?;
    let cut: Vec<bool> = used.keys().map(|place| of(place).is_some_and(|path| path.cut)).collect();
    columns.set_item("cut", cut)?;
    columns.set_item("frames", self::frames(py, trace, frames.keys())?)?;
    Ok(columns)
}

/// One row per path and rank where that is notable: the time between calls that follow each other.
fn again_ranks<'py>(py: Python<'py>, analysis: &Analysis, used: &Paths) -> Dict<'py> {
    let columns = PyDict::new(py);
    let known = |row: &&AgainRank| used.contains_key(&row.place);
    let rows: Vec<&AgainRank> = analysis.again_ranks.iter().filter(known).collect();
    integers(&columns, "path", &rows, |row| used[&row.place])?;
    integers(&columns, "rank", &rows, |row| i64::from(row.rank))?;
    integers(&columns, "time_ns", &rows, |row| row.time)?;
    Ok(columns)
}

/// One row per routine and rank that reads or writes in it, where that is notable.
pub(crate) fn routine_ranks<'py>(py: Python<'py>, analysis: &Analysis) -> Dict<'py> {
    let columns = PyDict::new(py);
    let rows = &analysis.routine_ranks;
    integers(&columns, "routine", rows, |row| i64::from(row.routine))?;
    integers(&columns, "rank", rows, |row| i64::from(row.rank))?;
    integers(&columns, "useful_ns", rows, |row| row.useful)?;
    integers(&columns, "unsure_ns", rows, |row| row.unsure)?;
    Ok(columns)
}

/// One row per routine, those with most time first: what it cost with all that it calls.
pub(crate) fn routines<'py>(py: Python<'py>, trace: &Tables, analysis: &Analysis) -> Dict<'py> {
    let columns = PyDict::new(py);
    let rows = &analysis.routines;
    let frames: Vec<u32> = rows.iter().map(|row| row.frame).collect();
    integers(&columns, "useful_ns", rows, |row| row.useful)?;
    integers(&columns, "unsure_ns", rows, |row| row.unsure)?;
    integers(&columns, "mpi_ns", rows, |row| row.mpi)?;
    integers(&columns, "io_ns", rows, |row| row.io)?;
    integers(&columns, "mpi_calls", rows, |row| row.mpi_calls as i64)?;
    integers(&columns, "ranks", rows, |row| i64::from(row.ranks))?;
    integers(&columns, "receivers", rows, |row| i64::from(row.receivers))?;
    integers(&columns, "entries", rows, |row| row.entries as i64)?;
    integers(&columns, "entries_of_readers", rows, |row| row.entries_of[0] as i64)?;
    integers(&columns, "entries_of_writers", rows, |row| row.entries_of[1] as i64)?;
    integers(&columns, "entries_with_reads", rows, |row| row.entries_with[0] as i64)?;
    integers(&columns, "entries_with_writes", rows, |row| row.entries_with[1] as i64)?;
    columns.set_item("frames", self::frames(py, trace, frames.iter())?)?;
    Ok(columns)
}

/// One row per stretch in which ranks are in a routine ("routine" is a row of "routines") and use
/// files, where that is known.
pub(crate) fn routine_phases<'py>(py: Python<'py>, analysis: &Analysis) -> Dict<'py> {
    let columns = PyDict::new(py);
    let rows = &analysis.routine_phases;
    integers(&columns, "routine", rows, |row| i64::from(row.routine))?;
    integers(&columns, "begin_ns", rows, |row| row.begin)?;
    integers(&columns, "end_ns", rows, |row| row.end)?;
    integers(&columns, "ranks", rows, |row| i64::from(row.ranks))?;
    integers(&columns, "io_ns", rows, |row| row.io)?;
    integers(&columns, "bytes_read", rows, |row| row.bytes_read as i64)?;
    integers(&columns, "bytes_written", rows, |row| row.bytes_written as i64)?;
    Ok(columns)
}

/// In order, from 0.
fn numbered(things: impl Iterator<Item = u32>) -> BTreeMap<u32, i64> {
    let mut numbers: BTreeMap<u32, i64> = things.map(|thing| (thing, 0)).collect();
    numbers.values_mut().zip(0..).for_each(|(number, next)| *number = next);
    numbers
}

fn frames<'a, 'py>(
    py: Python<'py>,
    trace: &Tables,
    used: impl Iterator<Item = &'a u32>,
) -> Dict<'py> {
    let frames: Vec<&Frame> = used.map(|frame| &trace.places.frames[*frame as usize]).collect();
    let columns = PyDict::new(py);
    let texts = |value: fn(&Frame) -> &str| frames.iter().map(|f| value(f)).collect::<Vec<_>>();
    columns.set_item("function", texts(|frame| &frame.function))?;
    columns.set_item("source", texts(|frame| &frame.source))?;
    columns.set_item("module", texts(|frame| &frame.module))?;
    integers(&columns, "line", &frames, |frame| i64::from(frame.line))?;
    Ok(columns)
}
