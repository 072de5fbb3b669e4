/* Where a rank's time goes. */
#ifndef COMMON_TIMING_H
#define COMMON_TIMING_H

#include <mpi.h>
#include <stdint.h>

/* What a step of a stream consists of. */
enum phase { OPEN, DEFINE, WRITE, SYNC, CLOSE, READ, PHASES };
extern const char *const PHASE_KEY[PHASES]; /* "open_s", … */

struct phases {
    double seconds[PHASES];
};

/* Runs the call and adds the time it takes: status = TIMED(&spent, WRITE, gridio_write(…)). */
#define TIMED(spent, which, call)                                                                  \
    ((spent)->seconds[which] -= MPI_Wtime(), timing_add(&(spent)->seconds[which], (call)))
static inline int timing_add(double *seconds, int status)
{
    return *seconds += MPI_Wtime(), status;
}

/* What this rank used from timing_start to timing_used, without what lies between aside_begin and
 * aside_end (that is fingerprints and records, which no simulation code has). */
struct usage {
    double user_s, system_s, elapsed_s, compute_s, communicate_s, aside_s;
    int64_t maximum_resident_bytes;
};

void timing_start(void);
double timing_since_start(void);
void aside_begin(void);
void aside_end(void);
void timing_computed(double seconds);
void timing_communicated(double seconds);
struct usage timing_used(void);

#endif
