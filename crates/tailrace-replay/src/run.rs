//! A run from its first event to its last: slabs go from the ranks to the graph.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use tailrace_trace::{Trace, TraceError};

use crate::accounts::longest::Span;
use crate::accounts::timeline::{Bytes, Row, Timeline};
use crate::clocks::Clocks;
use crate::desks::Desks;
use crate::graph::area::Area;
use crate::graph::edges::Edges;
use crate::graph::{Graph, Slab};
use crate::longest::Longest;
use crate::options::Options;
use crate::reduce::{Common, Rank};
use crate::slabs;

/// Told how many events of how many were taken, now and then; `false` stops the analysis.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64) -> bool;

/// Room for so many of the longest calls of a rank is not kept for the next slab.
const MANY_LONGEST: usize = 1 << 8;
/// The calling thread takes a core from the others whenever it reports how far they are.
const PAUSE: Duration = Duration::from_millis(10);
/// Threads are not worth their start for fewer events.
const FEW: u64 = 1 << 15;

/// All that became of a run's events.
pub(crate) struct Results<'a> {
    pub common: &'a Common<'a>,
    /// By number.
    pub ranks: Vec<Rank<'a>>,
    pub graph: Graph<'a>,
    pub area: Area,
    pub timeline: Timeline,
    pub longest: Longest<Span>,
    pub pool: Option<ThreadPool>,
}

impl Results<'_> {
    /// Where each rank's clocks stand at the window's end.
    pub(crate) fn clocks(&self) -> Vec<Clocks> {
        let count = i64::from(self.common.tables.ranks.max(1));
        let ends = self.graph.ahead().into_iter().zip(self.area.shared());
        let clocks = self.ranks.iter().zip(ends).map(|(rank, (ahead, shared))| {
            rank.main?;
            let [useful, io, _] = rank.pen.totals();
            Some(ahead.plus(Clocks::of(useful, io, shared, count)))
        });
        clocks.map(Option::unwrap_or_default).collect()
    }
}

/// The ranks of one row of the timeline, and the row.
struct Lane<'a> {
    row: Row,
    ranks: Vec<Rank<'a>>,
}

pub(crate) fn run<'a>(
    trace: &'a dyn Trace,
    common: &'a Common<'a>,
    options: &Options,
    progress: Progress<'_>,
) -> Result<Results<'a>, TraceError> {
    let tables = common.tables;
    let total = tables.locations.iter().map(|location| location.events).sum();
    let mut timeline = Timeline::new(common.runtime(), tables.ranks as usize, options.bins);
    let mut lanes = lanes(trace, common, &timeline);
    let ranks = || lanes.iter().flat_map(|lane| &lane.ranks);
    let begins: Vec<i64> = ranks().map(Rank::birth).collect();
    let pool = pool(options, total)?;
    let (slab_events, for_the_graph) = slabs::sizes(options, pool.is_some(), begins.len());
    let threads = pool.as_ref().map_or(0, ThreadPool::current_num_threads);
    // What a rank hands over in a slab is small then.
    let reads_in_no_order = threads > 1 && begins.len() > slabs::FEW_RANKS;
    let mut run = Run {
        common,
        area: Area::new(common.keys, common.runtime(), begins.len()),
        graph: Graph::new(tables, &begins, options, common.runtime()),
        ranks_per_lane: timeline.ranks_per_row,
        fresh: of_each(&begins),
        fresh_edges: of_each(&begins),
        edges: of_each(&begins),
        ahead: of_each(&begins),
        slabs: of_each(&begins),
        until: [i64::MIN; 2],
        longest: Longest::new(options.longest),
        bytes: Mutex::default(),
        is_shared: pool.is_some(),
        desks: Desks::new(if reads_in_no_order { threads } else { 0 }),
        total,
        slab_events,
        for_the_graph,
    };
    run.graph.copies = reads_in_no_order;
    match &pool {
        None => run.all(&mut lanes, progress)?,
        Some(pool) => in_pool(pool, progress, |progress| run.all(&mut lanes, progress))?,
    }
    let mut ranks = Vec::with_capacity(begins.len());
    for lane in lanes {
        timeline.add(lane.row);
        ranks.extend(lane.ranks);
    }
    let Run { graph, area, longest, bytes, .. } = run;
    let bytes = bytes.into_inner().expect("nothing panics while it is held");
    for bytes in bytes {
        timeline.add_bytes(&bytes);
    }
    Ok(Results { common, ranks, graph, area, timeline, longest, pool })
}

