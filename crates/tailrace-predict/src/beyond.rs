//! What calls took beyond what a model says of them.
//!
//! A model of the file system that a run used does not say all that its calls took: a rename that
//! waits for a journal, a disk that was busy. Where only the method changes, calls that stay and
//! move no data take as much more, or less, as they did. A model may also have one call wait for
//! what another waited for, and be right about both together: of what calls took beyond it no more
//! stays than all calls on their file took, those that move data too, nor than those on all files.

use hashbrown::HashMap;
use tailrace_replay::program::FileCall;

use crate::replay::{FileSystem, Pace, replay, rounded};
use crate::steps::{Step, Steps};

/// Of a run, by rank and in order of when calls began.
#[derive(Debug, Default)]
pub struct Beyond {
    ranks: Vec<Vec<Known>>,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    /// As measured.
    begin: i64,
    file: u32,
    beyond: i64,
}

impl Beyond {
    /// `model`: what stands for the file system that the run used, of these files.
    pub fn of(steps: &Steps, model: &mut dyn FileSystem, files: &[bool]) -> Self {
        let mut timed = Timed { under: model, ranks: vec![Vec::new(); steps.ranks.len()] };
        replay(steps, Pace::AS_MEASURED, &mut timed);
        for calls in &mut timed.ranks {
            calls.retain(|known| files[known.file as usize]);
            calls.sort_by_key(|known| known.begin);
        }
        Self { ranks: timed.ranks }
    }

    fn find(&self, rank: u32, call: &FileCall) -> Option<&Known> {
        let calls = &self.ranks[rank as usize];
        // calls that a method adds have no time of their own
        let stays = call.access.direction().is_none() && call.end > call.begin;
        let place = calls.binary_search_by_key(&call.begin, |known| known.begin).ok();
        place.filter(|_| stays).map(|place| &calls[place])
    }

    /// By file: what part of it stays with the calls that these steps have of the run.
    fn parts(&self, steps: &Steps) -> HashMap<u32, f64> {
        let mut sums: HashMap<u32, [f64; 2]> = HashMap::new();
        for known in self.ranks.iter().flatten() {
            sums.entry(known.file).or_default()[0] += known.beyond as f64;
        }
        for (steps, rank) in steps.ranks.iter().zip(0..) {
            for step in &steps.steps {
                if let Step::File { call } = step
                    && let Some(known) = self.find(rank, &steps.calls[*call as usize])
                {
                    sums.entry(known.file).or_default()[1] += known.beyond as f64;
                }
            }
        }
        let all_files: f64 = sums.values().map(|[all, _]| all).sum();
        sums.retain(|_, [_, stay]| *stay != 0.);
        let part = |[all, stay]: [f64; 2]| (all / stay).clamp(0., 1.);
        let kept: f64 = sums.values().map(|sums| part(*sums) * sums[1]).sum();
        let of_run = if kept == 0. { 0. } else { (all_files / kept).clamp(0., 1.) };
        sums.into_iter().map(|(file, sums)| (file, of_run * part(sums))).collect()
    }
}

/// A file system of which it is noted what calls took beyond it.
struct Timed<'a> {
    under: &'a mut dyn FileSystem,
    ranks: Vec<Vec<Known>>,
}

impl FileSystem for Timed<'_> {
    fn end(&mut self, rank: u32, begin: i64, call: &FileCall) -> i64 {
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
    parts: HashMap<u32, f64>,
}

impl<'a> Kept<'a> {
    /// `steps`: those of the run by another method. `scale`: so many times what they took.
    pub fn new(
        under: &'a mut dyn FileSystem,
        beyond: &'a Beyond,
        steps: &Steps,
        scale: f64,
    ) -> Self {
        let mut parts = beyond.parts(steps);
        parts.values_mut().for_each(|part| *part *= scale);
        Self { under, beyond, parts }
    }
}

impl FileSystem for Kept<'_> {
    fn end(&mut self, rank: u32, begin: i64, call: &FileCall) -> i64 {
        let end = self.under.end(rank, begin, call);
        let Some(known) = self.beyond.find(rank, call) else { return end };
        let part = self.parts.get(&known.file).copied().unwrap_or(0.);
        end.saturating_add(rounded(known.beyond as f64 * part)).max(begin)
    }

    fn rest(&mut self, rank: u32, now: i64) -> i64 {
        self.under.rest(rank, now)
    }
}
