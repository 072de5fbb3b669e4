/* visibility.h: the library is built with -fvisibility=hidden; what it interposes or lends to the MPI part is exported.
 */
#ifndef TAILRACE_VISIBILITY_H
#define TAILRACE_VISIBILITY_H

/* Inside the core an exported name is its own: called directly, not by way of the linkage table. */
#ifdef TAILRACE_CORE
#define TAILRACE_EXPORT __attribute__((visibility("protected")))
#else
#define TAILRACE_EXPORT __attribute__((visibility("default")))
#endif
#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

#endif
