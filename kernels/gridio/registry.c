/* What there is, by name, and what goes together. */
#include "core.h"

#include <stdio.h>
#include <string.h>

/* A new method or format is one line here, in the order in which they are offered, and one file,
 * method_NAME.c or format_NAME.c. CMakeLists.txt reads the formats' lines and compiles those whose
 * library was found. The first method is the default. */
/* clang-format off */
#define METHODS_HERE(METHOD) \
    METHOD(serial)           \
    METHOD(collective)       \
    METHOD(independent)      \
    METHOD(aggregated)       \
    METHOD(file_per_rank)

#define FORMATS_HERE(FORMAT)  \
    FORMAT(posix, none)       \
    FORMAT(mpiio, none)       \
    FORMAT(hdf5, hdf5)        \
    FORMAT(netcdf4, netcdf)   \
    FORMAT(netcdf3, netcdf)   \
    FORMAT(pnetcdf, pnetcdf)  \
    FORMAT(cgns, hdf5)        \
    FORMAT(dummy, none)
/* clang-format on */

static const gridio_library library_none = {NULL, NULL};
static const gridio_library library_hdf5 = {"parallel HDF5", "libhdf5-openmpi-dev"};
static const gridio_library library_netcdf = {"parallel netCDF",
                                              "libnetcdf-mpi-dev libhdf5-openmpi-dev"};
static const gridio_library library_pnetcdf = {"PnetCDF", "libpnetcdf-dev"};

/* Of a format whose library was not found when this was built only the name is known. */
#define WITH_none(format) &(format)
#ifdef GRIDIO_HAS_HDF5
#define WITH_hdf5(format) &(format)
#else
#define WITH_hdf5(format) NULL
#endif
#ifdef GRIDIO_HAS_NETCDF
#define WITH_netcdf(format) &(format)
#else
#define WITH_netcdf(format) NULL
#endif
#ifdef GRIDIO_HAS_PNETCDF
#define WITH_pnetcdf(format) &(format)
#else
#define WITH_pnetcdf(format) NULL
#endif

#define DECLARE_METHOD(name) extern const gridio_method gridio_##name;
#define DECLARE_FORMAT(name, library) extern const gridio_format gridio_##name;
METHODS_HERE(DECLARE_METHOD)
FORMATS_HERE(DECLARE_FORMAT)

#define LIST_METHOD(name) &gridio_##name,
#define LIST_FORMAT(name, library) {#name, WITH_##library(gridio_##name), &library_##library},
static const gridio_method *const METHODS[] = {METHODS_HERE(LIST_METHOD)};
static const gridio_known_format FORMATS[] = {FORMATS_HERE(LIST_FORMAT)};
enum {
    METHOD_COUNT = sizeof METHODS / sizeof *METHODS,
    FORMAT_COUNT = sizeof FORMATS / sizeof *FORMATS
};

enum { NAMES_BYTES = 256, SENTENCE_BYTES = 1024 };

static void append(char names[NAMES_BYTES], const char *name)
{
    const size_t used = strlen(names);
    snprintf(names + used, NAMES_BYTES - used, "%s%s", used ? ", " : "", name);
}

static bool fits(const gridio_method *method, const gridio_format *format)
{
    return (format->can & method->needs) != 0;
}

static const gridio_method *find_method(const char *name)
{
    for (int i = 0; i < METHOD_COUNT; i++)
        if (strcmp(METHODS[i]->name, name) == 0)
            return METHODS[i];
    return NULL;
}

static const gridio_known_format *find_format(const char *name)
{
    for (int i = 0; i < FORMAT_COUNT; i++)
        if (strcmp(FORMATS[i].name, name) == 0)
            return &FORMATS[i];
    return NULL;
}

static const char *no_such_method(const char *name, char *sentence)
{
    char names[NAMES_BYTES] = "";
    for (int i = 0; i < METHOD_COUNT; i++)
        append(names, METHODS[i]->name);
    snprintf(sentence, SENTENCE_BYTES, "there is no method '%s'; the methods are: %s", name, names);
    return sentence;
}

static const char *no_such_format(const char *name, char *sentence)
{
    char names[NAMES_BYTES] = "";
    const gridio_known_format *known = find_format(name);
    for (int i = 0; i < FORMAT_COUNT; i++)
        if (FORMATS[i].format)
            append(names, FORMATS[i].name);
    if (known)
        snprintf(
            sentence, SENTENCE_BYTES,
            "this build has no format '%s', as %s for its MPI library was not found; it has: %s",
            name, known->library->name, names);
    else
        snprintf(sentence, SENTENCE_BYTES, "there is no format '%s'; the formats are: %s", name,
                 names);
    return sentence;
}

static const char *no_pair(const gridio_method *method, const gridio_format *format, char *sentence)
{
    char formats[NAMES_BYTES] = "", methods[NAMES_BYTES] = "";
    for (int i = 0; i < FORMAT_COUNT; i++)
        if (FORMATS[i].format && fits(method, FORMATS[i].format))
            append(formats, FORMATS[i].name);
    for (int i = 0; i < METHOD_COUNT; i++)
        if (fits(METHODS[i], format))
            append(methods, METHODS[i]->name);
    snprintf(sentence, SENTENCE_BYTES,
             "the method '%s' cannot write the format '%s'; with the method go: %s; with the "
             "format go: %s",
             method->name, format->name, formats, methods);
    return sentence;
}

const char *gridio_pair(const char *method_name, const char *format_name)
{
    static char sentence[SENTENCE_BYTES];
    const gridio_method *method = find_method(method_name ? method_name : METHODS[0]->name);
    if (!method)
        return no_such_method(method_name, sentence);
    const gridio_known_format *known =
        find_format(format_name ? format_name : method->default_format);
    if (!known || !known->format)
        return no_such_format(format_name, sentence);
    return fits(method, known->format) ? NULL : no_pair(method, known->format, sentence);
}

const gridio_method *gridio_find_method(const char *name)
{
    char sentence[SENTENCE_BYTES];
    const gridio_method *method = find_method(name ? name : METHODS[0]->name);
    if (!method)
        gridio_fail(NULL, "%s", no_such_method(name, sentence));
    return method;
}

const gridio_format *gridio_find_format(const char *name, const gridio_method *method)
{
    if (!name)
        name = method->default_format;
    const char *refusal = gridio_pair(method->name, name);
    if (!refusal)
        return find_format(name)->format;
    gridio_fail(NULL, "%s", refusal);
    return NULL;
}

const gridio_method *gridio_known_method_at(int n)
{
    return n >= 0 && n < METHOD_COUNT ? METHODS[n] : NULL;
}

const gridio_known_format *gridio_known_format_at(int n)
{
    return n >= 0 && n < FORMAT_COUNT ? &FORMATS[n] : NULL;
}

const char *gridio_method_at(int n)
{
    return n >= 0 && n < METHOD_COUNT ? METHODS[n]->name : NULL;
}

const char *gridio_format_at(int n)
{
    for (int i = 0; i < FORMAT_COUNT && n >= 0; i++)
        if (FORMATS[i].format && n-- == 0)
            return FORMATS[i].name;
    return NULL;
}

const char *const *gridio_settings(const char *name)
{
    static const char *const none[] = {NULL};
    const gridio_method *method = find_method(name);
    const gridio_known_format *known = find_format(name);
    const char *const *settings = method                   ? method->settings
                                  : known && known->format ? known->format->settings
                                                           : NULL;
    return settings ? settings : none;
}
