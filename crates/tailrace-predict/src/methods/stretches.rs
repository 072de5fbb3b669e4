//! What each rank writes into an output without anything between ranks in between.

use tailrace_replay::Access;
use tailrace_replay::program::FileCall;

use super::families::Families;
use super::libraries::Keeps;
use super::notes::{Note, What};

/// Offset and bytes.
pub(super) type Piece = (i64, i64);

/// One write, and looks in the file that find nothing behind it; or one call of MPI-IO with the
/// file calls in it.
#[derive(Clone, Debug, Default)]
pub(super) struct Part {
    pub begin: i64,
    pub end: i64,
    /// Numbers of the rank's file calls, and of those that look in the file behind it.
    pub calls: Vec<u32>,
    pub looks: Vec<u32>,
    pub pieces: Vec<Piece>,
    /// Of the rank's data, which need not be what it wrote.
    pub bytes: i64,
    /// What a library would keep of it.
    pub keeps: Keeps,
}

impl Part {
    /// All of its file calls.
    pub(super) fn all_calls(&self) -> impl Iterator<Item = u32> {
        self.calls.iter().chain(&self.looks).copied()
    }
}

/// Writes of a rank into one family of files, one after another.
#[derive(Clone, Debug)]
pub(super) struct Stretch {
    pub family: u32,
    pub rank: u32,
    pub parts: Vec<Part>,
    /// When the rank's last stretch ended.
    pub after: i64,
    /// How often all ranks had met before.
    pub epoch: u32,
    /// Numbers of the rank's notes of what it received since its last stretch, and since all met.
    pub received: Vec<u32>,
    /// The n-th collective write of a communicator.
    pub together: Option<(u32, u32)>,
}

impl Stretch {
    pub(super) fn begin(&self) -> i64 {
        self.parts.first().map_or(0, |part| part.begin)
    }

    pub(super) fn end(&self) -> i64 {
        self.parts.last().map_or(0, |part| part.end)
    }

    pub(super) fn bytes(&self) -> i64 {
        self.parts.iter().map(|part| part.bytes).sum()
    }

    pub(super) fn pieces(&self) -> impl Iterator<Item = Piece> {
        self.parts.iter().flat_map(|part| part.pieces.iter().copied())
    }

    /// Whether it wrote its data itself, with what may lie in their gaps: whoever has its data
    /// written by others makes no writes, or fewer than it has data.
    pub(super) fn is_by_itself(&self) -> bool {
        self.pieces().map(|(_, bytes)| bytes).sum::<i64>() >= self.bytes()
    }

    /// Whether what it wrote is its data and nothing else.
    pub(super) fn is_exact(&self) -> bool {
        self.pieces().map(|(_, bytes)| bytes).sum::<i64>() == self.bytes()
    }
}

struct Builder<'a> {
    families: &'a Families,
    rank: u32,
    done: Vec<Stretch>,
    /// The last of `done` goes on.
    is_open: bool,
    /// Until when the last part is a call of MPI-IO.
    inside: i64,
    epoch: u32,
    received: Vec<u32>,
}

/// In order of time.
pub(super) fn stretches(
    rank: u32,
    notes: &[Note],
    calls: &[FileCall],
    families: &Families,
) -> Vec<Stretch> {
    let (is_open, inside, epoch) = (false, i64::MIN, 0);
    let (done, received) = (Vec::new(), Vec::new());
    let mut builder = Builder { families, rank, done, is_open, inside, epoch, received };
    let mut next = 0;
    for (call, number) in calls.iter().zip(0..) {
        while notes.get(next).is_some_and(|note| note.begin <= call.begin) {
            builder.note(&notes[next], next as u32);
            next += 1;
        }
        builder.call(call, number);
    }
    for (note, number) in notes[next..].iter().zip(next as u32..) {
        builder.note(note, number);
    }
    builder.done
}

impl Builder<'_> {
    fn note(&mut self, note: &Note, number: u32) {
        if let What::Wrote { file, bytes, together, keeps } = note.what {
            if let Some(family) = self.families.find(file) {
                let Note { begin, end, .. } = *note;
                self.inside = end;
                let part = Part { begin, end, bytes: bytes as i64, keeps, ..Part::default() };
                self.push(family, part, together);
            }
            return;
        }
        self.is_open = false;
        match note.what {
            What::Received { .. } => self.received.push(number),
            What::Gathered { gathering, .. } if gathering.root == self.rank => {
                self.received.push(number);
            }
            What::Met => {
                self.epoch += 1;
                self.received.clear();
            }
            _ => {}
        }
    }

    fn push(&mut self, family: u32, part: Part, together: Option<(u32, u32)>) {
        let goes_on = self.is_open && together.is_none();
        self.is_open = together.is_none();
        if let Some(last) = self.done.last_mut()
            && goes_on
            && last.family == family
        {
            last.parts.push(part);
            return;
        }
        let (rank, epoch) = (self.rank, self.epoch);
        let after = self.done.last().map_or(i64::MIN, Stretch::end);
        let mut received = std::mem::take(&mut self.received);
        if together.is_some() {
            received.clear();
        }
        let parts = vec![part];
        self.done.push(Stretch { family, rank, parts, after, epoch, received, together });
    }

    fn call(&mut self, call: &FileCall, number: u32) {
        let piece = (call.access == Access::Write && call.bytes > 0)
            .then_some((call.offset.unwrap_or(0), call.bytes as i64));
        if call.begin < self.inside {
            if let Some(part) = self.done.last_mut().and_then(|stretch| stretch.parts.last_mut()) {
                part.calls.push(number);
                part.pieces.extend(piece);
            }
            return;
        }
        let family = self.families.find(call.file);
        let looks = call.access == Access::Read && call.bytes == 0;
        if looks
            && self.is_open
            && let Some(last) = self.done.last_mut().filter(|last| Some(last.family) == family)
        {
            last.parts.last_mut().into_iter().for_each(|part| part.looks.push(number));
            return;
        }
        if let (Some(piece), Some(family)) = (piece, family) {
            let FileCall { begin, end, .. } = *call;
            let (calls, pieces) = (vec![number], vec![piece]);
            let part = Part { begin, end, calls, pieces, bytes: piece.1, ..Part::default() };
            self.push(family, part, None);
        }
    }
}
