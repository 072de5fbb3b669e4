//! How the command that was recorded ended, where `tailrace run` left word of it: a file `ended`
//! beside the streams, with lines `key=value`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::error::escape_controls;
use crate::tables::{Ended, Tables};

/// Longer texts are not what `tailrace run` wrote.
const TEXT_MAX: u64 = 4096;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Through {
    /// Nobody knows what the command did beside the run.
    #[default]
    Script,
    /// It started the ranks, and ended with the last of them.
    Launcher,
    /// It is the program itself, or ended with it.
    Program,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CommandEnd {
    name: String,
    host: String,
    signal: Option<String>,
    status: Option<u8>,
    /// By CLOCK_MONOTONIC of the host.
    monotonic_ns: Option<i64>,
    through: Through,
}

impl CommandEnd {
    pub(super) fn read(directory: &Path) -> Option<Self> {
        let places = [directory.join("raw/ended"), directory.join("ended")];
        let is_text = |path: &&PathBuf| {
            std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() <= TEXT_MAX)
        };
        let text = std::fs::read_to_string(places.iter().find(is_text)?).ok()?;
        Some(Self::parse(&text))
    }

    fn parse(text: &str) -> Self {
        let pairs: BTreeMap<&str, &str> =
            text.lines().filter_map(|line| line.split_once('=')).collect();
        let text = |key: &str| pairs.get(key).map(|value| escape_controls(value));
        Self {
            name: text("name").unwrap_or_default(),
            host: text("host").unwrap_or_default(),
            signal: text("signal"),
            status: pairs.get("status").and_then(|value| value.parse().ok()),
            monotonic_ns: pairs.get("monotonic_ns").and_then(|value| value.parse().ok()),
            through: match pairs.get("through") {
                Some(&"launcher") => Through::Launcher,
                Some(&"program") => Through::Program,
                _ => Through::Script,
            },
        }
    }

    /// What the tables of its run say of it. Returns until when ranks may have lived whose streams do
    /// not say how they ended: `host` is that of rank 0, whose clock counts from `origin_ns` on.
    ///
    /// A program that was killed, or ended at once, recorded no end: where it is the whole command,
    /// that of the command is its own.
    pub(super) fn describe(&self, tables: &mut Tables, host: &str, origin_ns: i64) -> Option<i64> {
        tables.meta.extend(self.meta());
        let until_ns = self.on(host, origin_ns)?;
        let alone = self.through == Through::Program && tables.ranks == 1;
        let mut mains = tables.locations.iter_mut().filter(|location| location.main && alone);
        if let Some(main) = mains.find(|location| location.ended == Ended::Unknown) {
            main.end_ns = main.end_ns.max(until_ns);
            main.ended = Ended::Known;
        }
        Some(until_ns)
    }

    fn meta(&self) -> impl Iterator<Item = (String, String)> {
        let status = self.status.map(|status| status.to_string());
        let pairs = [
            ("ended_by", self.signal.clone()),
            ("exit_status", status),
            ("command_name", Some(self.name.clone())),
        ];
        pairs.into_iter().filter_map(|(key, value)| Some((key.to_string(), value?)))
    }

    fn on(&self, host: &str, origin_ns: i64) -> Option<i64> {
        let ended_with_it = self.through != Through::Script && self.host == host;
        let end_ns = self.monotonic_ns.filter(|_| ended_with_it)?.saturating_sub(origin_ns);
        (0..=crate::limits::NS_MAX).contains(&end_ns).then_some(end_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "name=mpiexec\nhost=here\nstatus=6\nmonotonic_ns=5000\nthrough=launcher\n";

    #[test]
    fn how_a_launcher_ended_becomes_meta() {
        let end = CommandEnd::parse(TEXT);
        let meta: Vec<_> = end.meta().collect();
        let expected = [("exit_status", "6"), ("command_name", "mpiexec")];
        assert_eq!(meta, expected.map(|(key, value)| (key.to_string(), value.to_string())));
    }

    #[test]
    fn its_end_is_known_on_its_own_host_and_of_no_script() {
        let end = CommandEnd::parse(TEXT);
        assert_eq!(end.on("here", 1000), Some(4000));
        assert_eq!(end.on("there", 1000), None);
        assert_eq!(end.on("here", 6000), None);
        let script = CommandEnd::parse(&TEXT.replace("launcher", "script"));
        assert_eq!(script.on("here", 1000), None);
    }

    #[test]
    fn a_longer_text_and_what_is_no_file_are_not_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ended");
        assert_eq!(CommandEnd::read(directory.path()), None);
        std::fs::write(&path, TEXT).unwrap();
        assert_eq!(CommandEnd::read(directory.path()), Some(CommandEnd::parse(TEXT)));
        std::fs::write(&path, TEXT.repeat(100)).unwrap();
        assert_eq!(CommandEnd::read(directory.path()), None);
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        assert_eq!(CommandEnd::read(directory.path()), None);
    }

    #[test]
    fn what_is_no_such_text_says_nothing() {
        let end = CommandEnd::parse("status=-9\nmonotonic_ns=soon\n\u{1b}\n=\nthrough=");
        assert_eq!(end, CommandEnd::default());
        assert_eq!(end.on("", 0), None);
    }
}
