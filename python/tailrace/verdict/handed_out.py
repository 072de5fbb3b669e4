"""For whom one rank reads: for the others, if it hands out what it read, or for itself."""

from tailrace.verdict.evidence import Evidence
from tailrace.verdict.requests import bytes_of_functions
from tailrace.verdict.same_bytes import read_back

# A reader that hands out so much of what it read, in these calls, reads for the others.
HANDED_SHARE = 0.5
HANDED_OUT = {
    "broadcast": ("MPI_Bcast", "MPI_Ibcast"),
    "scattered": ("MPI_Scatter", "MPI_Scatterv", "MPI_Iscatter", "MPI_Iscatterv"),
}


def handed_out(evidence: Evidence, reader: int) -> str:
    """By which collective call the ranks get most of what the reader read, who need not be told to;
    else whether it reads what it wrote, which the others do not need."""
    functions = evidence.columns["functions"]
    read = int(evidence.by_rank("read").bytes[reader])
    for advised, names in HANDED_OUT.items():
        if bytes_of_functions(functions, names) >= HANDED_SHARE * read:
            return advised
    return read_back(evidence)
