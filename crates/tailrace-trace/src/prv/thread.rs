//! The calls and states of one thread, as its records come in.

use super::types;

/// A call, in a list ordered by begin; one that lies inside another was made by it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub begin: i64,
    pub end: i64,
    /// Index into the trace's distinct [`Arguments`].
    pub arguments: u32,
}

/// What the records say about a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Arguments {
    pub kind: u32,
    pub value: u64,
    pub bytes_sent: u64,
    pub bytes_received: u64,
    pub communicator: Option<u32>,
    pub root: bool,
    pub descriptor: Option<u64>,
    /// Number of the path that an open call names.
    pub name: Option<u64>,
}

/// A stretch in a state other than Running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    pub begin: i64,
    pub end: i64,
    pub state: u32,
}

/// A call whose arguments may still come.
#[derive(Clone, Copy, Debug)]
struct Open {
    index: usize,
    arguments: Arguments,
}

/// Gets the arguments of a call once they are all known; returns their number.
pub(super) trait Register {
    fn register(&mut self, arguments: &Arguments) -> u32;
}

#[derive(Debug, Default)]
pub(super) struct Thread {
    pub calls: Vec<Call>,
    pub stretches: Vec<Stretch>,
    pub running_ns: i64,
    pub instructions: Counter,
    pub cycles: Counter,
    /// Ends of calls that never began, where a trace was cut out of a longer one.
    pub ends_without_begin: u64,
    open: Vec<Open>,
    /// The call that ended last, while records of the same time may still add to it.
    ended: Option<Open>,
    last_event: i64,
    /// Whether the thread was running up to `last_event`.
    useful: bool,
    /// Up to where state records reach.
    covered: i64,
    /// The state records read last, the last one first.
    states: [Option<Stretch>; 2],
}

impl Thread {
    /// A state record. Time that no record covers counts as Idle.
    pub(super) fn state(&mut self, begin: i64, end: i64, state: u32) {
        self.stretch(self.covered, begin, 0);
        self.stretch(begin.max(self.covered), end, state);
        self.covered = self.covered.max(end);
        self.states = [Some(Stretch { begin, end, state }), self.states[0]];
    }

    pub(super) fn has_states(&self) -> bool {
        self.states[0].is_some()
    }

    fn stretch(&mut self, begin: i64, end: i64, state: u32) {
        if begin >= end {
            return;
        }
        if state == types::RUNNING {
            self.running_ns += end - begin;
        } else {
            self.stretches.push(Stretch { begin, end, state });
        }
    }

    /// The last moment that a record of this thread speaks of.
    pub(super) fn last_time(&self) -> i64 {
        self.last_event.max(self.covered)
    }

    /// The records of this thread go on at `time`; `false` if that is a step back.
    pub(super) fn advance(&mut self, time: i64, register: &mut impl Register) -> bool {
        if time > self.last_event {
            self.settle(register);
        }
        let forward = time >= self.last_event;
        self.last_event = time;
        self.useful = self.was_running();
        forward
    }

    /// One `type:value` of an event record at the time it was advanced to.
    #[inline]
    pub(super) fn event(&mut self, kind: u32, value: u64, register: &mut impl Register) {
        match kind {
            types::INSTRUCTIONS => self.instructions.add(value, self.last_event, self.useful),
            types::CYCLES => self.cycles.add(value, self.last_event, self.useful),
            _ if types::is_call(kind) && value != 0 => self.begin(kind, value, register),
            _ if types::is_call(kind) => self.end(kind, register),
            _ => self.argument(kind, value),
        }
    }

    /// Whether the thread was running up to this moment: the state that *begins* now does not
    /// count.
    fn was_running(&self) -> bool {
        let now = self.last_event;
        let before = self.states.iter().flatten().find(|state| state.begin < now);
        before.is_some_and(|state| state.state == types::RUNNING && state.end >= now)
    }

    fn begin(&mut self, kind: u32, value: u64, register: &mut impl Register) {
        if self.open.iter().any(|open| open.arguments.kind == kind) {
            self.end(kind, register); // calls of one kind do not nest: the end is missing
        }
        self.settle(register);
        let index = self.calls.len();
        self.calls.push(Call { begin: self.last_event, end: self.last_event, arguments: 0 });
        self.open
            .push(Open { index, arguments: Arguments { kind, value, ..Arguments::default() } });
    }

    /// Ends the open call of that kind and all that are open inside it.
    fn end(&mut self, kind: u32, register: &mut impl Register) {
        let Some(depth) = self.open.iter().position(|open| open.arguments.kind == kind) else {
            self.ends_without_begin += 1;
            return;
        };
        while self.open.len() > depth {
            self.settle(register);
            self.ended = self.open.pop();
            self.ended.iter().for_each(|ended| self.calls[ended.index].end = self.last_event);
        }
    }

    /// Nothing is added any more to the call that ended last.
    fn settle(&mut self, register: &mut impl Register) {
        if let Some(ended) = self.ended.take() {
            self.calls[ended.index].arguments = register.register(&ended.arguments);
        }
    }

