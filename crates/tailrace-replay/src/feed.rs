//! Batches for the sweep, decoded ahead by other threads where there are some.

use std::thread::Scope;

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use tailrace_trace::{Batch, EventStream, Tables, Trace, TraceError};

use crate::steps::{Line, compile};

/// A batch and what became of its shapes.
#[derive(Default)]
pub(crate) struct Load {
    pub batch: Batch,
    pub lines: Vec<Line>,
}

impl Load {
    pub(crate) fn clear(&mut self) {
        self.batch.clear();
        self.lines.clear();
    }
}

type Stream<'a> = Box<dyn EventStream + Send + 'a>;

/// A location's next batch is to be decoded.
pub(crate) struct Job<'a> {
    location: usize,
    stream: Stream<'a>,
    load: Load,
}

/// … and was.
pub(crate) struct Done<'a> {
    stream: Stream<'a>,
    load: Load,
    more: Result<bool, TraceError>,
}

/// Hands out each location's batches in order, whoever decodes them.
pub(crate) enum Feed<'a> {
    Inline { tables: &'a Tables, streams: Vec<Stream<'a>> },
    Ahead { jobs: Sender<Job<'a>>, ready: Vec<Receiver<Done<'a>>> },
}

impl<'a> Feed<'a> {
    /// With `helpers` threads that decode ahead, one batch per location.
    pub(crate) fn new<'scope>(
        trace: &'a dyn Trace,
        scope: &'scope Scope<'scope, '_>,
        helpers: usize,
    ) -> Self
    where
        'a: 'scope,
    {
        let tables = trace.tables();
        let streams = (0..tables.locations.len()).map(|i| trace.events(i));
        if helpers == 0 {
            return Self::Inline { tables, streams: streams.collect() };
        }
        let (jobs, queue) = unbounded::<Job<'a>>();
        let (done, ready): (Vec<_>, Vec<_>) =
            (0..tables.locations.len()).map(|_| bounded::<Done<'a>>(1)).unzip();
        for _ in 0..helpers {
            let (queue, done) = (queue.clone(), done.clone());
            scope.spawn(move || queue.iter().for_each(|job| decode(tables, job, &done)));
        }
        for (location, stream) in streams.enumerate() {
            jobs.send(Job { location, stream, load: Load::default() })
                .expect("helpers live as long as the queue");
        }
        Self::Ahead { jobs, ready }
    }

    /// Replaces `load` by the location's next batch; `false` at its end. Not to be called again
    /// after that.
    pub(crate) fn next(&mut self, location: usize, load: &mut Load) -> Result<bool, TraceError> {
        match self {
            Self::Inline { tables, streams } => {
                let more = streams[location].next_batch(&mut load.batch)?;
                compile(tables, &load.batch, &mut load.lines);
                Ok(more)
            }
            Self::Ahead { jobs, ready } => {
                let mut done = ready[location].recv().expect("a helper answers every job");
                std::mem::swap(load, &mut done.load);
                let more = done.more?;
                if more {
                    let job = Job { location, stream: done.stream, load: done.load };
                    jobs.send(job).expect("helpers live as long as the queue");
                }
                Ok(more)
            }
        }
    }
}

fn decode<'a>(tables: &Tables, mut job: Job<'a>, done: &[Sender<Done<'a>>]) {
    let more = job.stream.next_batch(&mut job.load.batch);
    compile(tables, &job.load.batch, &mut job.load.lines);
    // Nobody listens any more when the sweep ended before the trace did.
    let _ = done[job.location].send(Done { stream: job.stream, load: job.load, more });
}
