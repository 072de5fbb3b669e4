/* visibility.h: the library is built with -fvisibility=hidden; what it interposes or lends to the
 * MPI part is exported.
 */
#ifndef TAILRACE_VISIBILITY_H
#define TAILRACE_VISIBILITY_H

/* Functions; within the core, -Bsymbolic-functions binds them to its own. Not "protected": the
 * loader prints a warning for every such function whose address a program at a fixed place takes.
 */
#define TAILRACE_EXPORT __attribute__((visibility("default")))
/* Variables, which the core reads without the linkage table. */
#ifdef TAILRACE_CORE
#define TAILRACE_EXPORT_DATA __attribute__((visibility("protected")))
#else
#define TAILRACE_EXPORT_DATA __attribute__((visibility("default")))
#endif
#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)
/* Where each call goes: these functions lie beside each other, so that what the program and the
 * kernel have put out of the processor's caches comes back in few lines. */
#define EACH_CALL __attribute__((hot))
/* Where few calls go: what leads there is kept out of the way of the others. */
#define FEW_CALLS __attribute__((cold))
#define ALWAYS_INLINE inline __attribute__((always_inline))

#endif
