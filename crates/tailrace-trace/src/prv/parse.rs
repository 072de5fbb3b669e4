//! Records of a `.prv`, line by line, into what is kept of them.
//!
//! - state `1:cpu:application:task:thread:begin:end:state`
//! - event `2:cpu:application:task:thread:time:type:value[:type:value…]`
//! - message `3:`sender`:logical send:physical send:`receiver`:logical receive:physical
//!   receive:size:tag`
//! - communicator `c:application:number:size:task[:task…]` or `i:application:number:first:second`

use std::collections::BTreeMap;

use hashbrown::HashMap;

use super::fields::{Expected, Fields};
use super::header::Header;
use super::thread::{Arguments, Register, Thread};
use super::types;

const A_RECORD: Expected = "a record of kind 1 (state), 2 (event), 3 (message) or c (communicator)";

/// Everything that a `.prv` says and that is needed.
pub(super) struct Records {
    pub header: Header,
    /// The first thread of each rank.
    pub main: Vec<Thread>,
    /// The other threads that have records, by rank and thread (from 0).
    pub others: BTreeMap<(u32, u32), Thread>,
    pub messages: Vec<Message>,
    pub communicators: Vec<Declared>,
    pub distinct: Distinct,
}

/// Ranks and threads count from 0, times are nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    pub sender: (u32, u32),
    pub receiver: (u32, u32),
    /// When the send was called, the receive was posted, the data had arrived.
    pub sent: i64,
    pub posted: i64,
    pub done: i64,
    pub bytes: u64,
    pub tag: i32,
}

#[derive(Clone, Debug)]
pub(super) struct Declared {
    pub number: u32,
    pub members: Members,
}

#[derive(Clone, Debug)]
pub(super) enum Members {
    /// Ranks, in order.
    Ranks(Vec<u32>),
    /// Numbers of the two communicators that an intercommunicator joins.
    Joined(u32, u32),
}

/// Every combination of arguments once.
#[derive(Default)]
pub(super) struct Distinct {
    pub arguments: Vec<Arguments>,
    numbers: HashMap<Arguments, u32>,
}

impl Register for Distinct {
    fn register(&mut self, arguments: &Arguments) -> u32 {
        let next = self.arguments.len() as u32;
        *self.numbers.entry(*arguments).or_insert_with(|| {
            self.arguments.push(*arguments);
            next
        })
    }
}

impl Records {
    /// Whether anything in the trace is of MPI.
    pub(super) fn mpi(&self) -> bool {
        let calls = || self.distinct.arguments.iter().any(|call| types::is_mpi(call.kind));
        !self.messages.is_empty() || calls()
    }

    pub(super) fn new(header: Header) -> Self {
        let main = header.tasks.iter().map(|_| Thread::default()).collect();
        let (others, messages, communicators) = Default::default();
        Self { header, main, others, messages, communicators, distinct: Distinct::default() }
    }

    /// Takes one line after the first; says what it is not, where it is malformed.
    #[inline]
    pub(super) fn line(&mut self, text: &mut Fields) -> Result<(), Expected> {
        match text.rest() {
            _ if text.is_empty() => {}
            [b'#', ..] => {}
            [kind, b':', ..] => {
                text.skip(2);
                self.record(*kind, text)?;
            }
            _ => return Err(A_RECORD),
        }
        text.skip_line();
        Ok(())
    }

    #[inline]
    fn record(&mut self, kind: u8, fields: &mut Fields) -> Result<(), Expected> {
        match kind {
            b'1' => self.state(fields),
            b'2' => self.event(fields),
            b'3' => self.message(fields),
            b'c' => self.communicator(fields),
            b'i' => self.intercommunicator(fields),
            _ => Err(A_RECORD),
        }
    }

    fn state(&mut self, fields: &mut Fields) -> Result<(), Expected> {
        let Some(place) = self.place(fields)? else { return Ok(()) };
        let begin = self.time(fields)?;
        let end = self.time(fields)?;
        let state = fields.small("a state")?;
        if begin > end {
            return Err("a state that ends no earlier than it begins");
        }
        thread(&mut self.main, &mut self.others, place).state(begin, end, state);
        Ok(())
    }

    fn event(&mut self, fields: &mut Fields) -> Result<(), Expected> {
        let Some(place) = self.place(fields)? else { return Ok(()) };
        let time = self.time(fields)?;
        let thread = thread(&mut self.main, &mut self.others, place);
        if !thread.advance(time, &mut self.distinct) {
            return Err("an event no earlier than the one before it on its thread");
        }
        while !fields.is_empty() {
            let kind = fields.number("a type of event")?;
            let value = fields.number("a value for each type of event")?;
            // Types that do not fit are of no kind that is known here.
            thread.event(u32::try_from(kind).unwrap_or(0), value, &mut self.distinct);
        }
        Ok(())
    }

    fn message(&mut self, fields: &mut Fields) -> Result<(), Expected> {
        let Some(sender) = self.place(fields)? else { return Ok(()) };
        let sent = self.time(fields)?;
        self.time(fields)?;
        let Some(receiver) = self.place(fields)? else { return Ok(()) };
        let posted = self.time(fields)?;
        let done = self.time(fields)?;
        let bytes = fields.number("a message's size")?;
        // Tags are compared, not computed with: cutting them to 32 bits only asks that no two
        // differ by 2³².
        let tag = fields.number("a message's tag")? as i32;
        self.messages.push(Message { sender, receiver, sent, posted, done, bytes, tag });
        Ok(())
    }

