/* loader.c: binds the flavour library to the application's own libmpi. */
#include <dlfcn.h>

#include "flavour.h"
#include "wrapper.h"

struct mpi mpi;
struct predefined predefined;
bool mpi_threads, mpi_usable;

static tailrace_find_symbol find_symbol;
static void *library;

/* Open MPI's predefined handles are addresses of objects. An executable may hold a copy of such an
 * object, and that is then the one all use: the global scope is asked first. */
static void *object(const char *name)
{
    void *address = find_symbol(RTLD_DEFAULT, name);
    return address ? address : find_symbol(library, name);
}

#ifdef OMPI_PREDEFINED_GLOBAL
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global) ((type)object(#global))
#endif

static void bind_predefined(void)
{
    (void)object;
    predefined = (struct predefined){
        .comm_world = MPI_COMM_WORLD,
        .comm_self = MPI_COMM_SELF,
        .comm_null = MPI_COMM_NULL,
        .group_null = MPI_GROUP_NULL,
        .group_empty = MPI_GROUP_EMPTY,
        .request_null = MPI_REQUEST_NULL,
        .message_null = MPI_MESSAGE_NULL,
        .message_no_proc = MPI_MESSAGE_NO_PROC,
        .datatype_null = MPI_DATATYPE_NULL,
        .byte = MPI_BYTE,
        .file_null = MPI_FILE_NULL,
        .win_null = MPI_WIN_NULL,
    };
}

#ifdef MPI_Comm_f2c
/* Up to MPICH 4 and in Intel's and Cray's MPI most conversions are macros: a handle is the same
 * integer in both languages. */
#define SAME(name, type)                                                                           \
    static type same_##name(MPI_Fint handle)                                                       \
    {                                                                                              \
        return (type)(intptr_t)handle;                                                             \
    }
MPI_CONVERSIONS(SAME)
#define OTHERWISE(name) same_##name
#else
#define OTHERWISE(name) NULL
#endif

/* Returns the first function that is missing, NULL where none is. */
static const char *bind_functions(void)
{
#define BIND(name)                                                                                 \
    if (!(mpi.name = (__typeof__(mpi.name))find_symbol(library, "PMPI_" #name)))                   \
        return "PMPI_" #name;
    MPI_NEEDED(BIND)
#undef BIND
#define BIND(name, type)                                                                           \
    mpi.name##_f2c = (type (*)(MPI_Fint))find_symbol(library, CONVERSION(name));                   \
    if (!mpi.name##_f2c)                                                                           \
        mpi.name##_f2c = OTHERWISE(name);                                                          \
    if (!mpi.name##_f2c)                                                                           \
        return CONVERSION(name);
    MPI_CONVERSIONS(BIND)
#undef BIND
    mpi.Type_size_c = (__typeof__(mpi.Type_size_c))find_symbol(library, "PMPI_Type_size_c");
    mpi.Type_size_x = (__typeof__(mpi.Type_size_x))find_symbol(library, "PMPI_Type_size_x");
#ifdef HAVE_SESSIONS
    mpi.Group_from_session_pset = (__typeof__(mpi.Group_from_session_pset))find_symbol(
        library, "PMPI_Group_from_session_pset");
    mpi.Session_f2c = (__typeof__(mpi.Session_f2c))find_symbol(library, "PMPI_Session_f2c");
#endif
    return NULL;
}

const char *tailrace_flavour_start(void *application_library, tailrace_find_symbol find)
{
    library = application_library;
    find_symbol = find;
    const char *missing = bind_functions();
    if (missing)
        return missing;
    bind_predefined();
    fortran_start(application_library, find);
    tailrace_register_functions(FUNCTION_MPI_FIRST, tailrace_function_count,
                                tailrace_function_names, tailrace_function_layers);
    return NULL;
}
