//! What calls took beyond what a model says of them.
//!
//! A model of the file system that a run used does not say all that its calls took: a rename that
//! waits for a journal, a disk that was busy. Where only the method changes, calls that stay and
//! move no data take as much more, or less, as they did. A model may also have one call wait for
//! what another waited for, and be right about both together: of what calls took beyond it no more
//! stays than all calls on their file took, those that move data too, nor than all of their rank, or
//! of the run. What calls took longer while their rank would have waited for others anyway cost the
//! run nothing; by another method it may cost as much, or still nothing.

use hashbrown::HashMap;
use tailrace_replay::program::FileCall;

use crate::files::Scaled;
use crate::replay::{FileSystem, Pace, replay, rounded};
use crate::steps::{Step, Steps};

/// Of a run, by rank and in order of when calls began.
#[derive(Debug, Default)]
pub struct Beyond {
    ranks: Vec<Vec<Known>>,
    /// By how much each rank ends later in the run than by the model, if that is a limit.
    later: Option<Vec<i64>>,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    /// As measured.
    begin: i64,
    file: u32,
    beyond: i64,
}

impl Beyond {
    /// `model`: what stands for the file system that the run used, of these files. `waits`: what a
    /// rank's calls took longer while it would have waited for others stays as well.
    pub fn of(steps: &Steps, model: &mut dyn FileSystem, files: &[bool], waits: bool) -> Self {
        let mut timed = Timed { under: model, files, ranks: vec![Vec::new(); steps.ranks.len()] };
        let by_model = replay(steps, Pace::AS_MEASURED, &mut timed).ranks;
        for calls in &mut timed.ranks {
            calls.sort_by_key(|known| known.begin);
        }
        let measured = || replay(steps, Pace::AS_MEASURED, &mut Scaled::all(1.)).ranks;
        let later = (!waits).then(|| {
            measured().iter().zip(&by_model).map(|(run, model)| run.end - model.end).collect()
        });
        Self { ranks: timed.ranks, later }
    }

    /// What all calls of each rank took, and no more than it was later.
    fn sums(&self) -> Vec<Sums> {
        let all = |rank: &[Known]| rank.iter().map(|known| known.beyond as f64).sum::<f64>();
        let bound = |rank: usize, all: f64| match &self.later {
            None => all,
            Some(later) => {
                let later = later[rank] as f64;
                all.clamp(later.min(0.), later.max(0.))
            }
        };
        (self.ranks.iter().enumerate())
            .map(|(rank, calls)| Sums::of(bound(rank, all(calls))))
            .collect()
    }

    fn find(&self, rank: u32, call: &FileCall) -> Option<&Known> {
        let calls = &self.ranks[rank as usize];
        // calls that a method adds have no time of their own
        let stays = call.access.direction().is_none() && call.end > call.begin;
        let place = calls.binary_search_by_key(&call.begin, |known| known.begin).ok();
        place.filter(|_| stays).map(|place| &calls[place])
    }

    /// What part of it stays with the calls that these steps have of the run.
    fn parts(&self, steps: &Steps) -> Parts {
        let staying: Vec<(u32, Known)> = (steps.ranks.iter().zip(0..))
            .flat_map(|(steps, rank)| {
                let call = move |step: &Step| match step {
                    Step::File { call } => self.find(rank, &steps.calls[*call as usize]),
                    _ => None,
                };
                steps.steps.iter().filter_map(call).map(move |known| (rank, *known))
            })
            .collect();
        let mut parts = Parts::default();
        let mut by_file: HashMap<u32, Sums> = HashMap::new();
        for known in self.ranks.iter().flatten() {
            by_file.entry(known.file).or_default().all += known.beyond as f64;
        }
        for (_, known) in &staying {
            by_file.entry(known.file).or_default().stays(known.beyond as f64);
        }
        parts.files = by_file.iter().map(|(file, sums)| (*file, sums.part())).collect();
        let mut by_rank = self.sums();
        for (rank, known) in &staying {
            by_rank[*rank as usize].stays(parts.of(*rank, known));
        }
        parts.ranks = by_rank.iter().map(Sums::part).collect();
        let mut of_run = Sums::of(by_rank.iter().map(|rank| rank.all).sum());
        for (rank, known) in &staying {
            of_run.stays(parts.of(*rank, known));
        }
        parts.run = of_run.part();
        parts
    }
}

