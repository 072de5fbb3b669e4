//! A shape as words: what a reader of raw streams makes, and what the packed file stores.

use crate::event::Part;
use crate::wire::{class, complete, probe};

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

/// A test that completed nothing, a probe that found nothing.
pub(crate) fn has_no_answer(shape: &CodedShape) -> bool {
    let word = |at: usize| shape.words.get(at).copied().unwrap_or(0);
    let unanswered = match shape.class {
        class::COMPLETE => {
            word(complete::FLAGS) & complete::TEST != 0 && word(complete::COUNT) == 0
        }
        class::PROBE => {
            word(probe::FLAGS) & (probe::NOT_BLOCKING | probe::FOUND) == probe::NOT_BLOCKING
        }
        _ => false,
    };
    unanswered && shape.part == Part::Call
}
