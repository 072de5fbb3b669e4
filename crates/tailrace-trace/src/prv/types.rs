//! Extrae's numbers: event types, their values, states.

/// MPI's types: from this to [`MPI_IO`]; between them 50000003 (others) and 50000004 (one-sided).
pub(super) const POINT_TO_POINT: u32 = 50_000_001;
pub(super) const COLLECTIVE: u32 = 50_000_002;
pub(super) const MPI_IO: u32 = 50_000_005;
pub(super) const MPI_IO_SIZE: u32 = 50_000_110;
pub(super) const SEND_SIZE: u32 = 50_100_001;
pub(super) const RECEIVE_SIZE: u32 = 50_100_002;
/// Stands, with value 1, only on the root.
pub(super) const ROOT: u32 = 50_100_003;
pub(super) const COMMUNICATOR: u32 = 50_100_004;
/// The tracer writes its own buffers to disk.
pub(super) const FLUSH: u32 = 40_000_003;
pub(super) const IO: u32 = 40_000_004;
pub(super) const IO_DESCRIPTOR: u32 = 40_000_010;
pub(super) const IO_SIZE: u32 = 40_000_011;
/// With open calls: the number of the file's path, which the `.pcf` lists.
pub(super) const FILE_NAME: u32 = 40_000_059;
pub(super) const INSTRUCTIONS: u32 = 42_000_050;
pub(super) const CYCLES: u32 = 42_000_059;

/// Types whose value is a call, or 0 at its end.
pub(super) fn is_call(kind: u32) -> bool {
    is_mpi(kind) || matches!(kind, FLUSH | IO)
}

/// Types whose values have names that mean something here.
pub(super) fn has_names(kind: u32) -> bool {
    is_call(kind) || kind == FILE_NAME
}

pub(super) const RUNNING: u32 = 1;
pub(super) const NOT_CREATED: u32 = 2;
pub(super) const SYNCHRONIZATION: u32 = 5;
pub(super) const FORK_JOIN: u32 = 7;
pub(super) const STATE_IO: u32 = 12;

pub(super) fn is_mpi(kind: u32) -> bool {
    matches!(kind, POINT_TO_POINT..=MPI_IO)
}

const STATES: [&str; 32] = [
    "Idle",
    "Running",
    "Not created",
    "Waiting a message",
    "Blocking Send",
    "Synchronization",
    "Test/Probe",
    "Scheduling and Fork/Join",
    "Wait/WaitAll",
    "Blocked",
    "Immediate Send",
    "Immediate Receive",
    "I/O",
    "Group Communication",
    "Tracing Disabled",
    "Others",
    "Send Receive",
    "Memory transfer",
    "Profiling",
    "On-line analysis",
    "Remote memory access",
    "Atomic memory operation",
    "Memory ordering operation",
    "Distributed locking",
    "Overhead",
    "One-sided op",
    "Startup latency",
    "Waiting links",
    "Data copy",
    "RTT",
    "Allocating memory",
    "Freeing memory",
];

pub(super) fn state_name(state: u32) -> String {
    STATES.get(state as usize).map_or_else(|| format!("state {state}"), |name| (*name).to_owned())
}

/// Values of [`IO`], from 1.
const IO_CALLS: [&str; 15] = [
    "read", "write", "fread", "fwrite", "pread", "pwrite", "readv", "writev", "preadv", "pwritev",
    "open", "fopen", "ioctl", "close", "fclose",
];

/// Values of the MPI types for calls that move data or make ranks wait, for traces without a
/// `.pcf`.
const MPI_CALLS: [(u64, &str); 69] = [
    (1, "MPI_Send"),
    (2, "MPI_Recv"),
    (3, "MPI_Isend"),
    (4, "MPI_Irecv"),
    (5, "MPI_Wait"),
    (6, "MPI_Waitall"),
    (7, "MPI_Bcast"),
    (8, "MPI_Barrier"),
    (9, "MPI_Reduce"),
    (10, "MPI_Allreduce"),
    (11, "MPI_Alltoall"),
    (12, "MPI_Alltoallv"),
    (13, "MPI_Gather"),
    (14, "MPI_Gatherv"),
    (15, "MPI_Scatter"),
    (16, "MPI_Scatterv"),
    (17, "MPI_Allgather"),
    (18, "MPI_Allgatherv"),
    (19, "MPI_Comm_rank"),
    (20, "MPI_Comm_size"),
    (21, "MPI_Comm_create"),
    (22, "MPI_Comm_dup"),
    (23, "MPI_Comm_split"),
    (25, "MPI_Comm_free"),
    (30, "MPI_Scan"),
    (31, "MPI_Init"),
    (32, "MPI_Finalize"),
    (33, "MPI_Bsend"),
    (34, "MPI_Ssend"),
    (35, "MPI_Rsend"),
    (36, "MPI_Ibsend"),
    (37, "MPI_Issend"),
    (38, "MPI_Irsend"),
    (39, "MPI_Test"),
    (41, "MPI_Sendrecv"),
    (42, "MPI_Sendrecv_replace"),
    (59, "MPI_Waitany"),
    (60, "MPI_Waitsome"),
    (61, "MPI_Probe"),
    (62, "MPI_Iprobe"),
    (80, "MPI_Reduce_scatter"),
    (123, "MPI_Start"),
    (124, "MPI_Startall"),
    (125, "MPI_Testall"),
    (126, "MPI_Testany"),
    (128, "MPI_Testsome"),
    (141, "MPI_File_open"),
    (142, "MPI_File_close"),
    (143, "MPI_File_read"),
    (144, "MPI_File_read_all"),
    (145, "MPI_File_write"),
    (146, "MPI_File_write_all"),
    (147, "MPI_File_read_at"),
    (148, "MPI_File_read_at_all"),
    (149, "MPI_File_write_at"),
    (150, "MPI_File_write_at_all"),
    (154, "MPI_Ireduce"),
    (155, "MPI_Iallreduce"),
    (156, "MPI_Ibarrier"),
    (157, "MPI_Ibcast"),
    (158, "MPI_Ialltoall"),
    (159, "MPI_Ialltoallv"),
    (160, "MPI_Iallgather"),
    (161, "MPI_Iallgatherv"),
    (162, "MPI_Igather"),
    (163, "MPI_Igatherv"),
    (164, "MPI_Iscatter"),
    (165, "MPI_Iscatterv"),
    (194, "MPI_Init_thread"),
];

/// Extrae's name of a value of an event type, where this reader needs it.
pub(super) fn value_name(kind: u32, value: u64) -> Option<&'static str> {
    match kind {
        IO => (value as usize).checked_sub(1).and_then(|index| IO_CALLS.get(index)).copied(),
        POINT_TO_POINT..=MPI_IO => {
            MPI_CALLS.iter().find(|(known, _)| *known == value).map(|(_, name)| *name)
        }
        _ => None,
    }
}