/// What calls took beyond the model: all of them together, and of those that stay the ones that took
/// longer and the ones that took less.
#[derive(Clone, Copy, Default)]
struct Sums {
    all: f64,
    longer: f64,
    less: f64,
}

impl Sums {
    fn of(all: f64) -> Self {
        Self { all, ..Self::default() }
    }

    fn stays(&mut self, beyond: f64) {
        let sum = if beyond > 0. { &mut self.longer } else { &mut self.less };
        *sum += beyond;
    }

    /// No more stays than all took: what some took longer and others less makes up for each other.
    /// Both would not: who waits less than the model says finds what it did not wait for still on
    /// its way, and the model has a later call wait for it.
    fn part(&self) -> Part {
        let of = |stay: f64| if stay == 0. { 0. } else { (self.all / stay).clamp(0., 1.) };
        Part { longer: of(self.longer), less: of(self.less) }
    }
}

/// Of what calls took longer, and of what they took less.
#[derive(Clone, Copy)]
struct Part {
    longer: f64,
    less: f64,
}

impl Part {
    const ALL: Self = Self { longer: 1., less: 1. };

    fn of(self, beyond: f64) -> f64 {
        beyond * if beyond > 0. { self.longer } else { self.less }
    }
}

/// By file, by rank, and of the whole run.
struct Parts {
    files: HashMap<u32, Part>,
    ranks: Vec<Part>,
    run: Part,
}

impl Default for Parts {
    fn default() -> Self {
        Self { files: HashMap::new(), ranks: Vec::new(), run: Part::ALL }
    }
}

impl Parts {
    fn of(&self, rank: u32, known: &Known) -> f64 {
        let of_file = self.files.get(&known.file).copied().unwrap_or(Part::ALL);
        let of_rank = self.ranks.get(rank as usize).copied().unwrap_or(Part::ALL);
        self.run.of(of_rank.of(of_file.of(known.beyond as f64)))
    }
}

/// A file system of which it is noted what calls on its files took beyond it. Others take what they
/// took.
struct Timed<'a> {
    under: &'a mut dyn FileSystem,
    files: &'a [bool],
    ranks: Vec<Vec<Known>>,
}

impl FileSystem for Timed<'_> {
    fn end(&mut self, rank: u32, begin: i64, call: &FileCall) -> i64 {
        if !self.files[call.file as usize] {
            return begin.saturating_add(call.end - call.begin);
        }
        let end = self.under.end(rank, begin, call).max(begin);
        let beyond = (call.end - call.begin).saturating_sub(end - begin);
        self.ranks[rank as usize].push(Known { begin: call.begin, file: call.file, beyond });
        end
    }
}

/// Another's calls, of which those of the run take as much beyond it as they did.
pub struct Kept<'a> {
    under: &'a mut dyn FileSystem,
    beyond: &'a Beyond,
    parts: Parts,
    scale: f64,
}

impl<'a> Kept<'a> {
    /// `steps`: those of the run by another method. `scale`: so many times what they took.
    pub fn new(
        under: &'a mut dyn FileSystem,
        beyond: &'a Beyond,
        steps: &Steps,
        scale: f64,
    ) -> Self {
        Self { under, beyond, parts: beyond.parts(steps), scale }
    }
}

impl FileSystem for Kept<'_> {
    fn end(&mut self, rank: u32, begin: i64, call: &FileCall) -> i64 {
        let end = self.under.end(rank, begin, call);
        let Some(known) = self.beyond.find(rank, call) else { return end };
        let more = self.parts.of(rank, known) * self.scale;
        end.saturating_add(rounded(more)).max(begin)
    }

    fn rest(&mut self, rank: u32, now: i64) -> i64 {
        self.under.rest(rank, now)
    }
}
