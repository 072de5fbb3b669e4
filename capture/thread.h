/* thread.h: what the gate asks of thread.c. Private to the core. */
#ifndef TAILRACE_THREAD_H
#define TAILRACE_THREAD_H

#include <stdbool.h>

/* Once, in a process that may record. */
void thread_prepare(void);

/* At the orderly end of the process. */
void thread_process_ends(void);

/* ending.c: once, in any process. */
void ending_prepare(void);

/* descriptors.c: in a forked child the numbers of files are another process's. */
void descriptors_forget(void);

/* The program starts another process, if MPI does not in a call of its own: its daemons are not the
 * program's, and ranks record by themselves. */
void thread_started_process(void);

/* Which may be small. */
bool thread_is_on_signal_stack(void);

#endif
