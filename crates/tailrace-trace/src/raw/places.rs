//! Call paths as streams have them: files that held code, and addresses in them.

use std::collections::HashMap;

use crate::cursor::{Cursor, Damage};
use crate::places::{CallPath, FRAMES_MAX, Frame, PATHS_MAX, Places};

/// A file that held code while the program ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Module {
    /// What the linker made of the file's contents; empty where it was not asked to.
    pub build_id: Vec<u8>,
    pub name: Vec<u8>,
}

impl Module {
    /// The file, a zero byte and the function: its addresses are lines.
    pub(crate) fn script(&self) -> Option<(&[u8], &[u8])> {
        let zero = self.name.iter().position(|&byte| byte == 0)?;
        Some((&self.name[..zero], &self.name[zero + 1..]))
    }

    fn frame(&self, address: u64) -> Frame {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match self.script() {
            Some((file, function)) => Frame {
                function: text(function),
                source: text(file),
                line: u32::try_from(address).unwrap_or(0),
                ..Frame::default()
            },
            None => Frame { module: text(&self.name), address, ..Frame::default() },
        }
    }
}

/// Frames from the innermost: the number of a module, 0 for none, and an address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RawPlace {
    pub frames: Vec<(u32, u64)>,
    pub cut: bool,
}

/// The payload of a record *place* behind its number.
pub(crate) fn place(payload: &[u8]) -> Result<RawPlace, Damage> {
    const FRAMES_EACH_MAX: usize = 64;
    let mut from = Cursor::new(payload);
    let cut = from.u8()? & 1 != 0;
    let mut frames = Vec::new();
    while from.left() > 0 && frames.len() < FRAMES_EACH_MAX {
        frames.push((u32::try_from(from.varint()?).unwrap_or(0), from.varint()?));
    }
    Ok(RawPlace { frames, cut })
}

/// Numbers of streams become numbers of the run. A stream without its modules has frames of none.
#[derive(Default)]
pub(crate) struct MergePlaces {
    modules: HashMap<Module, u32>,
    frames: HashMap<(u32, u64), u32>,
    paths: HashMap<CallPath, u32>,
    /// Of every frame the index of its module and 1.
    pub module_of: Vec<u32>,
    pub list: Vec<Module>,
}

impl MergePlaces {
    /// Places of a stream → of the run: index 0 is that of the stream's place 1.
    pub(crate) fn numbers(
        &mut self,
        modules: &[Module],
        of: &[RawPlace],
        places: &mut Places,
    ) -> Vec<u32> {
        let modules: Vec<u32> = modules.iter().map(|module| self.module(module)).collect();
        let number = |place| self.path(place, &modules, places);
        of.iter().map(number).collect()
    }

    fn module(&mut self, module: &Module) -> u32 {
        let next = self.list.len() as u32 + 1;
        let number = *self.modules.entry(module.clone()).or_insert(next);
        if number == next {
            self.list.push(module.clone());
        }
        number
    }

    fn path(&mut self, place: &RawPlace, modules: &[u32], places: &mut Places) -> u32 {
        let module = |number: u32| {
            let index = (number as usize).checked_sub(1);
            index.and_then(|index| modules.get(index)).copied().unwrap_or(0)
        };
        let frames = place.frames.iter();
        let frames: Option<Vec<u32>> =
            frames.map(|&(number, address)| self.frame(module(number), address, places)).collect();
        let Some(frames) = frames.filter(|_| places.paths.len() < PATHS_MAX) else { return 0 };
        let path = CallPath { frames, cut: place.cut };
        *self.paths.entry(path).or_insert_with_key(|path| {
            places.paths.push(path.clone());
            places.paths.len() as u32
        })
    }

    fn frame(&mut self, module: u32, address: u64, places: &mut Places) -> Option<u32> {
        // What was compiled at run time lies elsewhere each time.
        let address = if module == 0 { 0 } else { address };
        if let Some(&known) = self.frames.get(&(module, address)) {
            return Some(known);
        }
        if places.frames.len() >= FRAMES_MAX {
            return None;
        }
        let index = (module as usize).checked_sub(1);
        places.frames.push(index.map_or_else(Frame::default, |i| self.list[i].frame(address)));
        self.module_of.push(module);
        let number = places.frames.len() as u32 - 1;
        self.frames.insert((module, address), number);
        Some(number)
    }
}
