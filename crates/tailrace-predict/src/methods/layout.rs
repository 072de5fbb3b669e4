//! Which pieces of a file are a rank's, where the trace only tells how many bytes, and pieces that
//! fit a buffer.

use std::borrow::Cow;

use super::stretches::Piece;
use super::units::Unit;

/// Of a region that ranks share out: the pieces of the rank at that place, by the bytes of each. One
/// block behind the other, or, where blocks are larger than that, pieces of `piece_bytes` all over
/// the region.
pub(super) fn guessed(
    region: &[Piece],
    shares: &[i64],
    place: usize,
    piece_bytes: i64,
) -> Vec<Piece> {
    let own = shares[place];
    if own <= piece_bytes {
        return cut_out(region, shares[..place].iter().sum(), own);
    }
    let all: i64 = shares.iter().sum();
    let count = (own + piece_bytes - 1) / piece_bytes;
    let mut found = Vec::new();
    for number in 0..count {
        let at = (i128::from(all) * i128::from(number) / i128::from(count)) as i64;
        let shift = place as i64 * piece_bytes;
        let bytes = piece_bytes.min(own - number * piece_bytes);
        found.extend(cut_out(region, (at + shift).min(all - bytes), bytes));
    }
    found
}

/// So many bytes of the region behind the first `skipped`.
fn cut_out(region: &[Piece], skipped: i64, bytes: i64) -> Vec<Piece> {
    let (mut skipped, mut left, mut found) = (skipped, bytes, Vec::new());
    for (begin, length) in region {
        let from = skipped.min(*length);
        skipped -= from;
        let taken = left.min(length - from);
        if taken > 0 {
            found.push((begin + from, taken));
            left -= taken;
        }
    }
    found
}

/// In order, as many at a time as fit; what is larger is cut.
pub(super) fn batches(pieces: &[Piece], most: i64) -> Vec<Vec<Piece>> {
    let mut found: Vec<Vec<Piece>> = Vec::new();
    let mut room = 0;
    for (begin, bytes) in pieces {
        let mut done = 0;
        while done < *bytes {
            let next = most.min(bytes - done);
            if next > room {
                found.push(Vec::new());
                room = most;
            }
            if let Some(batch) = found.last_mut() {
                batch.push((begin + done, next));
            }
            room -= next;
            done += next;
        }
    }
    found
}

/// Where data lie without what MPI-IO wrote back between them: how much that is is known, but not
/// where, so each piece is shorter by the same share.
pub(super) fn data_of(unit: &Unit) -> Cow<'_, [Piece]> {
    let (data, written) = (unit.bytes(), bytes_of(&unit.region));
    if data >= written {
        return Cow::from(&unit.region);
    }
    let share = data as f64 / written as f64;
    let mut left = data;
    let mut pieces = unit.region.clone();
    for (number, piece) in pieces.iter_mut().enumerate() {
        let is_last = number + 1 == unit.region.len();
        piece.1 = if is_last { left } else { ((piece.1 as f64 * share) as i64).min(left) };
        left -= piece.1;
    }
    pieces.retain(|piece| piece.1 > 0);
    pieces.into()
}

pub(super) fn bytes_of(pieces: &[Piece]) -> i64 {
    pieces.iter().map(|piece| piece.1).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_follow_each_other_through_the_region() {
        let region = [(100, 10), (200, 10)];
        let found = |place| guessed(&region, &[6, 8, 6], place, i64::MAX);
        assert_eq!(found(0), [(100, 6)]);
        assert_eq!(found(1), [(106, 4), (200, 4)]);
        assert_eq!(found(2), [(204, 6)]);
    }

    #[test]
    fn small_pieces_take_turns() {
        let region = [(0, 16)];
        assert_eq!(guessed(&region, &[8, 8], 0, 4), [(0, 4), (8, 4)]);
        assert_eq!(guessed(&region, &[8, 8], 1, 4), [(4, 4), (12, 4)]);
    }

    #[test]
    fn what_does_not_fit_comes_later_and_what_is_larger_is_cut() {
        let pieces = [(0, 3), (10, 3), (20, 9)];
        assert_eq!(batches(&pieces, 6), [vec![(0, 3), (10, 3)], vec![(20, 6)], vec![(26, 3)]]);
    }
}
