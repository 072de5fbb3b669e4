/* What there is, by name, and what goes together. */
#include "core.h"

#include <stdio.h>
#include <string.h>

static const gridio_method *const METHODS[] = {&gridio_serial, &gridio_collective, &gridio_independent,
                                               &gridio_aggregated, &gridio_file_per_rank};

/* NULL: its library was not found when this was built. */
typedef struct {
    const char *name;
    const gridio_format *format;
    const char *library; /* what it needs */
} known_format;

static const known_format FORMATS[] = {
    {"posix", &gridio_posix, NULL},     {"mpiio", &gridio_mpiio, NULL},
#ifdef GRIDIO_HAS_HDF5
    {"hdf5", &gridio_hdf5, NULL},
#else
    {"hdf5", NULL, "parallel HDF5"},
#endif
#ifdef GRIDIO_HAS_NETCDF4
    {"netcdf4", &gridio_netcdf4, NULL},
#else
    {"netcdf4", NULL, "parallel netCDF"},
#endif
#ifdef GRIDIO_HAS_NETCDF3
    {"netcdf3", &gridio_netcdf3, NULL},
#else
    {"netcdf3", NULL, "parallel netCDF"},
#endif
#ifdef GRIDIO_HAS_PNETCDF
    {"pnetcdf", &gridio_pnetcdf, NULL},
#else
    {"pnetcdf", NULL, "PnetCDF"},
#endif
#ifdef GRIDIO_HAS_CGNS
    {"cgns", &gridio_cgns, NULL},
#else
    {"cgns", NULL, "parallel HDF5"},
#endif
    {"dummy", &gridio_dummy, NULL},
};
enum { METHOD_COUNT = sizeof METHODS / sizeof *METHODS, FORMAT_COUNT = sizeof FORMATS / sizeof *FORMATS };

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

static const known_format *find_format(const char *name)
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
    const known_format *known = find_format(name);
    for (int i = 0; i < FORMAT_COUNT; i++)
        if (FORMATS[i].format)
            append(names, FORMATS[i].name);
    if (known)
        snprintf(sentence, SENTENCE_BYTES,
                 "this build has no format '%s', as %s for its MPI library was not found; it has: %s", name,
                 known->library, names);
    else
        snprintf(sentence, SENTENCE_BYTES, "there is no format '%s'; the formats are: %s", name, names);
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
             "the method '%s' cannot write the format '%s'; with the method go: %s; with the format go: %s",
             method->name, format->name, formats, methods);
    return sentence;
}

const char *gridio_pair(const char *method_name, const char *format_name)
{
    static char sentence[SENTENCE_BYTES];
    const gridio_method *method = find_method(method_name ? method_name : METHODS[0]->name);
    if (!method)
        return no_such_method(method_name, sentence);
    const known_format *known = find_format(format_name ? format_name : method->usual_format);
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
        name = method->usual_format;
    const char *refusal = gridio_pair(method->name, name);
    if (!refusal)
        return find_format(name)->format;
    gridio_fail(NULL, "%s", refusal);
    return NULL;
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
    const known_format *known = find_format(name);
    const char *const *settings = method ? method->settings : known && known->format ? known->format->settings : NULL;
    return settings ? settings : none;
}
