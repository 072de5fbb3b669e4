//! Blocks on their way from decoders to the file: whoever has no stream to decode encodes blocks.
//!
//! A decoder hands a block over only where a thread waits for one, and encodes it itself otherwise:
//! all threads are busy as long as there is something to do, and nobody waits for a block that
//! nobody has in hand. Each is asked for where its stream wants it, so the file has the same bytes
//! whoever encodes what.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::packed::{Block, Encoder};

/// Shapes that are used less often than this on average are the work with a block, and freeing what
/// another thread allocated takes longer than encoding: such blocks stay where they are.
const EVENTS_PER_SHAPE: usize = 8;

/// The bytes of a block, or where they will come from.
pub(super) enum Bytes {
    Here(Vec<u8>),
    Coming(Receiver<Vec<u8>>),
}

impl Bytes {
    /// Waits for them; `None` where the thread that had the block in hand is gone.
    pub(super) fn get(self) -> Option<Vec<u8>> {
        match self {
            Self::Here(bytes) => Some(bytes),
            Self::Coming(from) => from.recv().ok(),
        }
    }
}

struct Job {
    block: Block,
    location: u32,
    to: SyncSender<Vec<u8>>,
}

struct State {
    jobs: VecDeque<Job>,
    /// Threads that wait for a job.
    idle: usize,
    /// Threads that may still bring one.
    decoding: usize,
}

pub(super) struct Encoding {
    state: Mutex<State>,
    changed: Condvar,
}

impl Encoding {
    /// So many threads begin by decoding.
    pub(super) fn new(decoding: usize) -> Self {
        let state = State { jobs: VecDeque::new(), idle: 0, decoding };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing in it is ever half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn encode(&self, block: Block, location: u32, encoder: &mut Encoder) -> Bytes {
        let mut state = self.state();
        if state.jobs.len() >= state.idle || block.shapes() > block.len() / EVENTS_PER_SHAPE {
            drop(state);
            return Bytes::Here(encoder.encode(&block, location));
        }
        let (to, from) = sync_channel(1);
        state.jobs.push_back(Job { block, location, to });
        self.changed.notify_one();
        Bytes::Coming(from)
    }

    /// For a thread that decodes no more: encodes what others decode, until nobody does.
    pub(super) fn help(&self, encoder: &mut Encoder) {
        let mut state = self.state();
        loop {
            if let Some(Job { block, location, to }) = state.jobs.pop_front() {
                drop(state);
                // Where nobody wants it any more, another stream has failed.
                let _ = to.send(encoder.encode(&block, location));
                state = self.state();
            } else if state.decoding == 0 {
                return;
            } else {
                state.idle += 1;
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.idle -= 1;
            }
        }
    }
}

/// A thread that decodes; those that wait for its blocks go on when it is gone, however it ends.
pub(super) struct Decoding<'a>(pub &'a Encoding);

impl Drop for Decoding<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.decoding -= 1;
        if state.decoding == 0 {
            self.0.changed.notify_all();
        }
    }
}
