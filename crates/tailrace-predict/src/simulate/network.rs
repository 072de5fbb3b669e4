//! What messages take.

use crate::replay::span;

/// Nanoseconds, and nanoseconds a byte. Each rank sends and receives one message at a time.
#[derive(Clone, Copy, Debug)]
pub struct Network {
    pub latency: f64,
    pub byte: f64,
    /// Larger messages make their sender wait for the receiver.
    pub eager_limit_bytes: i64,
}

impl Network {
    /// All ranks tell each other a number.
    pub(crate) fn meeting(&self, ranks: u32) -> i64 {
        span(2. * levels(ranks) * self.latency)
    }

    /// One rank tells all others.
    pub(super) fn broadcast(&self, ranks: u32, bytes: i64) -> i64 {
        span(levels(ranks) * (self.latency + bytes as f64 * self.byte))
    }

    pub(crate) fn moving(&self, bytes: i64) -> i64 {
        span(bytes as f64 * self.byte)
    }

    /// One rank sends so many bytes, or receives them.
    pub(crate) fn transfer(&self, bytes: i64) -> i64 {
        span(self.latency + bytes as f64 * self.byte)
    }
}

/// Of a tree of ranks.
fn levels(ranks: u32) -> f64 {
    f64::from(ranks.next_power_of_two().ilog2())
}
