//! A shape's words in numbers of its process become words in numbers of the run.

use std::collections::HashMap;

use crate::words::{STARTS, TOKEN_THREAD_SHIFT, Wrong, class};

use super::merge::{Numbers, Seen};

/// MPI_PROC_NULL and wildcards are negative; MPI_ROOT, as the root of an intercommunicator's collective.
const NOBODY: i64 = -1;
const MPI_ROOT: i64 = -3;
const UNKNOWN_COMMUNICATOR: Wrong = "a communicator was never defined";

/// What the numbers of a stream mean.
pub struct Translation<'a> {
    pub numbers: &'a Numbers,
    /// Location of each thread of the process.
    pub threads: &'a HashMap<u32, u32>,
    pub own_rank: u32,
    pub world_base: u32,
}

/// What a completed request turned out to have received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Distance back from the next number of the thread; not positive where another thread started it.
    pub token: i64,
    /// As the stream has it: a rank in the communicator of the receive.
    pub peer: i64,
    pub tag: i64,
}

impl Translation<'_> {
    /// The words of the same class in a packed trace.
    ///
    /// # Errors
    /// If words are missing or point to what was never defined.
    pub fn words(&self, class: u8, raw: &[i64]) -> Result<Vec<i64>, Wrong> {
        let mut words = raw.to_vec();
        match class {
            class::FILE => self.file(&mut words)?,
            class::SEND => self.peers(&mut words, &[1])?,
            class::RECEIVE => self.peers(&mut words, &[1, 5])?,
            class::SEND_RECEIVE => self.peers(&mut words, &[1, 5, 8])?,
            class::PROBE => self.peers(&mut words, &[1, 4])?,
            class::COLLECTIVE => self.collective(&mut words)?,
            class::COMPLETE => words = self.complete(raw)?,
            class::START => {
                let count = list(raw, 0, 1)?;
                words.truncate(1 + count);
                words[1..].iter_mut().try_for_each(|token| self.token(token))?;
            }
            class::FORGET => self.token(words.first_mut().ok_or(TOO_FEW)?)?,
            class::COMMUNICATOR => self.creation(&mut words)?,
            class::ONE_SIDED => self.one_sided(&mut words)?,
            _ => {}
        }
        Ok(words)
    }

    /// World rank of a rank in the communicator with this number in the process.
    pub fn peer(&self, communicator: i64, rank: i64) -> Result<i64, Wrong> {
        member(self.seen(communicator)?, rank)
    }

    fn seen(&self, number: i64) -> Result<&Seen, Wrong> {
        let number = u32::try_from(number).map_err(|_| UNKNOWN_COMMUNICATOR)?;
        self.numbers.communicators.get(&number).ok_or(UNKNOWN_COMMUNICATOR)
    }

    fn file(&self, words: &mut [i64]) -> Result<(), Wrong> {
        let [_, _, file, .., communicator] = words.get_mut(..7).ok_or(TOO_FEW)? else { return Err(TOO_FEW) };
        let number = u32::try_from(*file).ok().and_then(|file| self.numbers.files.get(&file));
        *file = i64::from(*number.ok_or("a file was never defined")?);
        // Only collective calls need the communicator, and it may be freed and unknown long before the file is closed.
        *communicator = self.seen(*communicator).map_or(NOBODY, |seen| i64::from(seen.index));
        Ok(())
    }

    /// Word 0 is the communicator, those at `places` are ranks in it.
    fn peers(&self, words: &mut [i64], places: &[usize]) -> Result<(), Wrong> {
        let seen = self.seen(*words.first().ok_or(TOO_FEW)?)?;
        for &place in places {
            let word = words.get_mut(place).ok_or(TOO_FEW)?;
            *word = member(seen, *word)?;
        }
        words[0] = i64::from(seen.index);
        Ok(())
    }

    fn collective(&self, words: &mut [i64]) -> Result<(), Wrong> {
        if *words.get(2).ok_or(TOO_FEW)? == MPI_ROOT {
            words[0] = i64::from(self.seen(words[0])?.index);
            words[2] = i64::from(self.own_rank);
            return Ok(());
        }
        self.peers(words, &[2])
    }

    /// Only the tokens are kept: what wildcards matched is written where the receive was posted.
    fn complete(&self, raw: &[i64]) -> Result<Vec<i64>, Wrong> {
        let mut words = vec![*raw.first().ok_or(TOO_FEW)?, list(raw, 1, 3)? as i64];
        for completion in completions(raw)? {
            let mut token = completion.token;
            self.token(&mut token)?;
            words.push(token);
        }
        Ok(words)
    }

    /// A distance stays; another thread becomes its location.
    fn token(&self, token: &mut i64) -> Result<(), Wrong> {
        if *token > 0 {
            return Ok(());
        }
        let coded = !*token;
        let thread = (coded >> TOKEN_THREAD_SHIFT) as u32;
        let location = *self.threads.get(&thread).ok_or("a request belongs to no thread of the process")?;
        let number = coded & ((1 << TOKEN_THREAD_SHIFT) - 1);
        *token = !((i64::from(location) << TOKEN_THREAD_SHIFT) + number);
        Ok(())
    }

    fn creation(&self, words: &mut [i64]) -> Result<(), Wrong> {
        let parent = words.first_mut().ok_or(TOO_FEW)?;
        *parent = i64::from(self.seen(*parent)?.index);
        if let Some(new) = words.get_mut(1) {
            *new = self.seen(*new).map_or(NOBODY, |seen| i64::from(seen.index));
        }
        Ok(())
    }

    fn one_sided(&self, words: &mut [i64]) -> Result<(), Wrong> {
        let count = list(words, 5, 1)?;
        let seen = self.seen(words[1])?;
        words[1] = i64::from(seen.index);
        words[2] = member(seen, words[2]).unwrap_or(NOBODY);
        words[6..6 + count].iter_mut().for_each(|rank| *rank += i64::from(self.world_base));
        Ok(())
    }
}

const TOO_FEW: Wrong = "a shape has too few words";

fn member(seen: &Seen, rank: i64) -> Result<i64, Wrong> {
    let group = seen.remote.as_ref().unwrap_or(&seen.members);
    match usize::try_from(rank) {
        Ok(rank) => group.get(rank).map(|&world| i64::from(world)).ok_or("a rank is not in its communicator"),
        Err(_) => Ok(rank),
    }
}

/// The count at `place`, if as many groups of `each` words follow it.
fn list(words: &[i64], place: usize, each: usize) -> Result<usize, Wrong> {
    let count = usize::try_from(*words.get(place).ok_or(TOO_FEW)?).map_err(|_| TOO_FEW)?;
    let there = (words.len() - place - 1) / each;
    if count <= there { Ok(count) } else { Err(TOO_FEW) }
}

/// What a raw *complete* completed.
pub fn completions(raw: &[i64]) -> Result<impl Iterator<Item = Completion>, Wrong> {
    let count = list(raw, 1, 3)?;
    let triples = raw[2..2 + 3 * count].chunks_exact(3);
    Ok(triples.map(|triple| Completion { token: triple[0], peer: triple[1], tag: triple[2] }))
}

/// Whether these raw words post a receive, blocking or not, that does not say what it will match; of persistent ones nothing is known.
pub fn posts_wildcard(class: u8, raw: &[i64]) -> bool {
    let word = |place: usize| raw.get(place).copied().unwrap_or(0);
    class == class::RECEIVE && word(4) & (STARTS | 2) == STARTS && (word(1) == -2 || word(2) == -1)
}
