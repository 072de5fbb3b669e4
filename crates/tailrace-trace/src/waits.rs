//! Waits for a processor: brought in order, kept few, as bytes.

use crate::cursor::{Cursor, Damage, put_varint, put_word};
use crate::limits::NS_MAX;
use crate::tables::Wait;

/// Stretches shorter than this are told apart for as long as there is room.
const WIDTH_NS: i64 = 1_000_000;

/// Takes neighbours together until no more than `most` are left: those that span least first, so
/// that no stretch is longer than it must be.
pub(crate) fn thin(waits: &mut Vec<Wait>, most: usize) {
    let mut width_ns = WIDTH_NS;
    while waits.len() > most.max(1) {
        width_ns = width_ns.saturating_mul(2);
        waits.dedup_by(|next, kept| {
            let joined = next.end_ns.saturating_sub(kept.begin_ns) <= width_ns;
            if joined {
                kept.end_ns = next.end_ns;
                kept.waited_ns = kept.waited_ns.saturating_add(next.waited_ns);
            }
            joined
        });
    }
}

/// Only what can be: in order, apart from each other, waiting no longer than they last.
pub(crate) fn sound(waits: impl Iterator<Item = Wait>) -> Vec<Wait> {
    let mut reached_ns = -NS_MAX;
    let mut keep = |wait: &Wait| {
        let sound = wait.begin_ns >= reached_ns && wait.end_ns > wait.begin_ns;
        let sound = sound && wait.end_ns <= NS_MAX && wait.waited_ns > 0;
        reached_ns = if sound { wait.end_ns } else { reached_ns };
        sound
    };
    let cut =
        |wait: Wait| Wait { waited_ns: wait.waited_ns.min(wait.end_ns - wait.begin_ns), ..wait };
    waits.filter(|wait| keep(wait)).map(cut).collect()
}

/// Gap to the one before, length, waited time.
pub(crate) fn put(to: &mut Vec<u8>, waits: &[Wait]) {
    put_varint(to, waits.len() as u64);
    let mut reached_ns = 0;
    for wait in waits {
        put_word(to, wait.begin_ns - reached_ns);
        put_varint(to, (wait.end_ns - wait.begin_ns) as u64);
        put_varint(to, wait.waited_ns as u64);
        reached_ns = wait.end_ns;
    }
}

/// # Errors
/// If they are out of order, or a wait is longer than the stretch that holds it.
pub(crate) fn read(from: &mut Cursor) -> Result<Vec<Wait>, Damage> {
    let count = from.count(3)?;
    let mut waits: Vec<Wait> = Vec::with_capacity(count);
    for _ in 0..count {
        let reached_ns = waits.last().map_or(0, |wait| wait.end_ns);
        let (gap_ns, length_ns, waited_ns) = (from.word()?, from.varint()?, from.varint()?);
        let first = waits.is_empty();
        let begin_ns = reached_ns.checked_add(gap_ns).filter(|ns| ns.abs() <= NS_MAX);
        let begin_ns = begin_ns.filter(|_| first || gap_ns >= 0);
        let end_ns = begin_ns.and_then(|ns| ns.checked_add_unsigned(length_ns));
        let (Some(begin_ns), Some(end_ns)) = (begin_ns, end_ns.filter(|&ns| ns <= NS_MAX)) else {
            return Err(from.damage("a wait for a processor is out of range"));
        };
        if waited_ns > length_ns {
            return Err(from.damage("a wait for a processor is longer than its time"));
        }
        waits.push(Wait { begin_ns, end_ns, waited_ns: waited_ns as i64 });
    }
    Ok(waits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(begin_ns: i64, end_ns: i64, waited_ns: i64) -> Wait {
        Wait { begin_ns, end_ns, waited_ns }
    }

    #[test]
    fn bytes_come_back() {
        let waits = vec![wait(-5, 10, 15), wait(10, 12, 1), wait(NS_MAX - 9, NS_MAX, 3)];
        let mut bytes = Vec::new();
        put(&mut bytes, &waits);
        assert_eq!(read(&mut Cursor::new(&bytes)).unwrap(), waits);
    }

    #[test]
    fn what_cannot_be_is_damage() {
        for waits in [
            vec![wait(0, 10, 11)],
            vec![wait(0, 10, 1), wait(9, 20, 1)],
            vec![wait(NS_MAX, NS_MAX + 1, 1)],
            vec![wait(-NS_MAX - 1, 0, 1)],
        ] {
            let mut bytes = Vec::new();
            put(&mut bytes, &waits);
            assert!(read(&mut Cursor::new(&bytes)).is_err(), "{waits:?}");
        }
        assert!(read(&mut Cursor::new(&[255, 255, 255, 255, 15])).is_err());
    }

    #[test]
    fn only_sound_stretches_are_kept() {
        let waits = [wait(0, 10, 20), wait(5, 20, 1), wait(30, 30, 4), wait(40, 50, 0)];
        assert_eq!(sound(waits.into_iter()), [wait(0, 10, 10)]);
    }

    #[test]
    fn neighbours_are_taken_together_and_nothing_is_lost() {
        let second = 1_000_000_000;
        let mut waits: Vec<Wait> = (0..10).map(|i| wait(i * 1000, i * 1000 + 500, 7)).collect();
        waits.push(wait(second, second + 10, 5));
        thin(&mut waits, 3);
        assert_eq!(waits, [wait(0, 9500, 70), wait(second, second + 10, 5)]);
        thin(&mut waits, 1);
        assert_eq!(waits, [wait(0, second + 10, 75)]);
    }
}
