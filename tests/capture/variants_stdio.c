/* variants_stdio.c: the part of variants.c that calls STDIO and asynchronous I/O. */
#include <aio.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "variants.h"

static int print_list(FILE *file, int (*function)(FILE *, const char *, va_list),
                      const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int result = function(file, format, list);
    va_end(list);
    return result;
}

typedef int (*fprintf_chk)(FILE *, int, const char *, ...);
typedef int (*dprintf_chk)(int, int, const char *, ...);
typedef size_t (*fread_chk)(void *, size_t, size_t, size_t, FILE *);
typedef char *(*fgets_chk)(char *, size_t, int, FILE *);
typedef int (*put_function)(int, FILE *);
typedef int (*get_function)(FILE *);

static void stdio_writes(void)
{
    char buffer[64] = "";
    FILE *file = fopen("text", "w+");
    check(file != NULL, "fopen");
    line("fopen", "open", 0, -1, 0, "text");
    check(!fopen("missing/text", "r") && errno == ENOENT, "fopen");
    line("fopen", "open", 0, -1, ENOENT, "missing/text");
    setvbuf(file, NULL, _IONBF, 0); /* every call is a request */
    check(fwrite(buffer, 4, 5, file) == 5, "fwrite");
    line("fwrite", "write", 20, -1, 0, "text");
    check(fwrite_unlocked(buffer, 4, 6, file) == 6, "fwrite_unlocked");
    line("fwrite_unlocked", "write", 24, -1, 0, "text");
    OK(fprintf(file, "%d-%d", 12, 345));
    line("fprintf", "write", 6, -1, 0, "text");
    OK(print_list(file, vfprintf, "%s", "four"));
    line("vfprintf", "write", 4, -1, 0, "text");
    OK(((fprintf_chk)dlsym(RTLD_DEFAULT, "__fprintf_chk"))(file, 1, "%.1f", 1.5));
    line("__fprintf_chk", "write", 3, -1, 0, "text");
    OK(fputs("five\n", file));
    line("fputs", "write", 5, -1, 0, "text");
    OK(fputs_unlocked("six123", file));
    line("fputs_unlocked", "write", 6, -1, 0, "text");
    const char *puts_names[] = {"fputc", "putc", "fputc_unlocked", "_IO_putc", "putc_unlocked"};
    for (int i = 0; i < 5; i++) {
        OK(((put_function)dlsym(RTLD_DEFAULT, puts_names[i]))('x', file));
        line(puts_names[i], "write", 1, -1, 0, "text");
    }
    OK(fflush(file)); /* nothing to do */
    OK(dprintf(fileno(file), "%d", 1234567));
    line("dprintf", "write", 7, -1, 0, "text");
    OK(((dprintf_chk)dlsym(RTLD_DEFAULT, "__dprintf_chk"))(fileno(file), 1, "%d", 12345));
    line("__dprintf_chk", "write", 5, -1, 0, "text");
    OK(fclose(file));
    line("fclose", "close", 0, -1, 0, "text");
}

/* Of a FILE that does not know its place the system is asked. */
static void places(FILE *file)
{
    fpos_t place;
    fpos64_t place64;
    check(ftell(file) == 0, "ftell");
    line("ftell", "seek", 0, 0, 0, "full");
    check(ftello(file) == 0, "ftello");
    line("ftello", "seek", 0, 0, 0, "full");
    check(ftello64(file) == 0, "ftello64");
    line("ftello64", "seek", 0, 0, 0, "full");
    OK(fgetpos(file, &place));
    line("fgetpos", "seek", 0, -1, 0, "full");
    OK(fgetpos64(file, &place64));
    line("fgetpos64", "seek", 0, -1, 0, "full");
}

