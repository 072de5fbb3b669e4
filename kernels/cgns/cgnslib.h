/* The part of the CGNS library's interface that goes with pcgnslib.h here: structured zones, grid
 * coordinates, flow solutions. Names, argument order and values are the CGNS project's
 * (https://cgns.org), so that a program written for its library compiles; what is not listed here
 * does not exist.
 *
 * In a file opened by cgp_open every function that writes is collective: all ranks of the
 * communicator call it with the same arguments. All return CG_OK or CG_ERROR; cg_get_error() then
 * is one sentence. Numbers of bases, zones, solutions and so on start at 1. Dimensions are in
 * Fortran's order: the first varies fastest. */
#ifndef CGNSLIB_H
#define CGNSLIB_H

#ifdef __cplusplus
extern "C" {
#endif

#define CGNS_ENUMV(e) e
#define CGNS_ENUMT(e) e

#define CG_SIZEOF_SIZE 64
typedef long cgsize_t;

#define CG_MODE_READ 0
#define CG_MODE_WRITE 1
#define CG_MODE_MODIFY 2

#define CG_OK 0
#define CG_ERROR 1
#define CG_NODE_NOT_FOUND 2

typedef enum {
    ZoneTypeNull = 0,
    ZoneTypeUserDefined = 1,
    Structured = 2,
    Unstructured = 3
} ZoneType_t;

typedef enum {
    DataTypeNull = 0,
    DataTypeUserDefined = 1,
    Integer = 2,
    RealSingle = 3,
    RealDouble = 4,
    Character = 5,
    LongInteger = 6
} DataType_t;

typedef enum {
    GridLocationNull = 0,
    GridLocationUserDefined = 1,
    Vertex = 2,
    CellCenter = 3,
    FaceCenter = 4,
    IFaceCenter = 5,
    JFaceCenter = 6,
    KFaceCenter = 7,
    EdgeCenter = 8
} GridLocation_t;

const char *cg_get_error(void);
void cg_error_print(void);
void cg_error_exit(void); /* prints and exits with status 1 */

int cg_base_write(int fn, const char *basename, int cell_dim, int phys_dim, int *B);
int cg_nbases(int fn, int *nbases);
int cg_base_read(int fn, int B, char *basename, int *cell_dim, int *phys_dim);

/* size: vertices, cells and boundary vertices (0), each in every dimension. Only Structured. When a
 * file is opened its zones are numbered by name, as in the CGNS project's library. */
int cg_zone_write(int fn, int B, const char *zonename, const cgsize_t *size, ZoneType_t type,
                  int *Z);
int cg_nzones(int fn, int B, int *nzones);
int cg_zone_read(int fn, int B, int Z, char *zonename, cgsize_t *size);
int cg_zone_type(int fn, int B, int Z, ZoneType_t *type);

int cg_ncoords(int fn, int B, int Z, int *ncoords);
int cg_coord_info(int fn, int B, int Z, int C, DataType_t *type, char *coordname);

int cg_sol_write(int fn, int B, int Z, const char *solname, GridLocation_t location, int *S);
int cg_nsols(int fn, int B, int Z, int *nsols);
int cg_sol_info(int fn, int B, int Z, int S, char *solname, GridLocation_t *location);
int cg_nfields(int fn, int B, int Z, int S, int *nfields);
int cg_field_info(int fn, int B, int Z, int S, int F, DataType_t *type, char *fieldname);

#ifdef __cplusplus
}
#endif
#endif
