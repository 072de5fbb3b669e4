//! The packed file: one per run, `NAME.tailrace`. The bytes are `docs/trace.md`, section *Packed file*.
//!
//! Blocks of a few thousand events of one location each, any of which can be decoded without the others; then the tables, the
//! index of blocks, and a footer. [`writer::Writer`] writes it, [`reader::PackedTrace`] reads it.

pub mod block;
pub mod column;
pub mod decode;
pub mod layout;
pub mod reader;
mod tables;
pub mod writer;
