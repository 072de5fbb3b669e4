/* starters.c: the names of programs that start others: shells, launchers, and what stands before a
 * command to have it run in some way.
 */
#include "starters.h"

#include <stddef.h>
#include <string.h>

/* Programs that start others: their own files are not what anybody asks about. */
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
    "mpiexec",
    "mpirun",
    "mpiexec.hydra",
    "mpiexec.mpich",
    "mpiexec.openmpi",
    "mpiexec.gforker",
    "hydra_pmi_proxy",
    "hydra_bstrap_proxy",
    "hydra_nameserver",
    "hydra_persist",
    "hydra_launcher",
    "orterun",
    "orted",
    "oshrun",
    "prte",
    "prted",
    "prterun",
    "prun",
    "pterm",
    "srun",
    "sbatch",
    "salloc",
    "slurmstepd",
    "slurmd",
    "aprun",
    "jsrun",
    "lrun",
    "flux",
    "palsd",
    "pbs_tmrsh",
    "pbsdsh",
    "ibrun",
    "ssh",
    "rsh",
    "tailrace",
};

/* Of these, the ones that start the ranks of a run. What they start is told apart by a variable
 * that they get here and pass on. */
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
    const char *slash = path ? strrchr(path, '/') : NULL;
    const char *name = slash ? slash + 1 : path;
    for (size_t i = 0; name && i < count; i++)
        if (!strcmp(name, names[i]))
            return true;
    return false;
}

bool starts_others(const char *path)
{
    return is_among(path, starters, sizeof starters / sizeof *starters);
}

bool starts_ranks(const char *path)
{
    return is_among(path, launchers, sizeof launchers / sizeof *launchers);
}
