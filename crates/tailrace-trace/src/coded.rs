//! A shape as words: what a reader of raw streams makes, and what the packed file stores.

use crate::event::Part;

/// What a call was, in numbers of the run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CodedShape {
    pub part: Part,
    pub function: u16,
    /// One of [`crate::wire::class`].
    pub class: u8,
    /// As in [`crate::event::Shape`].
    pub place: u32,
    pub words: Vec<i64>,
}
