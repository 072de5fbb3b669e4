//! The shapes of a block as they are read.

use crate::columns::{ColumnShape, Columns};
use crate::cursor::{Cursor, Damage};
use crate::event::{Operation, Part, Shape};
use crate::wire::class;
use crate::words::{self, Context, Wrong, has_tokens};

use super::layout::BLOCK_TOKENS_MAX;

/// Words that name requests, of all shapes that do: what they mean depends on where they are used.
#[derive(Default)]
pub(super) struct Named {
    words: Vec<i64>,
    /// By shape: the first of its words; twice their number, and 1 more where an event of it takes
    /// a number.
    uses: Vec<(u32, u32)>,
}

/// Reads `count` shapes; their places are yet to come.
pub(super) fn read(
    bytes: &[u8],
    count: usize,
    context: Context,
    named: &mut Named,
    shapes: &mut Vec<ColumnShape>,
) -> Result<(), Damage> {
    const SHAPE_BYTES_MIN: usize = 4;
    let mut from = Cursor::new(bytes);
    if count > bytes.len() / SHAPE_BYTES_MIN {
        return Err(from.damage("a block has more shapes than bytes for them"));
    }
    named.words.clear();
    named.uses.clear();
    shapes.reserve(count);
    let mut words = Words::default();
    for _ in 0..count {
        read_one(&mut from, context, &mut words, named, shapes)?;
    }
    Ok(())
}

/// From where each shape is called.
pub(super) fn read_places(
    bytes: &[u8],
    context: Context,
    shapes: &mut [ColumnShape],
) -> Result<(), Damage> {
    let mut from = Cursor::new(bytes);
    for shape in shapes {
        let place = from.varint()?;
        if place > context.tables.places.paths.len() as u64 {
            return Err(from.damage("a call comes from nowhere"));
        }
        shape.shape.place = place as u32;
    }
    Ok(())
}

/// The words of a shape: memory to be used again.
#[derive(Default)]
struct Words {
    few: [i64; Self::FEW],
    many: Vec<i64>,
}

impl Words {
    /// No call of any but lists of ranks and requests has more.
    const FEW: usize = 16;

    #[inline]
    fn read(&mut self, from: &mut Cursor, count: usize) -> Result<&[i64], Damage> {
        let words = if let Some(few) = self.few.get_mut(..count) {
            few
        } else {
            self.many.resize(count, 0);
            &mut self.many[..]
        };
        from.words(words)?;
        Ok(words)
    }
}

/// Appends one shape. Where no event is like another there are as many as events: each is made
/// where it is kept, and messages, of which there may be that many, are known by their class alone.
#[allow(clippy::inline_always)] // into the loop over shapes
#[inline(always)]
fn read_one(
    from: &mut Cursor,
    context: Context,
    words: &mut Words,
    named: &mut Named,
    shapes: &mut Vec<ColumnShape>,
) -> Result<(), Damage> {
    let part = match from.u8()? {
        0 => Part::Call,
        1 => Part::Enter,
        2 => Part::Leave,
        _ => return Err(from.damage("a shape is not a call, an enter or a leave")),
    };
    let number =
        u16::try_from(from.varint()?).map_err(|_| from.damage("a function was never named"))?;
    let function = context.tables.functions.get(usize::from(number));
    let layer = function.ok_or(from.damage("a function was never named"))?.layer;
    let class = from.u8()?;
    let count = from.count(1)?;
    let words = words.read(from, count)?;
    let wrong = |what| from.damage(what);
    let mut put = |operation: Operation, tokens: &[i64]| {
        let shape = Shape { part, function: number, place: 0, operation };
        let known = named.words.len() as u32;
        let number = tokens.len() as u32;
        named.words.extend_from_slice(tokens);
        named.uses.push((known, number << 1 | u32::from(shape.takes_number())));
        shapes.push(ColumnShape { shape, tokens: number });
    };
    match class {
        class::SEND => put(words::send(words, context).map_err(wrong)?, &[]),
        class::RECEIVE => put(words::receive(words, context).map_err(wrong)?, &[]),
        _ if has_tokens(class) => {
            let (operation, tokens) = words::nameless(class, words).map_err(wrong)?;
            put(operation, tokens);
        }
        _ => put(words::operation(class, words, layer, 0, context).map_err(wrong)?, &[]),
    }
    Ok(())
}

impl Named {
    /// Appends to the columns what their events name; `next` is the first number that one takes.
    pub(super) fn resolve(
        &self,
        mut next: u64,
        context: Context,
        columns: &mut Columns,
    ) -> Result<(), Wrong> {
        if self.words.is_empty() {
            return Ok(());
        }
        for &shape in &columns.shape_of {
            let (first, use_of) = self.uses[usize::from(shape)];
            next += u64::from(use_of & 1);
            let number = use_of as usize >> 1;
            if number == 0 {
                continue;
            }
            if columns.tokens.len() + number > BLOCK_TOKENS_MAX {
                return Err("a block completes too many requests");
            }
            for &word in &self.words[first as usize..][..number] {
                columns.tokens.push(words::token(word, next, context)?);
            }
        }
        Ok(())
    }
}
