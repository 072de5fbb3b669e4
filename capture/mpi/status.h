/* status.h: the status a call writes, read by us where the user did not want it. Part of flavour.h.
 */
#ifndef TAILRACE_STATUS_H
#define TAILRACE_STATUS_H

enum { STATUS_INTEGERS = 64 }; /* more than any MPI's MPI_STATUS_SIZE */

struct status_place {
    void *used; /* what the call gets: the user's, or &own */
    enum language language;
    union {
        MPI_Status c;
        MPI_Fint fortran[STATUS_INTEGERS];
    } own;
};

bool fortran_ignored(const void *status);

static inline bool status_ignored(const void *status, enum language language)
{
    if (language == LANGUAGE_C)
        return status == (const void *)MPI_STATUS_IGNORE ||
               status == (const void *)MPI_STATUSES_IGNORE;
    return fortran_ignored(status);
}

/* What to pass on for `given`: our own where the user ignores it and something in it must be known.
 */
static inline void *status_choose(struct status_place *place, enum language language, void *given,
                                  bool wanted)
{
    place->language = language;
    place->used = wanted && status_ignored(given, language) ? (void *)&place->own : given;
    return place->used;
}

/* Copies element `index` of the statuses a call has written; false where they were ignored.
 * Fortran's are the same integers as C's in every MPI. */
static inline bool status_read(const void *statuses, int index, enum language language,
                               MPI_Status *status)
{
    if (status_ignored(statuses, language))
        return false;
    if (language == LANGUAGE_C) {
        *status = ((const MPI_Status *)statuses)[index];
        return true;
    }
    const MPI_Fint *integers =
        (const MPI_Fint *)statuses + (size_t)index * (sizeof(MPI_Status) / sizeof(MPI_Fint));
    memcpy(status, integers, sizeof *status);
    return true;
}

#endif
