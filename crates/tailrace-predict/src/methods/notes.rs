//! What a rank did beside its file calls, as far as it tells whose data are written: messages,
//! gatherings, and writes through MPI-IO.

use hashbrown::HashMap;
use rayon::prelude::*;
use tailrace_trace::event::{
    Envelope, FileCall, FileKind, Flow, Layer, Operation, Part, Progress, Shape,
};
use tailrace_trace::tables::{Communicator, Location};
use tailrace_trace::{Batch, Tables, Trace, TraceError};

use super::libraries::{Keeps, Libraries};

/// Messages of one tag between two ranks on one communicator: they come in the order in which they
/// are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Channel {
    pub communicator: u32,
    pub tag: i32,
    pub from: u32,
    pub to: u32,
}

/// The n-th gathering of a communicator at that root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Gathering {
    pub communicator: u32,
    pub root: u32,
    pub number: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// The n-th message of the channel.
    Sent {
        channel: Channel,
        number: u32,
        bytes: u64,
    },
    Received {
        channel: Channel,
        number: u32,
    },
    /// `bytes`: what the rank gave.
    Gathered {
        gathering: Gathering,
        bytes: u64,
    },
    /// A request was completed.
    Completed,
    /// All ranks of the run called a collective.
    Met,
    /// Through MPI-IO; `together`: the n-th collective write of a communicator. `keeps`: what the
    /// library above would keep of it.
    Wrote {
        file: u32,
        bytes: u64,
        together: Option<(u32, u32)>,
        keeps: Keeps,
    },
    /// Something else that others may have a part in.
    Other,
}

/// Times as in [`tailrace_replay::Program`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Note {
    pub begin: i64,
    pub end: i64,
    pub what: What,
    /// The file of a collective call of MPI-IO that moves no data, such as one that sets a view.
    pub about: Option<u32>,
    /// HDF5 synchronises it.
    pub is_flush: bool,
}

impl Note {
    /// How much was written is known in the end.
    fn leave(&mut self, end: i64, operation: &Operation) {
        self.end = end;
        if let (What::Wrote { bytes, .. }, Some(call)) = (&mut self.what, operation.file()) {
            *bytes = call.bytes;
        }
    }
}

#[derive(PartialEq, Eq, Hash)]
enum Counted {
    Sent(Channel),
    Received(Channel),
    Gathered(u32, u32),
    Together(u32),
}

/// By rank: the notes of its main thread, in order of their begin.
pub(super) fn notes(trace: &dyn Trace) -> Result<Vec<Vec<Note>>, TraceError> {
    let tables = trace.tables();
    let libraries = Libraries::of(&tables.places);
    let main = tables.locations.par_iter().enumerate().filter(|(_, location)| location.main);
    let of_threads: Vec<_> = main
        .map(|(number, Location { rank, .. })| {
            Ok((*rank, of_thread(trace, number, *rank, &libraries)?))
        })
        .collect::<Result<_, _>>()?;
    let mut notes = vec![Vec::new(); tables.ranks as usize];
    for (rank, of_thread) in of_threads {
        notes[rank as usize] = of_thread;
    }
    Ok(notes)
}

fn of_thread(
    trace: &dyn Trace,
    location: usize,
    rank: u32,
    libraries: &Libraries<'_>,
) -> Result<Vec<Note>, TraceError> {
    let tables = trace.tables();
    let window = tailrace_replay::window(tables);
    let clip = |time: i64| time.clamp(window.begin_ns, window.end_ns) - window.begin_ns;
    let mut reader = Reader { tables, rank, libraries, counts: HashMap::new() };
    let (mut stream, mut batch) = (trace.events(location), Batch::default());
    let mut notes: Vec<Note> = Vec::new();
    // of the calls that hold others: their notes
    let mut entered: Vec<Option<usize>> = Vec::new();
    while stream.next_batch(&mut batch)? {
        for event in &batch.events {
            let shape = &batch.shapes[event.shape as usize];
            if shape.part == Part::Leave {
                if let Some(note) = entered.pop().flatten() {
                    notes[note].leave(clip(event.end), &shape.operation);
                }
                continue;
            }
            let what = reader.what(shape);
            if shape.part == Part::Enter {
                entered.push(what.map(|_| notes.len()));
            }
            if let Some(what) = what {
                let (begin, end) = (clip(event.begin), clip(event.end));
                let about = about(&shape.operation);
                let is_flush = about.is_some() && libraries.flushes(shape.place);
                notes.push(Note { begin, end, what, about, is_flush });
            }
        }
    }
    Ok(notes)
}

