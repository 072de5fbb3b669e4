/* starters.c: the names of programs that start others: shells, launchers, and what stands before a
 * command to have it run in some way.
 */
#include "starters.h"

#include <stddef.h>
#include <string.h>

#include "text.h"

/* Programs that start others, beside the launchers: their own files are not what anybody asks
 * about. */
static const char *const starters[] = {
    "sh",
    "bash",
    "dash",
    "zsh",
    "ksh",
    "mksh",
    "csh",
    "tcsh",
    "fish",
    "rbash",
    "busybox",
    "env",
    "nice",
    "ionice",
    "nohup",
    "time",
    "timeout",
    "setsid",
    "stdbuf",
    "strace",
    "ltrace",
    "gdb",
    "perf",
    "valgrind",
    "xargs",
    "parallel",
    "make",
    "gmake",
    "ninja",
    "ctest",
    "cmake",
    "sudo",
    "su",
    "numactl",
    "taskset",
    "chrt",
    "flock",
    "prlimit",
    "unshare",
    "setarch",
    "setpriv",
    "chroot",
    "hwloc-bind",
    "likwid-pin",
    "bwrap",
    "firejail",
    "proot",
    "faked",
    "faketime",
    "tini",
    "dumb-init",
    "catatonit",
    "chronic",
    "unbuffer",
    "hydra_pmi_proxy",
    "hydra_bstrap_proxy",
    "hydra_nameserver",
    "hydra_persist",
    "hydra_launcher",
    "orted",
    "prte",
    "prted",
    "pterm",
    "sbatch",
    "salloc",
    "slurmstepd",
    "slurmd",
    "flux",
    "palsd",
    "pbs_tmrsh",
    "pbsdsh",
    "ibrun",
    "ssh",
    "rsh",
    "tailrace",
};

/* Those that start the ranks of a run. What they start is told apart by a variable that they get
 * here and pass on. */
static const char *const launchers[] = {
    "mpiexec",
    "mpirun",
    "mpiexec.hydra",
    "mpiexec.mpich",
    "mpiexec.openmpi",
    "mpiexec.gforker",
    "orterun",
    "oshrun",
    "prterun",
    "prun",
    "srun",
    "aprun",
    "jsrun",
    "lrun",
};

static bool is_among(const char *path, const char *const *names, size_t count)
{
    for (size_t i = 0; path && i < count; i++)
        if (!strcmp(text_file_name(path), names[i]))
            return true;
    return false;
}

bool starts_ranks(const char *path)
{
    return is_among(path, launchers, sizeof launchers / sizeof *launchers);
}

bool starts_others(const char *path)
{
    return starts_ranks(path) || is_among(path, starters, sizeof starters / sizeof *starters);
}
