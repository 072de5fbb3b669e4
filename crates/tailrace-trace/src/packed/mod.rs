//! The packed file: one per run, `NAME.tailrace`. The bytes are
//! `docs/reference/internals/trace.md`, section *Packed file*.
//!
//! Blocks of a few thousand events of one location each, any of which can be decoded without the
//! others; then the tables, the index of blocks, and a footer. [`Writer`] writes it,
//! `PackedTrace` reads it.

mod block;
mod column;
mod decode;
mod encode;
pub(crate) mod layout;
mod reader;
mod shapes;
mod tables;
mod times;
mod writer;

pub use block::Block;
pub use encode::Encoder;
pub(crate) use reader::PackedTrace;
pub use writer::Writer;