fn of_each<T: Default>(ranks: &[i64]) -> Vec<T> {
    ranks.iter().map(|_| T::default()).collect()
}

/// Has a thread of the pool do the work, which so finds the others awake; how far it is is reported
/// on the calling thread now and then.
fn in_pool(
    pool: &ThreadPool,
    progress: Progress<'_>,
    work: impl FnOnce(Progress<'_>) -> Result<(), TraceError> + Send,
) -> Result<(), TraceError> {
    let (goes_on, mut done) = (AtomicBool::new(true), Ok(()));
    let (reports, reported) = mpsc::channel();
    pool.in_place_scope(|scope| {
        let (goes_on, done) = (&goes_on, &mut done);
        scope.spawn(move |_| {
            let mut last: Option<Instant> = None;
            *done = work(&mut |done, total| {
                if last.is_none_or(|last| last.elapsed() >= PAUSE) {
                    last = Some(Instant::now());
                    let _ = reports.send((done, total)); // who hears it is there until the end
                }
                goes_on.load(Ordering::Relaxed)
            });
        });
        for (done, total) in reported {
            if !progress(done, total) {
                goes_on.store(false, Ordering::Relaxed);
            }
        }
    });
    done?;
    if goes_on.into_inner() { Ok(()) } else { Err(interrupted()) }
}

fn interrupted() -> TraceError {
    TraceError::new("the analysis was interrupted", "run it again")
}

fn lanes<'a>(trace: &'a dyn Trace, common: &'a Common<'a>, timeline: &Timeline) -> Vec<Lane<'a>> {
    let ranks = common.tables.locations_of_ranks().into_iter().zip(0..);
    let ranks = ranks.map(|(locations, number)| Rank::new(trace, common, number, locations));
    let mut ranks = ranks.peekable();
    std::iter::from_fn(|| {
        ranks.peek()?;
        let ranks = ranks.by_ref().take(timeline.ranks_per_row).collect();
        Some(Lane { row: timeline.row_to_fill(), ranks })
    })
    .collect()
}

/// `None`: the calling thread is enough.
fn pool(options: &Options, events: u64) -> Result<Option<ThreadPool>, TraceError> {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let threads = if options.threads == 0 { cores } else { options.threads };
    if threads < 2 || options.threads == 0 && events < FEW {
        return Ok(None);
    }
    let refused = |error| {
        TraceError::new(
            format!("{threads} threads could not be started: {error}"),
            "ask for fewer, or raise the limit of processes (ulimit -u)",
        )
    };
    ThreadPoolBuilder::new().num_threads(threads).build().map(Some).map_err(refused)
}

/// How far ranks came, and how many events they have taken.
const NOTHING: (i64, u64) = (i64::MAX, 0);

fn together((reached, done): (i64, u64), of_others: (i64, u64)) -> (i64, u64) {
    (reached.min(of_others.0), done + of_others.1)
}

/// Lends a rank the memory for what it hands over: there is no more of it than is under way.
fn take_up(rank: &mut Rank<'_>, (slab, edges): (&mut Slab, &mut Edges)) {
    slab.vertices.append(&mut rank.slab.vertices);
    std::mem::swap(&mut slab.vertices, &mut rank.slab.vertices);
    edges.append(&mut rank.edges);
    std::mem::swap(edges, &mut rank.edges);
}

