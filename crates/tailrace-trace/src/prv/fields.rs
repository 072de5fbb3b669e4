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
        // Eighteen digits fit whatever they are: only longer numbers need the check.
        for (length, byte) in self.rest.iter().enumerate().take(19) {
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
