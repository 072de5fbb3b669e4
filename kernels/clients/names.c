/* Ranks that make, close, look up and remove files at the same time, each in a directory of its
 * own. */
#include "clients.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LEAST_FILES = 8, MOST_FILES = 32, ENOUGH_FILES = 4096 };
static const double NAMES_S = 0.3;

static int one_file(struct clients *clients, const char *directory, int number)
{
    char path[4200];
    struct stat status;
    snprintf(path, sizeof path, "%s/%d", directory, number);
    const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0)
        return failure_of_system(&clients->problem, "make", path);
    if (close(file) != 0 || stat(path, &status) != 0 || unlink(path) != 0)
        return failure_of_system(&clients->problem, "close, look up or remove", path);
    return 0;
}

/* files: so many; 0: for a while. Gives how many there were, and changes *seconds. */
static int make_files(struct clients *clients, const char *directory, int files, double *seconds,
                      int *failed)
{
    int made = 0;
    const double begin = MPI_Wtime();
    do {
        *failed |= one_file(clients, directory, made++);
        *seconds = MPI_Wtime() - begin;
    } while (
        !*failed &&
        (files ? made < files : made < LEAST_FILES || (made < ENOUGH_FILES && *seconds < NAMES_S)));
    return made;
}

/* count: files of all ranks; seconds: until the last is done, or, where each goes on for a while,
 * so that count over seconds is the sum of what each did in a second. */
int make_names(struct clients *clients, const struct experiment *experiment)
{
    const bool drawn = experiment->held_out;
    const int ranks = drawn ? 1 + draw_below(clients, clients->ranks) : experiment->ranks;
    const int files = drawn ? LEAST_FILES + draw_below(clients, MOST_FILES - LEAST_FILES + 1) : 0;
    struct team team = draw_team(clients, ranks);
    char directory[4096];
    double seconds = 0;
    int failed = 0, made = 0;
    snprintf(directory, sizeof directory, "%s/names-%d-%d", clients->directory, clients->files++,
             team.index);
    if (team.index >= 0 && mkdir(directory, 0700) != 0)
        failed = failure_of_system(&clients->problem, "make", directory);
    meet();
    begin_together(&team);
    if (team.index >= 0 && !failed)
        made = make_files(clients, directory, files, &seconds, &failed);
    const double all = sum_of(made), each = sum_of(made && seconds > 0 ? made / seconds : 0);
    const double last = slowest(seconds);
    if (team.index >= 0)
        rmdir(directory);
    report(clients, experiment,
           &(struct sample){"names", BETWEEN, ranks, 0, 0, (int64_t)all,
                            drawn      ? last
                            : each > 0 ? all / each
                                       : 0});
    free_team(&team);
    return failed;
}
