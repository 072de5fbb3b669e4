//! What lies in a directory of raw streams.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::error::{TraceError, escape_controls, printable};

use super::node_file::{StreamFile, streams_in};
use super::survey::{Survey, survey};

/// Host, process and number of a stream, from its name `HOST.PID.N.stream`.
pub(super) fn name_of(survey: &Survey) -> (String, u32, u32) {
    let name = survey
        .file
        .path
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned())
        .unwrap_or_default();
    let mut parts = name.rsplitn(3, '.');
    let number = parts.next().and_then(|part| part.parse().ok()).unwrap_or(0);
    let process = parts.next().and_then(|part| part.parse().ok()).unwrap_or(survey.header.process);
    let host = survey.meta.get("host").cloned().or(parts.next().map(String::from));
    (host.unwrap_or_default(), process, number)
}

pub(super) fn read_all(
    directory: &Path,
    notes: &mut Vec<String>,
) -> Result<Vec<Survey>, TraceError> {
    let mut first_error = None;
    let files = stream_files(directory, notes, &mut first_error)?;
    let results = crate::parallel::map(&files, survey);
    let mut surveys = Vec::new();
    for result in results {
        match result {
            Ok(survey) => surveys.push(survey),
            Err(error) => {
                notes.push(error.message.clone());
                first_error = first_error.or(Some(error));
            }
        }
    }
    match (surveys.is_empty(), first_error) {
        (true, Some(error)) => Err(error),
        (true, None) => Err(TraceError::new(
            format!("{} holds no raw streams: nothing was captured", printable(directory)),
            "check that the program's MPI is supported and that the program is dynamically linked",
        )),
        _ => Ok(surveys),
    }
}

/// The streams in `directory`, or in `raw/` below it, also those in files of nodes.
fn stream_files(
    directory: &Path,
    notes: &mut Vec<String>,
    first_error: &mut Option<TraceError>,
) -> Result<Vec<StreamFile>, TraceError> {
    let alone = listed(directory, "stream")?.into_iter().map(StreamFile::whole);
    let mut files: BTreeMap<OsString, StreamFile> = BTreeMap::new();
    let mut add = |file: StreamFile| {
        let name = file.path.file_name().unwrap_or_default().to_os_string();
        // A node that was collected twice has the same streams twice, later ones longer.
        if files.get(&name).is_none_or(|known| known.bytes() < file.bytes()) {
            files.insert(name, file);
        }
    };
    alone.for_each(&mut add);
    for path in listed(directory, "node")? {
        match streams_in(&path, notes) {
            Ok(streams) => streams.into_iter().for_each(&mut add),
            Err(error) => {
                notes.push(error.message.clone());
                first_error.get_or_insert(error);
            }
        }
    }
    Ok(files.into_values().collect())
}

/// Nodes that have begun to record and whose streams are still on them: by `HOST.at`, which goes
/// when they come.
pub(super) fn awaited_nodes(directory: &Path) -> Vec<String> {
    let paths = listed(directory, "at").unwrap_or_default();
    let names = paths.iter().filter_map(|path| path.file_stem());
    names.map(|name| escape_controls(&name.to_string_lossy())).collect()
}

/// Files with this ending, in `raw/` where there is one.
fn listed(directory: &Path, ending: &str) -> Result<Vec<PathBuf>, TraceError> {
    let below = directory.join("raw");
    let directory = if below.is_dir() { below } else { directory.to_path_buf() };
    let entries = std::fs::read_dir(&directory)
        .map_err(|cause| TraceError::system("list", &directory, &cause))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == ending));
    paths.sort();
    Ok(paths)
}
