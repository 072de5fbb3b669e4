//! Files under another name: programs write a file under a name of its own until it is whole, and
//! then rename it, or the directory that it is in.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use hashbrown::HashMap;

use crate::tables::Tables;

/// What a file was before: which one, and what was renamed, that or a directory that it was in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Former {
    pub file: u32,
    pub renamed: u32,
}

impl Tables {
    /// By file: what it was before it got its name; of several the first in the table.
    pub fn former(&self) -> Vec<Option<Former>> {
        if self.renames.is_empty() {
            return vec![None; self.files.len()];
        }
        let numbered = (0..).zip(self.files.iter().map(|file| path(&file.path)));
        let files: HashMap<&Path, u32> =
            numbered.clone().map(|(number, path)| (path, number)).collect();
        let mut renamed: HashMap<&Path, Vec<u32>> = HashMap::new();
        for (file, name) in &self.renames {
            renamed.entry(path(name)).or_default().push(*file);
        }
        let before = |(number, own): (u32, &Path)| {
            let above = own.ancestors().filter_map(|above| Some((above, renamed.get(above)?)));
            let mut all =
                above.flat_map(|(above, files)| files.iter().map(move |&file| (above, file)));
            all.find_map(|(above, moved)| {
                let old = path(&self.files[moved as usize].path);
                let file = match own.strip_prefix(above).ok()? {
                    rest if rest.as_os_str().is_empty() => moved,
                    rest => *files.get(&*old.join(rest))?,
                };
                (file != number).then_some(Former { file, renamed: moved })
            })
        };
        numbered.map(before).collect()
    }
}

fn path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::FileEntry;

    /// What the last of these files was, where each first one got the second name.
    fn last(files: &[&str], renames: &[(u32, &str)]) -> Option<Former> {
        let file = |path: &&str| FileEntry { path: (*path).into(), opaque: false };
        let files = files.iter().map(file).collect();
        let renames = renames.iter().map(|(file, name)| (*file, (*name).into())).collect();
        let former = Tables { files, renames, ..Tables::default() }.former();
        former.last().copied().flatten()
    }

    #[test]
    fn a_file_has_the_name_that_another_got() {
        let of = |file, renamed| Some(Former { file, renamed });
        assert_eq!(last(&["/a/x", "/a/out"], &[(0, "/a/out")]), of(0, 0));
        // a directory, and one above it
        assert_eq!(last(&["/new/f", "/new", "/b/f"], &[(1, "/b")]), of(0, 1));
        assert_eq!(last(&["/new/d/f", "/new", "/b/d/f"], &[(1, "/b")]), of(0, 1));
        // nothing was in it, and another file
        assert_eq!(last(&["/new/g", "/new", "/b/f"], &[(1, "/b")]), None);
        assert_eq!(last(&["/a/x", "/a/outer"], &[(0, "/a/out")]), None);
        // onto itself; of several the first
        assert_eq!(last(&["/a/out"], &[(0, "/a/out")]), None);
        assert_eq!(last(&["/x", "/y", "/out"], &[(1, "/out"), (0, "/out")]), of(0, 0));
    }
}
