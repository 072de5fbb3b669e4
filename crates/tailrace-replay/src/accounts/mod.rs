//! What is summed up of a run: nothing of it decides who waits for whom.

mod edges;
pub(crate) mod levels;
pub(crate) mod longest;
mod made;
pub(crate) mod pairs;
pub(crate) mod pattern;
pub(crate) mod patterns;
pub(crate) mod places;
pub(crate) mod routines;
pub(crate) mod stretches;
pub(crate) mod tallies;
pub(crate) mod timeline;
pub(crate) mod uses;
pub(crate) mod waits;
