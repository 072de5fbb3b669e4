/* usage.c: what the kernel counts of the process between the begin and the end of the run, beside
 * what capture sees: bytes that it had written and read, those of the processes that it started,
 * for how long the main thread and all threads ran, and page faults. Asked for twice, not on the way
 * of any call.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "glibc.h"
#include "process.h"
#include "record.h"
#include "system.h"
#include "text.h"

enum {
    ACCOUNT_BYTES = 512,
    BLOCK_BYTES = 512,
    NANOSECONDS = 1000000000,
    CLOCK_OF_THREAD = 6,       /* the kernel's number of a thread's clock: these bits, */
    CLOCK_OF_THREAD_SHIFT = 3, /* and before them the thread's number, inverted */
    STARTED_OF_STAT = 20,      /* words of /proc/self/stat behind the name, which ends with ")" */
};

struct usage {
    unsigned long long written, read, children_written, children_read, children_ns;
    unsigned long long faults, slow_faults; /* slow: of what was not in memory */
};

static unsigned long long number_after(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    return at ? text_decimal(at + strlen(key)) : 0;
}

/* Of the process and of what it has waited for. */
static bool read_account(struct usage *usage)
{
    char text[ACCOUNT_BYTES];
    int file = system_open("/proc/self/io", O_RDONLY | O_CLOEXEC, 0);
    if (file < 0)
        return false;
    ssize_t bytes = system_read(file, text, sizeof text - 1);
    system_close(file);
    text[bytes < 0 ? 0 : bytes] = 0;
    usage->written = number_after(text, "\nwrite_bytes: ");
    usage->read = number_after(text, "\nread_bytes: ");
    return strstr(text, "\nwrite_bytes: ") != NULL;
}

static unsigned long long nanoseconds_of(struct timeval time)
{
    return (unsigned long long)time.tv_sec * 1000000000 + (unsigned long long)time.tv_usec * 1000;
}

static bool read_children(struct usage *usage)
{
    struct rusage children;
    if (system_call(SYS_getrusage, RUSAGE_CHILDREN, (long)&children, 0, 0, 0, 0))
        return false;
    usage->children_written = (unsigned long long)children.ru_oublock * BLOCK_BYTES;
    usage->children_read = (unsigned long long)children.ru_inblock * BLOCK_BYTES;
    usage->children_ns = nanoseconds_of(children.ru_utime) + nanoseconds_of(children.ru_stime);
    return true;
}

static bool read_faults(struct usage *usage)
{
    struct rusage own;
    if (system_call(SYS_getrusage, RUSAGE_SELF, (long)&own, 0, 0, 0, 0))
        return false;
    usage->faults = (unsigned long long)own.ru_minflt;
    usage->slow_faults = (unsigned long long)own.ru_majflt;
    return true;
}

static bool read_clock(long clock, unsigned long long *ns)
{
    struct timespec ran;
    if (system_call(SYS_clock_gettime, clock, (long)&ran, 0, 0, 0, 0))
        return false;
    *ns = (unsigned long long)ran.tv_sec * NANOSECONDS + (unsigned long long)ran.tv_nsec;
    return true;
}

/* Of a thread that may be another one: for how long it ran, and waited for a processor. Not each
 * wait stands in a record: those of other threads do not, nor that before an exec. */
static bool read_ran(int thread, unsigned long long *ns, uint64_t *delay_ns)
{
    bool own = thread == system_thread();
    long clock = (int)(~(unsigned)thread << CLOCK_OF_THREAD_SHIFT | CLOCK_OF_THREAD);
    bool delay_known = thread && processor_delay_of(thread, delay_ns);
    return thread && (own || delay_known) && read_clock(own ? CLOCK_THREAD_CPUTIME_ID : clock, ns);
}

/* Whether the process has children that it did not wait for: what they move is not counted. */
bool usage_children_left(void)
{
    siginfo_t child; /* for valgrind, which complains where there is none */
    long found = system_call(SYS_waitid, P_ALL, 0, (long)&child, WEXITED | WNOHANG | WNOWAIT, 0, 0);
    return !tailrace_calls_forbidden && found != -ECHILD;
}

/* The time since the process began; it may have been another program before. */
static unsigned long long age_ns(void)
{
    char text[ACCOUNT_BYTES];
    struct timespec now;
    int file = system_open("/proc/self/stat", O_RDONLY | O_CLOEXEC, 0);
    ssize_t bytes = file < 0 ? 0 : system_read(file, text, sizeof text - 1);
    if (file >= 0)
        system_close(file);
    text[bytes < 0 ? 0 : bytes] = 0;
    const char *at = strrchr(text, ')'); /* the program's name may hold anything */
    unsigned long long started = at ? text_word(at, STARTED_OF_STAT) : 0;
    if (!started)
        return 0;
    clock_gettime(CLOCK_BOOTTIME, &now);
    unsigned long long since = started * (NANOSECONDS / kernel_ticks_per_s());
    unsigned long long until =
        (unsigned long long)now.tv_sec * NANOSECONDS + (unsigned long long)now.tv_nsec;
    return until > since ? until - since : 0;
}

/* For how long the process was another program that had others run, as a script's shell does before
 * its last command takes its place, and the bytes that they moved; false where it had none run. */
bool usage_spell_earlier(char *text, size_t room)
{
    struct rusage children;
    if (system_call(SYS_getrusage, RUSAGE_CHILDREN, (long)&children, 0, 0, 0, 0) ||
        !children.ru_minflt)
        return false;
    unsigned long long blocks =
        (unsigned long long)children.ru_oublock + (unsigned long long)children.ru_inblock;
    snprintf(text, room, "%llu %llu", age_ns(), blocks * BLOCK_BYTES);
    return true;
}

/* The thread, for how long it ran or the host had its processor at most, then bytes and time as
 * above, for how long the thread waited for a processor, for how long all threads ran, and the
 * process's page faults. */
static bool spell(int thread, char *text, size_t room)
{
    struct usage usage = {0};
    unsigned long long ran = 0, all_ran = 0;
    uint64_t delay_ns = 0;
    if (tailrace_calls_forbidden || !read_account(&usage) || !read_children(&usage) ||
        !read_faults(&usage))
        return false;
    if (!read_ran(thread, &ran, &delay_ns)) {
        thread = system_thread();
        read_ran(thread, &ran, &delay_ns);
    }
    read_clock(CLOCK_PROCESS_CPUTIME_ID, &all_ran);
    snprintf(text, room, "%d %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu", thread,
             ran + stolen_ns(), usage.written, usage.read, usage.children_written,
             usage.children_read, usage.children_ns, (unsigned long long)delay_ns, all_ran,
             usage.faults, usage.slow_faults);
    return true;
}

bool usage_spell_begin(char *text, size_t room)
{
    process.usage_thread = system_thread();
    return spell(process.usage_thread, text, room);
}

/* Whichever thread ends the process: Java's System.exit() is called from none that began it. */
bool usage_spell_end(char *text, size_t room)
{
    return spell(process.usage_thread, text, room);
}
