//! What a library keeps of what is written through it, where one rank does that.
//!
//! Through MPI-IO HDF5 hands on at once what it is given. One rank's writes it keeps in a cache of
//! the variable, if that lies in chunks; where it lies in one piece, a write that is not larger than
//! the sieve buffer stays there. What is kept goes when the variable is closed. By netCDF-4 that is
//! when the file is: a program that calls HDF5 itself may close a variable at any time, by a call
//! that makes none on files and is in no trace.

use tailrace_trace::places::{CallPath, Places};

/// Where a write would stay, if one rank made it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Keeps {
    #[default]
    Nothing,
    /// In the sieve buffer, if it fits.
    Little,
    /// In the cache of the variable's chunks.
    Chunks,
}

/// By call path.
pub(super) struct Libraries<'a> {
    places: &'a Places,
    of_path: Vec<Keeps>,
    flushes: Vec<bool>,
}

impl<'a> Libraries<'a> {
    pub(super) fn of(places: &'a Places) -> Self {
        let of_path = places.paths.iter().map(|path| keeps(places, path)).collect();
        let flushes = places.paths.iter().map(|path| calls(places, path, "H5FD_flush")).collect();
        Self { places, of_path, flushes }
    }

    /// Of a call that comes from this place.
    pub(super) fn keep(&self, place: u32) -> Keeps {
        self.place(place).map_or(Keeps::Nothing, |path| self.of_path[path])
    }

    /// Whether HDF5 synchronises a file from there, which it does through MPI-IO alone: by one rank
    /// H5Fflush writes what is kept, and leaves it to the system.
    pub(super) fn flushes(&self, place: u32) -> bool {
        self.place(place).is_some_and(|path| self.flushes[path])
    }

    fn place(&self, place: u32) -> Option<usize> {
        self.places.path(place).map(|_| place as usize - 1)
    }
}

fn keeps(places: &Places, path: &CallPath) -> Keeps {
    let frames = || path.frames.iter().map(|frame| &places.frames[*frame as usize]);
    let calls = |begin: &str| calls(places, path, begin);
    let is_netcdf = || frames().any(|frame| base_name(&frame.module).starts_with("libnetcdf"));
    // tables of the file may be written on the way of data, by its cache of them
    let writes_data = calls("H5Dwrite") && !calls("H5AC_") && !calls("H5C_");
    if !writes_data || !(calls("nc_put_") || is_netcdf()) {
        Keeps::Nothing
    } else if calls("H5D__chunk_") {
        Keeps::Chunks
    } else {
        Keeps::Little
    }
}

fn calls(places: &Places, path: &CallPath, begin: &str) -> bool {
    path.frames.iter().any(|frame| places.frames[*frame as usize].function.starts_with(begin))
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use tailrace_trace::places::Frame;

    use super::*;

    fn of(frames: &[(&str, &str)]) -> Keeps {
        let frame = |(function, module): &(&str, &str)| Frame {
            function: (*function).to_owned(),
            module: (*module).to_owned(),
            ..Frame::default()
        };
        let frames: Vec<Frame> = frames.iter().map(frame).collect();
        let paths =
            vec![CallPath { frames: (0..frames.len() as u32).collect(), ..CallPath::default() }];
        let places = Places { frames, paths };
        let libraries = Libraries::of(&places);
        assert_eq!(libraries.keep(0), Keeps::Nothing);
        libraries.keep(1)
    }

    #[test]
    fn what_is_kept_is_told_by_the_way_to_the_write() {
        let [chunk, contiguous] = ["H5D__chunk_collective_write", "H5D__contig_collective_write"]
            .map(|function| (function, "/lib/libhdf5.so.103"));
        let [write, put] = [("H5Dwrite", "/lib/libhdf5.so.103"), ("nc_put_vara", "model")];
        assert_eq!(of(&[chunk, write, put]), Keeps::Chunks);
        assert_eq!(of(&[contiguous, write, put]), Keeps::Little);
        // a library without names of its own functions
        assert_eq!(of(&[chunk, write, ("", "/lib/libnetcdf.so.19")]), Keeps::Chunks);
        // HDF5 alone may close the variable in between; a file's tables are no data
        assert_eq!(of(&[chunk, write, ("main", "model")]), Keeps::Nothing);
        assert_eq!(of(&[("H5AC_flush", ""), write, put]), Keeps::Nothing);
        assert_eq!(of(&[("H5Fclose", ""), ("nc_close", "model")]), Keeps::Nothing);
    }
}
