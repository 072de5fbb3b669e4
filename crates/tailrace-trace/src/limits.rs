//! What no sound trace exceeds: bounds on what a damaged one can make a reader do.

/// A quarter of the range: sums of two times never overflow, whatever a damaged stream says.
pub(crate) const NS_MAX: i64 = i64::MAX / 4;
pub(crate) const RANKS_MAX: u32 = 1 << 20;
/// Words of a shape; a call with more is kept without them.
pub(crate) const SHAPE_WORDS_MAX: usize = 1 << 20;
/// Open calls of one thread, as in `capture/stream.h`.
pub(crate) const NESTING_MAX: usize = 30;
