//! The shape numbers of a stream, and what they stand for in the run.

use std::sync::Arc;

use crate::coded::CodedShape;
use crate::cursor::Cursor;
use crate::event::{Layer, Part, Progress};
use crate::limits::SHAPE_WORDS_MAX;
use crate::wire::{self, class, file};
use crate::words::{self, Context, Wrong};

use super::run::Stream;
use super::scan::Define;
use super::translate::Translation;

/// A shape number of the stream, made ready for use.
#[derive(Default)]
pub(super) struct Slot {
    pub defined: bool,
    pub function: u16,
    pub class: u8,
    /// From where it is called, in numbers of the run.
    pub place: u32,
    pub raw: Vec<i64>,
    /// Its file is the one of the last record *path*.
    pub latest: bool,
    /// Words that are yet to come.
    pub missing: u64,
    /// The longest distance back to an own request.
    pub reach: u64,
    /// By part; made at first use.
    pub coded: [Option<Arc<CodedShape>>; 3],
}

impl Slot {
    pub(super) fn define(&mut self, define: &Define, stream: &Stream) {
        let mut from = Cursor::new(define.words);
        if define.class != class::MORE {
            self.function = stream.functions.get(&define.function).copied().unwrap_or(0);
            self.defined = true;
            self.class = define.class;
            self.place = 0;
            self.missing = define.total;
            self.raw.clear();
            self.reach = 0;
        }
        let here = if define.class == class::MORE { define.total } else { self.missing };
        for _ in 0..here.min(self.missing) {
            let Ok(word) = from.word() else { break };
            self.missing -= 1;
            if self.raw.len() < SHAPE_WORDS_MAX {
                self.raw.push(word);
            }
        }
        if define.class != class::MORE {
            let number = define.place.or_else(|| u32::try_from(from.varint().ok()?).ok());
            let index = number.and_then(|number| (number as usize).checked_sub(1));
            self.place =
                index.and_then(|index| stream.places.get(index)).copied().unwrap_or_default();
        }
        self.latest = self.class == class::FILE
            && self.raw.len() >= file::WORDS
            && self.raw[file::FLAGS] & file::LATEST != 0;
        if self.latest {
            self.raw[file::FLAGS] &= !file::LATEST;
        }
        self.coded = Default::default();
    }

    /// The latest file by its number, as if the stream had said that.
    pub(super) fn name_latest(&mut self, number: u32, translation: &Translation) {
        if !self.latest || self.raw[file::FILE] == i64::from(number) {
            return;
        }
        self.raw[file::FILE] = i64::from(number);
        let index = translation.numbers.files.get(number);
        for coded in &mut self.coded {
            // Nothing but the file's index changes.
            let known = coded.take().filter(|coded| coded.class == class::FILE);
            *coded = known.zip(index).map(|(shape, index)| {
                let mut shape = Arc::unwrap_or_clone(shape);
                shape.words[file::FILE] = index.into();
                Arc::new(shape)
            });
        }
    }

    pub(super) fn coded(
        &mut self,
        part: Part,
        translation: &Translation,
        context: Context,
        not_understood: &mut u64,
    ) -> Arc<CodedShape> {
        if let Some(known) = &self.coded[part as usize] {
            return known.clone();
        }
        let coded = understood(self.class, &self.raw, self.function, translation, context);
        // What a call will turn out to be is not all known when it is entered.
        *not_understood += u64::from(coded.is_err() && part != Part::Enter);
        let (class, words) = match coded {
            Ok(words) => (self.class, words),
            Err(_) => not_understandable(self.class, &self.raw, context),
        };
        let tokens = words::nameless(class, &words).map_or(&[][..], |(_, tokens)| tokens);
        self.reach = tokens.iter().copied().max().unwrap_or(0).max(0) as u64;
        let coded =
            Arc::new(CodedShape { part, function: self.function, class, place: self.place, words });
        self.coded[part as usize] = Some(coded.clone());
        coded
    }

    pub(super) fn with_distance(
        &mut self,
        coded: Arc<CodedShape>,
        part: Part,
        distance: i64,
    ) -> Arc<CodedShape> {
        if coded.words[file::OFFSET] == distance {
            return coded;
        }
        let mut shape = (*coded).clone();
        shape.words[file::OFFSET] = distance;
        let shape = Arc::new(shape);
        self.coded[part as usize] = Some(shape.clone());
        shape
    }
}

/// Words in numbers of the run that every reader of the packed trace will understand.
fn understood(
    class: u8,
    raw: &[i64],
    function: u16,
    translation: &Translation,
    context: Context,
) -> Result<Vec<i64>, Wrong> {
    let words = translation.words(class, raw)?;
    let layer = context
        .tables
        .functions
        .get(usize::from(function))
        .map_or(Layer::Mpi, |function| function.layer);
    // Distances are looked at when the call comes: what is asked here is all the rest.
    words::operation(class, &words, layer, i64::MAX as u64, context)?;
    Ok(words)
}

/// What orders nothing, but still takes its number where it names a request; without MPI there are
/// none.
fn not_understandable(class: u8, raw: &[i64], context: Context) -> (u8, Vec<i64>) {
    match words::progress(class, raw) {
        _ if context.tables.communicators.is_empty() => (class::PLAIN, Vec::new()),
        Progress::Blocking => (class::PLAIN, Vec::new()),
        Progress::Started => (class::REQUEST, vec![wire::flag::STARTS]),
        Progress::Persistent => (class::REQUEST, vec![wire::flag::PERSISTENT]),
    }
}
