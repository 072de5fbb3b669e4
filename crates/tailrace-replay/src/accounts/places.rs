//! From where in the program time is spent in files and in MPI.

use hashbrown::HashMap;

use crate::accounts::longest::Span;
use crate::steps::{Access, Course, Step, Sum};

/// Rows that are kept, those with most time.
const MOST_ROWS: usize = 1 << 14;

/// What was done from one place, on one file or in MPI.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlaceTally {
    /// By [`Access`]; calls in MPI are the last.
    pub calls: [u64; Access::KINDS],
    pub time: [i64; Access::KINDS],
    pub bytes: [u64; 2],
}

impl PlaceTally {
    fn add(&mut self, other: &Self) {
        for kind in 0..Access::KINDS {
            self.calls[kind] += other.calls[kind];
            self.time[kind] += other.time[kind];
        }
        (0..2).for_each(|way| self.bytes[way] = self.bytes[way].saturating_add(other.bytes[way]));
    }

    pub fn total_time(&self) -> i64 {
        self.time.iter().sum()
    }
}

/// A place's use of a file by all ranks, or its time in MPI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaceAccount {
    /// As in [`tailrace_trace::event::Shape`], never 0.
    pub place: u32,
    /// Index into the trace's files; `None`: in MPI.
    pub file: Option<u32>,
    pub tally: PlaceTally,
}

/// Of one location, filled block by block.
#[derive(Debug, Default)]
pub(crate) struct Places {
    tallies: HashMap<(u32, u32), PlaceTally>,
}

impl Places {
    /// What was summed of a shape whose calls come from `place`.
    pub(crate) fn add(&mut self, place: u32, step: &Step, sum: Sum) {
        let in_file = step.io && step.is_on_file();
        if place == 0 || !in_file && (step.io || step.course == Course::Local && sum.time == 0) {
            return;
        }
        let file = if in_file { step.file } else { Span::NO_FILE };
        let kind = if in_file { step.access } else { Access::Other } as usize;
        let tally = self.tallies.entry((place, file)).or_default();
        tally.calls[kind] += step.requests(sum);
        tally.time[kind] += sum.time;
        if let (true, Some(way)) = (in_file, step.access.direction()) {
            tally.bytes[way] =
                tally.bytes[way].saturating_add(step.bytes.saturating_mul(sum.calls));
        }
    }

    /// For so long of a call from there it was none on the file, but in MPI.
    pub(crate) fn waited(&mut self, step: &Step, time: i64) {
        if step.place == 0 || !step.is_on_file() {
            return;
        }
        let mut add = |file, access, time| {
            self.tallies.entry((step.place, file)).or_default().time[access as usize] += time;
        };
        add(step.file, step.access, -time);
        add(Span::NO_FILE, Access::Other, time);
    }
}

/// Of all locations, those with most time first.
pub(crate) fn accounts<'a>(places: impl Iterator<Item = &'a Places>) -> Vec<PlaceAccount> {
    let mut all: HashMap<(u32, u32), PlaceTally> = HashMap::new();
    for places in places {
        for (key, tally) in &places.tallies {
            all.entry(*key).or_default().add(tally);
        }
    }
    let account = |((place, file), tally)| PlaceAccount {
        place,
        file: (file != Span::NO_FILE).then_some(file),
        tally,
    };
    let mut accounts: Vec<PlaceAccount> = all.into_iter().map(account).collect();
    accounts.sort_by_key(|row| (-row.tally.total_time(), row.place, row.file));
    accounts.truncate(MOST_ROWS);
    accounts
}

#[cfg(test)]
mod tests {
    use tailrace_trace::event::{Layer, Part};

    use super::*;
    use crate::steps::{Action, Plan};

    #[test]
    fn what_a_call_waits_for_others_is_in_mpi_and_not_on_its_file() {
        // 1 call of 75, of which the last rank lets 30 pass
        let step = Step {
            course: Course::Call,
            action: Action::Nothing,
            started: false,
            io: true,
            mpiio: true,
            is_part: false,
            access: Access::Close,
            function: 0,
            place: 3,
            file: 2,
            layer: Layer::MpiIo,
            part: Part::Call,
            takes_number: false,
            plan: Plan::Other,
            tokens: 0,
            bytes: 0,
        };
        let mut places = Places::default();
        places.add(step.place, &step, Sum { calls: 1, time: 75 });
        places.waited(&step, 30);
        let rows = accounts(std::iter::once(&places));
        let of = |file| rows.iter().find(|row| row.file == file).unwrap().tally;
        assert_eq!(of(Some(2)).time[Access::Close as usize], 45);
        assert_eq!(of(None).total_time(), 30);
    }
}
