/* bind.c: leads the program's MPI calls to capture's trampolines.
 *
 * libtailrace.so exports no MPI name: a program must not find a function that its MPI lacks, nor an
 * MPI where there is none. Instead the entries through which loaded objects call MPI (global offset
 * table, pointers in data) are made to lead to a trampoline, wherever they lead, or when they are
 * bound will lead, to the function that the trampoline stands for; every other entry stays as it
 * is. That is done when the program starts and after each dlopen, for which the entries of dlopen
 * and dlsym are redirected as well, as are those of dladdr, by which a program may ask whose its MPI
 * is, and those by which HDF5 reaches its filters.
 */
#define _GNU_SOURCE
#include "bind.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "../glibc.h"
#include "../libdl.h"
#include "../process.h"
#include "../system.h"
#include "../text.h"

extern const int tailrace_symbol_places[];
extern const unsigned tailrace_symbol_count;
extern char tailrace_trampolines[], tailrace_trampolines_end[];

/* In trampoline.h: jump to what these say, as if the caller had. */
void *tailrace_dlopen(const char *, int) __attribute__((visibility("hidden")));
void *tailrace_dlsym(void *, const char *) __attribute__((visibility("hidden")));
int tailrace_dladdr(const void *, Dl_info *) __attribute__((visibility("hidden")));
int tailrace_dladdr1(const void *, Dl_info *, void **, int) __attribute__((visibility("hidden")));
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));
typedef void *(*dlopen_function)(const char *, int);
typedef void *(*dlsym_function)(void *, const char *);
dlopen_function tailrace_choose_dlopen(const char *, int, void *)
    __attribute__((visibility("hidden")));
dlsym_function tailrace_choose_dlsym(void *, const char *, void *)
    __attribute__((visibility("hidden")));

void mpi_bind(void) __attribute__((visibility("hidden")));

struct mpi_libraries mpi_libraries;

/* The loader's functions, as the program would call them: another preload may have its own. */
static struct {
    dlopen_function open;
    dlsym_function symbol;
    __typeof__(libdl.address) address;
    __typeof__(libdl.address_more) address_more;
} loader;

/* --- Symbols --- */

const char *symbol_name(unsigned number)
{
    return (const char *)tailrace_symbol_places + tailrace_symbol_places[number];
}

/* Names of MPI's profiling interface are those of MPI with a letter before: PMPI_X, pmpi_x_. */
static bool is_profiling(const char *symbol)
{
    return starts_with(symbol, "PMPI_") || starts_with(symbol, "pmpi_");
}

