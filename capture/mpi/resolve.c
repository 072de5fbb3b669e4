/* resolve.c: where an MPI call goes. Part of libtailrace.so, compiled without an MPI.
 *
 * At a symbol's first call the application has its MPI loaded. Where the process may record, the flavour library made
 * for that MPI's soname is loaded and its wrapper called, else what the application would have called without capture.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "../process.h"
#include "wrapper.h"

extern const char tailrace_symbol_names[];
extern const unsigned tailrace_symbol_count;
extern void *tailrace_slots[];

void *tailrace_resolve(unsigned number, const void *caller) __attribute__((visibility("hidden")));

enum { LIBRARIES_MAX = 16 };

struct library {
    char path[PATH_MAX];
    char name[256];
};

/* What is found at the first call that needs it. */
static struct {
    void *mpi;                /* handle of the application's libmpi */
    void *all[LIBRARIES_MAX]; /* handles of everything named libmpi*: Fortran's bindings have libraries of their own */
    unsigned count;
    bool asked; /* for the flavour library, which may not be there */
    struct library main;
    const struct tailrace_wrapper *wrappers;
    unsigned wrapper_count;
} found;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* --- The application's MPI -------------------------------------------------------------------------------------------
 */

static bool starts_with(const char *text, const char *prefix)
{
    return !strncmp(text, prefix, strlen(prefix));
}

/* MPICH and its descendants, Debian's MPICH, Cray's, Open MPI, the standard ABI. */
static bool is_mpi(const char *name)
{
    static const char *const prefixes[] = {"libmpi.so.", "libmpich.so.",   "libmpi_cray.so.",
                                           "libmpi_gnu", "libmpi_abi.so.", NULL};
    for (int i = 0; prefixes[i]; i++)
        if (starts_with(name, prefixes[i]))
            return true;
    return false;
}

static void *reopen(const char *path)
{
    return dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
}

static void take(const char *path, const char *name)
{
    void *handle = found.count < LIBRARIES_MAX ? reopen(path) : NULL;
    if (!handle)
        return;
    found.all[found.count++] = handle;
    if (found.mpi || !is_mpi(name) || !dlsym(handle, "PMPI_Init"))
        return;
    found.mpi = handle;
    snprintf(found.main.path, sizeof found.main.path, "%s", path);
    snprintf(found.main.name, sizeof found.main.name, "%s", name);
}

/* Paths are collected first: dlopen must not be called while the list of objects is walked. */
struct collection {
    struct library libraries[LIBRARIES_MAX];
    unsigned count;
};

static int collect(struct dl_phdr_info *info, size_t bytes, void *context)
{
    struct collection *collection = context;
    const char *slash = strrchr(info->dlpi_name, '/');
    const char *name = slash ? slash + 1 : info->dlpi_name;
    (void)bytes;
    if (!starts_with(name, "libmpi") || collection->count >= LIBRARIES_MAX)
        return 0;
    struct library *library = &collection->libraries[collection->count++];
    snprintf(library->path, sizeof library->path, "%s", info->dlpi_name);
    snprintf(library->name, sizeof library->name, "%s", name);
    return 0;
}

static void find_mpi(void)
{
    struct collection *collection = calloc(1, sizeof *collection);
    if (!collection)
        return;
    dl_iterate_phdr(collect, collection);
    found.count = 0;
    for (unsigned i = 0; i < collection->count; i++)
        take(collection->libraries[i].path, collection->libraries[i].name);
    free(collection);
}

/* --- The flavour library ---------------------------------------------------------------------------------------------
 */

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
    static const char *const names[] = {"PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID", NULL};
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
        tailrace_say(&once, "MPI calls are not recorded: %s%s.", sentence, what);
}

static void start_flavour(void *library)
{
    const char *(*start)(void *) = (const char *(*)(void *))dlsym(library, "tailrace_flavour_start");
    const struct tailrace_wrapper *wrappers = dlsym(library, "tailrace_wrappers");
    const unsigned *count = dlsym(library, "tailrace_wrapper_count");
    if (!start || !wrappers || !count) {
        say("the library for this MPI is not one of this version of Tailrace", "");
        return;
    }
    const char *missing = start(found.mpi);
    if (missing) {
        say("the program's MPI has no ", missing);
        return;
    }
    found.wrapper_count = *count;
    found.wrappers = wrappers;
}

