//! A shape's words in numbers of its process become words in numbers of the run.

use hashbrown::HashMap;

use crate::wire::{
    self, buffered, class, collective, communicator, complete, file, flag, one_sided, probe,
    receive, send, send_receive, start, token,
};
use crate::words::{TOO_FEW, Wrong};

use super::merge::{Numbers, Seen};

const UNKNOWN_COMMUNICATOR: Wrong = "a communicator was never defined";

/// What the numbers of a stream mean.
pub(crate) struct Translation<'a> {
    pub numbers: &'a Numbers,
    /// Location of each thread of the process.
    pub threads: &'a HashMap<u32, u32>,
    pub own_rank: u32,
    pub world_base: u32,
}

/// What a completed request turned out to have received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Completion {
    /// Distance back from the next number of the thread; not positive where another thread started
    /// it.
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
    pub(crate) fn words(&self, class: u8, raw: &[i64]) -> Result<Vec<i64>, Wrong> {
        let mut words = raw.to_vec();
        match class {
            class::FILE => self.file(&mut words)?,
            class::BUFFERED => {
                self.number_of_file(words.get_mut(buffered::FILE).ok_or(TOO_FEW)?)?;
            }
            class::SEND => self.peers(&mut words, &[send::PEER])?,
            class::RECEIVE => self.peers(&mut words, &[receive::PEER, receive::ACTUAL_PEER])?,
            class::SEND_RECEIVE => {
                use send_receive::{ACTUAL_PEER, RECEIVE_PEER, SEND_PEER};
                self.peers(&mut words, &[SEND_PEER, RECEIVE_PEER, ACTUAL_PEER])?;
            }
            class::PROBE => self.peers(&mut words, &[probe::PEER, probe::ACTUAL_PEER])?,
            class::COLLECTIVE => self.collective(&mut words)?,
            class::COMPLETE => words = self.complete(raw)?,
            class::START => {
                let count = list(raw, start::COUNT, 1)?;
                words.truncate(start::FIRST + count);
                words[start::FIRST..].iter_mut().try_for_each(|token| self.token(token))?;
            }
            class::ON_REQUEST => {
                self.token(words.get_mut(wire::on_request::TOKEN).ok_or(TOO_FEW)?)?;
            }
            class::COMMUNICATOR => self.creation(&mut words)?,
            class::ONE_SIDED => self.one_sided(&mut words)?,
            _ => {}
        }
        Ok(words)
    }

    /// World rank of a rank in the communicator with this number in the process.
    pub(crate) fn peer(&self, communicator: i64, rank: i64) -> Result<i64, Wrong> {
        member(self.seen(communicator)?, rank)
    }

    fn seen(&self, number: i64) -> Result<&Seen, Wrong> {
        let number = u32::try_from(number).map_err(|_| UNKNOWN_COMMUNICATOR)?;
        self.numbers.communicators.get(&number).ok_or(UNKNOWN_COMMUNICATOR)
    }

    fn file(&self, words: &mut [i64]) -> Result<(), Wrong> {
        let words = words.get_mut(..file::WORDS).ok_or(TOO_FEW)?;
        self.number_of_file(&mut words[file::FILE])?;
        // Only collective calls need the communicator, and it may be freed and unknown long before
        // the file is closed.
        let seen = self.seen(words[file::COMMUNICATOR]);
        words[file::COMMUNICATOR] = seen.map_or(wire::peer::NOBODY, |seen| i64::from(seen.index));
        Ok(())
    }

    fn number_of_file(&self, word: &mut i64) -> Result<(), Wrong> {
        let number = u32::try_from(*word).ok();
        let number = number.and_then(|number| self.numbers.files.get(number));
        *word = i64::from(number.ok_or("a file was never defined")?);
        Ok(())
    }

    /// The first word is the communicator, in all these classes; those at `places` are ranks in it.
    fn peers(&self, words: &mut [i64], places: &[usize]) -> Result<(), Wrong> {
        let seen = self.seen(*words.get(send::COMMUNICATOR).ok_or(TOO_FEW)?)?;
        for &place in places {
            let word = words.get_mut(place).ok_or(TOO_FEW)?;
            *word = member(seen, *word)?;
        }
        words[send::COMMUNICATOR] = i64::from(seen.index);
        Ok(())
    }

    fn collective(&self, words: &mut [i64]) -> Result<(), Wrong> {
        if *words.get(collective::ROOT).ok_or(TOO_FEW)? == wire::peer::ROOT {
            let seen = self.seen(words[collective::COMMUNICATOR])?;
            words[collective::COMMUNICATOR] = i64::from(seen.index);
            words[collective::ROOT] = i64::from(self.own_rank);
            return Ok(());
        }
        self.peers(words, &[collective::ROOT])
    }

    /// Only the tokens are kept: what wildcards matched is written where the receive was posted.
    fn complete(&self, raw: &[i64]) -> Result<Vec<i64>, Wrong> {
        let mut words = vec![*raw.get(complete::FLAGS).ok_or(TOO_FEW)?, listed(raw)? as i64];
        for completion in completions(raw)? {
            let mut token = completion.token;
            self.token(&mut token)?;
            words.push(token);
        }
        Ok(words)
    }

    /// A distance stays; another thread becomes its location.
    fn token(&self, word: &mut i64) -> Result<(), Wrong> {
        if *word > 0 {
            return Ok(());
        }
        let coded = !*word;
        let thread = (coded >> token::THREAD_SHIFT) as u32;
        let location =
            *self.threads.get(&thread).ok_or("a request belongs to no thread of the process")?;
        let number = coded & token::NUMBER_MASK;
        *word = !((i64::from(location) << token::THREAD_SHIFT) + number);
        Ok(())
    }

    fn creation(&self, words: &mut [i64]) -> Result<(), Wrong> {
        let parent = words.get_mut(communicator::PARENT).ok_or(TOO_FEW)?;
        if *parent != wire::peer::NOBODY {
            *parent = i64::from(self.seen(*parent)?.index);
        }
        if let Some(new) = words.get_mut(communicator::NEW) {
            *new = self.seen(*new).map_or(wire::peer::NOBODY, |seen| i64::from(seen.index));
        }
        Ok(())
    }

    fn one_sided(&self, words: &mut [i64]) -> Result<(), Wrong> {
        use one_sided::{COMMUNICATOR, COUNT, FIRST, TARGET};
        let count = list(words, COUNT, 1)?;
        let seen = self.seen(words[COMMUNICATOR])?;
        words[COMMUNICATOR] = i64::from(seen.index);
        words[TARGET] = member(seen, words[TARGET]).unwrap_or(wire::peer::NOBODY);
        let world_base = i64::from(self.world_base);
        words[FIRST..FIRST + count].iter_mut().for_each(|rank| *rank += world_base);
        Ok(())
    }
}

