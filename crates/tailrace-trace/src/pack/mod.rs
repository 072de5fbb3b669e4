//! Packing: a run's raw streams become one file.
//!
//! Streams are decoded in parallel, each by one thread; threads without a stream encode the blocks of
//! others. A stream's blocks wait in a bounded queue until the file has come to it, so that the same
//! run is always packed to the same bytes.

mod demangle;
mod encoding;
mod foresight;
mod observe;
mod polls;
mod stream;
mod symbols;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, sync_channel};

use crate::error::TraceError;
use crate::packed::{Encoder, Writer};
use crate::parallel;
use crate::raw::run::Run;
use crate::tables::{Ended, Tables, Window};

use encoding::{Bytes, Decoding, Encoding};
use observe::Observed;

/// Blocks of one stream that may wait for their turn: about 40 MB.
const BLOCKS_WAITING: usize = 512;
const BLOCK_EVENTS: usize = 1 << 14;
const BLOCK_EVENTS_MIN: usize = 1 << 11;
/// Events that all streams' blocks hold together while a reader walks through all of them at once.
const EVENTS_AT_ONCE: usize = 1 << 21;

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    pub path: PathBuf,
    /// [`crate::Tables::meta`].
    pub meta: BTreeMap<String, String>,
    pub ranks: u32,
    pub locations: usize,
    pub events: u64,
    pub lost: u64,
    pub complete: bool,
    pub bytes_raw: u64,
    pub bytes_packed: u64,
    pub notes: Vec<String>,
}

/// What a stream's worker sends.
enum Parcel {
    Block { events: usize, bytes: Bytes },
    Done(Box<Observed>),
    Failed(TraceError),
}

/// Events per block, so that one block of each location fits in memory together.
pub fn events_per_block(locations: usize) -> usize {
    (EVENTS_AT_ONCE / locations.max(1)).clamp(BLOCK_EVENTS_MIN, BLOCK_EVENTS)
}

/// Packs the streams of `directory` (or of `raw/` in it) into `output`, which appears only when it
/// is complete. Where there are several runs, the second goes to `output` with `-2` before its
/// ending, and so on. `progress` is told the share that is done, 0 to 1.
///
/// # Errors
/// If there are no streams, none can be read, or a file cannot be written.
pub fn pack(
    directory: &Path,
    output: &Path,
    progress: &mut dyn FnMut(f64),
) -> Result<Vec<Summary>, TraceError> {
    pack_with(directory, output, parallel::threads(), progress)
}

/// The same by so many threads, which makes no difference to the file.
///
/// # Errors
/// As [`pack`].
pub fn pack_with(
    directory: &Path,
    output: &Path,
    threads: usize,
    progress: &mut dyn FnMut(f64),
) -> Result<Vec<Summary>, TraceError> {
    let runs = Run::survey(directory)?;
    let events = |run: &Run| run.tables.capture.events as f64;
    let total = runs.iter().map(events).sum::<f64>().max(1.0);
    let mut done = 0.0;
    let mut summaries = Vec::new();
    for (index, mut run) in runs.into_iter().enumerate() {
        let share = events(&run) / total;
        let mut told = |part: f64| progress(done + part * share);
        summaries.push(pack_run(&mut run, &numbered(output, index + 1), threads, &mut told)?);
        done += share;
    }
    Ok(summaries)
}

fn numbered(output: &Path, number: usize) -> PathBuf {
    if number == 1 {
        return output.into();
    }
    let mut name = output.file_stem().unwrap_or_default().to_os_string();
    name.push(format!("-{number}"));
    if let Some(ending) = output.extension() {
        name.push(".");
        name.push(ending);
    }
    output.with_file_name(name)
}

