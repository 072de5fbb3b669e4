/* variants_walk.c: functions that walk through a tree of directories. */
#include <fcntl.h>
#include <fts.h>
#include <ftw.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wordexp.h>

#include "variants.h"

char *__realpath_chk(const char *path, char *resolved, size_t room);

static const char *walking;

/* What is made by libc before it comes here, and what the program does then. */
static int seen(const char *path)
{
    line(walking, "stat", 0, -1, 0, path);
    OK(access(path, F_OK));
    line("access", "stat", 0, -1, 0, path);
    return 0;
}

static int visit_ftw(const char *path, const struct stat *status, int kind)
{
    check(kind != FTW_NS && status->st_nlink > 0, walking);
    return seen(path);
}

static int visit_ftw64(const char *path, const struct stat64 *status, int kind)
{
    check(kind != FTW_NS && status->st_nlink > 0, walking);
    return seen(path);
}

static int visit_nftw(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    check(path[place->base] && !strncmp(path, "tree", 4), walking);
    return visit_ftw(path, status, kind);
}

/* A walk within the walk, and an end before all was seen. */
static int visit_nftw64(const char *path, const struct stat64 *status, int kind, struct FTW *place)
{
    check(path[place->base] && status && kind != FTW_NS, walking);
    seen(path);
    walking = "ftw";
    check(ftw("tree/sub", visit_ftw, 4) == 0, "ftw");
    line("ftw", "stat", 0, -1, 0, "tree/sub");
    walking = "nftw64";
    return 7;
}

/* In the directory of each entry; of a directory that was listed, in itself. */
static int visit_there(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    char name[100];
    snprintf(name, sizeof name, "%s%s", path, kind == FTW_DP ? "/." : "");
    line("nftw", "stat", 0, -1, 0, name);
    OK(access(kind == FTW_DP ? "." : path + place->base, F_OK));
    line("access", "stat", 0, -1, 0, name);
    return status->st_nlink == 0;
}

/* glibc has had another glob since 2.27, which asks other functions of the program's: programs that
 * were linked with the older get that. */
int glob_of_older_programs(const char *, int, int (*)(const char *, int), glob_t *);
#if defined(__x86_64__)
__asm__(".symver glob_of_older_programs, glob@GLIBC_2.2.5");
#else
__asm__(".symver glob_of_older_programs, glob@GLIBC_2.17");
#endif

/* Without room for the answer the older makes none. */
char *realpath_of_older_programs(const char *, char *);
#if defined(__x86_64__)
__asm__(".symver realpath_of_older_programs, realpath@GLIBC_2.2.5");
#endif

static char asked;

static int by_stat(const char *restrict path, struct stat *restrict status)
{
    (void)path, (void)status;
    asked = 's';
    return 0;
}

static int by_lstat(const char *restrict path, struct stat *restrict status)
{
    (void)path, (void)status;
    asked = 'l';
    return 0;
}

static void *no_directory(const char *path)
{
    (void)path;
    return NULL;
}

static void globs(void)
{
    glob_t found;
    glob64_t found64;
    check(!glob("tree/s*/b", 0, NULL, &found) && found.gl_pathc == 1, "glob");
    line("glob", "metadata", 0, -1, 0, "tree/");
    check(!glob64("t*e/a", 0, NULL, &found64) && found64.gl_pathc == 1, "glob64");
    line("glob64", "metadata", 0, -1, 0, ".");
    check(glob("missing/*", 0, NULL, &found) == GLOB_NOMATCH, "glob");
    line("glob", "metadata", 0, -1, 0, "missing/");
    check(!glob("tree/a", 0, NULL, &found) && found.gl_pathc == 1, "glob");
    line("glob", "metadata", 0, -1, 0, "tree/a");
    glob_t own = {.gl_opendir = no_directory, .gl_stat = by_stat, .gl_lstat = by_lstat};
    check(!glob("tree/b", GLOB_ALTDIRFUNC, NULL, &own) && asked == 'l', "glob by lstat");
    check(!glob_of_older_programs("tree/b", GLOB_ALTDIRFUNC, NULL, &own) && asked == 's',
          "glob by stat");
}

static void words(void)
{
    wordexp_t found;
    check(!wordexp("$HOME plain", &found, 0) && found.we_wordc == 2, "wordexp");
    check(!wordexp("tree/s*/b", &found, 0) && found.we_wordc == 1, "wordexp");
    line("wordexp", "metadata", 0, -1, 0, "tree/");
    check(!wordexp("$PWD/tree/[ab] x", &found, 0) && found.we_wordc == 2, "wordexp");
    line("wordexp", "metadata", 0, -1, 0, "<all files>");
}