/// Takes over what a rank has until `reached`; of that nothing more will come.
fn hand_over(
    rank: &mut Rank<'_>,
    (slab, edges): (&mut Slab, &mut Edges),
    common: &Common<'_>,
    reached: i64,
) {
    let until = reached.saturating_sub(common.window.begin_ns);
    slab.append(&mut rank.slab);
    slab.give_back(until, &mut rank.slab);
    edges.append(&mut rank.edges);
    edges.give_back(common.keys, until, &mut rank.edges);
}

/// What ranks are reduced by.
#[derive(Clone, Copy)]
struct Terms<'r, 'l> {
    common: &'r Common<'r>,
    horizon: i64,
    longest: &'r Mutex<&'l mut Longest<Span>>,
    bytes: &'r Mutex<Vec<Bytes>>,
    desks: &'r Desks,
}

struct Run<'a> {
    common: &'a Common<'a>,
    graph: Graph<'a>,
    area: Area,
    ranks_per_lane: usize,
    /// By rank, what the slab is that is reduced, and the begins and ends of its file calls.
    fresh: Vec<Slab>,
    fresh_edges: Vec<Edges>,
    /// … of the slab before, whose areas are not known yet.
    edges: Vec<Edges>,
    ahead: Vec<Slab>,
    /// … and of the one before that: what the graph has not taken yet.
    slabs: Vec<Slab>,
    /// Since the window's begin, until when `slabs` and `ahead` hold everything.
    until: [i64; 2],
    longest: Longest<Span>,
    /// Of the timeline, for as many lanes as are reduced at once.
    bytes: Mutex<Vec<Bytes>>,
    /// Several threads share the work.
    is_shared: bool,
    desks: Desks,
    total: u64,
    slab_events: u64,
    /// … where ranks meet.
    for_the_graph: u64,
}