fn pack_run(
    run: &mut Run,
    output: &Path,
    threads: usize,
    progress: &mut dyn FnMut(f64),
) -> Result<Summary, TraceError> {
    let mut writer = Writer::create(output, run.tables.locations.len())?;
    let observed = write_blocks(run, &mut writer, threads.max(1), progress)?;
    for (location, observed) in run.tables.locations.iter_mut().zip(&observed) {
        location.events = observed.events;
        location.capture_ns = location.capture_ns.map(|taken_ns| observed.of_capture(taken_ns));
        if location.main {
            location.ended = observed.ended(location.ended == Ended::Known);
        }
    }
    run.tables.window = window(&mut run.tables, &observed, run.until_ns);
    observe::mark_opaque(&mut run.tables.files, &observed);
    let not_understood: u64 = observed.iter().map(|observed| observed.not_understood).sum();
    let capture = &mut run.tables.capture;
    capture.events = observed.iter().map(|observed| observed.events).sum();
    if not_understood > 0 {
        capture.notes.push(format!(
            "the trace does not define the file, communicator or request of some calls \
             ({not_understood} kinds): their time counts, but they wait for no rank"
        ));
    }
    symbols::name(&mut run.tables.places, &run.merged_places);
    let bytes_packed = writer.finish(&run.tables)?;
    Ok(summary(run, output, bytes_packed))
}

/// What the program chose of its run, and in the meta how long the whole is.
fn window(tables: &mut Tables, observed: &[Observed], until_ns: Option<i64>) -> Option<Window> {
    let whole = observe::whole(&tables.locations, observed, until_ns)?;
    let chosen = observe::chosen(whole, &tables.locations, observed);
    if chosen != whole {
        tables.meta.insert("chosen_of_ns".into(), (whole.end_ns - whole.begin_ns).to_string());
    }
    Some(chosen)
}

fn summary(run: &Run, output: &Path, bytes_packed: u64) -> Summary {
    let capture = &run.tables.capture;
    Summary {
        path: output.into(),
        meta: run.tables.meta.clone(),
        ranks: run.tables.ranks,
        locations: run.tables.locations.len(),
        events: capture.events,
        lost: capture.lost,
        complete: capture.complete,
        bytes_raw: run.streams.iter().map(|stream| stream.survey.bytes).sum(),
        bytes_packed,
        notes: capture.notes.clone(),
    }
}

fn write_blocks(
    run: &Run,
    writer: &mut Writer,
    threads: usize,
    progress: &mut dyn FnMut(f64),
) -> Result<Vec<Observed>, TraceError> {
    let (senders, receivers): (Vec<_>, Vec<_>) =
        run.streams.iter().map(|_| sync_channel(BLOCKS_WAITING)).unzip();
    // Streams are begun in the order in which the file wants them, so whoever waits, waits for one
    // that is under way.
    let jobs = Mutex::new(run.streams.iter().zip(senders));
    let next = || jobs.lock().ok().and_then(|mut jobs| jobs.next());
    let encoders: Vec<Encoder> =
        (0..threads).map(|_| Encoder::new()).collect::<Result<_, _>>().map_err(|cause| {
            TraceError::new(format!("cannot compress: {cause}"), "free some memory and pack again")
        })?;
    let encoding = Encoding::new(threads);
    let mut events_done = 0;
    std::thread::scope(|scope| {
        let (next, encoding) = (&next, &encoding);
        for mut encoder in encoders {
            scope.spawn(move || {
                let decoding = Decoding(encoding);
                while let Some((stream, sender)) = next() {
                    stream::pack(run, stream, encoding, &mut encoder, &sender);
                }
                drop(decoding);
                encoding.help(&mut encoder);
            });
        }
        let mut told = |events: usize| {
            events_done += events;
            progress((events_done as f64 / run.tables.capture.events.max(1) as f64).min(1.0));
        };
        let mut observed = vec![Observed::default(); run.tables.locations.len()];
        // Receivers that are dropped on an error make the workers stop.
        for (stream, parcels) in run.streams.iter().zip(receivers) {
            let location = stream.location as usize;
            let of_stream = drain(location, &parcels, writer, &mut told)?;
            observed[location].go_on(of_stream);
        }
        Ok(observed)
    })
}

fn drain(
    location: usize,
    parcels: &Receiver<Parcel>,
    writer: &mut Writer,
    told: &mut dyn FnMut(usize),
) -> Result<Observed, TraceError> {
    for parcel in parcels {
        match parcel {
            Parcel::Block { events, bytes } => {
                let Some(bytes) = bytes.get() else { break };
                writer.block(location, events, &bytes)?;
                told(events);
            }
            Parcel::Done(observed) => return Ok(*observed),
            Parcel::Failed(error) => return Err(error),
        }
    }
    Err(TraceError::new(
        "a thread that packs the trace ended before its work was done",
        "pack the raw directory again",
    ))
}
