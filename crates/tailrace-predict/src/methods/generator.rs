//! The messages and file calls of an output, by another method: what each rank does instead of what
//! it did. File calls are those that the simulation makes ([`crate::simulate::phase`]).

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use hashbrown::HashMap;
use tailrace_replay::Access;
use tailrace_replay::program::{FileCall, Naming};

use super::Asked;
use super::blocks::Blocks;
use super::families::Families;
use super::inserts::Inserts;
use super::kept::{Emptied, Kept};
use super::layout::{self, bytes_of, data_of};
use super::libraries::Keeps;
use super::shares::Contribution;
use super::stretches::Piece;
use super::targets::Targets;
use super::units::{Unit, in_one};
use crate::simulate::Method;
use crate::simulate::groups::even;
use crate::simulate::phase::{Cursor, Ends, Pieces, Places, round};
use crate::steps::{Awaited, MomentId, Step, Steps};

/// What a rank tells of where its data begin and end.
const PLACES_BYTES: i64 = 16;
/// Defaults of ROMIO's collective buffer and of an aggregating writer's.
const BUFFER_BYTES: i64 = 16 << 20;

/// How sure the data's distribution is, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Rewritten.
    pub bytes: i64,
    /// … of them: whose they are is known, but not where they lie in the file.
    pub unplaced: i64,
    /// … of these: each rank writes its pieces of an output by one call of MPI-IO.
    pub by_one_call: i64,
    /// Several ranks wrote them, who cannot be told to do it together: they stay as they are.
    pub apart: i64,
    /// A library keeps them until it closes the file, or synchronises it.
    pub kept: i64,
}

pub(super) struct Generator<'a> {
    asked: &'a Asked,
    families: &'a Families,
    blocks: &'a Blocks,
    nodes: &'a [u32],
    /// By rank.
    emptied: &'a [Emptied],
    pub steps: &'a mut Steps,
    /// By rank.
    pub inserts: Vec<Inserts>,
    pub targets: Targets,
    /// By family: the ranks that have the file open.
    pub openers: Vec<BTreeSet<u32>>,
    pub told: Told,
    ends: Ends,
    kept: Kept,
    /// Where what follows lies in a rank's own file.
    next: HashMap<(u32, u32), i64>,
}

impl<'a> Generator<'a> {
    pub(super) fn new(
        asked: &'a Asked,
        (families, blocks): (&'a Families, &'a Blocks),
        (nodes, emptied): (&'a [u32], &'a [Emptied]),
        files: u32,
        steps: &'a mut Steps,
    ) -> Self {
        Self {
            asked,
            families,
            blocks,
            nodes,
            emptied,
            inserts: steps.ranks.iter().map(|_| Inserts::default()).collect(),
            steps,
            targets: Targets::beyond(files),
            openers: vec![BTreeSet::new(); families.list.len()],
            told: Told::default(),
            ends: Ends::default(),
            kept: Kept::default(),
            next: HashMap::new(),
        }
    }

    pub(super) fn unit(&mut self, unit: &Unit) {
        for one in &unit.contributions {
            self.inserts[one.rank as usize].begin(unit.family, (one.begin, one.end));
        }
        if unit.is_joint() {
            self.told.bytes += unit.bytes();
        }
        let as_made = if unit.is_together { Method::Collective } else { Method::Serial };
        match self.asked.method.unwrap_or(as_made) {
            Method::FilePerRank => self.file_per_rank(unit),
            _ if !unit.is_joint() => self.by_itself(unit),
            Method::Serial => self.serial(unit),
            Method::Independent => self.independent(unit),
            Method::Collective => self.collective(unit),
            Method::Aggregated => self.aggregated(unit),
        }
    }

    /// Whether it was made by the method that is asked for, by each rank for itself; where none is,
    /// whether nobody wrote for others, or several did.
    pub(super) fn keeps(&self, unit: &Unit) -> bool {
        let is_split = self.families.list[unit.family as usize].is_split;
        match self.asked.method {
            None if unit.is_together => unit.is_unexchanged,
            None => unit.is_own || unit.calls.len() > 1,
            Some(Method::Independent) => unit.is_own && !is_split,
            Some(Method::FilePerRank) => unit.is_own && is_split,
            _ => false,
        }
    }

