//! The tables that events point into, filled as calls are turned into events.

use std::sync::Arc;

use hashbrown::HashMap;

use super::kinds::{self, Kind};
use super::labels::Labels;
use super::parse::{Declared, Members, Records};
use super::thread::Arguments;
use super::types;
use crate::event::Layer;
use crate::tables::{Communicator, FileEntry, Function};

/// Stands for all files that MPI-IO calls use: Extrae does not say which.
const MPI_IO_FILE: &[u8] = b"(MPI-IO: the trace names no file)";
const TRACER_FILE: &[u8] = b"(the tracer's own buffers)";
const UNKNOWN_FILE: &[u8] = b"(unknown)";

/// A call's function and what it means.
#[derive(Clone, Copy, Debug)]
pub(super) struct Meaning {
    pub function: u16,
    pub kind: Kind,
}

pub(super) struct Names {
    pub labels: Labels,
    pub functions: Vec<Function>,
    pub files: Vec<FileEntry>,
    pub communicators: Vec<Communicator>,
    /// From the numbers of the `.prv`; `None` where a number is declared twice.
    communicator_numbers: HashMap<u32, u32>,
    function_numbers: HashMap<Function, u16>,
    meanings: HashMap<(u32, u64), Meaning>,
    file_numbers: HashMap<Vec<u8>, u32>,
    /// What descriptors of a rank point to now.
    descriptors: HashMap<(u32, u64), u32>,
}

impl Names {
    /// `opaque`: no POSIX call is seen inside any MPI-IO call.
    pub(super) fn new(records: &Records, labels: Labels, opaque: bool) -> Self {
        let mut names = Self {
            labels,
            functions: Vec::new(),
            files: Vec::new(),
            communicators: Vec::new(),
            communicator_numbers: HashMap::new(),
            function_numbers: HashMap::new(),
            meanings: HashMap::new(),
            file_numbers: HashMap::new(),
            descriptors: HashMap::new(),
        };
        names.add_communicators(records.main.len() as u32, &records.communicators);
        names.file(MPI_IO_FILE, opaque);
        names
    }

    /// MPI_COMM_WORLD is number 0 whether it is declared or not.
    fn add_communicators(&mut self, ranks: u32, declared: &[Declared]) {
        let world: Arc<[u32]> = (0..ranks).collect();
        self.add_communicator(Arc::clone(&world), None);
        let mut world_is_declared = false;
        for Declared { number, members } in declared {
            let index = match members {
                Members::Ranks(members) if !world_is_declared && **members == *world => 0,
                Members::Ranks(members) => self.add_communicator(members.as_slice().into(), None),
                Members::Joined(first, second) => {
                    match (self.members(*first), self.members(*second)) {
                        (Some(first), Some(second)) => self.add_communicator(first, Some(second)),
                        _ => continue, // joins what is not declared: its collectives order nothing
                    }
                }
            };
            world_is_declared |= *self.communicator_numbers.entry(*number).or_insert(index) == 0;
        }
    }

    fn members(&self, number: u32) -> Option<Arc<[u32]>> {
        let index = *self.communicator_numbers.get(&number)?;
        Some(Arc::clone(&self.communicators[index as usize].members))
    }

    pub(super) fn add_communicator(
        &mut self,
        members: Arc<[u32]>,
        remote: Option<Arc<[u32]>>,
    ) -> u32 {
        let index = self.communicators.len() as u32;
        self.communicators.push(Communicator { identity: u64::from(index), members, remote });
        index
    }

    /// The communicator of a collective that `rank` calls; without a number it is MPI_COMM_WORLD.
    pub(super) fn communicator(&self, number: Option<u32>, rank: u32) -> Option<u32> {
        let Some(number) = number else { return Some(0) };
        let index = *self.communicator_numbers.get(&number)?;
        let communicator = &self.communicators[index as usize];
        let member = index == 0
            || [Some(&communicator.members), communicator.remote.as_ref()]
                .into_iter()
                .flatten()
                .any(|m| m.contains(&rank));
        member.then_some(index)
    }

    /// What a value of an event type means.
    pub(super) fn meaning(&mut self, kind: u32, value: u64) -> Meaning {
        if let Some(known) = self.meanings.get(&(kind, value)) {
            return *known;
        }
        let label = self.labels.value(kind, value);
        let meaning = match kind {
            // Its values are only named Begin and End.
            types::FLUSH => Meaning {
                function: self.function("(flush of the tracer)", Layer::Posix),
                kind: kinds::posix("write"),
            },
            types::IO => self.posix_meaning(&label),
            _ => self.mpi_meaning(&label),
        };
        self.meanings.insert((kind, value), meaning);
        meaning
    }

    fn posix_meaning(&mut self, label: &str) -> Meaning {
        let kind = kinds::posix(label);
        let layer = if let Kind::File { layer, .. } = kind { layer } else { Layer::Posix };
        Meaning { function: self.function(label.trim_end_matches("()"), layer), kind }
    }

    fn mpi_meaning(&mut self, label: &str) -> Meaning {
        let kind = kinds::mpi(label);
        let layer = if let Kind::File { layer, .. } = kind { layer } else { Layer::Mpi };
        Meaning { function: self.function(label, layer), kind }
    }

    /// A function of that name; when there are too many to number, the last one stands for the
    /// rest.
    pub(super) fn function(&mut self, name: &str, layer: Layer) -> u16 {
        let function = Function { name: name.to_owned(), layer };
        if let Some(known) = self.function_numbers.get(&function) {
            return *known;
        }
        if self.functions.len() == usize::from(u16::MAX) {
            return u16::MAX - 1;
        }
        let number = self.functions.len() as u16;
        self.functions.push(function.clone());
        self.function_numbers.insert(function, number);
        number
    }

    fn file(&mut self, path: &[u8], opaque: bool) -> u32 {
        if let Some(known) = self.file_numbers.get(path) {
            return *known;
        }
        let number = self.files.len() as u32;
        self.files.push(FileEntry { path: path.to_vec(), opaque });
        self.file_numbers.insert(path.to_vec(), number);
        number
    }

    /// The file of a call of `rank`: what its descriptor points to at that time.
    pub(super) fn file_of(&mut self, rank: u32, layer: Layer, arguments: &Arguments) -> u32 {
        if arguments.kind == types::FLUSH {
            return self.file(TRACER_FILE, false);
        }
        if layer == Layer::MpiIo {
            return 0;
        }
        match (self.named(arguments), arguments.descriptor) {
            (Some(file), Some(descriptor)) => {
                self.descriptors.insert((rank, descriptor), file);
                file
            }
            (Some(file), None) => file,
            (None, Some(descriptor)) => self.pointed_to(rank, descriptor),
            (None, None) => self.file(UNKNOWN_FILE, false),
        }
    }

    fn named(&mut self, arguments: &Arguments) -> Option<u32> {
        let path = self.labels.file(arguments.name?)?.to_vec();
        Some(self.file(&path, false))
    }

    fn pointed_to(&mut self, rank: u32, descriptor: u64) -> u32 {
        if let Some(file) = self.descriptors.get(&(rank, descriptor)) {
            return *file;
        }
        // Two ranks' descriptors are two files as far as the trace tells.
        self.file(format!("fd {descriptor} of rank {rank}").as_bytes(), false)
    }

    /// The rank's descriptor points nowhere from now on.
    pub(super) fn closed(&mut self, rank: u32, arguments: &Arguments) {
        if let Some(descriptor) = arguments.descriptor {
            self.descriptors.remove(&(rank, descriptor));
        }
    }
}