    /// `cpu:application:task:thread` as rank and thread, from 0; nothing where it is another
    /// application's.
    #[inline]
    fn place(&self, fields: &mut Fields) -> Result<Option<(u32, u32)>, Expected> {
        fields.number("the number of a CPU")?;
        if !self.is_of_the_first(fields)? {
            return Ok(None);
        }
        let rank = self.rank(fields)?;
        let thread = fields.small("the number of a thread")?.wrapping_sub(1);
        let known = thread < self.header.tasks[rank as usize].threads;
        if known { Ok(Some((rank, thread))) } else { Err("a thread that the header lists") }
    }

    #[inline]
    fn is_of_the_first(&self, fields: &mut Fields) -> Result<bool, Expected> {
        let number = fields.small("the number of an application")?;
        if (1..=self.header.applications).contains(&number) {
            Ok(number == 1)
        } else {
            Err("an application that the header lists")
        }
    }

    fn rank(&self, fields: &mut Fields) -> Result<u32, Expected> {
        let rank = fields.small("the number of a task")?.wrapping_sub(1);
        if (rank as usize) < self.main.len() {
            Ok(rank)
        } else {
            Err("a task that the header lists")
        }
    }

    #[inline]
    fn time(&self, fields: &mut Fields) -> Result<i64, Expected> {
        let expected = "a time of less than 36 years";
        let units = fields.time(expected)?;
        units.checked_mul(self.header.unit_ns).filter(|ns| *ns <= 1 << 60).ok_or(expected)
    }

    /// Beside other applications Extrae lists theirs under the first one's number: a communicator
    /// with members that the first does not have is another's.
    fn communicator(&mut self, fields: &mut Fields) -> Result<(), Expected> {
        if !self.is_of_the_first(fields)? {
            return Ok(());
        }
        let number = fields.small("the number of a communicator")?;
        let size = fields.small("the size of a communicator")?;
        let mut ranks = Vec::new();
        while !fields.is_empty() {
            match self.rank(fields) {
                Ok(rank) => ranks.push(rank),
                Err(_) if self.header.applications > 1 => return Ok(()),
                Err(expected) => return Err(expected),
            }
        }
        if ranks.len() != size as usize {
            return Err("as many members as the communicator is said to have");
        }
        self.communicators.push(Declared { number, members: Members::Ranks(ranks) });
        Ok(())
    }

    fn intercommunicator(&mut self, fields: &mut Fields) -> Result<(), Expected> {
        if !self.is_of_the_first(fields)? {
            return Ok(());
        }
        let number = fields.small("the number of a communicator")?;
        let first = fields.small("the number of a communicator")?;
        let second = fields.small("the number of a communicator")?;
        self.communicators.push(Declared { number, members: Members::Joined(first, second) });
        Ok(())
    }

    pub(super) fn threads(&self) -> impl Iterator<Item = &Thread> {
        self.main.iter().chain(self.others.values())
    }
}

/// Free of `self`, so that the thread can be used beside the other fields.
#[inline]
fn thread<'a>(
    main: &'a mut [Thread],
    others: &'a mut BTreeMap<(u32, u32), Thread>,
    place: (u32, u32),
) -> &'a mut Thread {
    match place {
        (rank, 0) => &mut main[rank as usize],
        _ => others.entry(place).or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records() -> Records {
        Records::new(Header::parse(b"#Paraver (x):100_ns:1(2):1:2(1:1,2:1),1").unwrap())
    }

    fn take(records: &mut Records, text: &str) -> Result<(), Expected> {
        records.line(&mut Fields::new(text.as_bytes()))
    }

    #[test]
    fn records_that_do_not_keep_their_form_are_refused_by_what_they_lack() {
        for (line, expected) in [
            ("9:1", "a record of kind 1 (state), 2 (event), 3 (message) or c (communicator)"),
            ("2:1:1:3:1:0:1:1", "a task that the header lists"),
            ("2:1:1:0:1:0:1:1", "a task that the header lists"),
            ("2:1:1:1:2:0:1:1", "a thread that the header lists"),
            ("2:1:2:1:1:0:1:1", "an application that the header lists"),
            ("2:1:1:1:1:5:50000001", "a value for each type of event"),
            ("1:1:1:1:1:9:5:1", "a state that ends no earlier than it begins"),
            ("1:1:1:1:1:0:9223372036854775807:1", "a time of less than 36 years"),
            ("3:1:1:1:1:0:0:1:1:2:1:0:0:8", "a message's tag"),
            ("c:1:1:4000000000:1", "as many members as the communicator is said to have"),
        ] {
            assert_eq!(take(&mut records(), line), Err(expected), "{line}");
        }
    }

    #[test]
    fn time_goes_forward_on_each_thread_for_itself() {
        let mut records = records();
        assert_eq!(take(&mut records, "2:1:1:1:1:50:1:1"), Ok(()));
        assert_eq!(take(&mut records, "2:1:1:2:1:40:1:1"), Ok(()));
        assert!(take(&mut records, "2:1:1:1:1:49:1:1").is_err());
    }
}
