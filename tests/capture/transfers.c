/* Moves BYTES by sendfile or splice, to or from a stream whose other end sleeps first: argv[1] says
 * which way. "file" holds the bytes, "copy" gets them. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PIPE = 65536, BYTES = 4 * PIPE, SLEEP_US = 300000 };

static char block[BYTES];
static int near_end, far_end, file, copy;

static void fill_file(void)
{
    int fd = open("file", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (write(fd, block, BYTES) != BYTES)
        exit(3);
    close(fd);
    file = open("file", O_RDONLY);
    copy = open("copy", O_WRONLY | O_CREAT | O_TRUNC, 0600);
}

/* The other end, in a process that is not recorded: it reads or writes all, but sleeps before. */
static void start_sleeper(int ends[2], int theirs, int reads)
{
    near_end = ends[!theirs];
    far_end = ends[theirs];
    if (!fork()) {
        close(near_end);
        usleep(SLEEP_US);
        if (reads)
            while (read(far_end, block, BYTES) > 0)
                ;
        else if (write(far_end, block, BYTES) != BYTES)
            _exit(1);
        _exit(0);
    }
    close(far_end);
}

static void start_pipe(int reads)
{
    int ends[2];
    if (pipe(ends))
        exit(3);
    start_sleeper(ends, reads ? 0 : 1, reads);
}

/* Which holds less than is sent. */
static void start_socket(int reads)
{
    int ends[2], room = PIPE / 2;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
        exit(3);
    setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    start_sleeper(ends, 1, reads);
}

static void send_file(int out)
{
    for (off_t at = 0; at < BYTES;)
        if (sendfile(out, file, &at, BYTES - at) <= 0)
            exit(4);
}

static void move(int in, int out)
{
    for (long moved = 0, now; moved < BYTES; moved += now)
        if ((now = splice(in, NULL, out, NULL, BYTES - moved, 0)) <= 0)
            exit(5);
}

/* By a pipe of the program's own, which is always emptied before it is filled. */
static void pass(int in, int out)
{
    int own[2];
    if (pipe(own))
        exit(3);
    for (long left = BYTES, held; left; left -= held) {
        held = splice(in, NULL, own[1], NULL, PIPE, 0);
        for (long now, inside = held; inside; inside -= now)
            if (held <= 0 || (now = splice(own[0], NULL, out, NULL, inside, 0)) <= 0)
                exit(6);
    }
}

int main(int count, char **words)
{
    const char *way = count > 1 ? words[1] : "";
    fill_file();
    if (!strcmp(way, "sendfile to socket"))
        start_socket(1), send_file(near_end);
    else if (!strcmp(way, "sendfile to pipe"))
        start_pipe(1), send_file(near_end);
    else if (!strcmp(way, "splice to pipe"))
        start_pipe(1), move(file, near_end);
    else if (!strcmp(way, "splice from pipe"))
        start_pipe(0), move(near_end, copy);
    else if (!strcmp(way, "splice to socket"))
        start_socket(1), pass(file, near_end);
    else if (!strcmp(way, "splice from socket"))
        start_socket(0), pass(near_end, copy);
    else if (!strcmp(way, "sendfile to file"))
        send_file(copy);
    else
        pass(file, copy);
    close(near_end);
    wait(NULL);
    return 0;
}
