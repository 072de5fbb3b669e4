//! What netCDF-4 keeps until one rank closes the file.

use tailrace_predict::simulate::Method;
use tailrace_predict::{Asked, FileSystem, Pace, Rebuilt, replay};
use tailrace_replay::Access;
use tailrace_replay::program::FileCall;

use super::{Plain, asked, rebuilt};

/// By netCDF-4, three outputs of both ranks into variables in chunks, 1000 bytes each, at 500, 1000
/// and 1500; rank 0 has 100 bytes more in one that is contiguous. Both meet to close the file.
const NETCDF4: &str = "ranks 2
runtime 2300
0 0 100 open
from H5D__contig_collective_write H5Dwrite nc_put_vara
0 200 { mpiio-write collective bytes=100
0 200 300 write bytes=100 distance=0
0 300 }
from H5D__chunk_collective_write H5Dwrite nc_put_vara
0 500 { mpiio-write collective bytes=1000
0 500 700 write bytes=1000 distance=0
0 700 }
0 1000 { mpiio-write collective bytes=1000
0 1000 1200 write bytes=1000 distance=1000
0 1200 }
0 1500 { mpiio-write collective bytes=1000
0 1500 1700 write bytes=1000 distance=1000
0 1700 }
from H5Fclose nc_close
0 2000 { mpiio-close collective
0 2050 2150 close
0 2200 }
0 2300 2300 finalize
from
1 0 100 open
from H5D__contig_collective_write H5Dwrite nc_put_vara
1 200 { mpiio-write collective bytes=0
1 300 }
from H5D__chunk_collective_write H5Dwrite nc_put_vara
1 500 { mpiio-write collective bytes=1000
1 500 700 write bytes=1000 distance=1100
1 700 }
1 1000 { mpiio-write collective bytes=1000
1 1000 1200 write bytes=1000 distance=1000
1 1200 }
1 1500 { mpiio-write collective bytes=1000
1 1500 1700 write bytes=1000 distance=1000
1 1700 }
from H5Fclose nc_close
1 2000 { mpiio-close collective
1 2050 2150 close
1 2200 }
1 2300 2300 finalize
";

/// As [`Plain`], with when which writes of rank 0 begin, and of how many bytes.
#[derive(Default)]
struct Begins(Vec<(i64, u64)>);

impl FileSystem for Begins {
    fn end(&mut self, rank: u32, begin: i64, call: &FileCall) -> i64 {
        if rank == 0 && call.access == Access::Write {
            self.0.push((begin, call.bytes));
        }
        Plain.end(rank, begin, call)
    }
}

fn begins(text: &str, asked: &Asked) -> (Vec<(i64, u64)>, Vec<i64>, i64) {
    let mut found = Begins::default();
    let Rebuilt { steps, told, .. } = rebuilt(text, asked).unwrap();
    let replayed = replay(&steps, Pace::AS_MEASURED, &mut found);
    (found.0, replayed.ranks.iter().map(|rank| rank.end).collect(), told.kept)
}

#[test]
fn what_netcdf4_keeps_of_one_ranks_writes_goes_when_the_file_is_closed() {
    // Rank 0 opens until 100 and has computed for 300 at 400; a message takes 10 + 100, and 300 more
    // are computed behind each output: 510, 920 and 1330, and the file is to be closed at 1630. Then
    // the 100 bytes and three times 2000 go; closing takes 100, and so does what is computed last.
    let (writes, ends, kept) = begins(NETCDF4, &asked(Method::Serial));
    assert_eq!(writes, [(1630, 100), (1730, 2000), (3730, 2000), (5730, 2000)]);
    // rank 1 neither opens nor closes: 300, a message and 300 three times, and 100
    assert_eq!((ends, kept), (vec![7730 + 100 + 100, 300 + 3 * 410 + 100], 6100));
}

#[test]
fn by_one_rank_hdf5_writes_what_it_keeps_and_does_not_synchronise() {
    // From 1800 to 1900 both are in H5Fflush, which through MPI-IO is also an fsync.
    let flush = "from H5FD_flush H5Fflush nc_close
RANK 1800 { mpiio-sync collective
RANK 1820 1880 sync
RANK 1900 }
from H5Fclose nc_close
RANK 2000 {";
    let mut text = NETCDF4.to_owned();
    for rank in ["0", "1"] {
        let close = format!("from H5Fclose nc_close\n{rank} 2000 {{");
        text = text.replace(&close, &flush.replace("RANK", rank));
    }
    // What is kept goes there, 100 behind the last output; then 100 are computed, and the file is
    // closed: the same as before.
    let (writes, ends, kept) = begins(&text, &asked(Method::Serial));
    assert_eq!(writes, [(1430, 100), (1530, 2000), (3530, 2000), (5530, 2000)]);
    assert_eq!((ends, kept), (vec![7530 + 100 + 100 + 100, 300 + 3 * 110 + 600 + 200 + 100], 6100));
    let synchronizes = |method| {
        let calls = rebuilt(&text, &asked(method)).unwrap().steps.calls_made();
        calls.iter().flatten().filter(|call| call.access == Access::Synchronize).count()
    };
    let methods = [Method::Serial, Method::FilePerRank, Method::Independent];
    assert_eq!(methods.map(synchronizes), [0, 0, 2]);
}

#[test]
fn what_does_not_fit_goes_when_it_is_pushed_out() {
    // Two outputs do not fit: at 920 the first goes, until 2920; 410 later the second, until 5330.
    let smaller = Asked { kept_bytes: 3999, ..asked(Method::Serial) };
    let (writes, _, kept) = begins(NETCDF4, &smaller);
    assert_eq!(writes, [(920, 2000), (3330, 2000), (5630, 100), (5730, 2000)]);
    assert_eq!(kept, 2100);
    // where no chunk fits, only the contiguous variable stays, in the sieve buffer
    let (writes, ..) = begins(NETCDF4, &Asked { kept_bytes: 0, ..asked(Method::Serial) });
    assert_eq!(writes, [(510, 2000), (2920, 2000), (5330, 2000), (7630, 100)]);
}

#[test]
fn who_has_a_file_alone_keeps_its_own() {
    // Both open and compute for 300 and three times 300, and then write: rank 0 3100, rank 1 3000.
    let (writes, ends, _) = begins(NETCDF4, &asked(Method::FilePerRank));
    assert_eq!(writes, [(1300, 100), (1400, 1000), (2400, 1000), (3400, 1000)]);
    assert_eq!(ends, [4400 + 100 + 100, 4300 + 100 + 100]);
}

#[test]
fn what_goes_through_mpi_io_or_by_hdf5_alone_is_not_kept() {
    let (writes, _, kept) = begins(NETCDF4, &asked(Method::Independent));
    assert_eq!((writes.len(), writes[0], kept), (4, (200, 100), 0));
    // nothing tells when a program closes its variables
    let text = NETCDF4.replace("nc_put_vara", "main").replace("nc_close", "main");
    let (writes, _, kept) = begins(&text, &asked(Method::Serial));
    assert_eq!((writes, kept), (vec![(200, 100), (610, 2000), (3020, 2000), (5430, 2000)], 0));
}

#[test]
fn where_nobody_closes_the_file_all_is_written_at_once() {
    let text: String = NETCDF4
        .lines()
        .filter(|line| !line.contains("close"))
        .fold(String::new(), |text, line| text + line + "\n");
    let text = text.replace("0 2200 }\n", "").replace("1 2200 }\n", "");
    let (writes, _, kept) = begins(&text, &asked(Method::Serial));
    assert_eq!((writes[0], writes.len(), kept), ((200, 100), 4, 0));
}
