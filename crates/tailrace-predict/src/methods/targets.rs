//! Which file a rank writes to by another method.

use hashbrown::HashMap;

use super::families::Family;

#[derive(Debug)]
pub(super) struct Targets {
    /// How many the trace has.
    files: u32,
    of: HashMap<(u32, u32), u32>,
    /// Files that the trace does not have: the file that each is in place of, and its rank.
    pub more: Vec<(u32, u32)>,
}

impl Targets {
    pub(super) fn beyond(files: u32) -> Self {
        Self { files, of: HashMap::new(), more: Vec::new() }
    }

    /// Of a family, `known`, and a rank. `is_split`: each is to have one of its own.
    pub(super) fn file(&mut self, known: &Family, of: (u32, u32), is_split: bool) -> u32 {
        let (first, shared) = known.files[0];
        let (_, rank) = of;
        if !is_split || (!known.is_split && rank == first) {
            return shared;
        }
        if let Some((_, own)) = known.files.iter().find(|(of, _)| known.is_split && *of == rank) {
            return *own;
        }
        let Self { files, of: known, more } = self;
        *known.entry(of).or_insert_with(|| {
            more.push((shared, rank));
            *files + more.len() as u32 - 1
        })
    }
}