static void names(void)
{
    char room[PATH_MAX];
    char *name = realpath("tree/sub/../a", NULL);
    check(name && strstr(name, "/tree/a"), "realpath");
    line("realpath", "stat", 0, -1, 0, "tree/sub/../a");
    free(name);
    check(canonicalize_file_name("missing") == NULL && errno == ENOENT, "canonicalize");
    line("canonicalize_file_name", "stat", 0, -1, ENOENT, "missing");
    check(__realpath_chk("tree", room, sizeof room) == room, "__realpath_chk");
    line("__realpath_chk", "stat", 0, -1, 0, "tree");
#if defined(__x86_64__)
    check(!realpath_of_older_programs("tree", NULL) && errno == EINVAL, "older realpath");
    line("realpath", "stat", 0, -1, EINVAL, "tree");
    check(realpath_of_older_programs("tree", room) == room, "older realpath");
    line("realpath", "stat", 0, -1, 0, "tree");
#endif
}

static void ftws(void)
{
    walking = "ftw";
    check(ftw("tree", visit_ftw, 4) == 0, "ftw");
    line("ftw", "stat", 0, -1, 0, "tree");
    walking = "ftw64";
    check(ftw64("tree", visit_ftw64, 4) == 0, "ftw64");
    line("ftw64", "stat", 0, -1, 0, "tree");
    walking = "nftw";
    check(nftw("tree", visit_nftw, 4, FTW_PHYS) == 0, "nftw");
    line("nftw", "stat", 0, -1, 0, "tree");
    walking = "nftw64";
    check(nftw64("tree", visit_nftw64, 4, 0) == 7, "nftw64");
    line("nftw64", "stat", 0, -1, 0, "tree");
    check(nftw("tree", visit_there, 4, FTW_CHDIR | FTW_DEPTH) == 0, "nftw");
    line("nftw", "stat", 0, -1, 0, "tree");
    FAILS(ftw("missing", visit_ftw, 4), ENOENT);
    line("ftw", "stat", 0, -1, ENOENT, "missing");
}

#define READ_TREE(suffix, tree, entry)                                                             \
    static void read_tree##suffix(void)                                                            \
    {                                                                                              \
        char root[] = "tree", *roots[] = {root, NULL};                                             \
        tree *opened = fts##suffix##_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);                \
        check(opened != NULL, "fts_open");                                                         \
        line("fts" #suffix "_open", "stat", 0, -1, 0, "tree");                                     \
        int count = 0;                                                                             \
        for (entry *last = NULL, *at; (at = fts##suffix##_read(opened)); last = at, count++)       \
            if (last && last->fts_info == FTS_D)                                                   \
                line("fts" #suffix "_read", "metadata", 0, -1, 0,                                  \
                     count == 1 ? "tree" : "tree/sub");                                            \
        check(count == 6, "fts_read"); /* tree, a, sub, b, sub again, tree again */                \
        check(!fts##suffix##_close(opened), "fts_close");                                          \
        opened = fts##suffix##_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);                      \
        line("fts" #suffix "_open", "stat", 0, -1, 0, "tree");                                     \
        check(opened && fts##suffix##_read(opened), "fts_read");                                   \
        check(fts##suffix##_children(opened, 0) != NULL, "fts_children");                          \
        line("fts" #suffix "_children", "metadata", 0, -1, 0, "tree");                             \
        check(fts##suffix##_read(opened) != NULL, "fts_read"); /* of what was listed */            \
        check(!fts##suffix##_close(opened), "fts_close");                                          \
    }
READ_TREE(, FTS, FTSENT)
READ_TREE(64, FTS64, FTSENT64)

void variants_of_walks(void)
{
    OK(mkdir("tree", 0700));
    line("mkdir", "make_directory", 0, -1, 0, "tree");
    OK(mkdir("tree/sub", 0700));
    line("mkdir", "make_directory", 0, -1, 0, "tree/sub");
    OK(mknod("tree/a", S_IFREG | 0600, 0));
    line("mknod", "metadata", 0, -1, 0, "tree/a");
    OK(mknod("tree/sub/b", S_IFREG | 0600, 0));
    line("mknod", "metadata", 0, -1, 0, "tree/sub/b");
    globs();
    words();
    names();
    ftws();
    read_tree();
    read_tree64();
}