    /// Whether its file calls are those of the method that is asked for: MPI-IO carries out a
    /// collective write without an exchange as the independent one of each rank.
    pub(super) fn keeps_calls(&self, unit: &Unit) -> bool {
        self.asked.method == Some(Method::Independent) && unit.is_unexchanged
    }

    /// Its calls stay where they are, and nobody waits for the others.
    pub(super) fn without_waits(&mut self, unit: &Unit) {
        for one in &unit.contributions {
            self.inserts[one.rank as usize].begin(unit.family, (one.begin, one.end));
        }
        self.keep(unit);
    }

    pub(super) fn keep(&mut self, unit: &Unit) {
        if unit.is_joint() {
            self.told.bytes += unit.bytes();
        }
        let ranks = unit.contributions.iter().filter(|one| one.bytes > 0).map(|one| one.rank);
        self.openers[unit.family as usize].extend(ranks);
    }

    /// It stays as it is.
    pub(super) fn leave(&mut self, unit: &Unit) {
        if self.families.list[unit.family as usize].writers.len() > 1 {
            self.told.apart += unit.bytes();
        }
    }

    // --- the methods ---

    /// Of one rank, which writes it where it wrote it.
    fn by_itself(&mut self, unit: &Unit) {
        for one in unit.contributions.iter().filter(|one| one.bytes > 0) {
            let pieces = self.known(unit, one.rank).unwrap_or(&unit.region);
            if self.asked.method == Some(Method::Serial) {
                self.write_or_keep(unit, one.rank, pieces);
            } else {
                self.write(unit, one.rank, pieces, false);
            }
        }
    }

    /// One rank gathers it and writes it.
    fn serial(&mut self, unit: &Unit) {
        let ranks: Vec<u32> = unit.contributions.iter().map(|one| one.rank).collect();
        self.gather(unit, &ranks, unit.writer, true);
        self.write_or_keep(unit, unit.writer, &data_of(unit));
    }

    /// Each rank writes its own pieces, those of a unit by one call where nothing else is asked for.
    fn independent(&mut self, unit: &Unit) {
        let is_mpi = self.families.list[unit.family as usize].is_through_mpi;
        for one in unit.contributions.iter().filter(|one| one.bytes > 0) {
            let is_open = is_mpi && self.known(unit, one.rank).is_none();
            let pieces = self.placed(unit, one.rank);
            if is_open && pieces.len() > 1 && !self.asked.by_calls {
                self.told.by_one_call += one.bytes;
            }
            self.write(unit, one.rank, &pieces, is_mpi && !(is_open && self.asked.by_calls));
        }
    }

    /// Each rank writes what it has behind what it wrote before into its own file.
    fn file_per_rank(&mut self, unit: &Unit) {
        for one in unit.contributions.iter().filter(|one| one.bytes > 0) {
            let next = self.next.entry((unit.family, one.rank)).or_insert(0);
            let is_split = self.families.list[unit.family as usize].is_split;
            let own = one.pieces.as_deref().filter(|_| is_split || !unit.is_joint());
            let behind = [(*next, one.bytes)];
            let pieces = own.unwrap_or(&behind);
            let end = pieces.iter().map(|(begin, bytes)| begin + bytes).max().unwrap_or(0);
            *next = end.max(*next);
            self.write_or_keep(unit, one.rank, pieces);
        }
    }

