//! One step of an output or input: variable by variable, by the method
//! (kernels/gridio/method_*.c).

use tailrace_replay::Access;

use super::names::Opened;
use super::phase::{Item, What, Who};
use super::run::Run;
use super::workload::Method;

/// What a rank tells of where its data begin and end.
const PLACES_BYTES: i64 = 16;

impl Run<'_> {
    pub(super) fn write_step(&mut self, stream: usize) {
        let described = &self.workload.streams[stream];
        let step = self.streams[stream].step;
        let in_file = described.step_in_file(step);
        if in_file == 0 {
            let opened = self.open_to_write(stream, step);
            self.streams[stream].opened = Some(opened);
        }
        let Some(opened) = self.streams[stream].opened else { return };
        let due: Vec<usize> = self.due(stream, in_file == 0);
        match self.workload.method {
            Method::Serial => self.write_gathered(opened, &due, in_file),
            Method::Collective => self.write_together(opened, &due, in_file),
            _ => self.write_apart(opened, &due, in_file),
        }
        if described.sync {
            self.bring_to_disk(opened);
        }
        if described.ends_file(step, self.streams[stream].steps) {
            self.close_written(opened);
        }
        self.clocks.report();
        self.streams[stream].step += 1;
    }

    /// Variables that are moved in this step. `is_first`: of the file.
    fn due(&self, stream: usize, is_first: bool) -> Vec<usize> {
        let variables = self.workload.streams[stream].variables.iter().enumerate();
        variables
            .filter(|(_, variable)| variable.every_step || is_first)
            .map(|(number, _)| number)
            .collect()
    }

    fn write_gathered(&mut self, opened: Opened, due: &[usize], step: u64) {
        for number in due {
            self.gather(opened, *number);
            let what = What::Data { access: Access::Write, number: *number, step };
            self.phase(&[Item { who: Who::Root, opened, what }]);
        }
    }

    fn gather(&mut self, opened: Opened, number: usize) {
        let variable = &self.workload.streams[opened.stream].variables[number];
        if variable.tiled {
            let mine = self.tiles.at(0).bytes(variable);
            self.clocks.gather(variable.bytes() - mine, mine);
        }
    }

    fn write_apart(&mut self, opened: Opened, due: &[usize], step: u64) {
        let items: Vec<Item> =
            due.iter().map(|number| self.item(opened, Access::Write, *number, step)).collect();
        self.phase(&items);
    }

    /// All ranks tell each other where their data lie, variable by variable.
    fn write_together(&mut self, opened: Opened, due: &[usize], step: u64) {
        for number in due {
            self.clocks.meet_over(PLACES_BYTES);
            self.write_apart(opened, &[*number], step);
        }
    }

    fn item(&self, opened: Opened, access: Access, number: usize, step: u64) -> Item {
        let variable = &self.workload.streams[opened.stream].variables[number];
        let who = self.movers(access, variable);
        Item { who, opened, what: What::Data { access, number, step } }
    }

    pub(super) fn read_step(&mut self, stream: usize) {
        let described = &self.workload.streams[stream];
        let step = self.streams[stream].step;
        let in_file = described.step_in_file(step);
        let is_first = self.streams[stream].opened.is_none();
        if is_first {
            let opened = self.open_to_read(stream, step);
            self.streams[stream].opened = Some(opened);
        }
        let Some(opened) = self.streams[stream].opened else { return };
        for number in self.due(stream, is_first) {
            self.read_variable(opened, number, in_file);
        }
        if described.ends_file(step, self.streams[stream].steps) {
            self.close_read(opened);
            self.streams[stream].opened = None;
        }
        self.clocks.report();
        self.streams[stream].step += 1;
    }

    fn read_variable(&mut self, opened: Opened, number: usize, step: u64) {
        let variable = &self.workload.streams[opened.stream].variables[number];
        let what = What::Data { access: Access::Read, number, step };
        if self.workload.method == Method::Serial {
            self.phase(&[Item { who: Who::Root, opened, what }]);
            self.clocks.broadcast(4);
            if variable.tiled {
                let mine = self.tiles.at(0).bytes(variable);
                self.clocks.scatter(variable.bytes() - mine);
            } else {
                self.clocks.broadcast(variable.bytes());
            }
        } else {
            if self.workload.method == Method::Collective {
                self.clocks.meet_over(PLACES_BYTES);
            }
            let item = self.item(opened, Access::Read, number, step);
            self.phase(&[item]);
            if !variable.tiled && matches!(item.who, Who::Root | Who::Writers) {
                self.clocks.broadcast(variable.bytes());
            }
        }
        self.clocks.meet();
    }
}
