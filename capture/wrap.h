/* wrap.h: the body that most wrappers share.
 *
 *   WRAP_FILE(int, fsync, (int descriptor), (descriptor), descriptor_file(descriptor), FILE_SYNC,
 * 0, 0, 0)
 *
 * defines fsync: where the process records and the file is one to record, the call is recorded with
 * the given op, flags, bytes and offset, which may use `result`; else the real function is called
 * and nothing more. A result of -1 is a failure with errno, WRAP_FILE_STATUS is for functions that
 * return the error itself, WRAP_PATH for those that name a path.
 */
#ifndef TAILRACE_WRAP_H
#define TAILRACE_WRAP_H

#include <errno.h>

#include "descriptors.h"
#include "functions.h"

/* The number of a file that is named; only asked for after the call, which ended with that
 * error. */
EACH_CALL uint32_t wrap_path(int directory, const char *path, int error);

/* The number of "<all files>" and its kind, where no file is known. */
uint32_t wrap_special(const char *name);

#define WRAP(type, name, parameters, arguments, condition, prepare, file, op, flags, bytes,        \
             offset, error)                                                                        \
    TAILRACE_EXPORT type name parameters                                                           \
    {                                                                                              \
        prepare;                                                                                   \
        if (!tailrace_recording || !(condition))                                                   \
            return REAL(name) arguments;                                                           \
        struct call call;                                                                          \
        struct stream *stream = call_begin(&call, FUNCTION_##name);                                \
        type result = REAL(name) arguments;                                                        \
        uint64_t end = stream ? clock_now() : 0;                                                   \
        if (stream)                                                                                \
            end_file_call(stream, &call, end, op, flags, file, bytes, offset, error);              \
        return result;                                                                             \
    }

#define ERROR_OF_RESULT (result == (__typeof__(result))-1 ? errno : 0)

#define WRAP_FILE(type, name, parameters, arguments, find, op, flags, bytes, offset)               \
    WRAP(type, name, parameters, arguments, file = find, uint32_t file, file, op, flags, bytes,    \
         offset, ERROR_OF_RESULT)

#define WRAP_FILE_STATUS(type, name, parameters, arguments, find, op, flags, bytes, offset)        \
    WRAP(type, name, parameters, arguments, file = find, uint32_t file, file, op, flags, bytes,    \
         offset, result)

#define WRAP_PATH(type, name, parameters, arguments, directory, path, op)                          \
    WRAP(type, name, parameters, arguments, 1, (void)0,                                            \
         wrap_path(directory, path, ERROR_OF_RESULT), op, 0, 0, 0, ERROR_OF_RESULT)

/* Bytes moved, where the result counts them. */
#define MOVED (result > 0 ? (int64_t)result : 0)

#endif
