//! Who asks again and again, at once, whether a message or a request is there (`MPI_Test`,
//! `MPI_Iprobe`) waits for it. Such calls become one, from the first to the last, so that the wait
//! is one and has the answer at its end; how many they were is kept as a count.

use std::sync::Arc;

use crate::coded::{CodedShape, has_no_answer};
use crate::event::Part;
use crate::raw::decode::{Decoded, Decoder};
use crate::tables::Wait;
use crate::wire::class;

/// What lies between two calls is no work of the program's where it is no longer than that, or than
/// the call before.
const AT_ONCE_NS: i64 = 1000;
/// … or than such a part of the time for which it has been asking: interrupts come, and capture
/// itself now and then takes longer.
const SHARE: i64 = 10;

/// Where a block begins, if the call is the first in it: number of the next request, and the moment
/// that the calls reach.
pub(super) type State = (u64, i64);

/// A call, and those of its like before it that had no answer.
pub(super) struct Polls<'a> {
    /// The thread's waits for a processor, in order.
    waits: &'a [Wait],
    /// From the first one's begin to the last one's end.
    call: Decoded,
    state: State,
    last_ns: i64,
    calls: u64,
}

impl<'a> Polls<'a> {
    pub(super) fn new(call: Decoded, state: State, waits: &'a [Wait]) -> Self {
        let last_ns = call.end_ns - call.begin_ns;
        Self { waits, call, state, last_ns, calls: 1 }
    }

    pub(super) fn has_no_answer(&self) -> bool {
        has_no_answer(&self.call.shape)
    }

    /// Whether the next call of the stream asks the same, at once.
    pub(super) fn is_asked_again(&self, next: &Decoded) -> bool {
        let (one, other) = (&self.call.shape, &next.shape);
        other.part == Part::Call
            && (one.function, one.place, one.class) == (other.function, other.place, other.class)
            && self.is_at_once(next.begin_ns, self.call.end_ns, self.last_ns)
    }

    /// … and has all of them in it.
    pub(super) fn and(self, next: Decoded) -> Self {
        let last_ns = next.end_ns - next.begin_ns;
        let call = Decoded { begin_ns: self.call.begin_ns, ..next };
        Self { call, last_ns, calls: self.calls + 1, ..self }
    }

    /// Whether a call that begins then follows at once on one that ended then and took so long.
    fn is_at_once(&self, begin_ns: i64, end_ns: i64, last_ns: i64) -> bool {
        let asking_ns = end_ns - self.call.begin_ns;
        begin_ns - end_ns <= AT_ONCE_NS.max(last_ns).max(asking_ns / SHARE)
            || self.had_no_processor(end_ns, begin_ns)
    }

    /// For most of that time.
    fn had_no_processor(&self, from_ns: i64, to_ns: i64) -> bool {
        let first = self.waits.partition_point(|wait| wait.end_ns <= from_ns);
        let within = self.waits[first..].iter().take_while(|wait| wait.begin_ns < to_ns);
        let most = |wait: &Wait| wait.end_ns.min(to_ns) - wait.begin_ns.max(from_ns);
        let waited_ns: i64 = within.map(|wait| wait.waited_ns.min(most(wait))).sum();
        waited_ns >= (to_ns - from_ns) / 2
    }

    /// Takes what comes next in the stream as far as it has no answer either.
    pub(super) fn follow(&mut self, decoder: &mut Decoder<'_>) {
        let Some(slot) = self.call.slot else { return };
        let goes_on = |begin_ns, end_ns, last_ns| self.is_at_once(begin_ns, end_ns, last_ns);
        let (calls, last_ns) = decoder.skip(slot, self.last_ns, goes_on);
        (self.calls, self.last_ns) = (self.calls + calls, last_ns);
        self.call.end_ns = decoder.state().1;
    }

    pub(super) fn besides(&self) -> u64 {
        self.calls - 1
    }

    /// How many there were besides, as an event; the call; and the state before both.
    pub(super) fn end(self) -> (Option<Decoded>, Decoded, State) {
        let besides = self.besides();
        let Self { call, state, .. } = self;
        let besides = (besides > 0).then(|| {
            let (function, words) = (call.shape.function, vec![besides as i64]);
            let (part, class, place) = (Part::Call, class::COUNTED, 0);
            let shape = CodedShape { part, function, class, place, words };
            Decoded::new(call.begin_ns, call.begin_ns, Arc::new(shape))
        });
        (besides, call, state)
    }
}
