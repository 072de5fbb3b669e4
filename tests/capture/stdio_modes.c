/* stdio_modes.c MODE: uses ./file by STDIO in one way. For reading it holds "line 000000\n" (12
 * bytes) and so on, 2,000 lines. Prints the calls and bytes that the buffer was asked for: put,
 * got.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long put_calls, put_bytes, got_calls, got_bytes;

static void check(int good, const char *what)
{
    if (good)
        return;
    perror(what);
    exit(1);
}

static FILE *opened(const char *mode)
{
    FILE *file = fopen("file", mode);
    check(file != NULL, "file");
    return file;
}

static void put(long bytes)
{
    check(bytes >= 0, "put");
    put_calls++;
    put_bytes += bytes;
}

static void got(long bytes)
{
    check(bytes >= 0, "get");
    got_calls++;
    got_bytes += bytes;
}

static void put_lines(FILE *file, int count)
{
    for (int i = 0; i < count; i++)
        put(fprintf(file, "line %06d\n", i));
}

static void get_lines(FILE *file, int count)
{
    char line[64];
    for (int i = 0; i < count; i++)
        got(fgets(line, sizeof line, file) ? (long)strlen(line) : 0);
}

/* --- Buffers --- */

static void by_lines(void)
{
    FILE *file = opened("w");
    setvbuf(file, NULL, _IOLBF, 0);
    put_lines(file, 100);
    for (int i = 0; i < 1000; i++)
        put(fprintf(file, "%d,", i));
    put(fputs("one\ntwo\nthree", file) < 0 ? -1 : 13);
    for (int i = 0; i < 5; i++)
        put(putc(i % 2 ? '\n' : 'x', file) < 0 ? -1 : 1);
    put((long)fwrite("four\nfive", 1, 9, file));
    fclose(file);
}

static void unbuffered(void)
{
    FILE *file = opened("w");
    setvbuf(file, NULL, _IONBF, 0);
    for (int i = 0; i < 50; i++) {
        fprintf(file, "line %06d, %s\n", i, "in one request");
        fwrite("1234", 1, 4, file);
        fputs("text", file);
        putc('x', file);
    }
    fclose(file);
    file = opened("r");
    setvbuf(file, NULL, _IONBF, 0);
    char block[100];
    check(fread(block, 1, 50, file) == 50 && fgets(block, 20, file) && getc(file) != EOF, "get");
    check(fscanf(file, "%29s", block) == 1, "fscanf");
    fclose(file);
}

static void own_buffer(void)
{
    static char buffer[65536], block[10000];
    FILE *file = opened("w");
    setvbuf(file, buffer, _IOFBF, sizeof buffer);
    for (int i = 0; i < 50; i++)
        put((long)fwrite(block, 1, sizeof block, file));
    put_lines(file, 20000);
    fclose(file);
}

static void small_buffer(void)
{
    FILE *file = opened("w");
    setvbuf(file, NULL, _IOFBF, 16);
    for (int i = 0; i < 1000; i++)
        put((long)fwrite(&i, 1, 4, file));
    setbuffer(file, NULL, 0); /* nothing stays behind in the old one */
    fclose(file);
}

static void large_blocks(void)
{
    static char block[30000];
    FILE *file = opened("w+");
    for (int i = 1; i < 20; i++)
        put((long)fwrite(block, 1, (size_t)(1000 * i), file));
    put(fputs("end", file) < 0 ? -1 : 3);
    rewind(file);
    for (int i = 19; i > 0; i--)
        got((long)fread(block, 1, (size_t)(1000 * i), file));
    fclose(file);
}

/* --- Ways to open --- */

static void append(void)
{
    FILE *file = opened("a+");
    get_lines(file, 3);
    fseek(file, 0, SEEK_END);
    put_lines(file, 500);
    rewind(file);
    get_lines(file, 700);
    fseek(file, 0, SEEK_CUR);
    put_lines(file, 3);
    fclose(file);
}

static void update(void)
{
    FILE *file = opened("r+");
    get_lines(file, 10);
    fseek(file, 0, SEEK_CUR);
    put_lines(file, 10);
    fflush(file);
    get_lines(file, 10);
    fseek(file, 6000, SEEK_SET);
    put_lines(file, 1000);
    fseek(file, 0, SEEK_SET);
    get_lines(file, 400);
    fclose(file);
}

static void reopened(void)
{
    FILE *file = opened("w");
    put_lines(file, 600);
    file = freopen("file", "r", file);
    get_lines(file, 500);
    file = freopen("file", "a", file);
    put_lines(file, 5);
    fclose(file);
}

static void descriptor(void)
{
    int number = open("file", O_RDWR);
    FILE *file = fdopen(number, "r+");
    get_lines(file, 2);
    fflush(file); /* the descriptor goes back to the second line's end */
    check(lseek(number, 0, SEEK_CUR) == 24, "fflush");
    get_lines(file, 2);
    FILE *other = fdopen(dup(number), "a");
    put_lines(other, 1000);
    fclose(other);
    fclose(file);
}

/* --- Places --- */

static void put_lines_at_end(FILE *file)
{
    fseek(file, 0, SEEK_END);
    put_lines(file, 1);
}

static void seeks(void)
{
    FILE *file = opened("r");
    get_lines(file, 5);
    for (int i = 0; i < 40; i++) {
        fseek(file, (i * 7919) % 23000, SEEK_SET);
        get_lines(file, 1 + i % 3);
        fseek(file, 24, SEEK_CUR);
        get_lines(file, 1);
        check(ftell(file) > 0, "ftell");
    }
    fseek(file, -30, SEEK_END);
    get_lines(file, 4);
    fclose(file);
}