    /// All tell each other where their data lie; then some write for all, a buffer at a time, unless
    /// nobody's part lies between another's.
    fn collective(&mut self, unit: &Unit) {
        let ranks: Vec<u32> = unit.contributions.iter().map(|one| one.rank).collect();
        let count = ranks.len() as u32;
        let network = self.asked.network;
        let marks: Vec<_> = ranks.iter().map(|rank| self.mark(*rank)).collect();
        let met = self.together(&marks);
        let telling = network.meeting(count) + network.moving(PLACES_BYTES * i64::from(count));
        for rank in &ranks {
            self.wait(*rank, met, telling);
            self.openers[unit.family as usize].insert(*rank);
        }
        if !self.is_interleaved(unit) {
            for one in unit.contributions.iter().filter(|one| one.bytes > 0) {
                let pieces = self.placed(unit, one.rank);
                self.write(unit, one.rank, &pieces, true);
            }
            return;
        }
        self.told.unplaced += self.unknown(unit).map(|one| one.bytes).sum::<i64>();
        self.exchanged(unit, &ranks);
    }

    /// Some write for all, a buffer at a time. ROMIO lets nobody go before all is written, lest who
    /// then writes alone come between reading and writing a buffer.
    fn exchanged(&mut self, unit: &Unit, ranks: &[u32]) {
        let network = self.asked.network;
        let count = ranks.len() as u32;
        let firsts: Vec<u32> = self.groups(ranks).into_iter().map(|group| group[0]).collect();
        for (rank, place) in firsts.iter().zip(0..) {
            for extent in &unit.region {
                let mut number = 0;
                let places = (place, firsts.len() as i64);
                while let Some(piece) = round(*extent, places, BUFFER_BYTES, number) {
                    let exchange = network.transfer(piece.1) + network.meeting(count);
                    self.pause(*rank, exchange);
                    self.write(unit, *rank, &[piece], false);
                    number += 1;
                }
            }
        }
        let marks: Vec<_> = firsts.iter().map(|rank| self.mark(*rank)).collect();
        let written = self.together(&marks);
        for rank in ranks {
            self.wait(*rank, written, network.meeting(count));
        }
    }

    /// Whether a rank's part lies between another's; where that is not known, it does if it consists
    /// of several pieces.
    fn is_interleaved(&self, unit: &Unit) -> bool {
        if self.unknown(unit).next().is_some() {
            return unit.contributions.iter().any(|one| one.bytes > self.asked.piece_bytes);
        }
        let mut reaches: Vec<Piece> = Vec::new();
        for one in unit.contributions.iter().filter(|one| one.bytes > 0) {
            let pieces = self.known(unit, one.rank).unwrap_or(&[]);
            let begin = pieces.iter().map(|piece| piece.0).min().unwrap_or(0);
            let end = pieces.iter().map(|piece| piece.0 + piece.1).max().unwrap_or(0);
            reaches.push((begin, end));
        }
        reaches.sort_unstable();
        reaches.windows(2).any(|pair| pair[1].0 < pair[0].1)
    }

    /// Some gather what those behind them have, and write it.
    fn aggregated(&mut self, unit: &Unit) {
        let ranks: Vec<u32> = unit.contributions.iter().map(|one| one.rank).collect();
        let groups = self.groups(&ranks);
        let is_mpi = self.families.list[unit.family as usize].is_through_mpi;
        for group in &groups {
            let (writer, is_all) = (group[0], groups.len() == 1);
            let pieces = if is_all { data_of(unit) } else { self.of_group(unit, group).into() };
            let all = bytes_of(&pieces).max(1);
            let others: i64 = unit
                .contributions
                .iter()
                .filter(|one| group[1..].contains(&one.rank))
                .map(|one| one.bytes)
                .sum();
            self.gather(unit, group, writer, false);
            for batch in layout::batches(&pieces, BUFFER_BYTES) {
                let share = bytes_of(&batch) as f64 / all as f64;
                let exchanged = (others as f64 * share) as i64;
                if exchanged > 0 {
                    self.pause(writer, self.asked.network.transfer(exchanged));
                }
                self.write(unit, writer, &batch, is_mpi);
            }
        }
    }

    fn of_group(&mut self, unit: &Unit, group: &[u32]) -> Vec<Piece> {
        in_one(group.iter().flat_map(|rank| self.placed(unit, *rank).into_owned()).collect())
    }

