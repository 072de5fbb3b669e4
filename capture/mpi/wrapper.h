/* wrapper.h: what libtailrace.so asks of a flavour library. No MPI header is needed to read it. */
#ifndef TAILRACE_WRAPPER_H
#define TAILRACE_WRAPPER_H

#include <stdint.h>

#include "../visibility.h"

/* One wrapped symbol. `real` is set before the wrapper is first called. */
struct tailrace_wrapper {
    const char *symbol;
    void *wrapper;
    void **real;
};

/* Sorted by symbol (strcmp). */
extern TAILRACE_EXPORT const struct tailrace_wrapper tailrace_wrappers[];
extern TAILRACE_EXPORT const unsigned tailrace_wrapper_count;

/* Called once, before any wrapper, with a handle of the application's libmpi, and with dlsym, which
 * not every C library has where the flavour library would find it. Returns NULL, or the name of a
 * function that this libmpi lacks and capture cannot do without: then no wrapper may be used. */
typedef void *(*tailrace_find_symbol)(void *handle, const char *name);
TAILRACE_EXPORT const char *tailrace_flavour_start(void *application_library,
                                                   tailrace_find_symbol find_symbol);

/* Generated: names and layers of the functions from FUNCTION_MPI_FIRST on. */
extern const char *const tailrace_function_names[];
extern const uint8_t tailrace_function_layers[];
extern const unsigned tailrace_function_count;

#endif
