/* What there is, by name; and failures. */
#include "internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGE_BYTES = 2048 };

static char message[MESSAGE_BYTES]; /* MPI programs call from one thread at a time */

static const gridio_method *const METHODS[] = {&gridio_serial, &gridio_collective};
static const gridio_format *const FORMATS[] = {&gridio_posix, &gridio_mpiio};
enum { METHOD_COUNT = sizeof METHODS / sizeof *METHODS, FORMAT_COUNT = sizeof FORMATS / sizeof *FORMATS };

const char *gridio_error(void)
{
    return message;
}

int gridio_fail(gridio_file *file, const char *format, ...)
{
    if (file && file->failed)
        return GRIDIO_FAILED;
    if (file)
        file->failed = true;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return GRIDIO_FAILED;
}

int gridio_agree(gridio_file *file)
{
    int ranks, first;
    if (file->failed_everywhere)
        return GRIDIO_FAILED;
    MPI_Comm_size(file->comm, &ranks);
    const int mine = file->failed ? file->rank : ranks;
    MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, file->comm);
    if (first == ranks)
        return 0;
    MPI_Bcast(message, sizeof message, MPI_CHAR, first, file->comm);
    file->failed = file->failed_everywhere = true;
    return GRIDIO_FAILED;
}

const gridio_method *gridio_find_method(const char *name)
{
    for (int i = 0; i < METHOD_COUNT; i++)
        if (strcmp(METHODS[i]->name, name ? name : METHODS[0]->name) == 0)
            return METHODS[i];

    char names[256] = "";
    for (int i = 0, used = 0; i < METHOD_COUNT; i++)
        used += snprintf(names + used, sizeof names - (size_t)used, "%s%s", i ? ", " : "", METHODS[i]->name);
    gridio_fail(NULL, "there is no method '%s'; the methods are: %s", name, names);
    return NULL;
}

static bool fits(const gridio_method *method, const gridio_format *format)
{
    return format->shared || !method->shared;
}

const gridio_format *gridio_find_format(const char *name, const gridio_method *method)
{
    if (!name)
        name = method->usual_format;
    for (int i = 0; i < FORMAT_COUNT; i++)
        if (strcmp(FORMATS[i]->name, name) == 0 && fits(method, FORMATS[i]))
            return FORMATS[i];

    char names[256] = "";
    for (int i = 0, used = 0; i < FORMAT_COUNT; i++)
        if (fits(method, FORMATS[i]))
            used += snprintf(names + used, sizeof names - (size_t)used, "%s%s", used ? ", " : "", FORMATS[i]->name);
    gridio_fail(NULL, "the method '%s' cannot write the format '%s'; with it go: %s", method->name, name, names);
    return NULL;
}
