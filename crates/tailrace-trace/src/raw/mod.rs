//! Raw streams: what capture leaves in `DIR/raw/` while and after a program runs. The bytes are
//! `docs/reference/internals/trace.md`.
//!
//! [`run::Run`] surveys all streams of a run (who is which rank, on which clock, with which files
//! and communicators); [`decode::Decoder`] then yields the calls of one stream, in numbers of the
//! whole run.

mod becoming;
pub(crate) mod clock;
pub(crate) mod command;
pub(crate) mod communicator;
pub(crate) mod decode;
mod directory;
mod domains;
mod halves;
pub(crate) mod header;
mod lasting;
pub(crate) mod merge;
pub(crate) mod node_file;
mod paths;
pub(crate) mod places;
mod quick;
mod ranks;
pub(crate) mod run;
pub(crate) mod scan;
mod slot;
pub(crate) mod survey;
pub(crate) mod translate;
mod unseen;