/* As a data base does: looked up, changed in its place, looked up again in the same block. */
static void changed_in_place(void)
{
    FILE *file = opened("r+");
    for (int i = 0; i < 60; i++) {
        long place = (i * 7919) % 23000;
        fseek(file, place, SEEK_SET);
        get_lines(file, 2);
        fseek(file, place, SEEK_SET);
        put_lines(file, 1);
        fseek(file, place + (i % 3 - 1) * 12 * (place > 12), SEEK_SET);
        get_lines(file, 1);
        if (i % 4 == 0) {
            put_lines_at_end(file);
            rewind(file);
        }
    }
    fclose(file);
}

static void pushed_back(void)
{
    FILE *file = opened("r");
    char block[20];
    for (int i = 0; i < 500; i++) {
        int character = getc(file);
        got(character == EOF ? -1 : 1);
        check(ungetc(character, file) != EOF && ungetc('#', file) != EOF, "ungetc");
        got((long)fread(block, 1, sizeof block, file));
        ungetc('x', file);
        got(getc(file) == 'x' ? 1 : -1);
    }
    fclose(file);
}

static void lines_of_any_length(void)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t bytes;
    FILE *file = opened("r");
    for (int i = 0; i < 500; i++)
        got(getline(&line, &room, file));
    while ((bytes = getdelim(&line, &room, '7', file)) > 0)
        got(bytes);
    got(0);
    fclose(file);
    free(line);
}

static void scans(void)
{
    FILE *file = opened("r");
    char word[30];
    int number, bytes, before = 0;
    for (int i = 0; i < 2000; i++) {
        check(fscanf(file, "%29s %d%n", word, &number, &bytes) == 2 && number == i, "fscanf");
        got(bytes);
    }
    check(fscanf(file, "%d", &before) == EOF, "fscanf");
    got(1); /* the last newline */
    fclose(file);
}

static void short_scans(FILE *file)
{
    char word[30];
    int number, bytes;
    for (int i = 0; i < 70; i++) {
        check(fscanf(file, "%29s %d%n", word, &number, &bytes) == 2, "fscanf");
        got(bytes);
    }
}

/* Many short ones; one of more characters that were pushed back than any so far took, and of others
 * behind them; then between short ones some that are far longer, within the buffer or beyond its
 * end. */
static void scans_of_any_length(void)
{
    FILE *file = opened("r");
    char block[208 * 12];
    for (int i = 0; i < 6; i++)
        short_scans(file);
    for (int i = 0; i < 20; i++)
        check(ungetc('#', file) != EOF, "ungetc");
    check(fscanf(file, "%32c", block) == 1 && block[19] == '#' && block[20] == '\n', "fscanf");
    got(32);
    for (int i = 0; i < 5; i++) {
        short_scans(file);
        check(fscanf(file, "%2496c", block) == 1, "fscanf");
        got(2496);
    }
    fclose(file);
}

/* --- Others --- */

static void memory(void)
{
    char area[200], *made;
    size_t bytes;
    FILE *file = fmemopen(area, sizeof area, "w+"), *stream = open_memstream(&made, &bytes);
    for (int i = 0; i < 10; i++) {
        fprintf(file, "%d\n", i);
        for (int j = 0; j < 1000; j++)
            fprintf(stream, "%d,", j);
    }
    rewind(file);
    check(getc(file) == '0', "fmemopen");
    fclose(file);
    fclose(stream);
    check(bytes == strlen(made) && bytes > 30000, "open_memstream");
    put_lines(file = opened("w"), 1);
    fclose(file);
}

static void *put_in_thread(void *file)
{
    for (int i = 0; i < 5000; i++)
        check(fprintf(file, "line %06d\n", i) == 12 && fwrite(&i, 1, 4, file) == 4, "thread");
    return NULL;
}

static void threads(void)
{
    pthread_t others[3];
    FILE *file = opened("w");
    for (int i = 0; i < 3; i++)
        pthread_create(&others[i], NULL, put_in_thread, file);
    for (int i = 0; i < 3; i++)
        pthread_join(others[i], NULL);
    fclose(file);
    put_calls = 30000, put_bytes = 15000 * (12 + 4);
}

static void all_at_once(void)
{
    FILE *files[3];
    for (int i = 0; i < 3; i++)
        files[i] = opened("a");
    for (int i = 0; i < 300; i++)
        put_lines(files[i % 3], i % 3);
    fflush(NULL);
    put_lines(files[0], 100);
    fclose(files[1]); /* exit closes the others */
}

static const struct {
    const char *name;
    void (*run)(void);
} modes[] = {
    {"by_lines", by_lines},
    {"unbuffered", unbuffered},
    {"own_buffer", own_buffer},
    {"small_buffer", small_buffer},
    {"large_blocks", large_blocks},
    {"append", append},
    {"update", update},
    {"reopened", reopened},
    {"descriptor", descriptor},
    {"seeks", seeks},
    {"changed_in_place", changed_in_place},
    {"pushed_back", pushed_back},
    {"lines_of_any_length", lines_of_any_length},
    {"scans", scans},
    {"scans_of_any_length", scans_of_any_length},
    {"memory", memory},
    {"threads", threads},
    {"all_at_once", all_at_once},
};

int main(int count, char **words)
{
    for (size_t i = 0; count == 2 && i < sizeof modes / sizeof *modes; i++) {
        if (strcmp(words[1], modes[i].name))
            continue;
        modes[i].run();
        char text[100];
        int bytes = snprintf(text, sizeof text, "%ld %ld %ld %ld\n", put_calls, put_bytes,
                             got_calls, got_bytes);
        check(write(1, text, (size_t)bytes) == bytes, "stdout");
        return 0;
    }
    fputs("see the head of stdio_modes.c\n", stderr);
    return 2;
}
