/* Failures: one sentence, the same on all ranks once they have agreed. */
#include "internal.h"

#include <stdarg.h>
#include <stdio.h>

enum { MESSAGE_BYTES = 2048 };

static char message[MESSAGE_BYTES]; /* MPI programs call from one thread at a time */

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
    int first;
    if (file->failed_everywhere)
        return GRIDIO_FAILED;
    const int mine = file->failed ? file->rank : file->ranks;
    MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, file->comm);
    if (first == file->ranks)
        return 0;
    MPI_Bcast(message, sizeof message, MPI_CHAR, first, file->comm);
    file->failed = file->failed_everywhere = true;
    return GRIDIO_FAILED;
}
