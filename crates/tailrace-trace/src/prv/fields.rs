//! Numbers between colons, read eight bytes at once: the inner loop of the reader.

/// The rest of a text of lines.
pub(super) struct Fields<'a> {
    rest: &'a [u8],
}

/// What a field should have been.
pub(super) type Expected = &'static str;

impl<'a> Fields<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self { rest: text }
    }

    /// What is not read yet.
    #[inline]
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Nothing is left of the line.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        matches!(self.rest, [] | [b'\n', ..] | [b'\r', b'\n', ..])
    }

    #[inline]
    pub(super) fn skip(&mut self, bytes: usize) {
        self.rest = &self.rest[bytes..];
    }

    /// What is left of the line, without its end; the next line follows.
    pub(super) fn take_line(&mut self) -> &'a [u8] {
        let end = memchr::memchr(b'\n', self.rest).unwrap_or(self.rest.len());
        let (line, rest) = self.rest.split_at(end);
        self.rest = rest.get(1..).unwrap_or_default();
        line.strip_suffix(b"\r").unwrap_or(line)
    }

    /// Goes to the next line.
    #[inline]
    pub(super) fn skip_line(&mut self) {
        match self.rest {
            [b'\n', rest @ ..] => self.rest = rest,
            _ => drop(self.take_line()),
        }
    }

    /// The next number of the line that fits 64 bits, and the colon after it; negative ones in
    /// two's complement.
    #[inline]
    pub(super) fn number(&mut self, expected: Expected) -> Result<u64, Expected> {
        match self.usual_number() {
            Some(number) => Ok(number),
            None => self.any_number(expected),
        }
    }

    /// A number of up to fifteen digits, unless it stands at the very end of the text. Not inlined
    /// in its twenty places: no slower, as far as could be measured, and smaller.
    #[inline(never)]
    fn usual_number(&mut self) -> Option<u64> {
        let first = Eight::of(*self.rest.first_chunk::<EIGHT>()?);
        if first.length == EIGHT {
            return self.long_number(first.digits);
        }
        (first.length > 0 && self.pass(first.length)).then(|| first.value())
    }

    /// The next number, which has to be in `0..=2⁶⁰`: 36 years of nanoseconds, so that sums and
    /// differences fit.
    #[inline]
    pub(super) fn time(&mut self, expected: Expected) -> Result<i64, Expected> {
        let time = self.number(expected)?;
        if time <= 1 << 60 { Ok(time as i64) } else { Err(expected) }
    }

    /// The next number, which has to fit 32 bits.
    #[inline]
    pub(super) fn small(&mut self, expected: Expected) -> Result<u32, Expected> {
        u32::try_from(self.number(expected)?).map_err(|_| expected)
    }

    /// A number that begins with eight digits; types of events have no more.
    #[inline]
    fn long_number(&mut self, digits: u64) -> Option<u64> {
        let high = value_of(digits);
        if self.pass(EIGHT) {
            return Some(high);
        }
        let low = Eight::of(*self.rest[EIGHT..].first_chunk::<EIGHT>()?);
        let ends = low.length > 0 && low.length < EIGHT && self.pass(EIGHT + low.length);
        ends.then(|| high * TEN_TO_THE[low.length] + low.value())
    }

    /// Goes over a field of that length, if it ends there.
    #[inline]
    fn pass(&mut self, length: usize) -> bool {
        match self.rest.get(length..) {
            Some([b':', rest @ ..] | rest @ [b'\n', ..]) => self.rest = rest,
            _ => return false,
        }
        true
    }

    /// A number of whatever length and sign, wherever it ends.
    #[cold]
    #[inline(never)]
    fn any_number(&mut self, expected: Expected) -> Result<u64, Expected> {
        let field = self.take_field();
        let (digits, negative) = match field {
            [b'-', digits @ ..] => (digits, true),
            _ => (field, false),
        };
        let value = digits.iter().try_fold(0, |value, byte| match byte {
            b'0'..=b'9' => append(value, byte - b'0'),
            _ => None,
        });
        let value = value.filter(|_| !digits.is_empty()).ok_or(expected)?;
        Ok(if negative { value.wrapping_neg() } else { value })
    }

    /// Up to the colon, which is taken, too, or up to the line's end, which is not.
    fn take_field(&mut self) -> &'a [u8] {
        let end = memchr::memchr2(b':', b'\n', self.rest).unwrap_or(self.rest.len());
        let (field, rest) = self.rest.split_at(end);
        self.rest = rest.strip_prefix(b":").unwrap_or(rest);
        match rest {
            [b'\n', ..] => field.strip_suffix(b"\r").unwrap_or(field),
            _ => field,
        }
    }
}