struct Reader<'a> {
    tables: &'a Tables,
    rank: u32,
    libraries: &'a Libraries<'a>,
    counts: HashMap<Counted, u32>,
}

impl Reader<'_> {
    fn what(&mut self, shape: &Shape) -> Option<What> {
        let operation = &shape.operation;
        match operation {
            _ if operation.progress() == Progress::Persistent => None,
            Operation::Send { envelope, .. } => {
                let to = u32::try_from(envelope.peer).ok()?;
                let channel = channel(envelope, self.rank, to);
                let number = self.number(Counted::Sent(channel));
                Some(What::Sent { channel, number, bytes: envelope.bytes })
            }
            Operation::Receive { envelope, .. } => {
                let from = u32::try_from(envelope.peer).ok()?;
                let channel = channel(envelope, from, self.rank);
                let number = self.number(Counted::Received(channel));
                Some(What::Received { channel, number })
            }
            Operation::Complete { completed, .. } => {
                (!completed.is_empty()).then_some(What::Completed)
            }
            Operation::Collective {
                communicator, flow: Flow::ToRoot(root), bytes_sent, ..
            } => {
                let (communicator, root) = (*communicator, u32::try_from(*root).ok()?);
                let number = self.number(Counted::Gathered(communicator, root));
                let gathering = Gathering { communicator, root, number };
                Some(What::Gathered { gathering, bytes: *bytes_sent })
            }
            Operation::Collective { communicator, .. }
            | Operation::CommunicatorCreation { communicator, .. } => {
                Some(self.meeting(*communicator))
            }
            Operation::SendReceive { .. }
            | Operation::OneSided { .. }
            | Operation::Start { .. }
            | Operation::Probe { .. } => Some(What::Other),
            Operation::File(call) if call.layer == Layer::MpiIo => {
                self.through_mpi(call, self.libraries.keep(shape.place))
            }
            _ => None,
        }
    }

    fn through_mpi(&mut self, call: &FileCall, keeps: Keeps) -> Option<What> {
        let together = call.collective.filter(|communicator| self.size(*communicator) > 1);
        if call.kind != FileKind::Write {
            return together.map(|communicator| self.meeting(communicator));
        }
        let number = |communicator| (communicator, self.number(Counted::Together(communicator)));
        let together = together.map(number);
        Some(What::Wrote { file: call.file, bytes: call.bytes, together, keeps })
    }

    fn meeting(&self, communicator: u32) -> What {
        if self.size(communicator) == self.tables.ranks as usize { What::Met } else { What::Other }
    }

    fn size(&self, communicator: u32) -> usize {
        self.tables.communicators.get(communicator as usize).map_or(0, Communicator::size)
    }

    fn number(&mut self, of: Counted) -> u32 {
        let next = self.counts.entry(of).or_insert(0);
        *next += 1;
        *next - 1
    }
}

fn about(operation: &Operation) -> Option<u32> {
    let call = operation.file().filter(|call| call.collective.is_some())?;
    (!matches!(call.kind, FileKind::Read | FileKind::Write)).then_some(call.file)
}

fn channel(envelope: &Envelope, from: u32, to: u32) -> Channel {
    Channel { communicator: envelope.communicator, tag: envelope.tag, from, to }
}
