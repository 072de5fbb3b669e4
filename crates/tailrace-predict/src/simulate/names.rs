//! Files by number, as a file system is asked for them.

use super::workload::Stream;

/// The directory that is written to.
pub(super) const DIRECTORY: u32 = 0;

/// Which of the files of a stream's open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Directory,
    /// The name that a whole file gets, or that a file that is read has.
    Final,
    /// Where it is written: a file, or the directory of the ranks' files.
    Partial,
    /// The rank's own.
    Part,
}

/// A file that was opened: its numbers begin at `first`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opened {
    pub first: u32,
    pub stream: usize,
    /// The first step in it.
    step: u64,
}

#[derive(Debug)]
pub(super) struct Names {
    opened: Vec<Opened>,
    next: u32,
}

impl Names {
    pub(super) fn new() -> Self {
        Self { opened: Vec::new(), next: DIRECTORY + 1 }
    }

    /// `parts`: how many ranks have a file of their own.
    pub(super) fn open(&mut self, stream: usize, step: u64, parts: u32) -> Opened {
        let opened = Opened { first: self.next, stream, step };
        self.next += 2 + parts;
        self.opened.push(opened);
        opened
    }

    /// As kernels/gridio/paths.c and kernels/common/stream.c name it.
    pub(super) fn of(&self, file: u32, streams: &[Stream]) -> String {
        if file == DIRECTORY {
            return "output".to_owned();
        }
        let place = self.opened.partition_point(|opened| opened.first <= file) - 1;
        let Opened { first, stream, step } = self.opened[place];
        let stream = &streams[stream];
        let room = if stream.is_output { "output" } else { "input" };
        let number = if stream.steps_per_file > 0 { format!("-{step:06}") } else { String::new() };
        let name = format!("{room}/{}{number}.grid", stream.name);
        let partial = if stream.is_output { ".partial" } else { "" };
        match file - first {
            0 => name,
            1 => format!("{name}{partial}"),
            part => format!("{name}{partial}/rank-{:06}.grid", part - 2),
        }
    }
}

impl Opened {
    pub(super) fn file(&self, place: Place, rank: u32) -> u32 {
        match place {
            Place::Directory => DIRECTORY,
            Place::Final => self.first,
            Place::Partial => self.first + 1,
            Place::Part => self.first + 2 + rank,
        }
    }
}
