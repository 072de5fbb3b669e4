/* stdio_data.c: blocks and lines.
 *
 * Whether the buffer serves a call is seen before it: it has room for the block, or holds the line.
 */
#define _GNU_SOURCE
#include <limits.h>

#include "stdio_file.h"

#undef fread_unlocked
#undef fwrite_unlocked
#undef fputs_unlocked
#undef fgets_unlocked

size_t __fread_chk(void *, size_t, size_t, size_t, FILE *);
size_t __fread_unlocked_chk(void *, size_t, size_t, size_t, FILE *);
char *__fgets_chk(char *, size_t, int, FILE *);
char *__fgets_unlocked_chk(char *, size_t, int, FILE *);
ssize_t __getdelim(char **, size_t *, int, FILE *);

/* --- Blocks --- */

/* Bytes of the items, -1 where no size_t holds them. */
static inline int64_t bytes_of_items(size_t bytes, size_t count)
{
    size_t total;
    return __builtin_mul_overflow(bytes, count, &total) ? -1 : (int64_t)total;
}

/* As libc has it: the whole in bytes, and what of it are whole items. By bytes it is known how many
 * were moved. */
static inline size_t whole_items(size_t moved, size_t total, size_t bytes, size_t count)
{
    return moved == total ? count : moved / bytes;
}

static __attribute__((noinline)) size_t read_request(enum function function, void *data,
                                                     size_t bytes, size_t count, FILE *fp,
                                                     uint32_t file, bool locks, bool locked)
{
    struct request request;
    size_t total = bytes * count, moved;
    stdio_begin(&request, function, fp, file);
    STDIO_GUARDED(fp, locked,
                  moved = locks ? REAL(fread)(data, 1, total, fp)
                                : REAL(fread_unlocked)(data, 1, total, fp));
    stdio_got(&request, (int64_t)moved, ERROR_IF(moved < total));
    return whole_items(moved, total, bytes, count);
}

static ALWAYS_INLINE size_t read_items(enum function function, void *data, size_t bytes,
                                       size_t count, FILE *fp, uint32_t file, bool locks)
{
    size_t result = count;
    struct buffered *expected = stdio_expected(file, FILE_READ);
    bool locked = locks && stdio_lock(fp);
    int64_t total = bytes_of_items(bytes, count);
    if (LIKELY(total > 0 && total <= stdio_near(fp) && stdio_is_direct(fp))) {
        stdio_count_expected(expected, file, FILE_READ, function, total);
        stdio_get_bytes(fp, data, (size_t)total);
    } else if (total > 0) {
        result = read_request(function, data, bytes, count, fp, file, locks, locked);
    } else {
        result = REAL(fread)(data, bytes, count, fp);
    }
    stdio_unlock(fp, locked);
    return result;
}

