/* Attributes of netCDF files, once for two libraries whose functions differ in their prefix and in
 * the type of lengths. Before including it, once in each, after netcdf.h or pnetcdf.h:
 *
 *   NETCDF(function)       the library's function of that name
 *   NETCDF_LENGTH          its type of lengths
 *   NETCDF_ID(file)        the number of the open file
 *   NETCDF_CHECK           "cannot WHAT 'PATH': REASON" unless the code is NC_NOERR
 *
 * Gives put_text, put_numbers, get_text, get_numbers and ATTRIBUTES. */
#ifndef GRIDIO_NETCDF_ATTRIBUTES_H
#define GRIDIO_NETCDF_ATTRIBUTES_H

#include "attributes.h"

#include <stdlib.h>
#include <string.h>

static int put_text(gridio_file *file, int64_t where, const char *name, const char *text)
{
    return NETCDF_CHECK(
        file,
        NETCDF(put_att_text)(NETCDF_ID(file), (int)where, name, (NETCDF_LENGTH)strlen(text), text),
        "write an attribute of");
}

static int put_numbers(gridio_file *file, int64_t where, const char *name, int count,
                       const int32_t *values)
{
    return NETCDF_CHECK(file,
                        NETCDF(put_att_int)(NETCDF_ID(file), (int)where, name, NC_INT,
                                            (NETCDF_LENGTH)count, values),
                        "write an attribute of");
}

static bool get_text(gridio_file *file, int64_t where, const char *name, char *text, size_t room)
{
    const int id = NETCDF_ID(file);
    nc_type type;
    NETCDF_LENGTH length;
    if (NETCDF(inq_att)(id, (int)where, name, &type, &length) != NC_NOERR || type != NC_CHAR ||
        (size_t)length >= room || NETCDF(get_att_text)(id, (int)where, name, text) != NC_NOERR)
        return false;
    text[length] = '\0';
    return true;
}

static int get_numbers(gridio_file *file, int64_t where, const char *name, int32_t **values)
{
    const int id = NETCDF_ID(file);
    nc_type type;
    NETCDF_LENGTH count;
    *values = NULL;
    if (NETCDF(inq_att)(id, (int)where, name, &type, &count) != NC_NOERR || type == NC_CHAR ||
        count == 0)
        return 0;
    *values = calloc((size_t)count, sizeof **values);
    return *values && NETCDF(get_att_int)(id, (int)where, name, *values) == NC_NOERR ? (int)count
                                                                                     : 0;
}

static const gridio_attributes ATTRIBUTES = {put_text, put_numbers, get_text, get_numbers, true};

#endif
