/* Records: what a run did, as JSON lines (one object a line, UTF-8). Rank 0 writes each as soon as
 * what it describes is over, so that an interrupted run leaves all that came before. Times are in
 * seconds of MPI_Wtime, sizes in bytes; a list named `..._s` has one number for each rank.
 *
 * A *stream* is a file, or a row of files, that the program writes or reads step by step. The
 * kinds, here over several lines each:
 *
 *   {"kind":"start","version":1,"program":"solver","name":"roms","ranks":4,"mpi":"MPICH …"}
 *
 *   {"kind":"stream","stream":"history","direction":"write","method":"collective",
 *    "format":"netcdf4","steps":10,"steps_per_file":0,"bytes":N}
 *        once, before the first step. steps: that will be; steps_per_file: 0 is all in one; bytes:
 *        of all steps. method and format as gridio names them. Of a program's own calls the method
 *        is full, simple or epio (btio), collective or independent (transfers), cgp-collective or
 *        cgp-independent (zones), and the format is
 *          raw   numbers without any header: the steps one after the other, each the whole array in
 *                C order; of epio a file for every rank, with its blocks of each step one after the
 *                other, which `blocks` records state
 *          hdf5  of transfers: the one data set "data", without attributes
 *          cgns  of cgp-…: a variable is called by its node's place,
 *                "Base/Zone000001/GridCoordinates/CoordinateX"
 *
 *   {"kind":"variable","stream":"history","variable":"zeta","type":"float32","units":"meter",
 *    "tiled":true,"every_step":true,"size":[64,512],"dimensions":["eta_rho","xi_rho"]}
 *        once for each, after its stream. dimensions are those given to gridio; an unnamed one is
 *        "".
 *
 *   {"kind":"blocks","stream":"solution","direction":"write","rank":0,"path":"….0000",
 *    "blocks":[0,0,0,0,6,6,6,5,…]}
 *        of epio, for every rank, once: its file, and of each block the start in every dimension,
 *        then the count.
 *
 *   {"kind":"hint","stream":"history","direction":"write","key":"cb_nodes","value":"1"}
 *        every hint in force, as the library reports it, once.
 *
 *   {"kind":"step","stream":"history","direction":"write","step":3,"path":"…","step_in_file":3,
 *    "model_step":200,"begin_s":12.5,"open_s":[…],"define_s":[…],"write_s":[…],"sync_s":[…],
 *    "close_s":[…],"read_s":[…],"bytes":N}
 *        open and define of a file are in its first step, close in its last one. begin_s: of rank
 *        0, since the start. bytes: moved by all ranks. An iteration, where a program repeats one
 *        thing, is a step.
 *
 *   {"kind":"fingerprint","stream":"history","direction":"write","step":3,"path":"…",
 *    "step_in_file":3,"values":{"zeta":"0123456789abcdef",…}}
 *        of what was meant to be written, or was read; see fingerprint.h. Variables that are not
 *        written at every step are in the first step of each file.
 *
 *   {"kind":"logical","stream":"grid","variable":"spherical","value":true,"stored_as":"character"}
 *
 *   {"kind":"check","stream":"solution","what":"…","ok":true}
 *        something that the program itself verified.
 *
 *   {"kind":"nodes","nodes":4,"ranks":8}
 *   {"kind":"sample","round":0,"experiment":"write","where":"between","held_out":false,"ranks":2,
 *    "bytes":N,"block_bytes":N,"count":1,"seconds":…}
 *        of clients: what an experiment found. message: bytes took so long, one way; stream: ranks
 *        sent so many bytes together; eager: bytes did not wait, block_bytes did (0: none did);
 *        write, read: ranks moved so many bytes each, block_bytes at a time, until the last was
 *        done; turns: what a turn took, bytes apart (0: in files of their own); names: count files
 *        of all ranks.
 *
 *   {"kind":"rank","rank":0,"node":"…","user_s":…,"system_s":…,"elapsed_s":…,"compute_s":…,
 *    "communicate_s":…,"aside_s":…,"maximum_resident_bytes":N}
 *        at the end. compute_s: in the program's own numbers; communicate_s: in its halo exchange;
 *        aside_s: in fingerprints, records and cache policy, which user_s, system_s and elapsed_s
 *        leave out.
 *
 *   {"kind":"end","status":0}        or    {"kind":"end","status":1,"error":"one sentence"}
 *        the exit status. Without this record the run was interrupted.
 */
#ifndef COMMON_RECORDS_H
#define COMMON_RECORDS_H

#include "timing.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Opens PATH on rank 0 (NULL: nothing will be recorded) and writes the start. Collective; false
 * where it cannot be opened. */
bool records_open(const char *path, const char *program, const char *name, MPI_Comm comm);

/* Whether anything is recorded; the same on all ranks. */
bool records_wanted(void);

/* One record, on rank 0; elsewhere nothing. The pieces between begin and end are its keys, each
 * with a value. */
void record_begin(const char *kind);
void record_text(const char *key, const char *value);
void record_number(const char *key, int64_t value);
void record_real(const char *key, double value);
void record_yes(const char *key, bool value);
void record_numbers(const char *key, int count, const int64_t *values);
void record_texts(const char *key, int count, const char *const *values); /* NULL is "" */
/* An object under one key, of the keys up to record_close. */
void record_object(const char *key);
void record_close(void);
void record_end(void);

/* A `check`. */
void record_check(const char *stream, const char *what, bool ok);

/* What one step of a stream took, of which rank 0 makes the `step`. Collective. phases: this
 * rank's. */
struct record_of_step {
    const char *stream, *direction, *path;
    int64_t step, step_in_file, model_step, bytes;
    double begin_s;
};
void record_step(const struct record_of_step *step, const struct phases *spent);

/* The ranks and the end, after which nothing is recorded. Collective. error: NULL where there is
 * none. */
void records_close(int status, const char *error);

/* A ready line, on rank 0, from a signal handler. */
void records_interrupt(const char *line, size_t length);

#endif
