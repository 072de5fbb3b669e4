//! Names for the frames of call paths: by debug information, by symbols else, read from the modules
//! where they lie on this machine, as long as they are the ones that ran.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;

use addr2line::Loader;
use gimli::{BaseAddresses, EhFrame, LittleEndian, UnwindSection};
use object::read::elf::{ElfFile64, ElfSymbol64};
use object::{Object, ObjectSection, ObjectSymbol, ReadCache, SymbolKind};

use crate::parallel;
use crate::places::{CallPath, Frame, PATH_FRAMES_MAX, Places};
use crate::raw::places::{MergePlaces, Module};

use super::demangle;

/// Functions that the compiler put into one another there, at most.
const INLINED_MAX: usize = 16;

/// Gives names to the frames of all paths. One frame becomes several where functions were put into
/// one another.
pub(super) fn name(places: &mut Places, merged: &MergePlaces) {
    let mut wanted: Vec<Vec<u64>> = vec![Vec::new(); merged.list.len()];
    for (frame, &module) in places.frames.iter().zip(&merged.module_of) {
        if let Some(addresses) = (module as usize).checked_sub(1).map(|index| &mut wanted[index]) {
            addresses.push(frame.address);
        }
    }
    let jobs: Vec<(&Module, Vec<u64>)> = merged.list.iter().zip(wanted).collect();
    let named: Vec<HashMap<u64, Vec<Frame>>> =
        parallel::map(&jobs, |(module, addresses)| names_in(module, addresses));
    let mut list = List::default();
    let numbers: Vec<Vec<u32>> = places
        .frames
        .iter()
        .zip(&merged.module_of)
        .map(|(frame, &module)| {
            let known = (module as usize).checked_sub(1).and_then(|index| named.get(index));
            match known.and_then(|names| names.get(&frame.address)) {
                Some(frames) => frames.iter().map(|frame| list.number(frame)).collect(),
                None => vec![list.number(&unnamed(frame))],
            }
        })
        .collect();
    for path in &mut places.paths {
        expand(path, &numbers);
    }
    places.frames = list.frames;
}

fn expand(path: &mut CallPath, numbers: &[Vec<u32>]) {
    let frames = path.frames.iter().flat_map(|&frame| numbers[frame as usize].iter().copied());
    path.frames = frames.take(PATH_FRAMES_MAX).collect();
}

#[derive(Default)]
struct List {
    frames: Vec<Frame>,
    numbers: HashMap<Frame, u32>,
}

impl List {
    fn number(&mut self, frame: &Frame) -> u32 {
        let next = self.frames.len() as u32;
        let number = *self.numbers.entry(frame.clone()).or_insert(next);
        if number == next {
            self.frames.push(frame.clone());
        }
        number
    }
}

/// By the module's file name and the address: `solver+0x1280`.
fn unnamed(frame: &Frame) -> Frame {
    let mut frame = frame.clone();
    if !frame.module.is_empty() {
        frame.function = place_in(&frame.module, frame.address);
    }
    frame
}

fn place_in(module: &str, address: u64) -> String {
    format!("{}+{address:#x}", module.rsplit('/').next().unwrap_or_default())
}

/// Empty where the file is not there, or not the one that ran.
fn names_in(module: &Module, addresses: &[u64]) -> HashMap<u64, Vec<Frame>> {
    let name = String::from_utf8_lossy(&module.name).into_owned();
    let path = Path::new(&name);
    if module.script().is_some() {
        return HashMap::new();
    }
    let Some(content) = path.is_absolute().then(|| content(path)).flatten() else {
        return HashMap::new();
    };
    let Some(file) = the_one_that_ran(&content, &module.build_id) else { return HashMap::new() };
    let symbols = Symbols::of(&file);
    let loader = Loader::new(path).ok();
    let named = addresses.iter().map(|&address| {
        // The call is before the instruction to which it returns.
        let call = address.saturating_sub(1);
        let mut frames = loader.as_ref().map_or_else(Vec::new, |loader| by_debug(loader, call));
        if frames.is_empty() {
            frames.push(Frame::default());
        }
        for frame in &mut frames {
            frame.module.clone_from(&name);
            frame.address = address;
            if frame.function.is_empty() {
                frame.function = symbols.function(call, &name);
            }
        }
        (address, frames)
    });
    named.collect()
}

