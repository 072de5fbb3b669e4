//! What there is of each file, and of each node. Both are numbered from 0 on, so it is found by
//! number, and what follows in number lies side by side: of a million files that is the difference
//! between memory that comes by itself and memory that is waited for.

use hashbrown::HashMap;

/// What each node has of each file: most files are used by one node only.
#[derive(Debug)]
pub(crate) struct ByFile<T> {
    /// By file: the first node that used it, and what that has of it.
    first: Vec<Option<(u32, T)>>,
    others: HashMap<(u32, u32), T>,
}

impl<T> Default for ByFile<T> {
    fn default() -> Self {
        Self { first: Vec::new(), others: HashMap::new() }
    }
}

impl<T: Default> ByFile<T> {
    pub(crate) fn of(&mut self, node: u32, file: u32) -> &mut T {
        let (first, known) =
            place(&mut self.first, file).get_or_insert_with(|| (node, T::default()));
        if *first == node { known } else { self.others.entry((node, file)).or_default() }
    }
}

/// What stands at that number; what was not there comes into being.
pub(crate) fn place<T: Default>(list: &mut Vec<T>, number: u32) -> &mut T {
    let number = number as usize;
    if number >= list.len() {
        list.resize_with(number + 1, T::default);
    }
    &mut list[number]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_node_has_its_own_of_a_file() {
        let mut known: ByFile<i32> = ByFile::default();
        for (node, file, value) in [(7, 2, 1), (3, 2, 2), (3, 0, 3), (5, 2, 4)] {
            *known.of(node, file) = value;
        }
        let all = [(7, 2), (3, 2), (3, 0), (5, 2), (7, 0), (7, 9)];
        assert_eq!(all.map(|(node, file)| *known.of(node, file)), [1, 2, 3, 4, 0, 0]);
    }
}
