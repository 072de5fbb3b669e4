//! Names that files get while the program runs.

mod support;

use support::{Stream, pack};
use tailrace_trace::{Former, open};

#[test]
fn a_rename_is_known_by_the_files_of_the_run() {
    let directory = tempfile::tempdir().unwrap();
    // one thread opens what another renames; numbers are the process's
    let mut first = Stream::new(5, 0, 0);
    first.name(1, 2, "open").path(7, b"/d/other").path(9, b"/d/part").path(11, b"/d/whole");
    first.define(1, 1, 1, &[0, 0, 9, 0, 0, 0, -1]).call(1, 1, 1);
    first.define(2, 1, 1, &[0, 0, 11, 0, 0, 0, -1]).call(2, 1, 1);
    first.save(directory.path(), 0);
    let mut second = Stream::new(5, 1, 0);
    second.name(1, 2, "rename").renamed(9, b"/d/./whole").renamed(9, b"/d/whole");
    second.renamed(12, b"/nobody knows what");
    second.define(1, 1, 1, &[11, 0, 9, 0, 0, 0, -1]).call(1, 1, 1);
    second.save(directory.path(), 1);
    let trace = open(&pack(directory.path())).unwrap();
    let tables = trace.tables();
    let part = tables.files.iter().position(|file| file.path == b"/d/part").unwrap() as u32;
    assert_eq!(tables.renames, [(part, b"/d/whole".to_vec())].into(), "each once, tidied");
    let whole = tables.files.iter().position(|file| file.path == b"/d/whole").unwrap();
    let former = tables.former();
    assert_eq!(former[whole], Some(Former { file: part, renamed: part }));
    assert_eq!(former.iter().flatten().count(), 1);
    tailrace_trace::conforms(&*trace).unwrap();
}
