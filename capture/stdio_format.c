/* stdio_format.c: formatted input and output. A variadic function is recorded under its own name
 * and calls the real v… one. */
#define _GNU_SOURCE
#include <stdarg.h>

#include "stdio_file.h"

int __fprintf_chk(FILE *, int, const char *, ...);
int __vfprintf_chk(FILE *, int, const char *, va_list);
int __printf_chk(int, const char *, ...);
int __vprintf_chk(int, const char *, va_list);
int __dprintf_chk(int, int, const char *, ...);
int __vdprintf_chk(int, int, const char *, va_list);
int __isoc99_fscanf(FILE *, const char *, ...);
int __isoc99_vfscanf(FILE *, const char *, va_list);
int __isoc99_scanf(const char *, ...);
int __isoc99_vscanf(const char *, va_list);
int __isoc23_fscanf(FILE *, const char *, ...);
int __isoc23_vfscanf(FILE *, const char *, va_list);
int __isoc23_scanf(const char *, ...);
int __isoc23_vscanf(const char *, va_list);

/* stdio.h gives these names to C99's functions: the old ones (%a allocates) must be asked for by
 * their symbol. */
int gnu_fscanf(FILE *, const char *, ...) __asm__("fscanf");
int gnu_vfscanf(FILE *, const char *, va_list) __asm__("vfscanf");
int gnu_scanf(const char *, ...) __asm__("scanf");
int gnu_vscanf(const char *, va_list) __asm__("vscanf");
#define FUNCTION_gnu_fscanf FUNCTION_fscanf
#define FUNCTION_gnu_vfscanf FUNCTION_vfscanf
#define FUNCTION_gnu_scanf FUNCTION_scanf
#define FUNCTION_gnu_vscanf FUNCTION_vscanf

/* How many bytes a print puts is known when it is done. Where more room is left than it is taken to
 * need it is not timed. */
static inline bool has_room(const struct buffered *slot, FILE *fp)
{
    return LIKELY(slot && stdio_room(fp) > slot->foreseen);
}

/* `real`, the print itself, inside the lock if there is need of one. */
#define PRINT_BODY(function, fp, file, real)                                                       \
    int result;                                                                                    \
    bool locked = stdio_lock(fp);                                                                  \
    struct buffered *slot = stdio_slot(file, FILE_WRITE);                                          \
    if (has_room(slot, fp)) {                                                                      \
        int64_t pending = stdio_pending(fp);                                                       \
        result = real;                                                                             \
        if (LIKELY(result >= 0 && stdio_pending(fp) == pending + result))                          \
            stdio_count_unforeseen(slot, function, result);                                        \
        else                                                                                       \
            stdio_put_unforeseen(function, fp, file, pending, result);                             \
    } else {                                                                                       \
        struct request request;                                                                    \
        stdio_begin(&request, function, fp, file);                                                 \
        STDIO_GUARDED(fp, locked, result = real);                                                  \
        stdio_put(&request, result, result < 0 ? errno : 0);                                       \
    }                                                                                              \
    stdio_unlock(fp, locked);                                                                      \
    return result;

/* A function with its list of arguments, and the variadic one that shares its body. `parameters`
 * end in the format. */
#define PRINT(name, variadic, parameters, passed, fp)                                              \
    static inline int record_##name(enum function function, EXPAND parameters, va_list list)       \
    {                                                                                              \
        uint32_t file = stdio_recorded(fp);                                                        \
        if (UNLIKELY(!file))                                                                       \
            return REAL(name)(EXPAND passed, list);                                                \
        PRINT_BODY(function, fp, file, REAL(name)(EXPAND passed, list))                            \
    }                                                                                              \
    PRINT_PAIR(name, variadic, parameters, passed)
#define PRINT_PAIR(name, variadic, parameters, passed)                                             \
    TAILRACE_EXPORT int name(EXPAND parameters, va_list list)                                      \
    {                                                                                              \
        return record_##name(FUNCTION_##name, EXPAND passed, list);                                \
    }                                                                                              \
    TAILRACE_EXPORT int variadic(EXPAND parameters, ...)                                           \
    {                                                                                              \
        va_list list;                                                                              \
        va_start(list, format);                                                                    \
        int result = record_##name(FUNCTION_##variadic, EXPAND passed, list);                      \
        va_end(list);                                                                              \
        return result;                                                                             \
    }
#define EXPAND(...) __VA_ARGS__

PRINT(vfprintf, fprintf, (FILE *restrict fp, const char *restrict format), (fp, format), fp)
PRINT(__vfprintf_chk, __fprintf_chk, (FILE * fp, int flag, const char *format), (fp, flag, format),
      fp)
PRINT(vprintf, printf, (const char *restrict format), (format), stdout)
PRINT(__vprintf_chk, __printf_chk, (int flag, const char *format), (flag, format), stdout)

