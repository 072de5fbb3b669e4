/* stdio_character.c: putc, getc and their kind.
 *
 * They cost a nanosecond and do no I/O while the buffer has room, so a record of each would slow such loops down
 * tenfold and say nothing. They are counted instead; the one that fills or empties the buffer is recorded, with the
 * bytes of all since then.
 */
#define _GNU_SOURCE
#include "stdio_file.h"

#undef putc
#undef getc
#undef putchar
#undef getchar
#undef putc_unlocked
#undef getc_unlocked
#undef fputc_unlocked
#undef fgetc_unlocked
#undef putchar_unlocked
#undef getchar_unlocked

enum direction { GOT, PUT };

uint32_t characters_pending[DESCRIPTORS_NEAR][2];
static int highest_pending = -1;

int _IO_putc(int, FILE *);
int _IO_getc(FILE *);

/* --- Counting ------------------------------------------------------------------------------------------------ */

static bool buffer_suffices(FILE *fp, enum direction direction)
{
#ifdef __GLIBC__
    return direction == PUT ? fp->_IO_write_ptr < fp->_IO_write_end : fp->_IO_read_ptr < fp->_IO_read_end;
#else
    (void)fp;
    (void)direction;
    return false;
#endif
}

/* Whether the character only touches the buffer: then it is counted. */
static inline bool counted(FILE *fp, enum direction direction)
{
    int descriptor = stdio_descriptor(fp);
    if ((unsigned)descriptor >= DESCRIPTORS_NEAR || !buffer_suffices(fp, direction))
        return false;
    if (UNLIKELY(descriptor > highest_pending))
        highest_pending = descriptor;
    characters_pending[descriptor][direction]++;
    return true;
}

static uint32_t take(int descriptor, enum direction direction)
{
    if ((unsigned)descriptor >= DESCRIPTORS_NEAR)
        return 0;
    uint32_t count = characters_pending[descriptor][direction];
    characters_pending[descriptor][direction] = 0;
    return count;
}

static void record_counted(int descriptor, uint32_t file, enum direction direction)
{
    struct call call;
    uint32_t count = take(descriptor, direction);
    struct stream *stream = count ? call_begin(&call, direction == PUT ? FUNCTION_fputc : FUNCTION_fgetc) : NULL;
    if (stream)
        end_file_call(stream, &call, clock_now(), direction == PUT ? FILE_WRITE : FILE_READ, 0, file, count, 0, 0);
}

void characters_record(int descriptor, uint32_t file)
{
    record_counted(descriptor, file, PUT);
    record_counted(descriptor, file, GOT);
}

void characters_flush(void)
{
    for (int descriptor = 0; tailrace_recording && descriptor <= highest_pending; descriptor++)
        if (characters_wait(descriptor) && descriptor_entry(descriptor) > DESCRIPTOR_IGNORED)
            characters_record(descriptor, descriptor_entry(descriptor));
}

/* --- The functions ------------------------------------------------------------------------------------------- */

#define CHARACTER(name, parameters, arguments, fp, direction)                                                          \
    TAILRACE_EXPORT int name parameters                                                                                \
    {                                                                                                                  \
        uint32_t file;                                                                                                 \
        if (!tailrace_recording || !(file = stdio_file(fp)) || counted(fp, direction))                                 \
            return REAL(name) arguments;                                                                               \
        struct call call;                                                                                              \
        struct stream *stream = call_begin(&call, FUNCTION_##name);                                                    \
        int result = REAL(name) arguments;                                                                             \
        uint64_t end = stream ? clock_now() : 0;                                                                       \
        if (stream)                                                                                                    \
            end_file_call(stream, &call, end, direction == PUT ? FILE_WRITE : FILE_READ, 0, file,                      \
                          take(stdio_descriptor(fp), direction) + (result >= 0), 0,                                    \
                          result < 0 && ferror_unlocked(fp) ? errno : 0);                                              \
        return result;                                                                                                 \
    }

CHARACTER(fputc, (int character, FILE *fp), (character, fp), fp, PUT)
CHARACTER(fputc_unlocked, (int character, FILE *fp), (character, fp), fp, PUT)
CHARACTER(putc, (int character, FILE *fp), (character, fp), fp, PUT)
CHARACTER(_IO_putc, (int character, FILE *fp), (character, fp), fp, PUT)
CHARACTER(putc_unlocked, (int character, FILE *fp), (character, fp), fp, PUT)
CHARACTER(putchar, (int character), (character), stdout, PUT)
CHARACTER(putchar_unlocked, (int character), (character), stdout, PUT)
CHARACTER(fgetc, (FILE * fp), (fp), fp, GOT)
CHARACTER(fgetc_unlocked, (FILE * fp), (fp), fp, GOT)
CHARACTER(getc, (FILE * fp), (fp), fp, GOT)
CHARACTER(_IO_getc, (FILE * fp), (fp), fp, GOT)
CHARACTER(getc_unlocked, (FILE * fp), (fp), fp, GOT)
CHARACTER(getchar, (void), (), stdin, GOT)
CHARACTER(getchar_unlocked, (void), (), stdin, GOT)

/* --- What the inlined putc_unlocked and getc_unlocked call when the buffer is full or empty
 * ----------------------------- */

#ifdef __GLIBC__
int __overflow(FILE *, int);
int __uflow(FILE *);

/* The buffer's content, which the inlined calls put there uncounted, is what is written now. */
TAILRACE_EXPORT int __overflow(FILE *fp, int character)
{
    uint32_t file;
    if (!tailrace_recording || !(file = stdio_file(fp)))
        return REAL(__overflow)(fp, character);
    struct call call;
    int64_t content = fp->_IO_write_ptr - fp->_IO_write_base;
    struct stream *stream = stdio_begin(&call, FUNCTION___overflow, fp, file);
    int result = REAL(__overflow)(fp, character);
    if (stream)
        end_file_call(stream, &call, clock_now(), FILE_WRITE, 0, file, content + (result >= 0), 0,
                      result < 0 ? errno : 0);
    return result;
}

WRAP_STDIO(int, __uflow, (FILE * fp), (fp), fp, FILE_READ, fp->_IO_read_end - fp->_IO_read_base, ERROR_IF(result < 0))
#endif