/// The innermost first.
fn by_debug(loader: &Loader, call: u64) -> Vec<Frame> {
    let mut frames = Vec::new();
    let Ok(mut found) = loader.find_frames(call) else { return frames };
    while frames.len() < INLINED_MAX
        && let Ok(Some(frame)) = found.next()
    {
        let name = frame.function.as_ref().and_then(|function| function.raw_name().ok());
        let location = frame.location;
        frames.push(Frame {
            function: name.map(|name| demangle::readable(&name)).unwrap_or_default(),
            source: location.as_ref().and_then(|l| l.file).unwrap_or_default().to_owned(),
            line: location.and_then(|l| l.line).unwrap_or(0),
            ..Frame::default()
        });
    }
    frames
}

type Content = ReadCache<File>;
type Elf<'data> = ElfFile64<'data, object::LittleEndian, &'data Content>;
type Symbol<'data, 'file> = ElfSymbol64<'data, 'file, object::LittleEndian, &'data Content>;

/// What is no plain file may never end.
fn content(path: &Path) -> Option<Content> {
    path.metadata().ok()?.is_file().then(|| File::open(path).ok().map(ReadCache::new)).flatten()
}

fn the_one_that_ran<'data>(content: &'data Content, build_id: &[u8]) -> Option<Elf<'data>> {
    let file = Elf::parse(content).ok()?;
    let own = file.build_id().ok().flatten().unwrap_or_default();
    (own == build_id).then_some(file)
}

/// A module's functions in order of their addresses: begin and end, and where the name is read
/// where it is asked for. A name is two system calls, and a library may have 10,000 of them.
struct Symbols<'data, 'file> {
    known: Vec<(u64, u64, Symbol<'data, 'file>)>,
    /// By the tables for exceptions, which stripping leaves.
    ranges: Vec<(u64, u64)>,
}

impl<'data, 'file> Symbols<'data, 'file> {
    fn of(file: &'file Elf<'data>) -> Self {
        let mut known: Vec<(u64, u64, Symbol<'data, 'file>)> = file
            .symbols()
            .chain(file.dynamic_symbols())
            .filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0)
            .map(|symbol| {
                (symbol.address(), symbol.address().saturating_add(symbol.size()), symbol)
            })
            .collect();
        known.sort_by_key(|&(begin, end, _)| (begin, end));
        Self { known, ranges: ranges(file) }
    }

    fn function(&self, call: u64, module: &str) -> String {
        if let Some(name) = self.around(call) {
            return demangle::readable(name);
        }
        let before = self.ranges.partition_point(|(begin, _)| *begin <= call);
        let range = before.checked_sub(1).map(|index| self.ranges[index]);
        place_in(module, range.filter(|(_, end)| call < *end).map_or(call, |(begin, _)| begin))
    }

    /// Of several names of one function the last by the alphabet.
    fn around(&self, call: u64) -> Option<&'data str> {
        let before = self.known.partition_point(|(begin, ..)| *begin <= call);
        let functions = self.known[..before].chunk_by(|a, b| (a.0, a.1) == (b.0, b.1));
        let mut near = functions.rev().take(8).filter(|names| call < names[0].1);
        near.find_map(|names| names.iter().filter_map(|(.., symbol)| symbol.name().ok()).max())
    }
}

fn ranges<'data, R: object::ReadRef<'data>>(
    file: &ElfFile64<'data, object::LittleEndian, R>,
) -> Vec<(u64, u64)> {
    let Some(section) = file.section_by_name(".eh_frame") else { return Vec::new() };
    let Ok(bytes) = section.data() else { return Vec::new() };
    let frames = EhFrame::new(bytes, LittleEndian);
    let bases = BaseAddresses::default().set_eh_frame(section.address());
    let mut entries = frames.entries(&bases);
    let mut ranges = Vec::new();
    while let Ok(Some(entry)) = entries.next() {
        if let gimli::CieOrFde::Fde(partial) = entry
            && let Ok(function) = partial.parse(EhFrame::cie_from_offset)
        {
            let begin = function.initial_address();
            ranges.push((begin, begin.saturating_add(function.len())));
        }
    }
    ranges.sort_unstable();
    ranges
}