    /// Even groups of the ranks, of one node each where there are enough groups: as many as were
    /// asked for, or one a node.
    fn groups(&self, ranks: &[u32]) -> Vec<Vec<u32>> {
        let mut by_node: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for rank in ranks {
            by_node.entry(self.nodes[*rank as usize]).or_default().push(*rank);
        }
        let nodes = by_node.len() as u32;
        let wanted = self.asked.aggregators.unwrap_or(nodes).max(1);
        if wanted < nodes {
            return even(ranks, wanted);
        }
        let of_node = |(node, ranks): (u32, &Vec<u32>)| {
            even(ranks, wanted / nodes + u32::from(node < wanted % nodes))
        };
        (0..).zip(by_node.values()).flat_map(of_node).collect()
    }

    // --- where data lie ---

    /// Which pieces of the file that all share are the rank's, where that is known.
    fn known<'b>(&self, unit: &'b Unit, rank: u32) -> Option<&'b [Piece]> {
        let is_split = self.families.list[unit.family as usize].is_split;
        let one = unit.contributions.iter().find(|one| one.rank == rank)?;
        one.pieces.as_deref().filter(|_| !is_split)
    }

    /// Those of whose part it is not known where it lies.
    fn unknown<'b>(&'b self, unit: &'b Unit) -> impl Iterator<Item = &'b Contribution> {
        let with_data = unit.contributions.iter().filter(|one| one.bytes > 0);
        with_data.filter(|one| self.known(unit, one.rank).is_none())
    }

    fn placed<'b>(&mut self, unit: &'b Unit, rank: u32) -> Cow<'b, [Piece]> {
        if let Some(pieces) = self.known(unit, rank) {
            return pieces.into();
        }
        let shares: Vec<i64> = unit.contributions.iter().map(|one| one.bytes).collect();
        let place = unit.contributions.iter().position(|one| one.rank == rank).unwrap_or(0);
        self.told.unplaced += shares[place];
        layout::guessed(&unit.region, &shares, place, self.asked.piece_bytes).into()
    }

    // --- what ranks do ---

    /// The others send, and the writer has it all when the last has come. `in_one`: it takes all of
    /// it before it goes on. It has asked for it since it began with the output: who sends much
    /// waits for that and for its own data to go, not for what the writer does besides.
    fn gather(&mut self, unit: &Unit, ranks: &[u32], writer: u32, in_one: bool) {
        let network = self.asked.network;
        let of =
            |one: &&Contribution| one.rank != writer && one.bytes > 0 && ranks.contains(&one.rank);
        let others: Vec<(u32, i64)> =
            unit.contributions.iter().filter(of).map(|one| (one.rank, one.bytes)).collect();
        if others.is_empty() {
            return;
        }
        let moment = self.moment();
        self.inserts[writer as usize].at_begin(Step::Mark { moment });
        let marks: Vec<_> = others.iter().map(|(rank, _)| self.mark(*rank)).collect();
        let sent = self.together(&marks);
        let all: i64 = others.iter().map(|(_, bytes)| bytes).sum();
        self.wait(writer, sent, if in_one { network.transfer(all) } else { 0 });
        for (rank, bytes) in others {
            let transfer = network.transfer(bytes);
            if bytes > network.eager_limit_bytes {
                self.wait(rank, Awaited::Moment(moment), transfer);
            } else {
                self.pause(rank, transfer);
            }
        }
    }

    /// By one rank, whose library may keep it until the rank closes or synchronises the file. Where
    /// the run has no such call of the rank, it is written at once.
    fn write_or_keep(&mut self, unit: &Unit, rank: u32, pieces: &[Piece]) {
        let own = unit.contributions.iter().find(|one| one.rank == rank);
        let own = own.filter(|_| unit.keeps != Keeps::Nothing);
        let emptied = &self.emptied[rank as usize];
        let Some(at) = own.and_then(|own| emptied.after(unit.family, own.end)) else {
            return self.write(unit, rank, pieces, false);
        };
        let until = (unit.family, rank, at);
        let keeps = (unit.keeps, self.asked.kept_bytes);
        for gone in self.kept.keep(until, unit.variable, pieces.to_vec(), keeps) {
            self.write(unit, rank, &gone, false);
        }
    }

    /// What is kept goes before the file is closed or synchronised.
    pub(super) fn write_kept(&mut self) {
        for ((family, rank, at), writes) in self.kept.take() {
            self.inserts[rank as usize].begin(family, (at, at));
            for pieces in writes {
                self.told.kept += bytes_of(&pieces);
                self.make(family, rank, &pieces, (false, false));
            }
        }
    }

    /// `is_mpi`: through ROMIO, which moves pieces with gaps by way of a buffer.
    fn write(&mut self, unit: &Unit, rank: u32, pieces: &[Piece], is_mpi: bool) {
        self.make(unit.family, rank, pieces, (is_mpi, bytes_of(pieces) < unit.bytes()));
    }

    /// `is_part`: of what others write as well.
    fn make(
        &mut self,
        family: u32,
        rank: u32,
        pieces: &[Piece],
        (is_sieved, is_part): (bool, bool),
    ) {
        let file = self.target(family, rank);
        self.openers[family as usize].insert(rank);
        let (pieces, looks) = match self.asked.method {
            None | Some(Method::Serial | Method::FilePerRank) => self.blocks.cut(family, pieces),
            _ => (pieces.into(), false),
        };
        let mut cursor = Cursor::default();
        loop {
            let end = self.ends.of(file);
            let (access, places) = (Access::Write, Places::Listed(&pieces));
            let pieces = Pieces { access, file, places, is_sieved, is_part, most: 1, end };
            let Some(burst) = pieces.next(&mut cursor) else { return };
            self.ends.follow(&burst);
            let (access, naming) = (burst.access, Naming::Stays);
            let (bytes, offset) = (burst.bytes as u64, burst.offset);
            let (begin, end, after_wait) = (0, 0, false);
            let call = FileCall { begin, end, access, naming, file, bytes, offset, after_wait };
            self.call(rank, call);
            if looks {
                self.call(rank, FileCall { access: Access::Read, bytes: 0, ..call });
            }
        }
    }

    /// The file that the rank writes to.
    pub(super) fn target(&mut self, family: u32, rank: u32) -> u32 {
        let is_split = self.asked.method == Some(Method::FilePerRank);
        self.targets.file(&self.families.list[family as usize], (family, rank), is_split)
    }

    fn call(&mut self, rank: u32, call: FileCall) {
        let step = file_step(self.steps, rank, call);
        self.step(rank, step);
    }

    /// At the end of what the rank does instead.
    fn step(&mut self, rank: u32, step: Step) {
        self.inserts[rank as usize].push(step);
    }

    fn pause(&mut self, rank: u32, time: i64) {
        self.step(rank, Step::Local { useful: 0, io: 0, mpi: time });
    }

    fn mark(&mut self, rank: u32) -> MomentId {
        let moment = self.moment();
        self.step(rank, Step::Mark { moment });
        moment
    }

    /// One that is yet to be marked.
    fn moment(&mut self) -> MomentId {
        self.steps.moments += 1;
        self.steps.gathered.push(None);
        self.steps.moments - 1
    }

    /// All of the moments.
    fn together(&mut self, moments: &[MomentId]) -> Awaited {
        let id = self.steps.gatherings.push(moments);
        for moment in moments {
            self.steps.gathered[*moment as usize] = Some(id);
        }
        let first = moments.len() as u32;
        Awaited::Gathering { id, first }
    }

    fn wait(&mut self, rank: u32, awaited: Awaited, transfer: i64) {
        let first = self.steps.awaited.len() as u32;
        self.steps.awaited.push(awaited);
        self.step(rank, Step::Wait { awaited: (first, first + 1), transfer });
    }
}

/// Adds the call to those of the rank.
pub(super) fn file_step(steps: &mut Steps, rank: u32, call: FileCall) -> Step {
    let calls = &mut steps.ranks[rank as usize].calls;
    calls.push(call);
    Step::File { call: calls.len() as u32 - 1 }
}
