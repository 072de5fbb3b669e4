/* Walks through a directory of 20 files by nftw. The program sleeps at each entry, starts a child at
 * the fifth, which walks on, and jumps out of a second walk and out of one within it. */
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FILES = 20, SLEEP_US = 5000 };
static int visits;
static jmp_buf outside, between;

static int sleeps(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)path, (void)status, (void)kind, (void)place;
    usleep(SLEEP_US);
    pid_t child = ++visits == 5 ? fork() : -1;
    if (child > 0)
        waitpid(child, NULL, 0);
    return 0;
}

static int jumps(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)path, (void)status, (void)kind, (void)place;
    longjmp(between, 1);
}

static int walks(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)path, (void)status, (void)kind, (void)place;
    if (!setjmp(between))
        nftw("files", jumps, 4, 0);
    if (++visits == 10)
        longjmp(outside, 1);
    return 0;
}

int main(void)
{
    char name[32];
    if (mkdir("files", 0700))
        return 3;
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof name, "files/%d", i);
        close(open(name, O_CREAT | O_WRONLY, 0600));
    }
    pid_t parent = getpid();
    if (nftw("files", sleeps, 4, 0) || visits != FILES + 1)
        return 4;
    if (getpid() != parent)
        return 0;
    visits = 0;
    if (!setjmp(outside))
        nftw("files", walks, 4, 0);
    return visits == 10 ? 7 : 5;
}
