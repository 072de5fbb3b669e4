"""The columns of a study's two tables, in their order, beside the factors and the numbers that a command printed."""

EFFICIENCIES = ("parallel", "load_balance", "serialization", "io", "io_balance", "io_transfer", "transfer")
POP = ("parallel", "load_balance", "communication", "serialization", "transfer")

# Which run it is, and how it ended.
IDENTITY = ("run", "block", "order", "begun_unix_s")
ENDING = ("status", "reason")

TIMES = (
    *("elapsed_s", "user_s", "system_s", "user_per_rank_s", "system_per_rank_s"),
    *("launch_to_end_s", "compute_s", "communicate_s"),
    *("create_s", "write_s", "read_s", "sync_s", "open_s", "close_s", "output_s", "input_s"),
    *("shared_write_s", "shared_read_s", "read_and_write_s"),
)
AMOUNTS = ("bytes_written", "bytes_read", "maximum_resident_bytes")
RATES = (
    *("write_rate_mb_per_s", "write_rate_whole_mb_per_s", "read_rate_mb_per_s", "read_rate_whole_mb_per_s"),
    *("posix_rate_mb_per_s", "stdio_rate_mb_per_s"),
)
SHARES = ("shared_write_share", "shared_read_share")
FACTORS = (*(f"efficiency_{name}" for name in EFFICIENCIES), *(f"pop_{name}" for name in POP))
MEASURED = (*TIMES, *AMOUNTS, *RATES, *SHARES, *FACTORS)
# How the run was made, for who looks closer.
CIRCUMSTANCES = ("verified", "cache", "load_average")

TAKEN = frozenset((*IDENTITY, *ENDING, *MEASURED, *CIRCUMSTANCES))

PHASE_COLUMNS = (
    "run",
    "output",
    "direction",
    "step",
    "phase",
    "bytes",
    "minimum_s",
    "mean_s",
    "maximum_s",
    "slowest_rank",
)
