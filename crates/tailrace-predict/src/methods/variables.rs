//! Which variable each of a file's writes is of, as far as their sizes tell.

/// Of writes into a file one after the other, by the bytes of each: which variable each is of. What
/// is written at each output comes again and again in one order; what comes before that once.
pub(super) fn variables(bytes: &[i64]) -> Vec<usize> {
    let (repeated, period) = repeats(bytes);
    let once = bytes.len() - repeated;
    let variable = |at: usize| if at < once { at } else { once + (at - once) % period };
    (0..bytes.len()).map(variable).collect()
}

/// How many from the end are repeats, the first round with them, and how many are a round: those
/// that leave least before them, of the same the shortest. All are one round where none comes twice.
/// Several of one size in a row are as many variables, unless there is no other size.
fn repeats(bytes: &[i64]) -> (usize, usize) {
    let reversed: Vec<i64> = bytes.iter().rev().copied().collect();
    let alike = common_with_rest(&reversed);
    let in_a_row = 1 + alike.get(1).copied().unwrap_or(0);
    let is_round = |period: &usize| {
        alike[*period] >= *period && (*period > in_a_row || in_a_row == bytes.len())
    };
    let rounds = (1..bytes.len()).filter(is_round);
    let covered = rounds.map(|period| (period + alike[period], period));
    let best = covered.max_by_key(|(covered, period)| (*covered, std::cmp::Reverse(*period)));
    best.unwrap_or((bytes.len(), bytes.len().max(1)))
}

/// By place: how many from there on are what the list begins with (the Z function of Gusfield,
/// "Algorithms on Strings, Trees, and Sequences", 1997, in linear time).
fn common_with_rest(list: &[i64]) -> Vec<usize> {
    let mut found = vec![list.len(); list.len()];
    let (mut from, mut to) = (0, 0);
    for at in 1..list.len() {
        let mut alike = if at < to { found[at - from].min(to - at) } else { 0 };
        while at + alike < list.len() && list[alike] == list[at + alike] {
            alike += 1;
        }
        found[at] = alike;
        if at + alike > to {
            (from, to) = (at, at + alike);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::variables;

    #[test]
    fn what_comes_again_in_one_order_is_written_to_the_same_variables() {
        // once 9, then 1 2 2 at each of three outputs
        let found = variables(&[9, 1, 2, 2, 1, 2, 2, 1, 2, 2]);
        assert_eq!(found, [0, 1, 2, 3, 1, 2, 3, 1, 2, 3]);
        // one output, and then one variable at three of them
        assert_eq!(variables(&[1, 2, 2, 2, 2]), [0, 1, 2, 3, 4]);
        assert_eq!(variables(&[4, 4, 4]), [0, 0, 0]);
        assert_eq!(variables(&[]), [0; 0]);
    }
}
