//! Which file a rank writes to by another method.

use hashbrown::HashMap;

use super::families::Family;

#[derive(Debug)]
pub(super) struct Targets {
    /// How many the trace has.
    files: u32,
    /// By family and rank.
    of: HashMap<(u32, u32), u32>,
    /// Files that the trace does not have: the file that each is in place of, and its rank.
    pub more: Vec<(u32, u32)>,
}

impl Targets {
    pub(super) fn beyond(files: u32) -> Self {
        Self { files, of: HashMap::new(), more: Vec::new() }
    }

    /// `key`: the family's number and the rank. `is_split`: each rank is to have a file of its own.
    pub(super) fn file(&mut self, family: &Family, key: (u32, u32), is_split: bool) -> u32 {
        let ((first, shared), (_, rank)) = (family.files[0], key);
        if !is_split || (!family.is_split && rank == first) {
            return shared;
        }
        if let Some((_, own)) = family.files.iter().find(|(of, _)| family.is_split && *of == rank) {
            return *own;
        }
        let Self { files, of, more } = self;
        *of.entry(key).or_insert_with(|| {
            more.push((shared, rank));
            *files + more.len() as u32 - 1
        })
    }
}