static void load_flavour(void)
{
    const char *directory = getenv("TAILRACE_LIBRARIES");
    char soname[256], path[PATH_MAX];
    soname_of(found.main.name, soname, sizeof soname);
    if (!directory) {
        say("TAILRACE_LIBRARIES is not set", "");
        return;
    }
    snprintf(path, sizeof path, "%s/libtailrace-mpi-%s.so", directory, soname);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        say("there is no library for this MPI, ", path);
    else
        start_flavour(library);
}

/* --- Symbols
 * ------------------------------------------------------------------------------------------------------------ */

static const char *symbol_name(unsigned number)
{
    const char *name = tailrace_symbol_names;
    while (number--)
        name += strlen(name) + 1;
    return name;
}

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

static void *in_caller(const char *symbol, const void *caller)
{
    Dl_info info;
    void *handle = dladdr(caller, &info) && info.dli_fname ? reopen(info.dli_fname) : NULL;
    void *address = handle ? dlsym(handle, symbol) : NULL;
    Dl_info own, target;
    bool is_own =
        address && dladdr((void *)find_wrapper, &own) && dladdr(address, &target) && own.dli_fbase == target.dli_fbase;
    return is_own ? NULL : address;
}

/* What the application would have called: the next in the global scope (another tool, perhaps), else what its own,
 * locally loaded MPI has, else what the calling library's dependencies have. */
static void *find_real(const char *symbol, const void *caller)
{
    void *address = dlsym(RTLD_NEXT, symbol);
    for (unsigned i = 0; !address && i < found.count; i++)
        address = dlsym(found.all[i], symbol);
    return address ? address : in_caller(symbol, caller);
}

/* Fortran's names without an underscore behind are plain words ("mpi_init"): they are MPI's only if MPI has them. */
static bool belongs_to_mpi(const char *symbol, void *address)
{
    Dl_info info;
    size_t length = strlen(symbol);
    if (starts_with(symbol, "MPI_") || symbol[length - 1] == '_')
        return true;
    if (!dladdr(address, &info) || !info.dli_fname)
        return false;
    const char *slash = strrchr(info.dli_fname, '/');
    return starts_with(slash ? slash + 1 : info.dli_fname, "libmpi");
}

/* A program may ask for MPI_Initialized by name without having an MPI: capture's trampoline must not be taken for one.
 */
static int not_initialized(int *flag, int *error)
{
    *flag = 0;
    (void)error;
    return 0;
}

static void *without_mpi(const char *symbol)
{
    if (!strcasecmp(symbol, "MPI_Initialized") || !strcasecmp(symbol, "MPI_Finalized"))
        return (void *)not_initialized;
    dprintf(STDERR_FILENO, "symbol lookup error: undefined symbol: %s\n", symbol);
    _exit(127);
}

static void search(void)
{
    if (!found.mpi)
        find_mpi();
    if (!found.mpi || !process.may_record || found.asked)
        return;
    found.asked = true;
    load_flavour();
}

/* An MPI whose library has a name of its own: its calls go on unseen. */
static void say_unknown(const char *symbol, void *address)
{
    Dl_info info;
    bool starts = !strncasecmp(symbol, "MPI_Init", 8) && strncasecmp(symbol, "MPI_Initialized", 15);
    if (starts && dladdr(address, &info) && info.dli_fname)
        say("Tailrace does not know this MPI library, ", info.dli_fname);
}

static void *resolve(const char *symbol, const void *caller)
{
    search();
    void *real = find_real(symbol, caller);
    if (!real)
        return NULL;
    if (!found.mpi && process.may_record)
        say_unknown(symbol, real);
    const struct tailrace_wrapper *wrapper = belongs_to_mpi(symbol, real) ? find_wrapper(symbol) : NULL;
    if (!wrapper)
        return real;
    *wrapper->real = real;
    return wrapper->wrapper;
}

/* Called by the trampoline: where to jump to. What is found stays; what is not may be loaded later. Nor does it stay
 * before our constructor has run: other libraries' call MPI before it (libmpi_cxx asks MPI_Initialized), and whether
 * this process may record is not known yet. */
void *tailrace_resolve(unsigned number, const void *caller)
{
    const char *symbol = symbol_name(number);
    tailrace_suppress_begin();
    pthread_mutex_lock(&mutex);
    void *target = resolve(symbol, caller);
    if (target && process.started)
        __atomic_store_n(&tailrace_slots[number], target, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&mutex);
    tailrace_suppress_end();
    return target ? target : without_mpi(symbol);
}
