/* stdio_file.h: what the wrappers of STDIO share. */
#ifndef TAILRACE_STDIO_FILE_H
#define TAILRACE_STDIO_FILE_H

#include <stdio.h>

#include "wrap.h"

/* fileno() would set errno for a FILE that is none, as fmemopen's. */
static inline int stdio_descriptor(FILE *fp)
{
#ifdef __GLIBC__
    return fp->_fileno;
#else
    return fileno(fp);
#endif
}

static inline uint32_t stdio_file(FILE *fp)
{
    return descriptor_file(stdio_descriptor(fp));
}

/* Characters put or got one at a time since the last record; they are part of no other. Written where the FILE is
 * used otherwise, so that no byte is missing in the trace. */
void characters_record(int descriptor, uint32_t file);
extern uint32_t characters_pending[DESCRIPTORS_NEAR][2];

static inline bool characters_wait(int descriptor)
{
    return (unsigned)descriptor < DESCRIPTORS_NEAR &&
           (characters_pending[descriptor][0] || characters_pending[descriptor][1]);
}

/* Begins a call on a FILE after those characters. */
static inline struct stream *stdio_begin(struct call *call, enum function function, FILE *fp, uint32_t file)
{
    if (UNLIKELY(characters_wait(stdio_descriptor(fp))))
        characters_record(stdio_descriptor(fp), file);
    return call_begin(call, function);
}

#define WRAP_STDIO_AS(type, name, parameters, real, fp, op, flags, bytes, offset, error)                               \
    TAILRACE_EXPORT type name parameters                                                                               \
    {                                                                                                                  \
        uint32_t file;                                                                                                 \
        if (!tailrace_recording || !(file = stdio_file(fp)))                                                           \
            return real;                                                                                               \
        struct call call;                                                                                              \
        struct stream *stream = stdio_begin(&call, FUNCTION_##name, fp, file);                                         \
        type result = real;                                                                                            \
        uint64_t end = stream ? clock_now() : 0;                                                                       \
        if (stream)                                                                                                    \
            end_file_call(stream, &call, end, op, flags, file, bytes, offset, error);                                  \
        return result;                                                                                                 \
    }

#define WRAP_STDIO(type, name, parameters, arguments, fp, op, bytes, error)                                            \
    WRAP_STDIO_AS(type, name, parameters, REAL(name) arguments, fp, op, 0, bytes, 0, error)

/* A short count or EOF is an error only where the FILE says so. */
#define ERROR_IF(failed) ((failed) && ferror_unlocked(fp) ? errno : 0)

#endif
