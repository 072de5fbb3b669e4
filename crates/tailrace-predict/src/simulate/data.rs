//! Which pieces of a variable a rank moves, by the method.

use tailrace_replay::Access;
use tailrace_replay::program::Naming;

use super::boxes::Piece;
use super::bursts::Burst;
use super::phase::{Cursor, Item, Pieces, Places, Who, round};
use super::plans::Wanted;
use super::run::Run;
use super::tiles::Runs;
use super::workload::{Format, Method, Variable};

/// A variable that is moved, from where on in the file.
#[derive(Clone, Copy)]
struct Moved<'a> {
    access: Access,
    variable: &'a Variable,
    start: i64,
    file: u32,
}

impl Run<'_> {
    /// Who moves the variable.
    pub(super) fn movers(&self, access: Access, variable: &Variable) -> Who {
        let (method, writes) = (self.workload.method, access == Access::Write);
        match method {
            Method::Collective if self.is_exchanged(access, variable) => Who::Aggregators,
            Method::Aggregated if variable.tiled || !writes => Who::Writers,
            _ if variable.tiled => Who::All,
            Method::Independent | Method::Collective if !writes => Who::All,
            Method::Aggregated if self.workload.wholes_by_all => Who::Writers,
            _ if writes && self.workload.wholes_by_all => Who::All,
            _ => Who::Root,
        }
    }

    /// Whether ranks' parts lie between each other, so that ROMIO moves them by aggregators.
    fn is_exchanged(&self, access: Access, variable: &Variable) -> bool {
        if self.workload.ranks == 1 {
            return false;
        }
        if !variable.tiled {
            return access == Access::Read && variable.bytes() > 1;
        }
        let has_rows = self.tiles.largest()[0] > 1
            || variable.dimensions[variable.dimensions.len() - 2].staggered;
        variable.outer() > 1 || self.tiles.along()[1] > 1 && has_rows
    }

    pub(super) fn data(
        &mut self,
        rank: u32,
        item: &Item,
        (access, number, step): (Access, usize, u64),
        cursor: &mut Cursor,
    ) -> Option<Burst> {
        let stream = &self.workload.streams[item.opened.stream];
        let variable = &stream.variables[number];
        let start = self.layout(item.opened.stream, rank).offset(stream, number, step)?;
        let file = item.opened.file(self.data_place(), rank);
        let moved = Moved { access, variable, start, file };
        match item.who {
            Who::Aggregators => {
                self.rounds(rank, (access, file), (start, variable.bytes()), cursor)
            }
            Who::Writers if variable.tiled => self.batches(rank, &moved, cursor),
            _ => {
                let runs = self.own(rank, &moved);
                self.pieces(&moved, Places::Regular(runs), cursor)
            }
        }
    }

    fn own(&self, rank: u32, moved: &Moved<'_>) -> Runs {
        let Moved { variable, start, .. } = *moved;
        if !variable.tiled {
            return Runs::single(start, variable.bytes());
        }
        match self.workload.method {
            Method::Serial => Runs::single(start, variable.bytes()),
            Method::FilePerRank => Runs::single(start, self.tiles.at(rank).bytes(variable)),
            _ => Piece::of(&self.tiles.at(rank), variable).runs(variable, start),
        }
    }

    fn pieces(
        &mut self,
        moved: &Moved<'_>,
        places: Places<'_>,
        cursor: &mut Cursor,
    ) -> Option<Burst> {
        let Moved { access, variable, file, .. } = *moved;
        let alone = matches!(self.workload.method, Method::Serial | Method::FilePerRank);
        let is_sieved = self.workload.format == Format::MpiIo && !alone;
        let is_part = places.all_bytes() < variable.bytes();
        let end = if is_sieved { self.ends.of(file) } else { 0 };
        let pieces = Pieces { access, file, places, is_sieved, is_part, most: self.most, end };
        let burst = pieces.next(cursor)?;
        if is_sieved {
            self.ends.follow(&burst);
        }
        Some(burst)
    }

    /// A writer's batches: each is received before it is written, or sent after it was read.
    fn batches(&mut self, rank: u32, moved: &Moved<'_>, cursor: &mut Cursor) -> Option<Burst> {
        let wanted = Wanted {
            members: self.groups.members(rank),
            variable: moved.variable,
            start: moved.start,
            buffer_bytes: self.workload.buffer_bytes,
            is_sorted: self.workload.format == Format::MpiIo,
        };
        loop {
            let which = (cursor.part, cursor.is_new());
            let batch = self.plans.batch(which, &self.tiles, &wanted)?;
            let writes = moved.access == Access::Write;
            if writes && !cursor.is_exchanged {
                cursor.is_exchanged = true;
                return Some(self.exchange(batch.exchanged));
            }
            if let Some(burst) = self.pieces(moved, Places::Listed(&batch.places), cursor) {
                return Some(burst);
            }
            cursor.next_part();
            if !writes {
                return Some(self.exchange(batch.exchanged));
            }
        }
    }

    fn exchange(&self, bytes: i64) -> Burst {
        let is_alone = bytes == 0;
        Burst::pause(if is_alone { 0 } else { self.network.transfer(bytes) })
    }

    /// What all read of the begin of a file.
    pub(super) fn together(
        &mut self,
        rank: u32,
        item: &Item,
        bytes: i64,
        cursor: &mut Cursor,
    ) -> Option<Burst> {
        let file = item.opened.file(self.data_place(), rank);
        self.rounds(rank, (Access::Read, file), (0, bytes), cursor)
    }

    /// An aggregator's part of so many bytes, a buffer at a time.
    fn rounds(
        &mut self,
        rank: u32,
        (access, file): (Access, u32),
        region: (i64, i64),
        cursor: &mut Cursor,
    ) -> Option<Burst> {
        let place = self.aggregators.binary_search(&rank).ok()? as i64;
        let places = (place, self.aggregators.len() as i64);
        let buffer = self.workload.collective_buffer_bytes;
        let (offset, bytes) = round(region, places, buffer, cursor.part)?;
        let exchange = self.network.transfer(bytes) + self.network.meeting(self.workload.ranks);
        let offset = Some(offset);
        let (naming, reach, scattered) = (Naming::Stays, bytes, false);
        let call = Burst { access, naming, file, offset, bytes, count: 1, reach, scattered };
        let is_second = cursor.is_exchanged;
        cursor.is_exchanged = true;
        if is_second {
            cursor.next_part();
        }
        let is_call = is_second == (access == Access::Write);
        Some(if is_call { call } else { Burst::pause(exchange) })
    }
}
