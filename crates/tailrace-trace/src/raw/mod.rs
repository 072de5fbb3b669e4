//! Raw streams: what capture leaves in `DIR/raw/` while and after a program runs. The bytes are `docs/trace.md`.
//!
//! [`run::Run`] surveys all streams of a run (who is which rank, on which clock, with which files and communicators);
//! [`decode::Decoder`] then yields the calls of one stream, in numbers of the whole run.

pub mod clock;
pub mod communicator;
pub mod decode;
pub mod header;
pub mod merge;
mod ranks;
pub mod run;
pub mod scan;
pub mod survey;
pub mod translate;