    /// Adds to the call that ended just now, or else to the innermost open one.
    #[inline]
    fn argument(&mut self, kind: u32, value: u64) {
        let Some(open) = self.ended.as_mut().or(self.open.last_mut()) else { return };
        let arguments = &mut open.arguments;
        match kind {
            types::SEND_SIZE => arguments.bytes_sent = value,
            types::RECEIVE_SIZE | types::IO_SIZE | types::MPI_IO_SIZE => {
                arguments.bytes_received = value;
            }
            types::ROOT => arguments.root = value != 0,
            types::COMMUNICATOR => arguments.communicator = u32::try_from(value).ok(),
            types::IO_DESCRIPTOR => arguments.descriptor = Some(value),
            types::FILE_NAME => arguments.name = Some(value),
            _ => {}
        }
    }

    /// The trace ends at `time`: calls that are still open end there. Returns how many those were.
    pub(super) fn finish(&mut self, time: i64, register: &mut impl Register) -> u64 {
        self.advance(time.max(self.last_event), register);
        let unended = self.open.len() as u64;
        if let Some(outermost) = self.open.first() {
            self.end(outermost.arguments.kind, register);
        }
        self.settle(register);
        if self.has_states() {
            self.stretch(self.covered, time, 0);
        }
        unended
    }
}

/// A hardware counter: each value counts for the time since the value before it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counter {
    /// Of the useful time; `None` before the first value.
    pub useful: Option<u64>,
    last: i64,
}

impl Counter {
    /// A second value at one moment is that of a call without duration: nothing of it is useful.
    fn add(&mut self, value: u64, now: i64, running: bool) {
        let more = if running && now > self.last { value } else { 0 };
        self.useful = Some(self.useful.unwrap_or(0).wrapping_add(more));
        self.last = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers arguments in the order in which they come.
    #[derive(Default)]
    struct Seen(Vec<Arguments>);

    impl Register for Seen {
        fn register(&mut self, arguments: &Arguments) -> u32 {
            self.0.push(*arguments);
            self.0.len() as u32 - 1
        }
    }

    fn play(events: &[(i64, u32, u64)], end: i64) -> (Thread, Seen) {
        let (mut thread, mut seen) = (Thread::default(), Seen::default());
        for (time, kind, value) in events {
            assert!(thread.advance(*time, &mut seen));
            thread.event(*kind, *value, &mut seen);
        }
        thread.finish(end, &mut seen);
        (thread, seen)
    }

    fn spans(thread: &Thread) -> Vec<(i64, i64)> {
        thread.calls.iter().map(|call| (call.begin, call.end)).collect()
    }

    #[test]
    fn a_write_inside_a_collective_write_is_nested_and_keeps_its_arguments() {
        let (thread, seen) = play(
            &[
                (10, types::MPI_IO, 146),
                (20, types::IO, 2),
                (20, types::IO_DESCRIPTOR, 7),
                (30, types::IO, 0),
                (30, types::IO_SIZE, 4096), // after the end, at the same time
                (40, types::MPI_IO, 0),
            ],
            50,
        );
        assert_eq!(spans(&thread), [(10, 40), (20, 30)]);
        let write = &seen.0[thread.calls[1].arguments as usize];
        assert_eq!(
            (write.kind, write.descriptor, write.bytes_received),
            (types::IO, Some(7), 4096)
        );
        assert_eq!(seen.0[thread.calls[0].arguments as usize].bytes_received, 0);
    }

    #[test]
    fn missing_ends_and_begins_are_mended() {
        let p2p = types::POINT_TO_POINT;
        let (thread, _) = play(
            &[(5, p2p, 0), (10, p2p, 1), (20, p2p, 2), (30, p2p, 0), (40, types::MPI_IO, 141)],
            50,
        );
        assert_eq!(spans(&thread), [(10, 20), (20, 30), (40, 50)]);
        assert_eq!(thread.ends_without_begin, 1);
    }

    #[test]
    fn counters_count_for_the_state_before_them() {
        let (mut thread, mut seen) = (Thread::default(), Seen::default());
        thread.state(0, 10, types::RUNNING);
        thread.state(10, 15, 13);
        thread.advance(10, &mut seen);
        thread.event(types::INSTRUCTIONS, 100, &mut seen); // of 0..10: running
        thread.state(15, 30, types::RUNNING);
        thread.advance(15, &mut seen);
        thread.event(types::INSTRUCTIONS, 20, &mut seen); // of 10..15: in a collective
        thread.advance(30, &mut seen);
        thread.event(types::INSTRUCTIONS, 3, &mut seen); // of 15..30: running
        thread.event(types::INSTRUCTIONS, 7, &mut seen); // of a call from 30 to 30
        thread.finish(40, &mut seen);
        assert_eq!((thread.instructions.useful, thread.cycles.useful), (Some(103), None));
        assert_eq!(thread.running_ns, 25);
        let not_running =
            [Stretch { begin: 10, end: 15, state: 13 }, Stretch { begin: 30, end: 40, state: 0 }];
        assert_eq!(thread.stretches, not_running);
    }
}
