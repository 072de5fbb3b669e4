//! What gridio asks of a file system beside moving data, call by call, and where its ranks meet
//! (kernels/gridio/gridio.c, paths.c, locks.c, format_posix.c, format_mpiio.c, and ROMIO as Open MPI
//! 4.1 has it).

use tailrace_replay::Access;

use super::names::{Opened, Place};
use super::phase::{Item, What, Who};
use super::run::Run;
use super::workload::{Format, Method};

/// The first page of a header, in which its length stands, and the line that counts steps.
const PAGE_BYTES: i64 = 4096;
const STEPS_LINE: (i64, i64) = (9, 27);
/// What libc asks for at once of a directory's entries, and what the entry of a rank's file takes:
/// 19 bytes and its name, rounded up to 8.
const ENTRIES_BYTES: u64 = 32 * 1024;
const ENTRY_BYTES: u64 = 40;

impl Run<'_> {
    /// Where the data are of the file that is open.
    pub(super) fn data_place(&self) -> Place {
        if self.splits() { Place::Part } else { Place::Partial }
    }

    fn splits(&self) -> bool {
        self.workload.method == Method::FilePerRank
    }

    /// The ranks that open the file.
    fn accessors(&self) -> Who {
        match self.workload.method {
            Method::Serial => Who::Root,
            Method::Aggregated => Who::Writers,
            _ => Who::All,
        }
    }

    /// Of those that have one file open together, the first.
    fn first(&self) -> Who {
        if self.splits() { Who::All } else { Who::Root }
    }

    /// Several ranks open one file, and each moves data by itself.
    fn is_apart(&self) -> bool {
        matches!(self.workload.method, Method::Independent | Method::Aggregated)
    }

    fn is_collective(&self) -> bool {
        self.workload.method == Method::Collective
    }

    fn is_mpiio(&self) -> bool {
        self.workload.format == Format::MpiIo
    }

    fn calls(&mut self, opened: Opened, who: Who, calls: &[(Access, Place)]) {
        let call = |(access, place): &(Access, Place)| Item {
            who,
            opened,
            what: What::Call { access: *access, place: *place, bytes: 0, offset: None },
        };
        let items: Vec<Item> = calls.iter().map(call).collect();
        self.phase(&items);
    }

    fn parts(&self) -> u32 {
        if self.splits() { self.workload.ranks } else { 0 }
    }

    // --- writing ---

    pub(super) fn open_to_write(&mut self, stream: usize, step: u64) -> Opened {
        let opened = self.names.open(stream, step, self.parts());
        self.clocks.meet();
        self.make_place(opened);
        self.clocks.meet();
        self.try_lock(opened, &[(Access::Other, Place::Partial)]);
        if self.is_mpiio() {
            self.create_by_mpi(opened);
        } else {
            self.create(opened);
        }
        self.clocks.meet();
        self.define(opened);
        opened
    }

    fn make_place(&mut self, opened: Opened) {
        let look_up = [(Access::LookUp, Place::Final), (Access::LookUp, Place::Partial)];
        self.calls(opened, Who::Root, &look_up);
        if self.splits() {
            self.calls(opened, Who::Root, &[(Access::Other, Place::Partial)]);
        }
    }

    /// Whether there are locks: `then` is what removes the file again.
    fn try_lock(&mut self, opened: Opened, then: &[(Access, Place)]) {
        if !self.is_mpiio() || !(self.is_apart() || self.is_collective()) {
            return;
        }
        let tried =
            [Access::Open, Access::Lock, Access::Close].map(|access| (access, Place::Partial));
        self.calls(opened, Who::Root, &[&tried, then].concat());
        self.clocks.broadcast(4);
        self.clocks.meet();
    }

    fn create(&mut self, opened: Opened) {
        let open = [(Access::Open, self.data_place())];
        if self.splits() {
            self.calls(opened, Who::All, &open);
            return;
        }
        self.calls(opened, Who::Root, &open);
        if self.accessors() != Who::Root {
            self.clocks.broadcast(4);
            self.calls(opened, Who::Others, &open);
        }
    }

    /// The first creates the file and closes it again before all open it.
    fn create_by_mpi(&mut self, opened: Opened) {
        let (file, who) = (self.data_place(), self.accessors());
        let directory = if self.splits() { Place::Partial } else { Place::Directory };
        let look_up = [file, file, directory].map(|place| (Access::LookUp, place));
        self.calls(opened, who, &look_up);
        self.meet_accessors();
        self.calls(opened, self.first(), &[(Access::Open, file), (Access::Close, file)]);
        self.meet_accessors();
        self.calls(opened, who, &[(Access::Open, file)]);
        if self.is_apart() {
            self.open_own(opened, who);
        }
    }

    /// Those that have one file open together.
    fn meet_accessors(&mut self) {
        if self.accessors() != Who::Root && !self.splits() {
            self.clocks.meet();
        }
    }

    /// Its own handle, through which a rank moves data by itself.
    fn open_own(&mut self, opened: Opened, who: Who) {
        let file = self.data_place();
        self.calls(opened, who, &[(Access::LookUp, file), (Access::Open, file)]);
    }

    fn define(&mut self, opened: Opened) {
        self.clocks.meet();
        self.clocks.meet();
        self.calls(opened, Who::Root, &[(Access::LookUp, Place::Directory)]);
        self.clocks.broadcast(8);
        let first = self.first();
        if self.is_mpiio() && !self.is_apart() {
            self.open_own(opened, first);
        }
        self.phase(&[Item { who: first, opened, what: What::Header { access: Access::Write } }]);
        self.clocks.meet();
    }

    pub(super) fn bring_to_disk(&mut self, opened: Opened) {
        let (file, who) = (self.data_place(), self.accessors());
        if self.is_mpiio() {
            let own = if self.is_apart() { who } else { self.first() };
            self.calls(opened, own, &[(Access::Synchronize, file)]);
        }
        self.calls(opened, who, &[(Access::Synchronize, file)]);
        self.meet_accessors();
        self.clocks.meet();
        self.mark_steps(opened);
    }

    fn mark_steps(&mut self, opened: Opened) {
        let (offset, bytes) = STEPS_LINE;
        let what = What::Call {
            access: Access::Write,
            place: self.data_place(),
            bytes,
            offset: Some(offset),
        };
        self.phase(&[Item { who: self.first(), opened, what }]);
    }

    pub(super) fn close_written(&mut self, opened: Opened) {
        self.clocks.meet();
        self.mark_steps(opened);
        self.close(opened, Some(self.first()));
        self.clocks.meet();
        self.calls(
            opened,
            Who::Root,
            &[(Access::LookUp, Place::Final), (Access::Other, Place::Partial)],
        );
        self.clocks.meet();
    }

    /// `own`: who has a handle of its own where not all do that open the file.
    fn close(&mut self, opened: Opened, own: Option<Who>) {
        let close = [(Access::Close, self.data_place())];
        let own = if self.is_apart() { Some(self.accessors()) } else { own };
        if let Some(own) = own.filter(|_| self.is_mpiio()) {
            self.calls(opened, own, &close);
        }
        self.calls(opened, self.accessors(), &close);
    }

    // --- reading ---

    pub(super) fn open_to_read(&mut self, stream: usize, step: u64) -> Opened {
        let opened = self.names.open(stream, step, self.parts());
        self.clocks.meet();
        if self.splits() {
            // the directory of the ranks' files is looked through: it is opened, its entries come in
            // buffers, and then there are no more
            let buffers = (u64::from(self.parts()) * ENTRY_BYTES).div_ceil(ENTRIES_BYTES);
            let calls = vec![(Access::Other, Place::Final); buffers as usize + 2];
            self.calls(opened, Who::Root, &calls);
        }
        self.clocks.meet();
        self.try_lock(opened, &[]);
        let (file, who) = (self.data_place(), self.accessors());
        if self.is_mpiio() {
            self.calls(opened, who, &[(Access::LookUp, file)]);
        }
        self.calls(opened, who, &[(Access::Open, file)]);
        self.read_header(opened);
        if let Some(readers) = self.readers(stream).filter(|_| self.is_mpiio()) {
            self.open_own(opened, readers);
        }
        self.clocks.meet();
        self.tell_variables(stream);
        opened
    }

    /// Those that move data out of the file, each through a handle of its own.
    fn readers(&self, stream: usize) -> Option<Who> {
        let has_tiles = self.workload.streams[stream].variables.iter().any(|v| v.tiled);
        let who = if self.splits() && !has_tiles { Who::Root } else { self.accessors() };
        (!self.is_collective()).then_some(who)
    }

    /// The first page, and then all of it.
    fn read_header(&mut self, opened: Opened) {
        let page = What::Call {
            access: Access::Read,
            place: self.data_place(),
            bytes: PAGE_BYTES,
            offset: Some(0),
        };
        let header = What::Header { access: Access::Read };
        if !self.is_mpiio() {
            let who = self.accessors();
            self.phase(&[page, header].map(|what| Item { who, opened, what }));
            return;
        }
        let all = self.streams[opened.stream].shared.header_bytes;
        let is_shared = self.accessors() == Who::All && !self.splits() && self.workload.ranks > 1;
        for (what, bytes) in [(page, PAGE_BYTES), (header, all)] {
            let together = Item { who: Who::Aggregators, opened, what: What::Together { bytes } };
            let alone = Item { who: self.first(), opened, what };
            self.phase(&[if is_shared { together } else { alone }]);
            self.meet_accessors();
        }
    }

    /// What there is in the file, variable by variable.
    fn tell_variables(&mut self, stream: usize) {
        const PACKED_BYTES: i64 = 1632;
        for _ in &self.workload.streams[stream].variables {
            if self.splits() {
                self.clocks.meet();
            }
            self.clocks.broadcast(PACKED_BYTES);
        }
    }

    pub(super) fn close_read(&mut self, opened: Opened) {
        self.close(opened, self.readers(opened.stream));
        self.clocks.meet();
        self.clocks.meet();
    }
}