/* `bad`: the checked function ends the program. */
#define READ(name, parameters, arguments, bad, locks)                                              \
    TAILRACE_EXPORT size_t name parameters                                                         \
    {                                                                                              \
        uint32_t file = stdio_recorded(fp);                                                        \
        if (!file || (bad))                                                                        \
            return REAL(name) arguments;                                                           \
        return read_items(FUNCTION_##name, data, bytes, count, fp, file, locks);                   \
    }
#define ROOM_IS_SHORT bytes_of_items(bytes, count)<0 || bytes * count> room
READ(fread, (void *restrict data, size_t bytes, size_t count, FILE *restrict fp),
     (data, bytes, count, fp), false, true)
READ(fread_unlocked, (void *restrict data, size_t bytes, size_t count, FILE *restrict fp),
     (data, bytes, count, fp), false, false)
READ(__fread_chk, (void *data, size_t room, size_t bytes, size_t count, FILE *fp),
     (data, room, bytes, count, fp), ROOM_IS_SHORT, true)
READ(__fread_unlocked_chk, (void *data, size_t room, size_t bytes, size_t count, FILE *fp),
     (data, room, bytes, count, fp), ROOM_IS_SHORT, false)

static __attribute__((noinline)) size_t write_request(enum function function, const void *data,
                                                      size_t bytes, size_t count, FILE *fp,
                                                      uint32_t file, bool locks, bool locked)
{
    struct request request;
    size_t total = bytes * count, moved;
    stdio_begin(&request, function, fp, file);
    STDIO_GUARDED(fp, locked,
                  moved = locks ? REAL(fwrite)(data, 1, total, fp)
                                : REAL(fwrite_unlocked)(data, 1, total, fp));
    stdio_put(&request, (int64_t)moved, ERROR_IF(moved < total));
    return whole_items(moved, total, bytes, count);
}

static ALWAYS_INLINE size_t write_items(enum function function, const void *data, size_t bytes,
                                        size_t count, FILE *fp, uint32_t file, bool locks)
{
    size_t result = count;
    struct buffered *expected = stdio_expected(file, FILE_WRITE);
    bool locked = locks && stdio_lock(fp);
    int64_t total = bytes_of_items(bytes, count);
    if (LIKELY(total > 0 && total <= stdio_room(fp) && stdio_is_direct(fp))) {
        stdio_count_expected(expected, file, FILE_WRITE, function, total);
        stdio_put_bytes(fp, data, (size_t)total);
    } else if (total > 0) {
        result = write_request(function, data, bytes, count, fp, file, locks, locked);
    } else {
        result = REAL(fwrite)(data, bytes, count, fp);
    }
    stdio_unlock(fp, locked);
    return result;
}

#define WRITE(name, locks)                                                                         \
    TAILRACE_EXPORT size_t name(const void *restrict data, size_t bytes, size_t count,             \
                                FILE *restrict fp)                                                 \
    {                                                                                              \
        uint32_t file = stdio_recorded(fp);                                                        \
        if (UNLIKELY(!file))                                                                       \
            return REAL(name)(data, bytes, count, fp);                                             \
        return write_items(FUNCTION_##name, data, bytes, count, fp, file, locks);                  \
    }
WRITE(fwrite, true)
WRITE(fwrite_unlocked, false)

/* --- Lines --- */

static inline int put_really(const char *text, bool newline, FILE *fp, bool locks)
{
    return newline ? REAL(puts)(text)
           : locks ? REAL(fputs)(text, fp)
                   : REAL(fputs_unlocked)(text, fp);
}

static __attribute__((noinline)) int put_request(enum function function, const char *text,
                                                 bool newline, FILE *fp, uint32_t file, bool locks,
                                                 bool locked)
{
    struct request request;
    int result;
    int64_t bytes = (int64_t)strlen(text) + newline;
    stdio_begin(&request, function, fp, file);
    STDIO_GUARDED(fp, locked, result = put_really(text, newline, fp, locks));
    stdio_put(&request, result < 0 ? 0 : bytes, result < 0 ? errno : 0);
    return result;
}

static inline int put_text(enum function function, const char *text, bool newline, FILE *fp,
                           uint32_t file, bool locks)
{
    int result = 1; /* as glibc's */
    struct buffered *expected = stdio_expected(file, FILE_WRITE);
    bool locked = locks && stdio_lock(fp);
    size_t length = strlen(text);
    int64_t bytes = (int64_t)length + newline;
    if (LIKELY(bytes <= stdio_room(fp) && stdio_is_direct(fp))) {
        stdio_count_expected(expected, file, FILE_WRITE, function, bytes);
        stdio_put_bytes(fp, text, length);
        if (newline) {
            stdio_put_bytes(fp, "\n", 1);
            result = bytes < INT_MAX ? (int)bytes : INT_MAX;
        }
    } else {
        result = put_request(function, text, newline, fp, file, locks, locked);
    }
    stdio_unlock(fp, locked);
    return result;
}

#define PUT(name, parameters, arguments, newline, fp, locks)                                       \
    TAILRACE_EXPORT int name parameters                                                            \
    {                                                                                              \
        uint32_t file = stdio_recorded(fp);                                                        \
        if (UNLIKELY(!file))                                                                       \
            return REAL(name) arguments;                                                           \
        return put_text(FUNCTION_##name, text, newline, fp, file, locks);                          \
    }
PUT(fputs, (const char *restrict text, FILE *restrict fp), (text, fp), false, fp, true)
PUT(fputs_unlocked, (const char *restrict text, FILE *restrict fp), (text, fp), false, fp, false)
PUT(puts, (const char *text), (text), true, stdout, true)

/* Bytes of the line if the buffer holds the whole of it, with its end or as much as there is room
 * for; else -1. */
static inline int64_t line_at_hand(FILE *fp, int end_character, int64_t most)
{
    int64_t near = stdio_near(fp);
    int64_t span = most < near ? most : near;
    const char *next = stdio_next(fp);
    const char *end = span > 0 ? memchr(next, end_character, (size_t)span) : NULL;
    return end ? end + 1 - next : most <= near ? most : -1;
}

static __attribute__((noinline)) char *gets_request(enum function function, char *line, int room,
                                                    FILE *fp, uint32_t file, bool locks,
                                                    bool locked)
{
    struct request request;
    char *result;
    stdio_begin(&request, function, fp, file);
    STDIO_GUARDED(fp, locked,
                  result =
                      locks ? REAL(fgets)(line, room, fp) : REAL(fgets_unlocked)(line, room, fp));
    int64_t bytes = result ? (int64_t)strlen(result) : 0;
    bool whole = bytes == room - 1 || stdio_at_end(fp) || (bytes && line[bytes - 1] == '\n');
    if (whole || !result)
        stdio_got(&request, bytes, ERROR_IF(!result));
    else
        stdio_got_unknown(&request, -1, 0); /* there are zeros in the line */
    return result;
}

static inline char *get_line(enum function function, char *line, int room, FILE *fp, uint32_t file,
                             bool locks)
{
    char *result = line;
    bool locked = locks && stdio_lock(fp);
    int64_t bytes = room > 1 && stdio_is_direct(fp) ? line_at_hand(fp, '\n', room - 1) : -1;
    if (LIKELY(bytes >= 0)) {
        stdio_count(file, FILE_READ, function, bytes);
        stdio_get_bytes(fp, line, (size_t)bytes);
        line[bytes] = 0;
    } else {
        result = gets_request(function, line, room, fp, file, locks, locked);
    }
    stdio_unlock(fp, locked);
    return result;
}

#define GET(name, parameters, arguments, bad, locks)                                               \
    TAILRACE_EXPORT char *name parameters                                                          \
    {                                                                                              \
        uint32_t file = stdio_recorded(fp);                                                        \
        if (UNLIKELY(!file || (bad)))                                                              \
            return REAL(name) arguments;                                                           \
        return get_line(FUNCTION_##name, line, room, fp, file, locks);                             \
    }
GET(fgets, (char *restrict line, int room, FILE *restrict fp), (line, room, fp), false, true)
GET(fgets_unlocked, (char *restrict line, int room, FILE *restrict fp), (line, room, fp), false,
    false)
#define LINE_IS_SHORT room <= 0 || (size_t)room > size
GET(__fgets_chk, (char *line, size_t size, int room, FILE *fp), (line, size, room, fp),
    LINE_IS_SHORT, true)
GET(__fgets_unlocked_chk, (char *line, size_t size, int room, FILE *fp), (line, size, room, fp),
    LINE_IS_SHORT, false)

static __attribute__((noinline)) ssize_t line_request(enum function function, char **line,
                                                      size_t *room, int end_character, FILE *fp,
                                                      uint32_t file, bool locked)
{
    struct request request;
    ssize_t result;
    stdio_begin(&request, function, fp, file);
    STDIO_GUARDED(fp, locked, result = REAL(getdelim)(line, room, end_character, fp));
    stdio_got(&request, MOVED, ERROR_IF(result < 0));
    return result;
}

static ssize_t delimited(enum function function, char **line, size_t *room, int end_character,
                         FILE *fp, uint32_t file)
{
    ssize_t result;
    bool locked = stdio_lock(fp);
    int64_t bytes = line_at_hand(fp, end_character, INT64_MAX);
    if (LIKELY(bytes >= 0 && stdio_is_direct(fp))) {
        stdio_count(file, FILE_READ, function, bytes);
        result = REAL(getdelim)(line, room, end_character, fp);
    } else {
        result = line_request(function, line, room, end_character, fp, file, locked);
    }
    stdio_unlock(fp, locked);
    return result;
}

#define GET_LINE(name, parameters, arguments, end_character)                                       \
    TAILRACE_EXPORT ssize_t name parameters                                                        \
    {                                                                                              \
        uint32_t file = stdio_recorded(fp);                                                        \
        if (!file)                                                                                 \
            return REAL(name) arguments;                                                           \
        return delimited(FUNCTION_##name, line, room, end_character, fp, file);                    \
    }
GET_LINE(getline, (char **restrict line, size_t *restrict room, FILE *restrict fp),
         (line, room, fp), '\n')
GET_LINE(getdelim,
         (char **restrict line, size_t *restrict room, int end_character, FILE *restrict fp),
         (line, room, end_character, fp), end_character)
GET_LINE(__getdelim,
         (char **restrict line, size_t *restrict room, int end_character, FILE *restrict fp),
         (line, room, end_character, fp), end_character)
