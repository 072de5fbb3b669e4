//! One sentence that names the place, and a hint that names the next step.

use std::fmt;
use std::path::Path;

/// What a reader or the packer has to say to its user when it cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceError {
    /// One sentence, with the file and the offset or line where there is one.
    pub message: String,
    /// The next thing to try; may be empty.
    pub hint: String,
}

impl TraceError {
    pub fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into() }
    }

    /// The operating system refused something that was to be done with `path`.
    pub fn system(action: &str, path: &Path, cause: &std::io::Error) -> Self {
        Self::new(
            format!("cannot {action} {}: {cause}", printable(path)),
            "check that the path exists, that you may use it, and that the disk has space",
        )
    }

    /// The file does not hold what its format promises at `offset` (bytes from its start).
    pub fn malformed(path: &Path, offset: u64, what: impl fmt::Display) -> Self {
        Self::new(
            format!("{} is damaged at byte {offset}: {what}", printable(path)),
            "copy the file again from where it was recorded, or pack its raw directory again",
        )
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)?;
        if self.hint.is_empty() {
            return Ok(());
        }
        write!(formatter, "\n\nhint: {}", self.hint)
    }
}

impl std::error::Error for TraceError {}

/// A path in an error is never allowed to drive the terminal: control characters are escaped.
pub fn printable(path: &Path) -> String {
    escape_controls(&path.to_string_lossy())
}

/// `text` with its control characters spelled out, as `\u{1b}`.
pub fn escape_controls(text: &str) -> String {
    let escape =
        |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_stands_after_a_blank_line() {
        let error = TraceError::malformed(Path::new("a\u{1b}[2Jb"), 12, "the checksum differs");
        let text = error.to_string();
        assert!(
            text.starts_with("a\\u{1b}[2Jb is damaged at byte 12: the checksum differs\n\nhint: "),
            "{text}"
        );
    }
}
