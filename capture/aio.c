/* aio.c: asynchronous I/O of POSIX. A request is recorded where it is made, with the bytes asked
 * for; the wait where the program waits. aio_error and aio_return are not recorded: they move
 * nothing and wait for nobody, and inside an MPI_Wait they would hide that all of it is a wait for
 * a file. */
#define _GNU_SOURCE
#include <aio.h>
#include <fcntl.h>

#include "wrap.h"

#define REQUEST(name, control, op)                                                                 \
    WRAP_FILE(int, name, (struct control * request), (request),                                    \
              descriptor_file(request->aio_fildes), op, FILE_OFFSET, (int64_t)request->aio_nbytes, \
              request->aio_offset)
REQUEST(aio_read, aiocb, FILE_READ)
REQUEST(aio_read64, aiocb64, FILE_READ)
REQUEST(aio_write, aiocb, FILE_WRITE)
REQUEST(aio_write64, aiocb64, FILE_WRITE)

#define SYNC(name, control)                                                                        \
    WRAP_FILE(int, name, (int operation, struct control *request), (operation, request),           \
              descriptor_file(request->aio_fildes), FILE_SYNC, 0, 0, 0)
SYNC(aio_fsync, aiocb)
SYNC(aio_fsync64, aiocb64)

/* A wait for any of several requests counts for the file of the first. */
#define SUSPEND(name, control)                                                                     \
    static uint32_t first_file_of_##name(const struct control *const list[], int count)            \
    {                                                                                              \
        for (int i = 0; i < count; i++)                                                            \
            if (list[i])                                                                           \
                return descriptor_file(list[i]->aio_fildes);                                       \
        return 0;                                                                                  \
    }                                                                                              \
    WRAP_FILE(                                                                                     \
        int, name,                                                                                 \
        (const struct control *const list[], int count, const struct timespec *restrict timeout),  \
        (list, count, timeout), first_file_of_##name(list, count), FILE_METADATA, 0, 0, 0)
SUSPEND(aio_suspend, aiocb)
SUSPEND(aio_suspend64, aiocb64)

/* A list is one call with as many requests inside it, each a record of no length before the wait.
 * Not inlined: a call inside another must have a stack frame of its own (record.h). */
#define LIST(name, control)                                                                        \
    static __attribute__((noinline)) void record_requests_of_##name(struct control *const list[],  \
                                                                    int count)                     \
    {                                                                                              \
        for (int i = 0; i < count; i++) {                                                          \
            struct call call;                                                                      \
            uint32_t file = list[i] && list[i]->aio_lio_opcode != LIO_NOP                          \
                                ? descriptor_file(list[i]->aio_fildes)                             \
                                : 0;                                                               \
            struct stream *stream = file ? call_begin(&call, FUNCTION_##name) : NULL;              \
            if (stream)                                                                            \
                end_file_call(stream, &call, clock_now(),                                          \
                              list[i]->aio_lio_opcode == LIO_READ ? FILE_READ : FILE_WRITE,        \
                              FILE_OFFSET, file, (int64_t)list[i]->aio_nbytes,                     \
                              list[i]->aio_offset, 0);                                             \
        }                                                                                          \
    }                                                                                              \
    static uint32_t first_file_of_##name(struct control *const list[], int count)                  \
    {                                                                                              \
        for (int i = 0; i < count; i++)                                                            \
            if (list[i] && list[i]->aio_lio_opcode != LIO_NOP)                                     \
                return descriptor_file(list[i]->aio_fildes);                                       \
        return 0;                                                                                  \
    }                                                                                              \
    TAILRACE_EXPORT int name(int mode, struct control *const list[restrict], int count,            \
                             struct sigevent *restrict event)                                      \
    {                                                                                              \
        uint32_t file;                                                                             \
        if (!tailrace_recording || !(file = first_file_of_##name(list, count)))                    \
            return REAL(name)(mode, list, count, event);                                           \
        struct call call;                                                                          \
        struct stream *stream = call_begin(&call, FUNCTION_##name);                                \
        if (stream)                                                                                \
            record_requests_of_##name(list, count);                                                \
        int result = REAL(name)(mode, list, count, event);                                         \
        if (stream)                                                                                \
            end_file_call(stream, &call, clock_now(), FILE_METADATA, 0, file, 0, 0,                \
                          ERROR_OF_RESULT);                                                        \
        return result;                                                                             \
    }
LIST(lio_listio, aiocb)
LIST(lio_listio64, aiocb64)