/* PMPI_X has the number of MPI_X. */
static int symbol_number(const char *symbol)
{
    int low = 0, high = (int)tailrace_symbol_count;
    symbol += is_profiling(symbol);
    if (strncmp(symbol, "MPI_", 4) && strncmp(symbol, "mpi_", 4))
        return -1;
    while (low < high) {
        int middle = (low + high) / 2, order = strcmp(symbol, symbol_name((unsigned)middle));
        if (!order)
            return middle;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return -1;
}

static void *trampoline(unsigned number)
{
    return tailrace_trampolines + (size_t)number * TRAMPOLINE_BYTES;
}

/* Fortran's names without an underscore behind are plain words ("mpi_init"): they are MPI's only if
 * MPI has them. */
static bool belongs_to_mpi(const char *symbol, void *address)
{
    Dl_info info;
    if (starts_with(symbol + is_profiling(symbol), "MPI_") || symbol[strlen(symbol) - 1] == '_')
        return true;
    if (!libdl.address(address, &info) || !info.dli_fname)
        return false;
    return starts_with(text_file_name(info.dli_fname), "libmpi");
}

/* The next in the global scope (another tool's, perhaps), else what an MPI has that was loaded
 * locally. */
static void *function_of_mpi(const char *symbol)
{
    void *address = libdl.symbol(RTLD_NEXT, symbol);
    for (unsigned i = 0; !address && i < mpi_libraries.count; i++)
        address = libdl.symbol(mpi_libraries.all[i], symbol);
    return address && belongs_to_mpi(symbol, address) ? address : NULL;
}

/* Where a PMPI_X was led to a trampoline, that stands for the same function ever after: a tool that
 * comes in front of MPI_X later calls PMPI_X, and would be led to itself. By number; there once an
 * MPI is. */
static void **kept_targets;

static bool keep_target(unsigned number, void *target)
{
    void **kept = __atomic_load_n(&kept_targets, __ATOMIC_ACQUIRE);
    if (kept)
        __atomic_store_n(&kept[number], target, __ATOMIC_RELEASE);
    return kept;
}

void *symbol_target(unsigned number)
{
    void **kept = __atomic_load_n(&kept_targets, __ATOMIC_ACQUIRE);
    void *target = kept ? __atomic_load_n(&kept[number], __ATOMIC_ACQUIRE) : NULL;
    return target ? target : function_of_mpi(symbol_name(number));
}

/* --- The application's MPI --- */

/* MPICH and its descendants, Debian's MPICH, Cray's, Open MPI, the standard ABI. */
static bool is_mpi(const char *soname)
{
    static const char *const prefixes[] = {"libmpi.so.", "libmpich.so.",   "libmpi_cray.so.",
                                           "libmpi_gnu", "libmpi_abi.so.", NULL};
    for (int i = 0; prefixes[i]; i++)
        if (starts_with(soname, prefixes[i]))
            return true;
    return false;
}

/* Its handle is kept: our wrappers call it. True where it is new: it may be what objects that came
 * before it will be bound to. */
static bool remember_mpi(const struct object *object)
{
    const char *soname = object_soname(object);
    struct mpi_libraries *known = &mpi_libraries;
    if (!starts_with(soname, "libmpi") || known->count == MPI_LIBRARIES_MAX)
        return false;
    for (unsigned i = 0; i < known->count; i++)
        if (known->all[i] == object->handle)
            return false;
    void *handle = libdl.open(object->name, RTLD_LAZY | RTLD_NOLOAD);
    if (!handle)
        return false;
    if (!known->count)
        __atomic_store_n(&kept_targets, system_map_memory(tailrace_symbol_count * sizeof(void *)),
                         __ATOMIC_RELEASE);
    known->all[known->count++] = handle;
    if (known->mpi || !is_mpi(soname) || !libdl.symbol(handle, "PMPI_Init"))
        return true;
    strncpy(known->soname, soname, sizeof known->soname - 1);
    known->mpi = handle;
    return true;
}

/* --- Entries --- */

/* What an entry that is not bound yet will lead to. A program that holds the address of a function
 * has a stub of its own for it in the global scope, which leads to the next. */
static void *will_lead_to(const struct object *object, const char *symbol)
{
    Dl_info info;
    const ElfW(Sym) *definition = NULL;
    void *address = libdl.symbol(RTLD_DEFAULT, symbol);
    if (!address)
        return libdl.symbol(object->handle, symbol);
    if (libdl.address_more(address, &info, (void **)&definition, RTLD_DL_SYMENT) && definition &&
        definition->st_shndx == SHN_UNDEF)
        return libdl.symbol(RTLD_NEXT, symbol);
    return address;
}

static bool is_inside(const struct object *object, const void *address)
{
    return (uintptr_t)address >= object->begin && (uintptr_t)address < object->end;
}

static bool leads_to(const struct object *object, void *const *entry, const char *symbol,
                     const void *target)
{
    const void *value = __atomic_load_n(entry, __ATOMIC_ACQUIRE);
    return target && value &&
           (value == target ||
            (is_inside(object, value) && will_lead_to(object, symbol) == target));
}

static void redirect(const struct object *object, void **entry, const char *symbol, void *target,
                     void *ours)
{
    if (leads_to(object, entry, symbol, target))
        object_redirect(object, entry, ours);
}

/* --- PMPI --- */

/* Most MPIs have one function for both names. */
static bool are_of_one_library(const void *one, const void *other)
{
    Dl_info its, others;
    return one == other || (libdl.address(one, &its) && libdl.address(other, &others) &&
                            its.dli_fbase == others.dli_fbase);
}

/* The trampoline of MPI_X stands for PMPI_X, too, unless another tool's MPI_X is in front of MPI's:
 * calls are recorded there, and what the tool calls in its turn is PMPI_X. */
static bool stands_for(unsigned number, const void *profiling)
{
    void *target = symbol_target(number);
    return target && are_of_one_library(target, profiling) && keep_target(number, target);
}

/* A tool in the program itself is in front of all others, which nobody calls then. */
static bool is_made_to_stand_for(const struct object *object, unsigned number, void *profiling)
{
    return object->is_main && is_inside(object, will_lead_to(object, symbol_name(number))) &&
           keep_target(number, profiling);
}

/* MPI's own libraries call PMPI_X to do what they were called for, as those of Fortran do. */
static bool is_part_of_mpi(const struct object *object)
{
    static const char *const names[] = {
        "PMPI_Init", "pmpi_init_", "pmpi_init_f08_", "pmpi_init", "pmpi_init__", "PMPI_INIT", NULL};
    for (int i = 0; !object->is_main && names[i]; i++)
        if (is_inside(object, libdl.symbol(object->handle, names[i])))
            return true;
    return false;
}

/* Asked once of each object that calls PMPI. */
static enum { NOT_ASKED, PART_OF_MPI, USER_OF_MPI } part_of_mpi;

static void bind_profiling(const struct object *object, void **entry, const char *symbol,
                           unsigned number)
{
    void *real = function_of_mpi(symbol);
    if (!leads_to(object, entry, symbol, real))
        return;
    if (part_of_mpi == NOT_ASKED)
        part_of_mpi = is_part_of_mpi(object) ? PART_OF_MPI : USER_OF_MPI;
    if (part_of_mpi == USER_OF_MPI &&
        (stands_for(number, real) || is_made_to_stand_for(object, number, real)))
        object_redirect(object, entry, trampoline(number));
}

/* --- HDF5's filters --- */

static bool is_hdf5(const struct object *object)
{
    return starts_with(object_soname(object), "libhdf5");
}

static bool is_in(const char *library, const void *address)
{
    Dl_info info;
    return address && libdl.address(address, &info) && info.dli_fname &&
           starts_with(text_file_name(info.dli_fname), library);
}

/* Where the entry leads if that is in a library of such a name: compress2 is a plain word. */
static void *target_in(const char *library, const struct object *object, const char *symbol)
{
    void *address = will_lead_to(object, symbol);
    return is_in(library, address) ? address : NULL;
}

/* Those that HDF5 has itself are data, which it reaches by entries, too. */
static void bind_own_filter(const struct object *object, void **entry)
{
    void *ours = is_in("libhdf5", *entry) ? filters_of_hdf5(*entry) : NULL;
    if (ours)
        object_redirect(object, entry, ours);
}

static bool is_own_filter(const char *symbol)
{
    static const char *const names[] = {"DEFLATE", "SHUFFLE", "FLETCHER32",
                                        "SZIP",    "NBIT",    "SCALEOFFSET"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(symbol + strlen("H5Z_"), names[i]))
            return true;
    return false;
}

/* zlib's function may be called by a program that holds HDF5. Who calls either has it loaded for as
 * long as it lives, as has who registers a filter the HDF5 that it needs. */
static bool bind_filter(const struct object *object, void **entry, const char *symbol)
{
    if (*symbol == 'c' && !strcmp(symbol, "compress2") && (object->is_main || is_hdf5(object)))
        redirect(object, entry, symbol, filters_compress2(target_in("libz", object, symbol)),
                 (void *)tailrace_compress2);
    else if (*symbol != 'H' || !starts_with(symbol, "H5Z"))
        return false;
    else if (!strcmp(symbol, "H5Zregister") && object_needs(object, "libhdf5"))
        redirect(object, entry, symbol, filters_register(target_in("libhdf5", object, symbol)),
                 (void *)tailrace_register_filter);
    else if (starts_with(symbol, "H5Z_") && is_own_filter(symbol) && is_hdf5(object))
        bind_own_filter(object, entry);
    return true;
}

static void bind_entry(const struct object *object, void **entry, const char *symbol)
{
    int number;
    if (*symbol == 'd' && !strcmp(symbol, "dlopen"))
        redirect(object, entry, symbol, (void *)loader.open, (void *)tailrace_dlopen);
    else if (*symbol == 'd' && !strcmp(symbol, "dlsym"))
        redirect(object, entry, symbol, (void *)loader.symbol, (void *)tailrace_dlsym);
    else if (*symbol == 'd' && !strcmp(symbol, "dladdr"))
        redirect(object, entry, symbol, (void *)loader.address, (void *)tailrace_dladdr);
    else if (*symbol == 'd' && !strcmp(symbol, "dladdr1"))
        redirect(object, entry, symbol, (void *)loader.address_more, (void *)tailrace_dladdr1);
    else if (bind_filter(object, entry, symbol) || (number = symbol_number(symbol)) < 0)
        return;
    else if (is_profiling(symbol))
        bind_profiling(object, entry, symbol, (unsigned)number);
    else
        redirect(object, entry, symbol, symbol_target((unsigned)number),
                 trampoline((unsigned)number));
}

/* Neither the loader and the C library, which call no MPI, nor capture itself. */
static bool is_left_alone(const struct object *object)
{
    const char *soname = object_soname(object);
    uintptr_t own = (uintptr_t)&mpi_libraries;
    return (own >= object->begin && own < object->end) || starts_with(soname, "libtailrace") ||
           starts_with(soname, "libc.so") || starts_with(soname, "ld-") ||
           starts_with(soname, "libdl.so");
}

static bool bind_object(const struct object *object)
{
    part_of_mpi = NOT_ASKED;
    if (!is_left_alone(object))
        object_entries(object, bind_entry);
    return false;
}

/* Nobody waits here, as the loader's lock may be held by who waits and wanted by who works: who
 * comes meanwhile leaves the work to the other. */
static void look(void)
{
    static atomic_uint wanted;
    if (atomic_fetch_add(&wanted, 1))
        return;
    unsigned done = 1;
    do
        objects_look(remember_mpi, bind_object);
    while ((done = atomic_fetch_sub(&wanted, done) - done));
}

/* --- The loader's functions --- */

/* A library that could not be loaded left nothing to look at. */
static void *open_and_look(const char *path, int mode)
{
    void *handle = loader.open(path, mode);
    int saved = errno;
    if (handle)
        look();
    errno = saved;
    return handle;
}

/* Whether the object's own search path (or $ORIGIN) has a say in what dlopen finds. The program's
 * DT_RPATH has it for all. */
static bool depends_on_caller(const char *path, const void *caller)
{
    struct link_map *map = NULL;
    Dl_info info;
    if (strchr(path, '$') || !libdl.address_more(caller, &info, (void **)&map, RTLD_DL_LINKMAP) ||
        !map)
        return true;
    struct object object = {.dynamic = map->l_ld};
    return object_tag(&object, DT_RPATH) || (object_tag(&object, DT_RUNPATH) && !strchr(path, '/'));
}

/* Where it matters who calls, the loader is called as by the program, and what it has loaded is
 * looked at when the program next asks it something, which is before it can call into that. */
dlopen_function tailrace_choose_dlopen(const char *path, int mode, void *caller)
{
    int saved = errno;
    (void)mode;
    look();
    bool direct = !path || depends_on_caller(path, caller);
    errno = saved;
    return direct ? loader.open : open_and_look;
}

static void *symbol_of_mpi(void *handle, const char *symbol)
{
    void *address = loader.symbol(handle, symbol);
    int number = symbol_number(symbol);
    if (number < 0 || !address)
        return address;
    bool ours = is_profiling(symbol) ? stands_for((unsigned)number, address)
                                     : address == symbol_target((unsigned)number);
    return ours ? trampoline((unsigned)number) : address;
}

/* Whether capture is the next in the global scope behind who calls, as it is behind the program: then
 * both get the same answer for RTLD_NEXT. */
static bool is_before_us(const void *caller)
{
    struct link_map *map = NULL;
    Dl_info info;
    if (!libdl.address_more(caller, &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
        return false;
    do
        map = map->l_next;
    while (map && starts_with(text_file_name(map->l_name), "linux-vdso"));
    return map && map->l_ld == _DYNAMIC;
}

/* HDF5 loads filters that nobody registered: they tell what they are. */
static void *symbol_of_plugin(void *handle, const char *symbol)
{
    return (void *)filters_plugin((plugin_function)loader.symbol(handle, symbol));
}

static bool is_filter(void *handle, const char *symbol)
{
    if (strcmp(symbol, "H5PLget_plugin_info") || !loader.symbol(handle, symbol))
        return false;
    int (*type)(void) = (int (*)(void))loader.symbol(handle, "H5PLget_plugin_type");
    return type && !type();
}

/* Errors, and questions whose answer depends on who asks, are the loader's own matter. */
dlsym_function tailrace_choose_dlsym(void *handle, const char *symbol, void *caller)
{
    int saved = errno;
    look();
    bool of_mpi = symbol && symbol_number(symbol) >= 0 &&
                  (handle != RTLD_NEXT || is_before_us(caller)) && loader.symbol(handle, symbol);
    bool elsewhere = handle == RTLD_NEXT || !symbol;
    bool filter = !elsewhere && is_filter(handle, symbol);
    errno = saved;
    return of_mpi ? symbol_of_mpi : filter ? symbol_of_plugin : loader.symbol;
}

/* What a function of ours stands for: the program asks in which library that is, or what it is
 * called there. */
static const void *stood_for(const void *address)
{
    const char *at = address;
    Dl_info info;
    void *found = NULL;
    if (at < __ehdr_start || at >= _end)
        return address;
    if (at >= tailrace_trampolines && at < tailrace_trampolines_end)
        found = symbol_target((unsigned)((at - tailrace_trampolines) / TRAMPOLINE_BYTES));
    else if (libdl.address(address, &info) && info.dli_sname && info.dli_saddr == address)
        found = libdl.symbol(RTLD_NEXT, info.dli_sname);
    return found ? found : address;
}

int tailrace_dladdr(const void *address, Dl_info *info)
{
    return loader.address(stood_for(address), info);
}

int tailrace_dladdr1(const void *address, Dl_info *info, void **more, int kind)
{
    return loader.address_more(stood_for(address), info, more, kind);
}

void mpi_bind(void)
{
    loader.open = (__typeof__(loader.open))libdl.symbol(RTLD_NEXT, "dlopen");
    loader.symbol = (__typeof__(loader.symbol))libdl.symbol(RTLD_NEXT, "dlsym");
    loader.address = (__typeof__(loader.address))libdl.symbol(RTLD_NEXT, "dladdr");
    loader.address_more = (__typeof__(loader.address_more))libdl.symbol(RTLD_NEXT, "dladdr1");
    if (!loader.open || !loader.symbol) { /* what will need libdl.so.2 was not loaded yet */
        loader.open = libdl_of_program.open;
        loader.symbol = libdl_of_program.symbol;
        loader.address = libdl_of_program.address;
        loader.address_more = libdl_of_program.address_more;
    }
    look();
}
