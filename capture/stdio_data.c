/* stdio_data.c: blocks and lines. */
#define _GNU_SOURCE
#include <string.h>

#include "stdio_file.h"

#undef fread_unlocked
#undef fwrite_unlocked
#undef fputs_unlocked

size_t __fread_chk(void *, size_t, size_t, size_t, FILE *);
size_t __fread_unlocked_chk(void *, size_t, size_t, size_t, FILE *);
char *__fgets_chk(char *, size_t, int, FILE *);
char *__fgets_unlocked_chk(char *, size_t, int, FILE *);
ssize_t __getdelim(char **, size_t *, int, FILE *);

#define ITEMS (int64_t)(result * bytes)

#define READ(name, parameters, arguments)                                                                              \
    WRAP_STDIO(size_t, name, parameters, arguments, fp, FILE_READ, ITEMS, ERROR_IF(result < count))
READ(fread, (void *restrict data, size_t bytes, size_t count, FILE *restrict fp), (data, bytes, count, fp))
READ(fread_unlocked, (void *restrict data, size_t bytes, size_t count, FILE *restrict fp), (data, bytes, count, fp))
READ(__fread_chk, (void *data, size_t room, size_t bytes, size_t count, FILE *fp), (data, room, bytes, count, fp))
READ(__fread_unlocked_chk, (void *data, size_t room, size_t bytes, size_t count, FILE *fp),
     (data, room, bytes, count, fp))

#define WRITE(name)                                                                                                    \
    WRAP_STDIO(size_t, name, (const void *restrict data, size_t bytes, size_t count, FILE *restrict fp),               \
               (data, bytes, count, fp), fp, FILE_WRITE, ITEMS, ERROR_IF(result < count))
WRITE(fwrite)
WRITE(fwrite_unlocked)

#define PUT(name, parameters, arguments, extra, fp)                                                                    \
    WRAP_STDIO(int, name, parameters, arguments, fp, FILE_WRITE, result < 0 ? 0 : (int64_t)strlen(text) + extra,       \
               result < 0 ? errno : 0)
PUT(fputs, (const char *restrict text, FILE *restrict fp), (text, fp), 0, fp)
PUT(fputs_unlocked, (const char *restrict text, FILE *restrict fp), (text, fp), 0, fp)
PUT(puts, (const char *text), (text), 1, stdout)

#define GET(name, parameters, arguments)                                                                               \
    WRAP_STDIO(char *, name, parameters, arguments, fp, FILE_READ, result ? (int64_t)strlen(result) : 0,               \
               ERROR_IF(!result))
GET(fgets, (char *restrict line, int room, FILE *restrict fp), (line, room, fp))
GET(fgets_unlocked, (char *restrict line, int room, FILE *restrict fp), (line, room, fp))
GET(__fgets_chk, (char *line, size_t size, int room, FILE *fp), (line, size, room, fp))
GET(__fgets_unlocked_chk, (char *line, size_t size, int room, FILE *fp), (line, size, room, fp))

#define GET_LINE(name, parameters, arguments)                                                                          \
    WRAP_STDIO(ssize_t, name, parameters, arguments, fp, FILE_READ, MOVED, ERROR_IF(result < 0))
GET_LINE(getline, (char **restrict line, size_t *restrict room, FILE *restrict fp), (line, room, fp))
GET_LINE(getdelim, (char **restrict line, size_t *restrict room, int end_character, FILE *restrict fp),
         (line, room, end_character, fp))
GET_LINE(__getdelim, (char **restrict line, size_t *restrict room, int end_character, FILE *restrict fp),
         (line, room, end_character, fp))