/* What the buffer takes is no request; what empties it is. */
static void buffered_writes(void)
{
    static char block[10000];
    FILE *file = fopen64("full", "w");
    line("fopen64", "open", 0, -1, 0, "full");
    places(file);
    OK(fputs("one", file));
    OK(fflush(file));
    line("fflush", "write", 3, -1, 0, "full");
    OK(putc('x', file));
    OK(fflush_unlocked(file));
    line("fflush_unlocked", "write", 1, -1, 0, "full");
    OK(fprintf(file, "%d", 12));
    OK(fflush(NULL));
    line("fflush", "write", 2, -1, 0, "full");
    check(fwrite(block, 1, 10000, file) == 10000, "fwrite");
    line("fwrite", "write", 8192, -1, 0, "full"); /* whole blocks */
    OK(fprintf(file, "%9000d", 1));               /* longer than foreseen, and than the buffer */
    line("fprintf", "write", 8192, -1, 0, "full");
    OK(setvbuf(file, NULL, _IONBF, 0));
    line("setvbuf", "write", 10000 + 9000 - 2 * 8192, -1, 0, "full");
    OK(setvbuf(file, block, _IOFBF, 4096));
    OK(fputs("last", file));
    OK(fclose(file));
    line("fclose", "write", 4, -1, 0, "full");
    line("fclose", "close", 0, -1, 0, "full");
}

static void stdio_reads(void)
{
    char buffer[64], *text = NULL;
    size_t room = 0;
    int number;
    FILE *file = fopen("numbers", "w+");
    line("fopen", "open", 0, -1, 0, "numbers");
    setvbuf(file, NULL, _IONBF, 0);
    OK(fputs("11 22 33 44\nsecond\nthird\nfourth;fifth\nsixth!", file));
    line("fputs", "write", 44, -1, 0, "numbers");
    rewind(file);
    line("rewind", "seek", 0, 0, 0, "numbers"); /* from here on the FILE knows its place */
    check(fscanf(file, "%d", &number) == 1 && number == 11, "fscanf");
    line("__isoc99_fscanf", "read", 3, 0, 0, "numbers");
    check(print_list(file, vfscanf, "%d", &number) == 1 && number == 22, "vfscanf");
    line("__isoc99_vfscanf", "read", 3, 3, 0, "numbers");
    typedef int (*fscanf_function)(FILE *, const char *, ...);
    check(((fscanf_function)dlsym(RTLD_DEFAULT, "fscanf"))(file, "%d", &number) == 1 &&
              number == 33,
          "fscanf");
    line("fscanf", "read", 3, 6, 0, "numbers");
    check(fgets(buffer, 64, file) == buffer && !strcmp(buffer, " 44\n"), "fgets");
    line("fgets", "read", 3, 9, 0, "numbers"); /* the blank was read before */
    check(fgets_unlocked(buffer, 64, file) && !strcmp(buffer, "second\n"), "fgets_unlocked");
    line("fgets_unlocked", "read", 7, 12, 0, "numbers");
    check(getline(&text, &room, file) == 6, "getline");
    line("getline", "read", 6, 19, 0, "numbers");
    check(getdelim(&text, &room, ';', file) == 7, "getdelim");
    line("getdelim", "read", 7, 25, 0, "numbers");
    const char *gets_names[] = {"fgetc", "getc", "fgetc_unlocked", "_IO_getc", "getc_unlocked"};
    for (int i = 0; i < 5; i++) {
        OK(((get_function)dlsym(RTLD_DEFAULT, gets_names[i]))(file));
        line(gets_names[i], "read", 1, 32 + i, 0, "numbers");
    }
    check(((fgets_chk)dlsym(RTLD_DEFAULT, "__fgets_chk"))(buffer, 64, 64, file) != NULL,
          "__fgets_chk");
    line("__fgets_chk", "read", 1, 37, 0, "numbers");
    check(fread(buffer, 2, 2, file) == 2, "fread");
    line("fread", "read", 4, 38, 0, "numbers");
    check(fread_unlocked(buffer, 1, 1, file) == 1, "fread_unlocked");
    line("fread_unlocked", "read", 1, 42, 0, "numbers");
    check(((fread_chk)dlsym(RTLD_DEFAULT, "__fread_chk"))(buffer, 64, 1, 30, file) == 1,
          "__fread_chk");
    line("__fread_chk", "read", 1, 43, 0, "numbers");
    check(getc(file) == EOF && feof(file), "getc at the end");
    check(ftell(file) == 44, "ftell"); /* the FILE knows */
    OK(fseek(file, 3, SEEK_SET));
    line("fseek", "seek", 0, 3, 0, "numbers");
    OK(fseeko(file, 3, SEEK_CUR));
    line("fseeko", "seek", 0, -1, 0, "numbers");
    OK(fseeko64(file, 4, SEEK_SET));
    line("fseeko64", "seek", 0, 4, 0, "numbers");
    fpos_t place;
    fpos64_t place64;
    OK(fgetpos(file, &place));
    OK(fsetpos(file, &place));
    line("fsetpos", "seek", 0, -1, 0, "numbers");
    OK(fgetpos64(file, &place64));
    OK(fsetpos64(file, &place64));
    line("fsetpos64", "seek", 0, -1, 0, "numbers");
    check(freopen("other", "w", file) == file, "freopen");
    line("freopen", "open", 0, -1, 0, "other");
    OK(fputs("abc", file));
    check(freopen64("third", "w", file) == file, "freopen64");
    line("freopen64", "write", 3, -1, 0, "other");
    line("freopen64", "open", 0, -1, 0, "third");
    OK(fclose(file));
    line("fclose", "close", 0, -1, 0, "third");
    file = tmpfile();
    line("tmpfile", "open", 0, -1, 0, "<temporary file>");
    OK(fputs("abc", file));
    OK(fclose(file));
    line("fclose", "write", 3, -1, 0, "<temporary file>");
    line("fclose", "close", 0, -1, 0, "<temporary file>");
    file = fdopen(open("data", O_RDONLY), "r");
    line("open", "open", 0, -1, 0, "data");
    check(fread(buffer, 1, 10, file) == 10, "fread");
    line("fread", "read", 4096, -1, 0, "data"); /* the buffer takes more than was asked for */
    OK(fclose(file));
    line("fclose", "close", 0, -1, 0, "data");
    file = fmemopen(buffer, sizeof buffer, "r+"); /* memory: not recorded */
    errno = 0;
    OK(fputs("abc", file));
    check(errno == 0, "errno after fputs to memory");
    OK(fclose(file));
}

