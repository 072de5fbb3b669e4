/* What the modes full and simple share: one file of all ranks, through MPI-IO. */
#ifndef BTIO_DUMP_MPIIO_H
#define BTIO_DUMP_MPIIO_H

#include "dumps.h"

/* Opens the file and sees it as elements in the places of in_file. */
int mpiio_open(struct dumps *dumps, bool to_write, MPI_Datatype element, MPI_Datatype in_file);
int mpiio_sync(struct dumps *dumps);
int mpiio_close(struct dumps *dumps);
void mpiio_hints(struct dumps *dumps,
                 void (*visit)(const char *key, const char *value, void *context), void *context);

#endif
