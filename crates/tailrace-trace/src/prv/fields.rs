//! Numbers between colons, read byte by byte: the inner loop of the reader.

/// The rest of a line.
pub(super) struct Fields<'a> {
    rest: &'a [u8],
}

/// What a field should have been.
pub(super) type Expected = &'static str;

impl<'a> Fields<'a> {
    pub(super) fn new(line: &'a [u8]) -> Self {
        Self { rest: line }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next number that fits 64 bits, and the colon after it; negative ones in two's
    /// complement.
    #[inline]
    pub(super) fn number(&mut self, expected: Expected) -> Result<u64, Expected> {
        match self.rest {
            [b'-', digits @ ..] => {
                self.rest = digits;
                Ok(self.digits(expected)?.wrapping_neg())
            }
            _ => self.digits(expected),
        }
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

    #[inline]
    fn digits(&mut self, expected: Expected) -> Result<u64, Expected> {
        let mut value: u64 = 0;
        let mut before = 0;
        if let Some(first) = self.rest.first_chunk::<EIGHT>() {
            let Eight { digits, length } = Eight::of(u64::from_le_bytes(*first));
            if length == EIGHT {
                (value, before) = (value_of(digits), EIGHT);
            } else if length > 0 && first[length] == b':' {
                self.rest = &self.rest[length + 1..];
                return Ok(value_of(digits << (8 * (EIGHT - length))));
            }
        }
        // Eighteen digits fit whatever they are: only longer numbers need the check.
        for (length, byte) in self.rest.iter().enumerate().take(19).skip(before) {
            let digit = byte.wrapping_sub(b'0');
            if digit < 10 && length < 18 {
                value = value * 10 + u64::from(digit);
            } else if *byte == b':' && length > 0 {
                self.rest = &self.rest[length + 1..];
                return Ok(value);
            } else {
                break;
            }
        }
        self.last_or_long(expected)
    }

    /// A number at the end of the line, or one of many digits.
    #[inline(never)]
    fn last_or_long(&mut self, expected: Expected) -> Result<u64, Expected> {
        let end = memchr::memchr(b':', self.rest).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        let value = digits.iter().try_fold(0, |value, byte| match byte {
            b'0'..=b'9' => append(value, byte - b'0'),
            _ => None,
        });
        self.rest = rest.get(1..).unwrap_or_default();
        value.filter(|_| !digits.is_empty()).ok_or(expected)
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

impl Eight {
    #[inline]
    fn of(bytes: u64) -> Self {
        let digits = bytes ^ (EACH * u64::from(b'0'));
        // What is above 9 reaches the highest bit; a carry can only come to what is behind that.
        let others = (digits.wrapping_add(EACH * 0x76) | digits) & (EACH * 0x80);
        Self { digits, length: others.trailing_zeros() as usize / 8 }
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
                b':' => Ok(4),
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
