//! Whose data a rank writes: its own, or what it gathered.
//!
//! A rank that writes W bytes received messages of one tag, or took part in gatherings of one
//! communicator, since it last wrote and since all ranks last met. Of n ranks that do not write
//! into these files themselves one expects W · n / (n + 1) bytes: the rest is the writer's own. The
//! way that comes closest is how the data came, unless it is off by more than a factor of four: what
//! is double becomes float, and back. If at most half as much again is written as was sent, the rest
//! is the writer's own; otherwise each rank has a share of the W bytes that is in proportion to what
//! it sent. Where there is no such way, the data are the writer's own.

use std::collections::BTreeMap;

use hashbrown::{HashMap, HashSet};

use super::families::Families;
use super::notes::{Channel, Gathering, Note, What};
use super::stretches::{Piece, Stretch};

/// What was sent differs no more from what is written: with smaller ones, which may be a line of a
/// header, and with larger ones.
const SMALL_BYTES: i64 = 512;
const MOST_APART: [f64; 2] = [1.5, 4.];
/// If what is written is at most so many times what was sent, nothing was converted.
const MOST_ADDED: f64 = 1.5;
/// Gatherings that are so many times as small as the largest tell how many data there are.
const TELLS: u64 = 16;

/// What a rank has of an output, and when it was busy with it.
#[derive(Clone, Debug)]
pub(super) struct Contribution {
    pub rank: u32,
    pub bytes: i64,
    pub begin: i64,
    pub end: i64,
    /// Which bytes of the file are its own, where that is known.
    pub pieces: Option<Vec<Piece>>,
}

/// What was sent to those that write.
pub(super) struct Sources<'a> {
    notes: &'a [Vec<Note>],
    families: &'a Families,
    /// By number of the message: the sender's note, and bytes.
    sent: HashMap<(Channel, u32), (u32, u64)>,
    /// Rank, its note, and bytes.
    gathered: HashMap<Gathering, Vec<(u32, u32, u64)>>,
}

/// By communicator, and the tag of messages.
type Way = (u32, Option<i32>);

/// Who gave how much; the numbers of the giver's note and of the writer's.
#[derive(Clone, Copy)]
struct Given {
    rank: u32,
    note: u32,
    got: u32,
    bytes: u64,
}

impl<'a> Sources<'a> {
    pub(super) fn of(
        notes: &'a [Vec<Note>],
        stretches: &[Vec<Stretch>],
        families: &'a Families,
    ) -> Self {
        let (mut messages, mut gatherings) = (HashSet::new(), HashSet::new());
        for (own, rank) in stretches.iter().zip(0..) {
            for number in own.iter().flat_map(|stretch| &stretch.received) {
                match notes[rank][*number as usize].what {
                    What::Received { channel, number } => _ = messages.insert((channel, number)),
                    What::Gathered { gathering, .. } => _ = gatherings.insert(gathering),
                    _ => {}
                }
            }
        }
        let mut sources = Self { notes, families, sent: HashMap::new(), gathered: HashMap::new() };
        for (rank, notes) in (0..).zip(notes) {
            for (place, note) in (0..).zip(notes) {
                match note.what {
                    What::Sent { channel, number, bytes }
                        if messages.contains(&(channel, number)) =>
                    {
                        sources.sent.insert((channel, number), (place, bytes));
                    }
                    What::Gathered { gathering, bytes } if gatherings.contains(&gathering) => {
                        sources.gathered.entry(gathering).or_default().push((rank, place, bytes));
                    }
                    _ => {}
                }
            }
        }
        sources
    }

    /// Whether the stretch's data came from others.
    pub(super) fn has(&self, stretch: &Stretch) -> bool {
        !stretch.received.is_empty() && self.given(stretch).is_some()
    }

    /// Of a stretch whose data came from others: whose they are. The writer is always one of them.
    pub(super) fn contributions(&self, stretch: &Stretch) -> Option<Vec<Contribution>> {
        let (all, writer) = (stretch.bytes(), stretch.rank);
        let given = self.given(stretch)?;
        let (own, others): (Vec<Given>, Vec<Given>) =
            given.iter().partition(|given| given.rank == writer);
        let others = bytes_of(&others);
        let mut own = bytes_of(&own);
        // what was not sent is the writer's own: of most that it writes it is known whose they are
        if own == 0 || (own + others) as f64 * MOST_ADDED >= all as f64 {
            own = own.max(all - others);
        }
        let mut by_rank: BTreeMap<u32, (i64, Vec<u32>)> = BTreeMap::new();
        by_rank.insert(writer, (own, given.iter().map(|given| given.got).collect()));
        for given in given.iter().filter(|given| given.rank != writer) {
            let (bytes, notes) = by_rank.entry(given.rank).or_default();
            *bytes += given.bytes as i64;
            notes.push(given.note);
        }
        Some(self.in_proportion(stretch, by_rank, own + others))
    }

