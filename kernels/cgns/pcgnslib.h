/* Parallel CGNS: structured zones, coordinates and flow solutions of one HDF5 file, written by many
 * ranks in two steps.
 *
 *     cgp_open("grid.cgns", CG_MODE_WRITE, &file);
 *     cg_base_write(file, "Base", 3, 3, &base);
 *     cg_zone_write(file, base, "Zone", size, Structured, &zone);
 *     cgp_coord_write(file, base, zone, RealDouble, "CoordinateX", &x);             creates: all
 * ranks together cgp_coord_write_data(file, base, zone, x, first, last, values); writes: as
 * cgp_pio_mode says cgp_close(file);
 *
 * Names and argument order are the CGNS project's. See cgnslib.h for what all functions have in
 * common. */
#ifndef PCGNSLIB_H_
#define PCGNSLIB_H_

#include "cgnslib.h"

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum { CGP_INDEPENDENT = 0, CGP_COLLECTIVE = 1 } PIOmode_t;

/* Of the files opened from now on. Default: MPI_COMM_WORLD, no hints. The handles are used, not
 * copied, until then. */
int cgp_mpi_comm(MPI_Comm comm);
int cgp_mpi_info(MPI_Info info);

/* How the functions _data move data from now on. Default: CGP_COLLECTIVE, in which all ranks call
 * each of them with the same array, and a rank that has none of it passes NULL for the data. In
 * CGP_INDEPENDENT a rank calls what it needs.
 */
int cgp_pio_mode(PIOmode_t mode);

/* Collective. cgp_close returns once all data are in the file. */
int cgp_open(const char *filename, int mode, int *fn);
int cgp_close(int fn);

/* Collective: the array without its data. A field has the size of its solution's grid location. */
int cgp_coord_write(int fn, int B, int Z, DataType_t type, const char *coordname, int *C);
int cgp_field_write(int fn, int B, int Z, int S, DataType_t type, const char *fieldname, int *F);

/* The elements first … last, both included and counted from 1, of the array's own type: nothing is
 * converted. */
int cgp_coord_write_data(int fn, int B, int Z, int C, const cgsize_t *first, const cgsize_t *last,
                         const void *data);
int cgp_coord_read_data(int fn, int B, int Z, int C, const cgsize_t *first, const cgsize_t *last,
                        void *data);
int cgp_field_write_data(int fn, int B, int Z, int S, int F, const cgsize_t *first,
                         const cgsize_t *last, const void *data);
int cgp_field_read_data(int fn, int B, int Z, int S, int F, const cgsize_t *first,
                        const cgsize_t *last, void *data);

/* Prints the error with the rank and ends all ranks by MPI_Abort. */
void cgp_error_exit(void);

#ifdef __cplusplus
}
#endif
#endif
