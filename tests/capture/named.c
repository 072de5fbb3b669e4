/* named.c: relative paths from a working directory that changes in every way, files that are used
 * by turns, and children that share their parent's memory. In the directory that it is started in.
 */
#include <fcntl.h>
#include <fts.h>
#include <ftw.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STACK_BYTES = 1 << 16 };

static void check(int good, const char *what)
{
    if (good)
        return;
    perror(what);
    exit(1);
}

static void make(const char *name)
{
    int file = open(name, O_CREAT | O_WRONLY, 0600);
    check(file >= 0 && write(file, name, 1) == 1, name);
    close(file);
}

/* The names are those of the directories where the files must be. */
static void change_directory(void)
{
    check(!mkdir("b", 0700) && !mkdir("c", 0700) && !mkdir("d", 0700), "mkdir");
    int here = open(".", O_DIRECTORY);
    make("a_first");
    check(!chdir("b"), "chdir");
    make("b_file");
    check(!fchdir(here), "fchdir");
    make("a_second");
    check(!syscall(SYS_chdir, "c"), "SYS_chdir");
    make("c_file");
    check(!fchdir(here) && !rename("d", "e"), "rename");
    close(here);
}

/* Names in two directories by turns, the numbers of whose descriptors are given to others later. */
static void start_from_descriptors(void)
{
    check(!mkdir("f", 0700) && !mkdir("g", 0700), "mkdir");
    for (int turn = 0; turn < 2; turn++) {
        int f = open(turn ? "g" : "f", O_DIRECTORY), g = open(turn ? "f" : "g", O_DIRECTORY);
        for (int i = 0; i < 4; i++)
            faccessat(i % 2 ? g : f, turn ? "then" : "now", F_OK, 0);
        close(f);
        close(g);
    }
}

static int visit(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    return access(path + place->base, F_OK) && place->level;
}

static void walk(void)
{
    check(!nftw(".", visit, 8, FTW_CHDIR), "nftw");
    char *roots[] = {".", NULL};
    FTS *tree = fts_open(roots, FTS_PHYSICAL, NULL);
    for (FTSENT *entry; (entry = fts_read(tree));)
        if (entry->fts_info == FTS_F)
            access(entry->fts_accpath, R_OK);
    fts_close(tree);
}

/* More than one cache of shapes of files, in turns, so that each is now the latest and now not. */
static void take_turns(void)
{
    int first = open("first", O_CREAT | O_WRONLY, 0600), second = -1;
    for (int i = 0; i < 400; i++) {
        if (i % 50 == 0) {
            close(second);
            second = open("second", O_CREAT | O_WRONLY, 0600);
        }
        check(pwrite(first, "1", 1, i) == 1, "first");
        check(pwrite(second, "22", 2, 2 * i) == 2 && write(second, "333", 3) == 3, "second");
        access(i % 3 ? "first" : "absent", F_OK);
    }
    close(first);
    close(second);
}

static int in_child(void *kept)
{
    close(*(int *)kept);
    dup2(open("/dev/null", O_RDONLY), *(int *)kept);
    return 0;
}

static void share_memory(void)
{
    static char stack[STACK_BYTES] __attribute__((aligned(64)));
    int kept = open("kept", O_CREAT | O_WRONLY, 0600);
    for (int times = 0; times < 2; times++) {
        pid_t child = clone(in_child, stack + STACK_BYTES, CLONE_VM | CLONE_VFORK | SIGCHLD, &kept);
        check(child > 0 && waitpid(child, NULL, 0) == child, "clone");
        check(pwrite(kept, "k", 1, times) == 1, "kept");
    }
    close(kept);
}

int main(void)
{
    change_directory();
    start_from_descriptors();
    walk();
    take_turns();
    share_memory();
    return 0;
}
