/* stdio_character.c: putc, getc and their kind. */
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

int _IO_putc(int, FILE *);
int _IO_getc(FILE *);

static __attribute__((noinline)) int put_request(enum function function, int character, FILE *fp,
                                                 uint32_t file, bool locks, bool locked)
{
    struct request request;
    int result;
    stdio_begin(&request, function, fp, file);
    STDIO_GUARDED(fp, locked,
                  result =
                      locks ? REAL(fputc)(character, fp) : REAL(fputc_unlocked)(character, fp));
    stdio_put(&request, result >= 0, result < 0 ? errno : 0);
    return result;
}

static inline int put_character(enum function function, int character, FILE *fp, uint32_t file,
                                bool locks)
{
    int result;
    bool locked = locks && stdio_lock(fp);
    if (LIKELY(stdio_room(fp) > 0 && stdio_is_direct(fp))) {
        unsigned char byte = result = (unsigned char)character;
        stdio_count(file, FILE_WRITE, function, 1);
        stdio_put_bytes(fp, &byte, 1);
    } else {
        result = put_request(function, character, fp, file, locks, locked);
    }
    stdio_unlock(fp, locked);
    return result;
}

#define PUT(name, parameters, arguments, fp, locks)                                                \
    TAILRACE_EXPORT int name parameters                                                            \
    {                                                                                              \
        uint32_t file = stdio_recorded(fp);                                                        \
        if (UNLIKELY(!file))                                                                       \
            return REAL(name) arguments;                                                           \
        return put_character(FUNCTION_##name, character, fp, file, locks);                         \
    }
PUT(fputc, (int character, FILE *fp), (character, fp), fp, true)
PUT(fputc_unlocked, (int character, FILE *fp), (character, fp), fp, false)
PUT(putc, (int character, FILE *fp), (character, fp), fp, true)
PUT(_IO_putc, (int character, FILE *fp), (character, fp), fp, true)
PUT(putc_unlocked, (int character, FILE *fp), (character, fp), fp, false)
PUT(putchar, (int character), (character), stdout, true)
PUT(putchar_unlocked, (int character), (character), stdout, false)

static __attribute__((noinline)) int get_request(enum function function, FILE *fp, uint32_t file,
                                                 bool locks, bool locked)
{
    struct request request;
    int result;
    stdio_begin(&request, function, fp, file);
    STDIO_GUARDED(fp, locked, result = locks ? REAL(fgetc)(fp) : REAL(fgetc_unlocked)(fp));
    stdio_got(&request, result >= 0, ERROR_IF(result < 0));
    return result;
}

static inline int get_character(enum function function, FILE *fp, uint32_t file, bool locks)
{
    int result;
    bool locked = locks && stdio_lock(fp);
    if (LIKELY(stdio_near(fp) > 0 && stdio_is_direct(fp))) {
        unsigned char byte;
        stdio_count(file, FILE_READ, function, 1);
        stdio_get_bytes(fp, &byte, 1);
        result = byte;
    } else {
        result = get_request(function, fp, file, locks, locked);
    }
    stdio_unlock(fp, locked);
    return result;
}

#define GET(name, parameters, arguments, fp, locks)                                                \
    TAILRACE_EXPORT int name parameters                                                            \
    {                                                                                              \
        uint32_t file = stdio_recorded(fp);                                                        \
        if (UNLIKELY(!file))                                                                       \
            return REAL(name) arguments;                                                           \
        return get_character(FUNCTION_##name, fp, file, locks);                                    \
    }
GET(fgetc, (FILE * fp), (fp), fp, true)
GET(fgetc_unlocked, (FILE * fp), (fp), fp, false)
GET(getc, (FILE * fp), (fp), fp, true)
GET(_IO_getc, (FILE * fp), (fp), fp, true)
GET(getc_unlocked, (FILE * fp), (fp), fp, false)
GET(getchar, (void), (), stdin, true)
GET(getchar_unlocked, (void), (), stdin, false)

/* --- What the inlined putc_unlocked and getc_unlocked call when the buffer is full or empty --- */

int __overflow(FILE *, int);
int __uflow(FILE *);

/* The buffer's content, which the inlined calls put there uncounted, is what is written now. */
TAILRACE_EXPORT int __overflow(FILE *fp, int character)
{
    uint32_t file = stdio_recorded(fp);
    if (!file)
        return REAL(__overflow)(fp, character);
    struct request request;
    stdio_begin(&request, FUNCTION___overflow, fp, file);
    int result = REAL(__overflow)(fp, character);
    stdio_put(&request, result >= 0, result < 0 ? errno : 0);
    return result;
}

TAILRACE_EXPORT int __uflow(FILE *fp)
{
    uint32_t file = stdio_recorded(fp);
    if (!file)
        return REAL(__uflow)(fp);
    struct request request;
    stdio_begin(&request, FUNCTION___uflow, fp, file);
    int result = REAL(__uflow)(fp);
    stdio_got(&request, result >= 0, ERROR_IF(result < 0));
    return result;
}