const EIGHT: usize = 8;

/// Eight bytes of a line at once, the first of them lowest.
struct Eight {
    /// What each is above the digit 0.
    digits: u64,
    /// So many digits come first.
    length: usize,
}

/// Powers of ten.
const TEN_TO_THE: [u64; EIGHT] = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000];

impl Eight {
    #[inline]
    fn of(bytes: [u8; EIGHT]) -> Self {
        let digits = u64::from_le_bytes(bytes) ^ (EACH * u64::from(b'0'));
        // What is above 9 reaches the highest bit; a carry can only come to what is behind that.
        let others = (digits.wrapping_add(EACH * 0x76) | digits) & (EACH * 0x80);
        Self { digits, length: others.trailing_zeros() as usize / 8 }
    }

    /// Of the digits that come first, of which there are one to seven: zeros move before them.
    #[inline]
    fn value(&self) -> u64 {
        value_of(self.digits << (8 * (EIGHT - self.length)))
    }
}

const EACH: u64 = 0x0101_0101_0101_0101;

/// Of eight digits: by twos, by fours, then all.
#[inline]
fn value_of(digits: u64) -> u64 {
    let twos = (digits * 10 + (digits >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (twos * 100 + (twos >> 16)) & 0x0000_ffff_0000_ffff;
    (fours * 10_000 + (fours >> 32)) & 0xffff_ffff
}

#[inline]
fn append(value: u64, digit: u8) -> Option<u64> {
    value.checked_mul(10)?.checked_add(u64::from(digit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_one_after_the_other() {
        let mut fields = Fields::new(b"12:-3:18446744073709551615");
        assert_eq!(fields.number("a"), Ok(12));
        assert_eq!(fields.number("a"), Ok(-3_i64 as u64));
        assert_eq!(fields.number("a"), Ok(u64::MAX));
        assert!(fields.is_empty());
        assert_eq!(fields.number("a number"), Err("a number"));
    }

    #[test]
    fn numbers_of_any_length_end_at_the_colon_whatever_follows() {
        for length in 1..=20 {
            let digits: String = "12345678901234567890".chars().take(length).collect();
            for behind in ["", ":", ":9", ":99999999:", ":\u{7f}ÿ0000000"] {
                let text = format!("{digits}{behind}");
                let mut fields = Fields::new(text.as_bytes());
                assert_eq!(fields.number("n"), Ok(digits.parse().unwrap()), "{text}");
                assert_eq!(fields.rest, behind.strip_prefix(':').unwrap_or("").as_bytes());
            }
        }
        for other in 0..=u8::MAX {
            let text = [b'4', other, b'2', b':', b'1', b':', b'1', b'1', b':'];
            let expected = match other {
                b':' | b'\n' => Ok(4),
                b'0'..=b'9' => Ok(402 + 10 * u64::from(other - b'0')),
                _ => Err("n"),
            };
            assert_eq!(Fields::new(&text).number("n"), expected, "{other}");
        }
    }

    #[test]
    fn what_does_not_fit_or_is_no_number_is_refused() {
        for text in [
            "18446744073709551616",
            "99999999999999999999999",
            "",
            ":",
            "1x",
            "-",
            "--1",
            " 1",
            "1 ",
        ] {
            assert_eq!(Fields::new(text.as_bytes()).number("n"), Err("n"), "{text}");
        }
        assert_eq!(Fields::new(b"4294967296").small("s"), Err("s"));
        assert_eq!(Fields::new(b"-1").time("t"), Err("t"));
        assert_eq!(Fields::new(b"1152921504606846977").time("t"), Err("t"));
        assert_eq!(Fields::new(b"1152921504606846976").time("t"), Ok(1 << 60));
    }
}
