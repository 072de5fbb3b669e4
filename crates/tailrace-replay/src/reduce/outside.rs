//! File calls before the window and after it, as before MPI_Init and after MPI_Finalize: time that no
//! account holds.

use tailrace_trace::TraceError;

use crate::reduce::Rank;
use crate::reduce::load::{Load, Next};

impl Rank<'_> {
    /// Takes what of a thread's block begins after the window, and the blocks that follow.
    pub(crate) fn pass_outside(&mut self, i: usize, load: &mut Load) -> Result<(), TraceError> {
        while self.threads[i].main && self.next_block(i, load)? {
            self.add_outside(i, load);
            load.clear();
        }
        Ok(())
    }

    /// … of the block at hand.
    pub(crate) fn add_outside(&mut self, i: usize, load: &mut Load) {
        let (window, table) =
            (self.common.window, &self.common.tables.locations[self.locations[i]]);
        while let Some(Next { event, .. }) = load.next(i64::MAX) {
            if load.lines[event.shape as usize].step.io {
                // a call that never returned ends with the thread
                let end = event.end.min(table.end_ns);
                self.threads[i].outside_io += (end - event.begin.max(window.end_ns)).max(0);
            }
        }
    }
}
