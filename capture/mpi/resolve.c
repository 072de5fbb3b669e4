/* resolve.c: where an MPI call goes. Part of libtailrace.so, compiled without an MPI.
 *
 * At a symbol's first call the application has its MPI loaded. Where the process may record, the
 * flavour library made for that MPI's soname is loaded and its wrapper called, else what the
 * application would have called without capture.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../libdl.h"
#include "../process.h"
#include "bind.h"
#include "wrapper.h"

extern void *tailrace_slots[];

void *tailrace_resolve(unsigned number) __attribute__((visibility("hidden")));

/* The wrappers of the flavour library, which may not be there. */
static struct {
    bool asked;
    const struct tailrace_wrapper *wrappers;
    unsigned wrapper_count;
} found;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* --- The flavour library --- */

/* libmpi.so.12.3.0 → libmpi.so.12: the file may carry the full version, the soname does not. */
static void soname_of(const char *name, char *soname, size_t room)
{
    snprintf(soname, room, "%s", name);
    char *version = strstr(soname, ".so.");
    char *dot = version ? strchr(version + 4, '.') : NULL;
    if (dot)
        *dot = 0;
}

static const char *rank_of_job(void)
{
    static const char *const names[] = {"PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK",
                                        "SLURM_PROCID", NULL};
    for (int i = 0; names[i]; i++)
        if (getenv(names[i]))
            return getenv(names[i]);
    return "0";
}

/* One rank speaks for all. */
static void say(const char *sentence, const char *what)
{
    static int once;
    if (!strcmp(rank_of_job(), "0"))
        tailrace_say(
            &once,
            "MPI calls are not recorded: %s%s.\n"
            "hint: put the mpicc of the program's MPI (of MPICH for Intel MPI) on the PATH, "
            "or in MPICC, and run again with tailrace run; tailrace doctor shows which "
            "MPI is found",
            sentence, what);
}

static void start_flavour(void *library)
{
    __typeof__(tailrace_flavour_start) *start =
        (__typeof__(start))libdl.symbol(library, "tailrace_flavour_start");
    const struct tailrace_wrapper *wrappers = libdl.symbol(library, "tailrace_wrappers");
    const unsigned *count = libdl.symbol(library, "tailrace_wrapper_count");
    if (!start || !wrappers || !count) {
        say("the library for this MPI is not one of this version of Tailrace", "");
        return;
    }
    const char *missing = start(mpi_libraries.mpi, libdl.symbol);
    if (missing) {
        say("the program's MPI has no ", missing);
        return;
    }
    found.wrapper_count = *count;
    found.wrappers = wrappers;
}

/* MPICH's ABI has a name of its own in Debian; what is compiled for either serves the other, and
 * MPIs that keep to the ABI and come without a compiler (Intel's runtime). */
static const char *same_abi(const char *soname)
{
    static const char *const names[] = {"libmpi.so.12", "libmpich.so.12"};
    for (int i = 0; i < 2; i++)
        if (!strcmp(soname, names[i]))
            return names[!i];
    return NULL;
}

/* `path` is where it was looked for. */
static void *open_flavour(const char *directory, const char *soname, char *path, size_t room)
{
    snprintf(path, room, "%s/libtailrace-mpi-%s.so", directory, soname);
    return libdl.open(path, RTLD_NOW | RTLD_LOCAL);
}

static void load_flavour(void)
{
    const char *directory = getenv("TAILRACE_LIBRARIES");
    char soname[256], path[PATH_MAX], other_path[PATH_MAX];
    found.asked = true;
    soname_of(mpi_libraries.soname, soname, sizeof soname);
    if (!directory) {
        say("TAILRACE_LIBRARIES is not set", "");
        return;
    }
    void *library = open_flavour(directory, soname, path, sizeof path);
    const char *other = library ? NULL : same_abi(soname);
    if (other)
        library = open_flavour(directory, other, other_path, sizeof other_path);
    if (!library)
        say("there is no library for this MPI, ", path);
    else
        start_flavour(library);
}

/* --- Symbols --- */

static const struct tailrace_wrapper *find_wrapper(const char *symbol)
{
    unsigned low = 0, high = found.wrapper_count;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        int order = strcmp(symbol, found.wrappers[middle].symbol);
        if (!order)
            return &found.wrappers[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

/* An MPI whose library has a name of its own: its calls go on unseen. */
static void say_unknown(const char *symbol, void *address)
{
    Dl_info info;
    bool starts = !strncasecmp(symbol, "MPI_Init", 8) && strncasecmp(symbol, "MPI_Initialized", 15);
    if (starts && libdl.address(address, &info) && info.dli_fname)
        say("Tailrace does not know this MPI library, ", info.dli_fname);
}

static void *resolve(unsigned number)
{
    const char *symbol = symbol_name(number);
    void *real = symbol_target(number);
    if (!mpi_libraries.mpi)
        say_unknown(symbol, real);
    else if (!found.asked)
        load_flavour();
    const struct tailrace_wrapper *wrapper = find_wrapper(symbol);
    if (!wrapper)
        return real;
    *wrapper->real = real;
    return wrapper->wrapper;
}

/* Called by the trampoline: where to jump to. Trampolines are led to only where the function
 * exists. */
void *tailrace_resolve(unsigned number)
{
    tailrace_suppress_begin();
    pthread_mutex_lock(&mutex);
    void *target = resolve(number);
    __atomic_store_n(&tailrace_slots[number], target, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&mutex);
    tailrace_suppress_end();
    return target;
}
