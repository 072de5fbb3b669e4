//! Puts what ranks do by another method in the place of what they did.

use std::iter::Peekable;
use std::vec::IntoIter;

use tailrace_replay::Access;
use tailrace_replay::program::FileCall;

use super::generator::{Generator, file_step};
use super::inserts::{Insert, Inserts};
use crate::steps::{RankSteps, Step, Steps};

/// Which file calls a rank does not make any more, of those that it made.
pub(super) struct Dropped(Vec<bool>);

impl Dropped {
    pub(super) fn none(rank: &RankSteps) -> Self {
        Self(vec![false; rank.calls.len()])
    }

    pub(super) fn add(&mut self, numbers: impl Iterator<Item = u32>) {
        for number in numbers {
            self.0[number as usize] = true;
        }
    }

    pub(super) fn has(&self, number: u32) -> bool {
        self.0.get(number as usize).is_some_and(|dropped| *dropped)
    }
}

/// The numbers of those that move no data.
pub(super) fn others(calls: &[FileCall]) -> Vec<u32> {
    let numbered = (0..).zip(calls);
    numbered.filter(|(_, call)| call.access.direction().is_none()).map(|(at, _)| at).collect()
}

/// Whoever writes into a file opens and closes it, and brings it to the disk as often as those that
/// did; whoever does not write there any more does none of it. `about`: by rank, its calls on the
/// family's files that move no data.
pub(super) fn open_and_close(
    generator: &mut Generator<'_>,
    family: u32,
    about: &[Vec<(u32, FileCall)>],
    dropped: &mut [Dropped],
) {
    let opens =
        |rank: u32| about[rank as usize].iter().any(|(_, call)| call.access == Access::Open);
    let had: Vec<u32> = (0..dropped.len() as u32).filter(|rank| opens(*rank)).collect();
    let Some(first) = had.first().copied() else { return };
    let have = generator.openers[family as usize].clone();
    for rank in 0..dropped.len() as u32 {
        let own = &about[rank as usize];
        if !have.contains(&rank) {
            dropped[rank as usize].add(own.iter().map(|(number, _)| *number));
        } else if had.contains(&rank) {
            let file = generator.target(family, rank);
            for (number, _) in own {
                generator.steps.ranks[rank as usize].calls[*number as usize].file = file;
            }
        } else {
            as_the_first(generator, family, (rank, first), &about[first as usize]);
        }
    }
}

/// A rank that did not have the file opens it before it first writes, and so on, as the `first` of
/// those that did; but for what only makes the file.
fn as_the_first(
    generator: &mut Generator<'_>,
    family: u32,
    (rank, first): (u32, u32),
    calls: &[(u32, FileCall)],
) {
    let file = generator.target(family, rank);
    let mut calls = calls.iter().map(|(_, call)| *call).peekable();
    let mut opening = Vec::new();
    while let Some(call) = calls.next() {
        let only_makes = |next: &FileCall| {
            let mut writes = generator.inserts[first as usize].iter();
            call.access == Access::Open
                && next.access == Access::Close
                && !writes.any(|one| {
                    one.family == family && one.end > call.begin && one.begin < next.begin
                })
        };
        if calls.next_if(only_makes).is_some() {
            continue;
        }
        let own = FileCall { begin: 0, end: 0, file, bytes: 0, offset: None, ..call };
        match call.access {
            Access::Open => opening.push(file_step(generator.steps, rank, own)),
            Access::Close | Access::Synchronize => {
                let step = file_step(generator.steps, rank, own);
                behind(&mut generator.inserts[rank as usize], family, &call, step);
            }
            _ => {}
        }
    }
    let mut inserts = generator.inserts[rank as usize].iter_mut();
    if let Some(insert) = inserts.find(|insert| insert.family == family) {
        insert.before.splice(0..0, opening);
    }
}

/// A file is closed behind the last that is written, and brought to the disk behind what was written
/// when the first did so.
fn behind(inserts: &mut Inserts, family: u32, call: &FileCall, step: Step) {
    let comes = |insert: &&mut Insert| {
        insert.family == family && (call.access == Access::Close || insert.begin <= call.begin)
    };
    if let Some(insert) = inserts.iter_mut().rev().find(comes) {
        insert.behind.push(step);
    }
}

/// Who brings a file to the disk under the name that it has when it is whole brings those to the
/// disk that other ranks write in its place. `renamed`: by file of the trace, the one that it was;
/// `more`: the file that each is in place of.
pub(super) fn synchronize_each(steps: &mut Steps, renamed: &[Option<u32>], more: &[(u32, u32)]) {
    for rank in &mut steps.ranks {
        let mut all = Vec::with_capacity(rank.steps.len());
        for step in rank.steps.drain(..) {
            all.push(step);
            let Step::File { call } = step else { continue };
            let call = rank.calls[call as usize];
            let Some(Some(of)) = renamed.get(call.file as usize) else { continue };
            if call.access != Access::Synchronize {
                continue;
            }
            for (file, _) in (renamed.len() as u32..).zip(more).filter(|(_, (file, _))| file == of)
            {
                rank.calls.push(FileCall { begin: 0, end: 0, file, ..call });
                all.push(Step::File { call: rank.calls.len() as u32 - 1 });
            }
        }
        rank.steps = all;
    }
}

