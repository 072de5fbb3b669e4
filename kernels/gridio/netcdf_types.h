/* What netCDF's own library and PnetCDF have in common: include it after netcdf.h or pnetcdf.h,
 * which both define nc_type. */
#ifndef GRIDIO_NETCDF_TYPES_H
#define GRIDIO_NETCDF_TYPES_H

#include "gridio.h"

static const char STEP[] = "step"; /* the name of the steps' dimension */

static const nc_type TYPES[] = {[GRIDIO_FLOAT64] = NC_DOUBLE,
                                [GRIDIO_FLOAT32] = NC_FLOAT,
                                [GRIDIO_INT32] = NC_INT,
                                [GRIDIO_CHARACTER] = NC_CHAR};

/* False for a type that gridio does not have. */
static inline bool netcdf_type_of(nc_type found, gridio_type *type)
{
    for (int i = GRIDIO_FLOAT64; i <= GRIDIO_CHARACTER; i++)
        if (TYPES[i] == found) {
            *type = (gridio_type)i;
            return true;
        }
    return false;
}

#endif
