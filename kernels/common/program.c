#include "program.h"
#include "records.h"
#include "timing.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct program_policy policy = {.fingerprints = true};

static const char *program_name;
static char sentence[2048];
static const char *advice;

static bool is_root(void)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank == 0;
}

int program_fail(int status, const char *hint, const char *format, ...)
{
    va_list words;
    va_start(words, format);
    vsnprintf(sentence, sizeof sentence, format, words);
    va_end(words);
    const size_t length = strlen(sentence);
    if (length > 0 && sentence[length - 1] == '.') /* a library's reason may */
        sentence[length - 1] = '\0';
    advice = hint;
    return status;
}

int program_fail_plan(struct plan *plan)
{
    const char *problem = plan_problem(plan);
    return problem ? program_fail(WRONG_USE, "kernels/README.md states the keys of a plan", "%s",
                                  problem)
                   : DONE;
}

/* What a run that is too long leaves: made beforehand, since a signal handler may do hardly
 * anything. */
static char late_sentence[256], late_record[320];

static void too_late(int number)
{
    (void)number;
    records_interrupt(late_record, strlen(late_record));
    if (write(STDERR_FILENO, late_sentence, strlen(late_sentence)) < 0)
        _exit(FAILED);
    _exit(FAILED); /* the launcher ends the other ranks */
}

/* Rank 0 speaks first; the others only where rank 0 no longer can. */
static void limit_time(int64_t seconds)
{
    if (seconds == 0)
        return;
    snprintf(late_sentence, sizeof late_sentence,
             "%s: the run was not over after its time limit of %lld s\n", program_name,
             (long long)seconds);
    snprintf(late_record, sizeof late_record,
             "{\"kind\":\"end\",\"status\":1,\"error\":\"%.*s\"}\n", (int)strlen(late_sentence) - 1,
             late_sentence);
    signal(SIGALRM, too_late);
    alarm((unsigned)seconds + (is_root() ? 0 : 5));
}

void program_start(const char *name)
{
    program_name = name;
    timing_start();
}

int program_begin(struct plan *plan, const char *records)
{
    struct plan_section *own = &plan->section[0];
    const char *name = plan_text(plan, own, "name", program_name);
    policy.cold = plan_choice(plan, own, "cache", "warm|cold", 0) == 1;
    policy.fingerprints = plan_yes(plan, own, "fingerprints", true);
    limit_time(plan_number(plan, own, "time_limit_s", 0, 1 << 30, 0));
    if (!records_open(records, program_name, name, MPI_COMM_WORLD))
        return program_fail(FAILED, "--records must be in a directory that can be written",
                            "cannot write '%s'", records);
    return DONE;
}

int program_end(int status)
{
    records_close(status, status == DONE ? NULL : sentence);
    alarm(0);
    if (status != DONE && is_root()) {
        fprintf(stderr, "%s: %s\n", program_name, sentence);
        if (advice)
            fprintf(stderr, "\nhint: %s\n", advice);
    }
    return status;
}

struct command {
    const char *plan, *records;
};

static bool take_words(int count, char **words, struct command *command)
{
    for (int i = 1; i + 1 < count; i += 2) {
        if (strcmp(words[i], "--plan") == 0)
            command->plan = words[i + 1];
        else if (strcmp(words[i], "--records") == 0)
            command->records = words[i + 1];
        else
            return false;
    }
    return count % 2 == 1 && command->plan;
}

static int wrong_use(void)
{
    if (is_root())
        fprintf(stderr,
                "usage: %s --plan PLAN [--records FILE]\n\n"
                "hint: kernels/README.md states the keys of a plan\n",
                program_name);
    return WRONG_USE;
}

int program_run(int count, char **words, const char *program, int (*run)(struct plan *plan))
{
    struct command command = {NULL, NULL};
    struct plan plan;
    MPI_Init(&count, &words);
    program_start(program);
    int status = WRONG_USE;
    if (take_words(count, words, &command)) {
        plan_read(&plan, command.plan, MPI_COMM_WORLD);
        status = program_begin(&plan, command.records);
        status = program_end(status == DONE ? run(&plan) : status);
        plan_free(&plan);
    } else
        wrong_use();
    MPI_Finalize();
    return status;
}