/// Between the begin and the end of an insert a rank only computes, tells others where it is, and
/// makes the file calls that stay; what is inserted follows. `begins`: by rank and step of the
/// `original`.
pub(super) fn rewrite(
    steps: &mut Steps,
    original: &Steps,
    begins: &[Vec<i64>],
    inserts: Vec<Inserts>,
    dropped: &[Dropped],
) {
    let ranks = steps.ranks.iter_mut().zip(&original.ranks).zip(begins);
    for (((rank, old), begins), (inserts, dropped)) in ranks.zip(inserts.into_iter().zip(dropped)) {
        rank.steps.reserve_exact(old.steps.len() + inserts.count());
        let (inserts, own) = inserts.sorted();
        let mut writer =
            Writer { into: &mut rank.steps, inserts: inserts.into_iter().peekable(), own };
        for (step, at) in old.steps.iter().copied().zip(begins) {
            let is_replaced = writer.is_replaced(*at);
            match step {
                Step::Local { useful, io, mpi } => writer.local(*at, [useful, io, mpi]),
                Step::Wait { .. } if is_replaced => {}
                Step::File { call } if dropped.has(call) => {}
                _ => writer.into.push(step),
            }
        }
        writer.rest();
    }
}

/// The steps of a rank as it goes along the measured ones.
struct Writer<'a> {
    into: &'a mut Vec<Step>,
    inserts: Peekable<IntoIter<Insert>>,
    own: Vec<Step>,
}

impl Writer<'_> {
    /// What is inserted until then follows what was done; answers whether something is to be
    /// inserted in place of what is done then.
    fn is_replaced(&mut self, at: i64) -> bool {
        while let Some(over) = self.inserts.next_if(|insert| insert.end <= at) {
            over.put(&self.own, self.into);
        }
        self.inserts.peek().is_some_and(|insert| insert.begin <= at)
    }

    /// Time that goes on beyond where an insert begins or ends belongs to both sides: a rank computes
    /// what comes next behind what it writes, not before.
    fn local(&mut self, mut at: i64, mut times: [i64; 3]) {
        loop {
            let is_replaced = self.is_replaced(at);
            let next = self.inserts.peek();
            let until = next.map(|next| if is_replaced { next.end } else { next.begin });
            let all: i64 = times.iter().sum();
            let taken = until.map_or(all, |until| (until - at).min(all));
            let part = part(times, taken, is_replaced);
            let [useful, io, mpi] = if is_replaced { [part[0], 0, 0] } else { part };
            if useful + io + mpi > 0 {
                self.into.push(Step::Local { useful, io, mpi });
            }
            if taken == all {
                return;
            }
            at += taken;
            times = std::array::from_fn(|state| times[state] - part[state]);
        }
    }

    fn rest(self) {
        self.inserts.for_each(|insert| insert.put(&self.own, self.into));
    }
}

/// So much of time in several states. An output begins and ends in a call: next to these instants a
/// rank computes outside.
fn part([useful, io, mpi]: [i64; 3], taken: i64, is_replaced: bool) -> [i64; 3] {
    let calls = io + mpi;
    let useful = if is_replaced { (taken - calls).max(0) } else { useful.min(taken) };
    let in_calls = i128::from(taken - useful);
    let io = (i128::from(io) * in_calls / i128::from(calls.max(1))) as i64;
    [useful, io, taken - useful - io]
}

#[cfg(test)]
mod tests {
    use tailrace_replay::program::Naming;

    use super::*;

    #[test]
    fn who_brings_a_renamed_file_to_the_disk_brings_those_of_all_ranks() {
        // File 1 is what file 0 became; ranks 1 and 2 write files 3 and 4 in place of 0, and rank 1
        // file 5 in place of 2. Closing file 1 and synchronising file 2 brings none of them along.
        let call = |access, file| {
            let naming = Naming::Stays;
            let (bytes, offset, after_wait) = (0, None, false);
            FileCall { begin: 7, end: 9, access, naming, file, bytes, offset, after_wait }
        };
        let kinds = [(Access::Synchronize, 1), (Access::Close, 1), (Access::Synchronize, 2)];
        let calls = kinds.map(|(access, file)| call(access, file)).to_vec();
        let own = (0..3).map(|call| Step::File { call }).collect();
        let ranks = vec![RankSteps { calls, steps: own, ..RankSteps::default() }];
        let mut steps = Steps { ranks, ..Steps::default() };
        synchronize_each(&mut steps, &[None, Some(0), None], &[(0, 1), (0, 2), (2, 1)]);
        let made = steps.calls_made();
        let found: Vec<_> = made[0].iter().map(|call| (call.access, call.file, call.end)).collect();
        let (synchronize, close) = (Access::Synchronize, Access::Close);
        let added = [(synchronize, 3, 0), (synchronize, 4, 0)];
        let rest = [(close, 1, 9), (synchronize, 2, 9)];
        assert_eq!(found, [[(synchronize, 1, 9)].as_slice(), &added, &rest].concat());
    }
}
