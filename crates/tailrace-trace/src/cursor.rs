//! Reading and writing little-endian integers, varints and words, never past the end of what is
//! there.

/// What was wrong and where, in bytes from the start of the slice that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Damage {
    pub at: usize,
    pub what: &'static str,
}

/// A place in a slice of bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(crate) fn at(&self) -> usize {
        self.at
    }

    pub(crate) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    pub(crate) fn damage(&self, what: &'static str) -> Damage {
        Damage { at: self.at, what }
    }

    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], Damage> {
        if count > self.left() {
            return Err(self.damage("it ends in the middle of a record"));
        }
        let taken = &self.bytes[self.at..self.at + count];
        self.at += count;
        Ok(taken)
    }

    pub(crate) fn rest(&mut self) -> &'a [u8] {
        let rest = &self.bytes[self.at..];
        self.at = self.bytes.len();
        rest
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Damage> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    #[inline]
    pub(crate) fn u8(&mut self) -> Result<u8, Damage> {
        Ok(self.array::<1>()?[0])
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Damage> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Damage> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Damage> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    #[inline]
    pub(crate) fn varint(&mut self) -> Result<u64, Damage> {
        // Most are one byte.
        match self.bytes.get(self.at) {
            Some(&byte) if byte < 0x80 => {
                self.at += 1;
                Ok(byte.into())
            }
            _ => self.long_varint(),
        }
    }

    #[inline(never)]
    fn long_varint(&mut self) -> Result<u64, Damage> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(self.damage("an integer does not end"))
    }

    /// A signed integer: zigzag-coded, then a varint.
    pub(crate) fn word(&mut self) -> Result<i64, Damage> {
        self.varint().map(signed)
    }

    /// So many words; most have one byte or two. What is read of a block most often: a loop that
    /// has the registers for itself.
    #[inline(never)]
    pub(crate) fn words(&mut self, to: &mut [i64]) -> Result<(), Damage> {
        let (bytes, mut at) = (self.bytes, self.at);
        for word in to {
            let coded = match bytes.get(at..at + 2) {
                Some(&[byte, _]) if byte < 0x80 => {
                    at += 1;
                    u64::from(byte)
                }
                Some(&[low, high]) if high < 0x80 => {
                    at += 2;
                    u64::from(low & 0x7f) | u64::from(high) << 7
                }
                _ => {
                    self.at = at;
                    let coded = self.varint()?;
                    at = self.at;
                    coded
                }
            };
            *word = signed(coded);
        }
        self.at = at;
        Ok(())
    }

    /// A count of things of at least `bytes_each`; a count that the bytes left cannot hold is
    /// damage, so that nobody reserves memory for it.
    #[inline]
    pub(crate) fn count(&mut self, bytes_each: usize) -> Result<usize, Damage> {
        let claimed = self.varint()?;
        if claimed > (self.left() / bytes_each.max(1)) as u64 {
            return Err(self.damage("a count exceeds what the file holds"));
        }
        Ok(claimed as usize)
    }

    /// Bytes with their count before them.
    pub(crate) fn string(&mut self) -> Result<&'a [u8], Damage> {
        let length = self.count(1)?;
        self.take(length)
    }
}

/// What a zigzag-coded integer is.
#[inline]
fn signed(coded: u64) -> i64 {
    (coded >> 1) as i64 ^ -((coded & 1) as i64)
}

pub(crate) fn put_varint(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

pub(crate) fn put_word(to: &mut Vec<u8>, value: i64) {
    put_varint(to, ((value << 1) ^ (value >> 63)) as u64);
}

pub(crate) fn put_string(to: &mut Vec<u8>, value: &[u8]) {
    put_varint(to, value.len() as u64);
    to.extend_from_slice(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back() {
        for value in [0, 1, -1, 63, -64, 64, 8191, -8192, 8192, i64::MAX, i64::MIN, -12345] {
            let mut bytes = Vec::new();
            put_word(&mut bytes, value);
            assert_eq!(Cursor::new(&bytes).word(), Ok(value));
            put_word(&mut bytes, 7);
            let (mut cursor, mut words) = (Cursor::new(&bytes), [0; 2]);
            assert_eq!((cursor.words(&mut words), cursor.left()), (Ok(()), 0));
            assert_eq!(words, [value, 7]);
            bytes.pop();
            assert!(Cursor::new(&bytes).words(&mut words).is_err());
        }
    }

    #[test]
    fn an_endless_varint_is_damage() {
        assert!(Cursor::new(&[0xff; 20]).varint().is_err());
        assert!(Cursor::new(&[0xff; 3]).varint().is_err());
    }

    #[test]
    fn a_count_beyond_the_bytes_is_damage() {
        assert!(Cursor::new(&[0x05, 1, 2, 3, 4]).count(1).is_err());
        assert_eq!(Cursor::new(&[0x04, 1, 2, 3, 4]).count(1), Ok(4));
    }
}
