//! What stands beside a `.prv`: names of values (`.pcf`) and of nodes (`.row`), and Extrae's own
//! names where they are missing.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use hashbrown::HashMap;

use super::types;

/// More of a file of names is not read: Extrae's are tens of kilobytes.
const LONGEST_BYTES: u64 = 64 << 20;

/// Names of the values of event types, of states, of nodes.
#[derive(Clone, Debug, Default)]
pub(super) struct Labels {
    values: HashMap<(u32, u64), Vec<u8>>,
    states: HashMap<u32, String>,
    nodes: Vec<String>,
}

impl Labels {
    /// Reads the `.pcf` and the `.row` of `MODEL.prv` or `MODEL.prv.gz`, where there are any.
    pub(super) fn beside(trace: &Path) -> Self {
        let mut labels = Self::default();
        let read = |extension| read_bounded(&trace_stem(trace).with_extension(extension));
        if let Some(text) = read("pcf") {
            labels.add_pcf(&text);
        }
        if let Some(text) = read("row") {
            labels.nodes = nodes(&text);
        }
        labels
    }

    /// The name of a value of an event type, from the `.pcf` or else as Extrae numbers them.
    pub(super) fn value(&self, kind: u32, value: u64) -> String {
        match self.values.get(&(kind, value)) {
            Some(name) => String::from_utf8_lossy(name).into_owned(),
            None => types::value_name(kind, value)
                .map_or_else(|| format!("{kind}:{value}"), str::to_owned),
        }
    }

    /// The path of a file that an open call names by number.
    pub(super) fn file(&self, number: u64) -> Option<&[u8]> {
        self.values.get(&(types::FILE_NAME, number)).map(Vec::as_slice)
    }

    pub(super) fn state(&self, state: u32) -> String {
        self.states.get(&state).cloned().unwrap_or_else(|| types::state_name(state))
    }

    /// The name of a node, from 1.
    pub(super) fn node(&self, node: u32) -> String {
        let name = (node as usize).checked_sub(1).and_then(|index| self.nodes.get(index));
        name.cloned().unwrap_or_else(|| format!("node {node}"))
    }

    /// Blocks of lines, each under a word in capitals: `STATES`, `EVENT_TYPE` followed by its
    /// `VALUES`.
    fn add_pcf(&mut self, text: &[u8]) {
        let mut block = Block::Other;
        let mut kinds = Vec::new();
        for line in text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii) {
            match line {
                b"STATES" => block = Block::States,
                b"VALUES" => block = Block::Values,
                b"EVENT_TYPE" => {
                    block = Block::Types;
                    kinds.clear();
                }
                _ if line.first().is_some_and(u8::is_ascii_uppercase) => block = Block::Other,
                _ => self.add_line(&block, &mut kinds, line),
            }
        }
    }

    fn add_line(&mut self, block: &Block, kinds: &mut Vec<u32>, line: &[u8]) {
        let Some((number, name)) = numbered(line) else { return };
        match block {
            Block::States => {
                drop(self.states.insert(number as u32, String::from_utf8_lossy(name).into_owned()));
            }
            // "GRADIENT TYPE NAME": the type is the second number.
            Block::Types => {
                kinds.extend(numbered(name).and_then(|(kind, _)| u32::try_from(kind).ok()));
            }
            // Hardware counters are many types over one list of values; only the first few can have
            // names that matter.
            Block::Values => {
                for kind in kinds.iter().filter(|kind| types::has_names(**kind)) {
                    self.values.insert((*kind, number), name.to_vec());
                }
            }
            Block::Other => {}
        }
    }
}

enum Block {
    States,
    Types,
    Values,
    Other,
}

/// `12   MPI_Send` as 12 and the name.
fn numbered(line: &[u8]) -> Option<(u64, &[u8])> {
    let space = line.iter().position(u8::is_ascii_whitespace)?;
    let number = std::str::from_utf8(&line[..space]).ok()?.parse().ok()?;
    Some((number, line[space..].trim_ascii()))
}

/// The lines below `LEVEL NODE SIZE n`.
fn nodes(text: &[u8]) -> Vec<String> {
    let mut lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let is_header = |line: &[u8]| line.starts_with(b"LEVEL NODE");
    if !lines.by_ref().any(is_header) {
        return Vec::new();
    }
    lines
        .take_while(|line| !line.is_empty())
        .map(|line| String::from_utf8_lossy(line).into_owned())
        .collect()
}

/// `MODEL.prv.gz` and `MODEL.prv` as `MODEL.prv`.
fn trace_stem(trace: &Path) -> PathBuf {
    match trace.extension() {
        Some(extension) if extension == "gz" => trace.with_extension(""),
        _ => trace.to_path_buf(),
    }
}

/// Names only help: a file that cannot be read is one that is not there.
fn read_bounded(path: &Path) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    File::open(path).ok()?.take(LONGEST_BYTES).read_to_end(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PCF: &[u8] =
        b"STATES\n0    Idle\n9    Halted\n\nSTATES_COLOR\n0    {117,195,255}\n\nEVENT_TYPE\n\
        9   50000001    MPI Point-to-point\nVALUES\n41   MPI_Sendrecv\n0   Outside MPI\n\n\
        EVENT_TYPE\n0    40000059    File name\nVALUES\n1      /scratch/wrf out\xff\n";

    #[test]
    fn names_come_from_the_pcf_and_else_from_extrae() {
        let mut labels = Labels::default();
        labels.add_pcf(PCF);
        assert_eq!(labels.value(50_000_001, 41), "MPI_Sendrecv");
        assert_eq!(labels.value(50_000_002, 10), "MPI_Allreduce");
        assert_eq!(labels.value(50_000_002, 9999), "50000002:9999");
        assert_eq!(labels.file(1), Some(b"/scratch/wrf out\xff".as_slice()));
        assert_eq!((labels.state(9).as_str(), labels.state(12).as_str()), ("Halted", "I/O"));
    }

    #[test]
    fn nodes_have_their_names_from_the_row_file() {
        let row = b"LEVEL CPU SIZE 1\n1.a\n\nLEVEL NODE SIZE 2\nlogin\nn01\n\n\
                    LEVEL THREAD SIZE 1\nTHREAD 1.1.1\n";
        let labels = Labels { nodes: nodes(row), ..Labels::default() };
        assert_eq!([labels.node(0), labels.node(2), labels.node(3)], ["node 0", "n01", "node 3"]);
    }
}
