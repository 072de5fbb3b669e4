//! What a program became by `exec`, as far as nothing of that is recorded: a shell, or a program that
//! is linked statically. Capture notes the name before, and takes it back where the kernel refuses.

use std::collections::BTreeMap;

use crate::error::escape_controls;

use super::ranks::Image;

/// Meta of a process; and of the run, where its ranks end so: how many, for how many ns the command
/// went on after the only one, −1 where that is not known, and what the first became.
pub(super) const BECAME: &str = "became";
/// Meta of a run of one rank that is recorded again after that: for how many ns it is not, and what
/// it was for most of that time.
const MEANWHILE: &str = "became_meanwhile";
/// Meta of the process: for how long it was another program before, and what that moved.
const EARLIER: &str = "earlier";

impl Image {
    pub(super) fn became(&self) -> Option<&str> {
        self.meta.get(BECAME).map(String::as_str).filter(|name| !name.is_empty())
    }

    /// No later stream of the process says what that did.
    pub(super) fn ends_as_another(&self) -> bool {
        !self.replaced && self.became().is_some()
    }
}

/// The main thread of a rank while its process was one program.
pub(super) struct Piece<'a> {
    pub image: &'a Image,
    pub rank: u32,
    pub begin_ns: i64,
    pub end_ns: i64,
}

/// What the pieces, of each rank in order of time, say of the run in its meta.
pub(super) fn describe(
    meta: &mut BTreeMap<String, String>,
    pieces: &[Piece<'_>],
    until_ns: Option<i64>,
) {
    let Some(first) = pieces.first() else { return };
    let alone = pieces.iter().all(|piece| piece.rank == first.rank);
    meta.extend(ends(pieces, until_ns.filter(|_| alone)).map(|text| (BECAME.into(), text)));
    if alone {
        meta.extend(meanwhile(pieces).map(|text| (MEANWHILE.into(), text)));
        // what was recorded before the last program is no part of that
        meta.remove(EARLIER);
        meta.extend(first.image.meta.get(EARLIER).map(|text| (EARLIER.into(), text.clone())));
    }
}

fn ends(pieces: &[Piece<'_>], until_ns: Option<i64>) -> Option<String> {
    let last = || pieces.iter().filter(|piece| piece.image.ends_as_another());
    let first = last().next()?;
    let after_ns = until_ns.map_or(-1, |until| (until - first.end_ns).max(0));
    Some(format!("{} {after_ns} {}", last().count(), escape_controls(first.image.became()?)))
}

fn meanwhile(pieces: &[Piece<'_>]) -> Option<String> {
    let gap = |pair: &[Piece<'_>]| {
        let name = pair[0].image.became()?.to_owned();
        Some(((pair[1].begin_ns - pair[0].end_ns).max(0), name))
    };
    let gaps: Vec<_> = pieces.windows(2).filter_map(gap).collect();
    let (_, name) = gaps.iter().max()?;
    let all_ns = gaps.iter().fold(0i64, |sum, gap| sum.saturating_add(gap.0));
    Some(format!("{all_ns} {}", escape_controls(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(replaced: bool, meta: &[(&str, &str)]) -> Image {
        let meta = meta.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        Image { meta, replaced, ..Image::default() }
    }

    fn described(images: &[Image], until_ns: Option<i64>) -> BTreeMap<String, String> {
        let piece = |(number, image): (i64, _)| {
            let begin_ns = 100 * number;
            Piece { image, rank: 0, begin_ns, end_ns: begin_ns + 10 }
        };
        let pieces: Vec<_> = (0i64..).zip(images).map(piece).collect();
        let mut meta = BTreeMap::from([(EARLIER.into(), "70 8".into())]);
        describe(&mut meta, &pieces, until_ns);
        meta
    }

    #[test]
    fn what_comes_after_the_last_program_that_is_recorded_is_told() {
        let ends = [image(false, &[(BECAME, "sh")])];
        assert_eq!(described(&ends, Some(60))[BECAME], "1 50 sh");
        assert_eq!(described(&ends, None)[BECAME], "1 -1 sh");
        let refused = [image(false, &[(BECAME, "")])];
        assert!(!described(&refused, Some(60)).contains_key(BECAME));
    }

    #[test]
    fn so_is_what_lies_between_two_and_that_is_not_before_them() {
        let images = [image(true, &[(BECAME, "bash")]), image(false, &[(EARLIER, "70 8")])];
        let meta = described(&images, Some(200));
        assert_eq!(meta[MEANWHILE], "90 bash");
        assert!(!meta.contains_key(BECAME) && !meta.contains_key(EARLIER));
    }
}