impl<'a> Run<'a> {
    fn all(&mut self, lanes: &mut [Lane<'a>], progress: Progress<'_>) -> Result<(), TraceError> {
        for lane in lanes.iter_mut() {
            lane.come_to_life(&self.bytes);
        }
        let (begin, end) = (self.common.calendar.first(), self.common.window.end_ns);
        let mut width = self.first_width(end.saturating_sub(begin));
        let (mut reached, mut done) = (begin.saturating_sub(1), 0);
        while reached < end {
            let horizon = reached.saturating_add(width).min(end);
            let (next, now_done) = if self.is_shared {
                self.at_once(lanes, horizon)?
            } else {
                self.reduce(lanes, horizon)?
            };
            reached = next.min(end);
            let before = std::mem::replace(&mut done, now_done);
            if self.is_shared {
                self.collect(reached);
            } else {
                self.replay_fresh(reached);
                self.graph.hand_back(&mut self.fresh);
            }
            if !progress(done, self.total) {
                return Err(interrupted());
            }
            width = self.next_width(width, done - before);
        }
        self.finish(lanes)?;
        if self.is_shared {
            self.replay();
            self.collect(i64::MAX);
            self.replay();
        } else {
            self.replay_fresh(i64::MAX);
        }
        self.graph.finish();
        Ok(())
    }

    /// The ranks go on to `horizon`; how far they all came, and how many events they have taken.
    fn reduce(&mut self, lanes: &mut [Lane<'a>], horizon: i64) -> Result<(i64, u64), TraceError> {
        let Self { common, graph, fresh, fresh_edges, longest, bytes, desks, .. } = self;
        let terms = Terms { common, horizon, longest: &Mutex::new(longest), bytes, desks };
        let handed = fresh.chunks_mut(self.ranks_per_lane);
        let handed = handed.zip(fresh_edges.chunks_mut(self.ranks_per_lane));
        let (lanes, graph) = (lanes.iter_mut().zip(handed), Mutex::new(graph));
        let mut done = lanes.map(|(lane, handed)| lane.reduce(terms, handed, Some(&graph)));
        done.try_fold(NOTHING, |all, of_lane| Ok(together(all, of_lane?)))
    }

    /// … while areas are found of the slab before, and the graph takes the one before that. As long
    /// as there is nothing before, it takes at once what it may.
    fn at_once(&mut self, lanes: &mut [Lane<'a>], horizon: i64) -> Result<(i64, u64), TraceError> {
        let asked = self.may_ask();
        let mut before = self.slabs.iter().chain(&self.ahead);
        let is_idle = !self.graph.has_vertices() && before.all(Slab::is_empty);
        let Self { common, graph, slabs, area, edges, ahead, until, .. } = self;
        let (longest, bytes, desks) = (&Mutex::new(&mut self.longest), &self.bytes, &self.desks);
        let terms = Terms { common, horizon, longest, bytes, desks };
        let handed = self.fresh.par_chunks_mut(self.ranks_per_lane);
        let handed = handed.zip(self.fresh_edges.par_chunks_mut(self.ranks_per_lane));
        let reduce = |graph: Option<&Mutex<&mut Graph<'a>>>| {
            let lanes = lanes.par_iter_mut().zip(handed).with_max_len(1);
            lanes
                .map(|(lane, handed)| lane.reduce(terms, handed, graph))
                .try_reduce(|| NOTHING, |all, of_lane| Ok(together(all, of_lane)))
        };
        let area = || area.pass(edges, until[1], asked, ahead);
        if is_idle {
            let graph = Mutex::new(graph);
            return rayon::join(area, || reduce(Some(&graph))).1;
        }
        let graph = || graph.take(slabs, until[0]);
        rayon::join(graph, || rayon::join(area, || reduce(None)).1).1
    }

    /// The ranks come to their ends, and hand over what there is.
    fn finish(&mut self, lanes: &mut [Lane<'a>]) -> Result<(), TraceError> {
        let ranks = self.fresh.iter_mut().zip(&mut self.fresh_edges);
        let (mut ranks, common, longest) = (ranks, self.common, &mut self.longest);
        lanes.iter_mut().try_for_each(|lane| {
            lane.each(&self.bytes, |rank| {
                rank.finish()?;
                longest.offer(&mut rank.longest);
                let (slab, edges) = ranks.next().expect("there is one for each rank");
                hand_over(rank, (slab, edges), common, i64::MAX);
                Ok(())
            })
        })
    }

    /// Takes what the ranks have handed over, all until `reached`, and hands on what was there.
    fn collect(&mut self, reached: i64) {
        self.hand_on();
        self.until[1] = reached.saturating_sub(self.common.window.begin_ns);
        // Nothing is left there.
        std::mem::swap(&mut self.ahead, &mut self.fresh);
        let ranks = self.edges.iter_mut().zip(&mut self.fresh_edges);
        ranks.for_each(|(edges, fresh)| edges.append(fresh));
    }

    /// The graph may take what areas are known of. Ranks are not looked at one by one where the
    /// graph has left nothing: another thread has what they handed over in its cache.
    fn hand_on(&mut self) {
        if self.slabs.iter().all(Slab::is_empty) {
            std::mem::swap(&mut self.slabs, &mut self.ahead);
        } else {
            let ranks = self.slabs.iter_mut().zip(&mut self.ahead);
            ranks.for_each(|(slab, ahead)| slab.append(ahead));
        }
        self.until[0] = self.until[1];
    }

    /// Brings the graph as far as the ranks, all until `reached`: one thread does so after each
    /// slab, and what the slab was written into is used again while it is in the cache.
    fn replay_fresh(&mut self, reached: i64) {
        let until = reached.saturating_sub(self.common.window.begin_ns);
        let asked = self.graph.has_vertices();
        self.area.pass(&mut self.fresh_edges, until, asked, &mut self.fresh);
        self.graph.take(&mut self.fresh, until);
    }

    /// … where several threads have two slabs under way.
    fn replay(&mut self) {
        self.graph.take(&mut self.slabs, self.until[0]);
        let asked = self.may_ask();
        self.area.pass(&mut self.edges, self.until[1], asked, &mut self.ahead);
        self.hand_on();
        self.graph.take(&mut self.slabs, self.until[0]);
    }

    /// Whether a vertex that was handed on may still ask for an area.
    fn may_ask(&self) -> bool {
        self.graph.has_vertices() || self.slabs.iter().any(|slab| !slab.vertices.is_empty())
    }

    fn first_width(&self, span: i64) -> i64 {
        let slabs = self.total / self.for_the_graph + 1;
        (span / slabs as i64).max(1)
    }

    /// Slabs are neither so small that handing them over costs much, nor so large that they leave
    /// the cache.
    fn next_width(&self, width: i64, events: u64) -> i64 {
        let meets = self.ahead.iter().chain(&self.slabs).any(|slab| !slab.vertices.is_empty());
        let most = if meets { self.for_the_graph } else { self.slab_events };
        match events {
            events if events > 2 * most => (width / 2).max(1),
            events if events < most / 8 * 5 => width.saturating_mul(2),
            _ => width,
        }
    }
}

impl Lane<'_> {
    fn come_to_life(&mut self, bytes: &Mutex<Vec<Bytes>>) {
        self.each(bytes, |rank| {
            rank.come_to_life();
            Ok(())
        })
        .expect("nothing is read yet");
    }

    /// What each rank has to offer is taken over at once, as there may be many ranks; `graph`:
    /// it may take of what they hand over.
    fn reduce(
        &mut self,
        terms: Terms<'_, '_>,
        (slabs, edges): (&mut [Slab], &mut [Edges]),
        graph: Option<&Mutex<&mut Graph<'_>>>,
    ) -> Result<(i64, u64), TraceError> {
        let Terms { common, horizon, longest, bytes, desks } = terms;
        let lock = || longest.lock().expect("nothing panics while it is held");
        // What was sent when a receive is cancelled is known in order of time alone.
        let graph = graph.filter(|_| !common.may_cancel);
        let mut handed = slabs.iter_mut().zip(edges);
        let mut all = NOTHING;
        self.each(bytes, |rank| {
            let handed = handed.next().expect("there is one for each rank");
            if let Some(graph) = graph {
                graph.lock().expect("nothing panics while it is held").lend(handed.0);
            }
            take_up(rank, (&mut *handed.0, &mut *handed.1));
            rank.bar = lock().bar();
            let of_rank = |rank: &mut Rank<'_>| rank.reduce(horizon);
            let reached = desks.lend(rank, |rank| &mut rank.slab.vertices, of_rank)?;
            lock().offer(&mut rank.longest);
            if rank.longest.capacity() > MANY_LONGEST {
                rank.longest = Vec::new();
            }
            hand_over(rank, (&mut *handed.0, handed.1), common, reached);
            if let Some(graph) = graph.filter(|_| handed.0.is_much()) {
                let mut graph = graph.lock().expect("nothing panics while it is held");
                graph.exchange(rank.number as usize, handed.0);
            }
            all = together(all, (reached, rank.done()));
            Ok(())
        })?;
        Ok(all)
    }

    /// Lends the row to one rank after another, with memory for bytes.
    fn each(
        &mut self,
        bytes: &Mutex<Vec<Bytes>>,
        mut work: impl FnMut(&mut Rank<'_>) -> Result<(), TraceError>,
    ) -> Result<(), TraceError> {
        let spare = || bytes.lock().expect("nothing panics while it is held");
        self.row.bytes = spare().pop().unwrap_or_default();
        for rank in &mut self.ranks {
            rank.timeline = std::mem::take(&mut self.row);
            let done = work(rank);
            self.row = std::mem::take(&mut rank.timeline);
            done?;
        }
        spare().push(std::mem::take(&mut self.row.bytes));
        Ok(())
    }
}
