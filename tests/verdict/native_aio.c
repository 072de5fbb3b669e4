/* Writes 64 MiB by io_submit, by system calls of its own or, where LIBAIO is defined, by libaio, of
 * which the shared library alone is needed. With a word it sets a context up and writes nothing. */

#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MIB = 1 << 20, PIECES = 64 };

#ifdef LIBAIO
int io_setup(int events, aio_context_t *context);
int io_submit(aio_context_t context, long number, struct iocb **requests);
int io_getevents(aio_context_t context, long least, long most, struct io_event *events,
                 struct timespec *timeout);
#else
static int io_setup(int events, aio_context_t *context)
{
    return (int)syscall(SYS_io_setup, events, context);
}
static int io_submit(aio_context_t context, long number, struct iocb **requests)
{
    return (int)syscall(SYS_io_submit, context, number, requests);
}
static int io_getevents(aio_context_t context, long least, long most, struct io_event *events,
                        struct timespec *timeout)
{
    return (int)syscall(SYS_io_getevents, context, least, most, events, timeout);
}
#endif

int main(int arguments, char **words)
{
    (void)words;
    aio_context_t context = 0;
    char *data = malloc(MIB);
    int file = open("field", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (io_setup(1, &context) || file < 0 || !data)
        return 1;
    memset(data, 'x', MIB);
    for (int i = 0; i < PIECES && arguments == 1; i++) {
        struct iocb request = {.aio_fildes = (uint32_t)file,
                               .aio_lio_opcode = IOCB_CMD_PWRITE,
                               .aio_buf = (uintptr_t)data,
                               .aio_nbytes = MIB,
                               .aio_offset = (int64_t)i * MIB};
        struct iocb *requests[] = {&request};
        struct io_event done;
        if (io_submit(context, 1, requests) != 1 || io_getevents(context, 1, 1, &done, NULL) != 1 ||
            done.res != MIB)
            return 1;
    }
    free(data);
    return close(file);
}