/* --- Input --- */

typedef int scan_function(FILE *, const char *, va_list);

static __attribute__((noinline)) int scan_request(enum function function, scan_function *real,
                                                  FILE *fp, uint32_t file, bool locked,
                                                  const char *format, va_list list)
{
    struct request request;
    int result;
    int64_t place = stdio_system_place(fp);
    stdio_begin(&request, function, fp, file);
    STDIO_GUARDED(fp, locked, result = real(fp, format, list));
    stdio_got_unknown(&request, place, ERROR_IF(result < 0));
    return result;
}

/* A scan that got more than any before it, or reached the system though what lay between `next` and
 * `end` seemed to suffice. */
static __attribute__((noinline)) void scan_unforeseen(enum function function, FILE *fp,
                                                      uint32_t file, const char *next,
                                                      const char *end, int result)
{
    int error = ERROR_IF(result < 0);
    struct request request;
    stdio_look(&request, function, fp, file);
    request.at_end = false;
    request.available = end - next;
    request.filling_next = next;
    request.filling_end = end;
    stdio_got_unknown(&request, -1, error);
}

/* How much a scan got is what is gone from the buffer. One that fills it anew, finds the end or
 * pushes back more than lies there moves its end; one that fills it to the same end goes back in it.
 */
static ALWAYS_INLINE int scan(enum function function, scan_function *real, FILE *fp,
                              const char *format, va_list list)
{
    uint32_t file = stdio_recorded(fp);
    if (UNLIKELY(!file))
        return real(fp, format, list);
    int result;
    struct buffered *slot = stdio_slot(file, FILE_READ);
    bool locked = stdio_lock(fp);
    const char *next = stdio_next(fp), *end = next + stdio_near(fp);
    if (LIKELY(slot && end - next > slot->foreseen && !stdio_is_pushed_back(fp) &&
               !stdio_at_end(fp))) {
        result = real(fp, format, list);
        int64_t got = stdio_next(fp) - next;
        if (LIKELY((uint64_t)got <= slot->longest && stdio_next(fp) + stdio_near(fp) == end))
            stdio_count_in(slot, function, got);
        else
            scan_unforeseen(function, fp, file, next, end, result);
    } else {
        result = scan_request(function, real, fp, file, locked, format, list);
    }
    stdio_unlock(fp, locked);
    return result;
}

#define SCAN_LIST(name, parameters, fp, vfscanf)                                                   \
    TAILRACE_EXPORT int name parameters                                                            \
    {                                                                                              \
        return scan(FUNCTION_##name, REAL(vfscanf), fp, format, list);                             \
    }
#define SCAN_VARIADIC(name, parameters, fp, vfscanf)                                               \
    TAILRACE_EXPORT int name parameters                                                            \
    {                                                                                              \
        va_list list;                                                                              \
        va_start(list, format);                                                                    \
        int result = scan(FUNCTION_##name, REAL(vfscanf), fp, format, list);                       \
        va_end(list);                                                                              \
        return result;                                                                             \
    }
#define SCAN(prefix)                                                                               \
    SCAN_LIST(prefix##vfscanf, (FILE * fp, const char *format, va_list list), fp, prefix##vfscanf) \
    SCAN_LIST(prefix##vscanf, (const char *format, va_list list), stdin, prefix##vfscanf)          \
    SCAN_VARIADIC(prefix##fscanf, (FILE * fp, const char *format, ...), fp, prefix##vfscanf)       \
    SCAN_VARIADIC(prefix##scanf, (const char *format, ...), stdin, prefix##vfscanf)
SCAN(gnu_)
SCAN(__isoc99_)
SCAN(__isoc23_)

/* --- To a descriptor --- */

/* As PRINT, without a FILE. */
#define PRINT_TO(name, variadic, parameters, passed)                                               \
    static int record_##name(enum function function, EXPAND parameters, va_list list)              \
    {                                                                                              \
        uint32_t file;                                                                             \
        if (!tailrace_recording || !(file = descriptor_file(fd)))                                  \
            return REAL(name)(EXPAND passed, list);                                                \
        struct call call;                                                                          \
        struct stream *stream = call_begin(&call, function);                                       \
        int result = REAL(name)(EXPAND passed, list);                                              \
        if (stream)                                                                                \
            end_file_call(stream, &call, clock_now(), FILE_WRITE, 0, file, MOVED, 0,               \
                          result < 0 ? errno : 0);                                                 \
        return result;                                                                             \
    }                                                                                              \
    PRINT_PAIR(name, variadic, parameters, passed)

PRINT_TO(vdprintf, dprintf, (int fd, const char *restrict format), (fd, format))
PRINT_TO(__vdprintf_chk, __dprintf_chk, (int fd, int flag, const char *format), (fd, flag, format))
