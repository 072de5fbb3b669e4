//! One file per node: the same trace as of loose streams, whatever of it is damaged.

mod support;

use std::path::Path;

use support::{Stream, pack};
use tailrace_trace::{TraceError, open};

fn streams(directory: &Path) {
    for rank in 0..4u32 {
        let mut stream = Stream::rank(rank, 4, 1000);
        stream.name(1, 2, "pwrite").path(9, b"/f").define(1, 1, 1, &[3, 1, 9, 8, 0, 0, -1]);
        for _ in 0..1000 {
            stream.call(1, 10, 300);
        }
        stream.save(directory, 0);
    }
}

/// Moves every stream into `raw/node.1.node`, as `capture/node.c` does.
fn into_one(directory: &Path) -> Vec<u8> {
    let mut bytes = b"TAILNODE\x01\0\0\0\0\0\0\0".to_vec();
    let entries = std::fs::read_dir(directory.join("raw")).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        let (name, data) = (path.file_name().unwrap().as_encoded_bytes(), std::fs::read(&path));
        let data = data.unwrap();
        bytes.extend((data.len() as u64).to_le_bytes());
        bytes.extend((name.len() as u64).to_le_bytes());
        bytes.extend(name);
        bytes.extend(data);
        std::fs::remove_file(path).unwrap();
    }
    std::fs::write(directory.join("raw/node.1.node"), &bytes).unwrap();
    bytes
}

fn packed(bytes: &[u8]) -> Result<(usize, Vec<String>), TraceError> {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("raw")).unwrap();
    std::fs::write(directory.path().join("raw/node.1.node"), bytes).unwrap();
    let output = directory.path().join("run.tailrace");
    tailrace_trace::pack(directory.path(), &output, &mut |_| {})?;
    let trace = open(&output)?;
    Ok((trace.tables().locations.len(), trace.tables().capture.notes.clone()))
}

#[test]
fn a_nodes_file_is_read_as_its_streams_are() {
    let (loose, one) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    streams(loose.path());
    streams(one.path());
    let bytes = into_one(one.path());
    let same =
        std::fs::read(pack(loose.path())).unwrap() == std::fs::read(pack(one.path())).unwrap();
    assert!(same);
    // Collected twice, and one of the streams beside it: each counts once.
    std::fs::write(one.path().join("raw/node.2.node"), &bytes).unwrap();
    Stream::rank(3, 4, 1000).save(one.path(), 0);
    assert_eq!(open(&pack(one.path())).unwrap().tables().locations.len(), 4);
}

#[test]
fn what_stands_before_the_damage_counts() {
    let directory = tempfile::tempdir().unwrap();
    streams(directory.path());
    let bytes = into_one(directory.path());
    for length in (0..bytes.len()).step_by(97) {
        match packed(&bytes[..length]) {
            Ok((locations, notes)) => {
                assert!(locations <= 4 && (!notes.is_empty() || length == bytes.len()), "{length}");
            }
            Err(error) => assert!(!error.message.is_empty() && !error.message.contains('\n')),
        }
    }
    for at in (0..bytes.len().min(600)).step_by(7) {
        let mut changed = bytes.clone();
        changed[at] ^= 0xff;
        if let Err(error) = packed(&changed) {
            assert!(!error.message.contains('\n'));
        }
    }
}

#[test]
fn nodes_that_still_hold_theirs_are_named() {
    let directory = tempfile::tempdir().unwrap();
    streams(directory.path());
    std::fs::remove_file(directory.path().join("raw/node.2.0.stream")).ok();
    std::fs::write(directory.path().join("raw/far\nnode.at"), "/tmp/tailrace-1").unwrap();
    let trace = open(&pack(directory.path())).unwrap();
    assert_eq!(trace.tables().meta["nodes_awaited"], "far\\nnode");
}
