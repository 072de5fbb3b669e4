//! What a file system's client and servers take of the processors that ranks compute on: none of it
//! delays a call by itself, as the model's times hold that, but ranks wait for a processor meanwhile.

use tailrace_replay::Access;

/// Nanoseconds of a processor, per call or per byte.
#[derive(Clone, Copy, Debug)]
pub struct Processors {
    /// A write beyond its bytes, and what more one that does not begin where the file's last one
    /// ended.
    pub write: f64,
    pub scattered_write: f64,
    /// A read from the servers beyond its bytes.
    pub read: f64,
    /// Locking or unlocking, with what a write costs more that cannot be gathered with others.
    pub lock: f64,
    /// Any other call.
    pub call: f64,
    pub written_byte: f64,
    pub read_byte: f64,
}

impl Processors {
    pub const NONE: Self = Self {
        write: 0.,
        scattered_write: 0.,
        read: 0.,
        lock: 0.,
        call: 0.,
        written_byte: 0.,
        read_byte: 0.,
    };

    /// So many calls of a kind, which move so many bytes to the servers or from there.
    pub(crate) fn of(&self, access: Access, calls: f64, bytes: f64) -> f64 {
        match access {
            Access::Write => calls * self.write + bytes * self.written_byte,
            Access::Read if bytes > 0. => calls * self.read + bytes * self.read_byte,
            Access::Read => 0.,
            Access::Lock => calls * self.lock,
            _ => calls * self.call,
        }
    }
}
