/* Structured zones: three coordinates and some fields of n * n * n points, written one zone for
 * every rank, or read from one zone that all ranks share along its last dimension (Pakalapati and
 * Hauser's benchmark of parallel CGNS).
 */
#ifndef ZONES_H
#define ZONES_H

#include "failure.h"
#include "stream.h"

enum { COORDINATES = 3 };

struct zone_set {
    MPI_Comm comm;
    int rank, ranks;
    int zones;         /* in the file: one for every rank, or one */
    int points;        /* n */
    int arrays;        /* of a zone: coordinates, then fields */
    gridio_type type;  /* float32 or float64 */
    bool collective;   /* cgp: how data move */
    gridio_block part; /* of a zone, this rank's: k, j, i */
    void *buffer;      /* one array's part */
    bool right;        /* what was read so far was what it should be */
    struct stream io;
    struct failure problem;
};

/* "CoordinateX", …, "Density", … */
void zone_array_name(int array, char *name, size_t room);
/* This rank's part of an array of a zone; what was read is compared with it. */
void zone_fill(struct zone_set *zones, int zone, int array, int64_t iteration);
bool zone_is_right(struct zone_set *zones, int zone, int array, int64_t iteration);
int64_t zone_elements(const struct zone_set *zones);

/* One iteration, opened, moved and closed; DONE or FAILED, the same on all ranks. */
int zones_write_by_cgp(struct zone_set *zones);
int zones_read_by_cgp(struct zone_set *zones);
int zones_write_by_gridio(struct zone_set *zones);
int zones_read_by_gridio(struct zone_set *zones);

/* The stream's variables: of the parallel CGNS calls one for each array of each zone, named by its
 * place in the file; of gridio one for each array, the zones its first dimension (none, where there
 * is one zone). */
void zones_describe_for_cgp(struct zone_set *zones);
void zones_describe_for_gridio(struct zone_set *zones);
void zones_forget(struct zone_set *zones);

#endif