fn member(seen: &Seen, rank: i64) -> Result<i64, Wrong> {
    let group = seen.remote.as_ref().unwrap_or(&seen.members);
    match usize::try_from(rank) {
        Ok(rank) => group
            .get(rank)
            .map(|&world| i64::from(world))
            .ok_or("a rank is not in its communicator"),
        Err(_) => Ok(rank),
    }
}

/// The count at `place`, if as many groups of `each` words follow it.
fn list(words: &[i64], place: usize, each: usize) -> Result<usize, Wrong> {
    let count = usize::try_from(*words.get(place).ok_or(TOO_FEW)?).map_err(|_| TOO_FEW)?;
    let there = (words.len() - place - 1) / each;
    if count <= there { Ok(count) } else { Err(TOO_FEW) }
}

/// How many requests a raw *complete* completed.
fn listed(raw: &[i64]) -> Result<usize, Wrong> {
    list(raw, complete::COUNT, complete::RAW_WORDS_EACH)
}

/// What a raw *complete* completed.
pub(crate) fn completions(raw: &[i64]) -> Result<impl Iterator<Item = Completion>, Wrong> {
    let words = listed(raw)? * complete::RAW_WORDS_EACH;
    let triples =
        raw[complete::FIRST..complete::FIRST + words].chunks_exact(complete::RAW_WORDS_EACH);
    Ok(triples.map(|triple| Completion { token: triple[0], peer: triple[1], tag: triple[2] }))
}

/// Whether these raw words post a receive, blocking or not, that does not say what it will match;
/// of persistent ones nothing is known.
pub(crate) fn posts_wildcard(class: u8, raw: &[i64]) -> bool {
    let Some(asked) = wire::Asked::of(class) else { return false };
    let word = |place: usize| raw.get(place).copied().unwrap_or(0);
    let kinds = word(asked.flags) & (flag::STARTS | flag::PERSISTENT);
    let any = word(asked.peer) == wire::peer::ANY || word(asked.tag) == wire::ANY_TAG;
    kinds == flag::STARTS && any
}
