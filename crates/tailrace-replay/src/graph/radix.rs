//! Sorting keys digit by digit: of many runs that takes fewer steps than merging two by two.

/// Bits of a digit at most, and digits at most: so many places to write to stay in the cache.
const BITS: u32 = 11;
const PLACES: usize = 1 << BITS;
const DIGITS: usize = 3;

/// Steps that a key takes, about: to be counted, to find its place for a digit, and to be merged
/// with those of another run.
const COUNTED: usize = 16;
const PLACED: usize = 13;
const MERGED: usize = 20;
/// Fewer keys are not worth going through all places.
const FEW: usize = 1 << 10;

/// Buffers are kept from call to call.
#[derive(Default)]
pub(crate) struct Sorter {
    sorted: Vec<u64>,
    spare: Vec<u64>,
    /// By digit: how many keys have each value, then where the next of them belongs.
    next: Vec<[u32; PLACES]>,
}

/// How keys are cut into digits: what they are more than `least`, but for the `lowest` bits.
#[derive(Clone, Copy)]
struct Digits {
    least: u64,
    lowest: u32,
    number: usize,
    bits: u32,
}

impl Digits {
    /// `None`: merging takes fewer steps.
    fn of(runs: &[&[u64]], lowest: u32) -> Option<Self> {
        let least = *runs.iter().filter_map(|run| run.first()).min()?;
        let most = *runs.iter().filter_map(|run| run.last()).max()?;
        let least = least >> lowest << lowest;
        let span = u64::BITS - (most.checked_sub(least)? >> lowest).leading_zeros();
        let number = span.div_ceil(BITS).max(1);
        let bits = span.div_ceil(number).max(1);
        let digits = Self { least, lowest, number: number as usize, bits };
        digits.is_worth_it(runs).then_some(digits)
    }

    fn is_worth_it(self, runs: &[&[u64]]) -> bool {
        let keys: usize = runs.iter().map(|run| run.len()).sum();
        let merges = (usize::BITS - (runs.len() - 1).leading_zeros()) as usize;
        let steps = COUNTED + PLACED * self.number;
        self.number <= DIGITS && keys >= FEW && steps < MERGED * merges
    }

    /// Which value a digit of a key has.
    fn place(self, digit: usize) -> impl Fn(&u64) -> usize {
        let Self { least, lowest, bits, .. } = self;
        let (shift, mask) = (lowest + digit as u32 * bits, (1 << bits) - 1);
        move |key| ((key - least) >> shift) as usize & mask & (PLACES - 1)
    }
}

impl Sorter {
    /// All keys of the runs in order.
    pub(crate) fn sorted(&self) -> &[u64] {
        &self.sorted
    }

    /// Sorts the runs' keys, unless one is not in order, or merging takes fewer steps. The last
    /// bits, `lowest` of them, are the same in all of a run, and runs come in their order.
    pub(crate) fn sort(&mut self, runs: &[&[u64]], lowest: u32) -> bool {
        let Some(digits) = Digits::of(runs, lowest) else { return false };
        if !runs.iter().all(|run| run.is_sorted()) {
            return false;
        }
        let Self { sorted, spare, next } = self;
        next.clear();
        next.resize(digits.number, [0; PLACES]);
        sorted.clear();
        for run in runs {
            sorted.extend_from_slice(run);
        }
        for (digit, next) in next.iter_mut().enumerate() {
            let place = digits.place(digit);
            for key in &*sorted {
                next[place(key)] += 1;
            }
        }
        spare.resize(sorted.len(), 0);
        for (digit, next) in next.iter_mut().enumerate() {
            let mut before = 0;
            for next in &mut next[..1 << digits.bits] {
                before += std::mem::replace(next, before);
            }
            let place = digits.place(digit);
            for key in &*sorted {
                let next = &mut next[place(key)];
                spare[*next as usize] = *key;
                *next += 1;
            }
            std::mem::swap(sorted, spare);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As good as random, in order, and each with the run's number below.
    fn run(number: u64, length: u64, span: u64) -> Vec<u64> {
        let mut noise = 88_172_645_463_325_252_u64 + number;
        let key = |_| {
            noise ^= noise << 13;
            noise ^= noise >> 7;
            noise ^= noise << 17;
            ((1 << 50) + noise % span) << 6 | number
        };
        let mut keys: Vec<u64> = (0..length).map(key).collect();
        keys.sort_unstable();
        keys
    }

    #[test]
    fn many_runs_are_sorted() {
        for (length, span) in [(40, 1 << 30), (100, 1 << 20), (1000, 1 << 33), (100, 3)] {
            let runs: Vec<Vec<u64>> = (0..64).map(|number| run(number, length, span)).collect();
            let slices: Vec<&[u64]> = runs.iter().map(Vec::as_slice).collect();
            let mut expected = runs.concat();
            expected.sort_unstable();
            let mut sorter = Sorter::default();
            assert!(sorter.sort(&slices, 6) && sorter.sorted() == expected, "{span}");
        }
    }

    #[test]
    fn what_is_not_worth_it_or_not_in_order_is_left() {
        let of = |number: u64, length, span| -> Vec<Vec<u64>> {
            (0..number).map(|number| run(number, length, span)).collect()
        };
        let sort = |runs: &[Vec<u64>]| {
            let slices: Vec<&[u64]> = runs.iter().map(Vec::as_slice).collect();
            Sorter::default().sort(&slices, 6)
        };
        assert!(!sort(&[]) && !sort(&of(1, 2000, 1 << 20)) && !sort(&of(4, 2000, 1 << 20)));
        assert!(!sort(&of(64, 10, 1 << 20)) && !sort(&of(64, 100, 1 << 40)));
        let mut runs = of(64, 100, 1 << 20);
        assert!(sort(&runs));
        runs[7].swap(3, 4);
        assert!(!sort(&runs));
    }
}