static void standard_streams(void)
{
    OK(printf("%d", 123));
    OK(puts("abc"));
    OK(fputs("to stderr\n", stderr));
    line("fputs", "write", 10, -1, 0, "<stderr: pipe>");
    OK(fflush(stdout));
    line("fflush", "write", 7, -1, 0, "<stdout>");
    OK(getchar());
    line("getchar", "read", 4, -1, 0, "<stdin>"); /* the whole of it */
    int number;
    check(scanf("%d", &number) == 1 && number == 23, "scanf");
}

static void asynchronous(void)
{
    char buffer[32] = "";
    int fd;
    OK(fd = open("data", O_RDWR));
    line("open", "open", 0, -1, 0, "data");
    struct aiocb request = {.aio_fildes = fd, .aio_buf = buffer, .aio_nbytes = 32, .aio_offset = 8};
    const struct aiocb *list[1] = {&request};
    OK(aio_write(&request));
    line("aio_write", "write", 32, 8, 0, "data");
    OK(aio_suspend(list, 1, NULL));
    line("aio_suspend", "metadata", 0, -1, 0, "data");
    while (aio_error(&request) == EINPROGRESS)
        ;
    check(aio_return(&request) == 32, "aio_return");
    OK(aio_read(&request));
    line("aio_read", "read", 32, 8, 0, "data");
    OK(aio_suspend(list, 1, NULL));
    line("aio_suspend", "metadata", 0, -1, 0, "data");
    check(aio_return(&request) == 32, "aio_return");
    OK(aio_fsync(O_SYNC, &request));
    line("aio_fsync", "sync", 0, -1, 0, "data");
    OK(aio_suspend(list, 1, NULL));
    line("aio_suspend", "metadata", 0, -1, 0, "data");
    request.aio_lio_opcode = LIO_WRITE;
    struct aiocb *requests[1] = {&request};
    line("lio_listio", "write", 32, 8, 0, "data");
    OK(lio_listio(LIO_WAIT, requests, 1, NULL));
    line("lio_listio", "metadata", 0, -1, 0, "data");
    OK(close(fd));
    line("close", "close", 0, -1, 0, "data");
}

void variants_of_stdio(void)
{
    stdio_writes();
    buffered_writes();
    stdio_reads();
    standard_streams();
    asynchronous();
}