    /// By the way by which others gave most.
    fn given(&self, stretch: &Stretch) -> Option<Vec<Given>> {
        let mut ways: BTreeMap<Way, Vec<Given>> = BTreeMap::new();
        let mut gatherings: BTreeMap<u32, Vec<(Gathering, u32)>> = BTreeMap::new();
        for got in &stretch.received {
            match self.notes[stretch.rank as usize][*got as usize].what {
                What::Received { channel, number } => {
                    let Some((note, bytes)) = self.sent.get(&(channel, number)) else { continue };
                    let (note, bytes) = (*note, *bytes);
                    let given = Given { rank: channel.from, note, got: *got, bytes };
                    ways.entry((channel.communicator, Some(channel.tag))).or_default().push(given);
                }
                What::Gathered { gathering, .. } => {
                    let all = gatherings.entry(gathering.communicator).or_default();
                    all.push((gathering, *got));
                }
                _ => {}
            }
        }
        for (communicator, gatherings) in gatherings {
            ways.insert((communicator, None), self.of_gatherings(&gatherings));
        }
        let apart = |given: &Vec<Given>| self.apart(stretch, given);
        let ways = ways.into_values().map(|given| (apart(&given), given));
        let closest = ways.min_by(|one, other| one.0.total_cmp(&other.0))?;
        let most = MOST_APART[usize::from(stretch.bytes() >= SMALL_BYTES)];
        (closest.0 <= most).then_some(closest.1)
    }

    /// By which factor what others sent differs from what one expects; 0 if with the writer's own it
    /// is just what is written.
    fn apart(&self, stretch: &Stretch, given: &[Given]) -> f64 {
        let family = &self.families.list[stretch.family as usize];
        let (mut sent, mut ranks) = (0, HashSet::new());
        for one in given.iter().filter(|one| one.rank != stretch.rank) {
            if family.writers.contains(&one.rank) {
                return f64::INFINITY;
            }
            sent += one.bytes;
            ranks.insert(one.rank);
        }
        let count = ranks.len() as f64;
        let expected = stretch.bytes() as f64 * count / (count + 1.);
        if sent == 0 {
            return f64::INFINITY;
        }
        if bytes_of(given) == stretch.bytes() {
            return 0.;
        }
        (sent as f64 / expected).max(expected / sent as f64)
    }

    /// But for those that only tell how many data there are.
    fn of_gatherings(&self, gatherings: &[(Gathering, u32)]) -> Vec<Given> {
        let all = |gathering: &Gathering| -> u64 {
            self.gathered[gathering].iter().map(|(_, _, bytes)| bytes).sum()
        };
        let most = gatherings.iter().map(|(gathering, _)| all(gathering)).max().unwrap_or(0);
        let mut found = Vec::new();
        for (gathering, got) in gatherings.iter().filter(|(one, _)| all(one) > most / TELLS) {
            let of_rank = |(rank, note, bytes): &(u32, u32, u64)| Given {
                rank: *rank,
                note: *note,
                got: *got,
                bytes: *bytes,
            };
            found.extend(self.gathered[gathering].iter().map(of_rank));
        }
        found
    }

    fn in_proportion(
        &self,
        stretch: &Stretch,
        by_rank: BTreeMap<u32, (i64, Vec<u32>)>,
        sent: i64,
    ) -> Vec<Contribution> {
        let all = i128::from(stretch.bytes());
        let until = |so_far: i64| (all * i128::from(so_far) / i128::from(sent.max(1))) as i64;
        let (mut before, mut found) = (0, Vec::new());
        for (rank, (bytes, notes)) in by_rank {
            let (begin, end) = self.span(stretch, rank, &notes);
            let share = until(before + bytes) - until(before);
            before += bytes;
            found.push(Contribution { rank, bytes: share, begin, end, pieces: None });
        }
        found
    }

    /// From the first of these notes, with the gatherings at the same root directly before it, to
    /// the last, with the waits directly behind it; of the writer to its last write.
    fn span(&self, stretch: &Stretch, rank: u32, numbers: &[u32]) -> (i64, i64) {
        let notes = &self.notes[rank as usize];
        let (Some(first), Some(last)) = (numbers.iter().min(), numbers.iter().max()) else {
            return (stretch.begin(), stretch.end());
        };
        let (mut first, mut last) = (*first as usize, *last as usize);
        let leads = |note: &Note| match note.what {
            What::Gathered { gathering, .. } => gathering.root == stretch.rank,
            _ => false,
        };
        while first > 0 && leads(&notes[first - 1]) {
            first -= 1;
        }
        while notes.get(last + 1).is_some_and(|note| note.what == What::Completed) {
            last += 1;
        }
        if rank == stretch.rank {
            return (notes[first].begin.max(stretch.after), stretch.end());
        }
        (notes[first].begin, notes[last].end)
    }
}

fn bytes_of(given: &[Given]) -> i64 {
    given.iter().map(|given| given.bytes as i64).sum()
}
