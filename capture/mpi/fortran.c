/* fortran.c: what Fortran programs pass where C passes constants, and their strings.
 *
 * MPI_STATUS_IGNORE, MPI_IN_PLACE and the like are variables there; an argument with such a
 * variable's address means the constant. Several addresses are possible: C's own view of it, and a
 * copy that the linker put into the executable.
 */
#include <dlfcn.h>

#include "flavour.h"

enum { ADDRESSES_MAX = 32 };

struct addresses {
    const void *at[ADDRESSES_MAX];
    unsigned count;
};
static struct addresses ignored, in_place;
static void *library;
static void *(*find_symbol)(void *handle, const char *name);

static void add(struct addresses *addresses, const void *address)
{
    for (unsigned i = 0; i < addresses->count; i++)
        if (addresses->at[i] == address)
            return;
    if (address && addresses->count < ADDRESSES_MAX)
        addresses->at[addresses->count++] = address;
}

static bool has(const struct addresses *addresses, const void *address)
{
    for (unsigned i = 0; i < addresses->count; i++)
        if (addresses->at[i] == address)
            return true;
    return false;
}

/* Variables that are the constant, … */
static void add_variables(struct addresses *addresses, const char *const *names)
{
    for (; *names; names++) {
        add(addresses, find_symbol(RTLD_DEFAULT, *names));
        add(addresses, find_symbol(library, *names));
    }
}

/* … and variables that hold its address. */
static void add_pointers(struct addresses *addresses, const char *const *names)
{
    for (; *names; names++) {
        const void *const *global = find_symbol(RTLD_DEFAULT, *names), *const *local = find_symbol(
                                                                           library, *names);
        add(addresses, global ? *global : NULL);
        add(addresses, local ? *local : NULL);
    }
}

static void collect(void)
{
    static const char *const statuses[] = {"mpi_fortran_status_ignore_",
                                           "mpi_fortran_status_ignore",
                                           "mpi_fortran_status_ignore__",
                                           "MPI_FORTRAN_STATUS_IGNORE",
                                           "mpi_fortran_statuses_ignore_",
                                           "mpi_fortran_statuses_ignore",
                                           "mpi_fortran_statuses_ignore__",
                                           "MPI_FORTRAN_STATUSES_IGNORE",
                                           "MPIR_F08_MPI_STATUS_IGNORE_OBJ",
                                           "MPIR_F08_MPI_STATUSES_IGNORE_OBJ",
                                           NULL};
    static const char *const status_pointers[] = {"MPI_F_STATUS_IGNORE", "MPI_F_STATUSES_IGNORE",
                                                  "MPI_F08_STATUS_IGNORE",
                                                  "MPI_F08_STATUSES_IGNORE", NULL};
    static const char *const places[] = {"mpi_fortran_in_place_",  "mpi_fortran_in_place",
                                         "mpi_fortran_in_place__", "MPI_FORTRAN_IN_PLACE",
                                         "MPIR_F08_MPI_IN_PLACE",  NULL};
    static const char *const place_pointers[] = {"MPIR_F_MPI_IN_PLACE", NULL};
    ignored.count = in_place.count = 0;
    add_variables(&ignored, statuses);
    add_pointers(&ignored, status_pointers);
    add_variables(&in_place, places);
    add_pointers(&in_place, place_pointers);
}

void fortran_start(void *application_library, void *(*find)(void *handle, const char *name))
{
    find_symbol = find;
    library = application_library;
    collect();
}

/* MPICH learns its Fortran constants in the Fortran MPI_Init. */
void fortran_initialized(void)
{
    collect();
}

bool fortran_ignored(const void *status)
{
    return has(&ignored, status);
}

/* mpi_f08 passes a descriptor whose first member is the address (ISO_Fortran_binding.h,
 * CFI_cdesc_t) in the bindings "f08ts". */
bool fortran_in_place(const void *buffer, enum language language)
{
    if (language == LANGUAGE_DESCRIPTOR && buffer)
        buffer = *(const void *const *)buffer;
    return has(&in_place, buffer);
}

const char *fortran_string(char *text, size_t room, const char *characters, size_t length)
{
    while (length && characters[length - 1] == ' ')
        length--;
    while (length && *characters == ' ') {
        characters++;
        length--;
    }
    length = length < room ? length : room - 1;
    memcpy(text, characters, length);
    text[length] = 0;
    return text;
}
