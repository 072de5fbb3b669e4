/* Files by number, failures, and the modes of transfer. */
#include "files.h"

#include "hdf5_reason.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILES_AT_MOST = 1024 };

static struct {
    cgns_tree *tree; /* NULL: the number is free */
    bool to_write;
} files[FILES_AT_MOST];

static MPI_Comm communicator = MPI_COMM_NULL;
static MPI_Info hints = MPI_INFO_NULL;
static PIOmode_t pio_mode = CGP_COLLECTIVE;

/* --- modes and failures --- */

int cgp_mpi_comm(MPI_Comm comm)
{
    communicator = comm;
    return CG_OK;
}

int cgp_mpi_info(MPI_Info info)
{
    hints = info;
    return CG_OK;
}

int cgp_pio_mode(PIOmode_t mode)
{
    if (mode != CGP_INDEPENDENT && mode != CGP_COLLECTIVE) {
        cgns_fail("%d is no mode of transfer: CGP_INDEPENDENT and CGP_COLLECTIVE are", (int)mode);
        return CG_ERROR;
    }
    pio_mode = mode;
    return CG_OK;
}

PIOmode_t cgns_pio_mode(void)
{
    return pio_mode;
}

const char *cg_get_error(void)
{
    return cgns_error();
}

void cg_error_print(void)
{
    fprintf(stderr, "%s\n", cgns_error());
}

void cg_error_exit(void)
{
    cg_error_print();
    exit(1);
}

void cgp_error_exit(void)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    fprintf(stderr, "[process %d]:%s\n", rank, cgns_error());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* --- open and close --- */

/* Version 1.8's format is what CGNS's libraries read. Metadata are written by all ranks together.
 */
static hid_t access_properties(void)
{
    hid_t list = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_mpio(list, communicator == MPI_COMM_NULL ? MPI_COMM_WORLD : communicator, hints);
    H5Pset_libver_bounds(list, H5F_LIBVER_V18, H5F_LIBVER_V18);
    H5Pset_coll_metadata_write(list, true);
    return list;
}

static int by_name(const void *left, const void *right)
{
    return strcmp((*(cgns_node *const *)left)->name, (*(cgns_node *const *)right)->name);
}

/* Zones are numbered by name: moves them, sorted, to the end of their base's children. */
static void sort_zones(cgns_node *base)
{
    cgns_node **sorted = calloc((size_t)base->children + 1, sizeof(*sorted));
    int others = 0, zones = 0;
    if (!sorted)
        return;
    for (int c = 0; c < base->children; c++)
        if (strcmp(base->child[c]->label, "Zone_t") == 0)
            sorted[zones++] = base->child[c];
        else
            base->child[others++] = base->child[c];
    qsort(sorted, (size_t)zones, sizeof(*sorted), by_name);
    memcpy(base->child + others, sorted, (size_t)zones * sizeof(*sorted));
    free(sorted);
}

static cgns_tree *open_tree(const char *filename, int mode)
{
    hdf5_keep_reasons();
    hid_t access = access_properties();
    cgns_tree *tree = mode == CG_MODE_WRITE ? cgns_create(filename, access)
                                            : cgns_open(filename, mode == CG_MODE_MODIFY, access);
    H5Pclose(access);
    if (!tree) {
        char reason[512];
        snprintf(reason, sizeof reason, "%s", cgns_error());
        cgns_fail("cannot %s '%s': %s", mode == CG_MODE_WRITE ? "create" : "open", filename,
                  reason);
    }
    for (int c = 0; tree && c < tree->root->children; c++)
        sort_zones(tree->root->child[c]);
    return tree;
}

int cgp_open(const char *filename, int mode, int *fn)
{
    int number = 1;
    while (number < FILES_AT_MOST && files[number].tree)
        number++;
    if (number == FILES_AT_MOST || mode < CG_MODE_READ || mode > CG_MODE_MODIFY) {
        cgns_fail(number == FILES_AT_MOST ? "'%s' is one open file too many"
                                          : "'%s' can be opened by CG_MODE_READ, "
                                            "CG_MODE_WRITE and CG_MODE_MODIFY",
                  filename);
        return CG_ERROR;
    }
    files[number].tree = open_tree(filename, mode);
    files[number].to_write = mode != CG_MODE_READ;
    *fn = number;
    return files[number].tree ? CG_OK : CG_ERROR;
}

int cgp_close(int fn)
{
    if (!cgns_root_of(fn))
        return CG_ERROR;
    int status = cgns_close(files[fn].tree);
    files[fn].tree = NULL;
    return status == 0 ? CG_OK : CG_ERROR;
}

/* --- nodes by number --- */

cgns_node *cgns_root_of(int fn)
{
    if (fn > 0 && fn < FILES_AT_MOST && files[fn].tree)
        return files[fn].tree->root;
    cgns_fail("%d is the number of no open file", fn);
    return NULL;
}

cgns_node *cgns_root_to_write(int fn)
{
    cgns_node *root = cgns_root_of(fn);
    if (!root || files[fn].to_write)
        return root;
    cgns_fail("file %d is open for reading only", fn);
    return NULL;
}

cgns_node *cgns_nth(cgns_node *parent, const char *label, int n)
{
    cgns_node *node = parent ? cgns_child_of_label(parent, label, n) : NULL;
    if (parent && !node)
        cgns_fail("'%s' has no %s number %d", parent->name, label, n);
    return node;
}

cgns_node *cgns_base_of(cgns_node *root, int B)
{
    return cgns_nth(root, "CGNSBase_t", B);
}

cgns_node *cgns_zone_of(cgns_node *root, int B, int Z)
{
    return cgns_nth(cgns_base_of(root, B), "Zone_t", Z);
}

cgns_node *cgns_solution_of(cgns_node *root, int B, int Z, int S)
{
    return cgns_nth(cgns_zone_of(root, B, Z), "FlowSolution_t", S);
}

int cgns_made(const cgns_node *parent, const cgns_node *node, int *number)
{
    if (!node)
        return CG_ERROR;
    *number = cgns_children_of_label(parent, node->label);
    return CG_OK;
}
