/* gate.c: decides, when a program starts, whether it is one to record. Everything else is passed
 * through untouched.
 *
 * The preload reaches every process of a job: shells, launchers, compilers, the ranks. A process
 * records if it is a rank (MPI is linked and a launcher gave it a number, or it calls MPI_Init), if
 * it is the program that the user asked for (TAILRACE_PROGRAM), or if the user asked for all
 * (TAILRACE_PROCESSES=all).
 */
#define _GNU_SOURCE
#include <link.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "functions.h"
#include "glibc.h"
#include "libdl.h"
#include "modules.h"
#include "node.h"
#include "preload.h"
#include "process.h"
#include "starters.h"
#include "system.h"
#include "text.h"
#include "thread.h"

#ifndef TAILRACE_VERSION
#define TAILRACE_VERSION "0.1.0"
#endif

enum {
    COMMAND_BYTES = 64000,
    PARENT_OF_STAT = 2, /* words of /proc/PID/stat behind the name, which ends with ")" */
};

/* In mpi/bind.c; the core can be built without. */
void mpi_bind(void) __attribute__((weak, visibility("hidden")));

/* What launchers tell a rank of its number, most specific first. */
static const char *const rank_variables[] = {"PMIX_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK",
                                             "PALS_RANKID", "SLURM_PROCID"};

static void name_launch(void)
{
    char name[META_VALUE_BYTES];
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(name, sizeof name, "%s.%d.%lld%09ld", process.host, (int)system_process(),
             (long long)now.tv_sec, now.tv_nsec);
    setenv("TAILRACE_LAUNCH", name, 1);
}

static const char *rank_hint(void)
{
    for (size_t i = 0; i < sizeof rank_variables / sizeof *rank_variables; i++)
        if (getenv(rank_variables[i]))
            return getenv(rank_variables[i]);
    return NULL;
}

static int is_mpi_library(struct dl_phdr_info *info, size_t bytes, void *unused)
{
    (void)bytes;
    (void)unused;
    const char *name = info->dlpi_name ? text_file_name(info->dlpi_name) : "";
    return !strncmp(name, "libmpi.so", 9) || !strncmp(name, "libmpich.so", 11) ||
           !strncmp(name, "libmpi_abi.so", 13);
}

static bool mpi_is_linked(void)
{
    return dl_iterate_phdr(is_mpi_library, NULL) != 0;
}

static bool is_loaded(const struct dl_phdr_info *info, const ElfW(Phdr) * part)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && part->p_vaddr >= segment->p_vaddr &&
            part->p_vaddr + part->p_filesz <= segment->p_vaddr + segment->p_filesz)
            return true;
    }
    return false;
}

/* The linker of Go leaves a note of its own in each program. */
static int has_note_of_go(struct dl_phdr_info *info, size_t bytes, void *unused)
{
    (void)bytes;
    (void)unused;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        const char *at = (const char *)(info->dlpi_addr + segment->p_vaddr);
        const char *end = at + segment->p_filesz;
        if (segment->p_type != PT_NOTE || !is_loaded(info, segment))
            continue;
        while (at + sizeof(ElfW(Nhdr)) <= end) {
            const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)at;
            const char *name = at + sizeof *note;
            if (note->n_namesz == 4 && !memcmp(name, "Go\0", 4))
                return 1;
            at = name + ((note->n_namesz + 3) & ~3U) + ((note->n_descsz + 3) & ~3U);
        }
    }
    return -1; /* the first object is the program */
}

static bool is_of_go(void)
{
    return dl_iterate_phdr(has_note_of_go, NULL) > 0;
}

/* --- Is it the program that the user named? --- */

static bool same_path(const char *path, const char *program)
{
    char real[PATH_MAX];
    return path && realpath(path, real) && !strcmp(real, program);
}

static bool is_script(const char *path)
{
    char start[2] = "";
    int file = system_open(path, O_RDONLY | O_CLOEXEC, 0);
    if (file < 0)
        return false;
    ssize_t bytes = system_read(file, start, 2);
    system_close(file);
    return bytes == 2 && start[0] == '#' && start[1] == '!';
}

/* A script is named by the path that was executed, or, behind "#!/usr/bin/env", by its
 * interpreter's first argument. */
static bool is_program(const char *executable, int argc, char **argv)
{
    const char *program = getenv("TAILRACE_PROGRAM");
    if (!program || !*program)
        return false;
    if (!strcmp(executable, program) || same_path((const char *)getauxval(AT_EXECFN), program))
        return true;
    return argc > 1 && is_script(program) && same_path(argv[1], program);
}

/* What a script that was started as the command has become: it may end with `exec program`. */
static bool is_command(void)
{
    const char *parent = getenv("TAILRACE_PARENT");
    return parent && (uint64_t)getppid() == text_decimal(parent);
}

/* --- What the trace says about the process --- */

static size_t read_line(const char *path, char *line, size_t bytes)
{
    int file = system_open(path, O_RDONLY | O_CLOEXEC, 0);
    ssize_t length = file < 0 ? 0 : system_read(file, line, bytes - 1);
    if (file >= 0)
        system_close(file);
    line[length < 0 ? 0 : length] = 0;
    line[strcspn(line, "\n")] = 0;
    return strlen(line);
}

/* Processes with the same value here share CLOCK_MONOTONIC. */
static void describe_clock_domain(void)
{
    char boot[64], domain[64] = "", value[256];
    read_line("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
    ssize_t bytes = system_readlink("/proc/self/ns/time", domain, sizeof domain - 1);
    domain[bytes < 0 ? 0 : bytes] = 0;
    snprintf(value, sizeof value, "%s %s %s", process.host, boot, domain);
    process_add_meta("node", value);
}

static void describe_command(int argc, char **argv)
{
    char *command = system_map_memory(COMMAND_BYTES);
    size_t used = 0;
    if (!command)
        return;
    for (int i = 0; i < argc && used < COMMAND_BYTES - 1; i++)
        used += (size_t)snprintf(command + used, COMMAND_BYTES - used, "%s%s", i ? "\x1f" : "",
                                 argv[i]);
    process_add_meta("command", command);
    system_unmap(command, COMMAND_BYTES);
}

/* The parent of a process; 0 where /proc does not say. */
static int parent_of(int id)
{
    char path[32], line[512];
    snprintf(path, sizeof path, "/proc/%d/stat", id);
    read_line(path, line, sizeof line);
    const char *name_ends = strrchr(line, ')'); /* the program's name may hold anything */
    return name_ends ? (int)text_word(name_ends, PARENT_OF_STAT) : 0;
}

/* From the parent up: the one in between may not be recorded. */
static void describe_ancestors(void)
{
    char text[META_VALUE_BYTES] = "";
    size_t used = 0;
    for (int id = getppid(); id > 1 && used < sizeof text - 16; id = parent_of(id))
        used += (size_t)snprintf(text + used, sizeof text - used, "%d ", id);
    process_add_meta("ancestors", text);
}

static void describe_variable(const char *key, const char *name)
{
    if (getenv(name))
        process_add_meta(key, getenv(name));
}

static void describe_numbers(const char *executable)
{
    char text[32];
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(text, sizeof text, "%lld%09ld", (long long)now.tv_sec, now.tv_nsec);
    process_add_meta("started_ns", text);
    snprintf(text, sizeof text, "%d", (int)getppid());
    process_add_meta("parent", text);
    describe_variable("launch", "TAILRACE_LAUNCH");
    describe_variable("job", "PMIX_NAMESPACE");
    if (process.all_processes)
        process_add_meta("processes", "all");
    if (rank_hint() && !starts_ranks(executable))
        process_add_meta("rank", rank_hint());
    if (getenv("TAILRACE_LABEL"))
        process_add_meta("label", getenv("TAILRACE_LABEL"));
}

static void describe(const char *executable, int argc, char **argv)
{
    char directory[PATH_BYTES];
    ssize_t bytes = system_readlink("/proc/self/cwd", directory, sizeof directory - 1);
    directory[bytes < 0 ? 0 : bytes] = 0;
    process_add_meta("tailrace", TAILRACE_VERSION);
    process_add_meta("host", process.host);
    process_add_meta("exe", executable);
    process_add_meta("directory", directory);
    describe_clock_domain();
    describe_command(argc, argv);
    describe_numbers(executable);
    counters_describe();
    processor_describe();
}

/* --- The decision --- */

/* Streams are named HOST.PID.N: a slash in a host's name would lead out of the directory. */
static void remember_host(void)
{
    if (gethostname(process.host, sizeof process.host - 1) || !process.host[0])
        strcpy(process.host, "localhost");
    for (char *at = process.host; *at; at++)
        if (*at == '/')
            *at = '_';
}

static void remember_stderr(void)
{
    struct stat status;
    if (system_fstat(2, &status))
        return;
    process.stderr_device = status.st_dev;
    process.stderr_inode = status.st_ino;
}

static bool is_linked_rank(void)
{
    return rank_hint() && mpi_is_linked();
}

/* What starts others is known by its name, which a rank's program may have, too. */
static bool wants_recording(const char *executable)
{
    const char *directory = getenv("TAILRACE_RAW");
    const char *processes = getenv("TAILRACE_PROCESSES");
    if (!directory || directory[0] != '/' || strlen(directory) >= PATH_BYTES ||
        getauxval(AT_SECURE))
        return false;
    strcpy(process.directory, directory);
    process.all_processes = processes && !strcmp(processes, "all");
    const char *executed = (const char *)getauxval(AT_EXECFN); /* a script, not its interpreter */
    return process.all_processes || is_linked_rank() ||
           (!starts_others(executable) && !starts_others(executed));
}

static void describe_usage(void)
{
    char text[META_VALUE_BYTES];
    if (usage_spell_begin(text, sizeof text))
        process_add_meta("usage_begin", text);
}

static void start_recording(void)
{
    static bool prepared;
    process.id = system_process();
    if (!prepared) {
        prepared = true;
        describe_ancestors();
        node_starts();
        clock_choose();
        functions_register();
        stdio_prepare();
        process.event_cost_ps = calibrate_event_cost_ps();
        process.count_cost = calibrate_count_cost();
        describe_usage();
        processor_begins();
        thread_prepare();
        glibc_at_fork(NULL, NULL, descriptors_forget);
    }
    tailrace_recording = 1;
}

bool tailrace_rank_starts(void)
{
    int saved = errno;
    if (process.may_record && !tailrace_recording)
        start_recording();
    errno = saved;
    return tailrace_recording;
}

static void describe_earlier(void)
{
    char text[64];
    if (usage_spell_earlier(text, sizeof text))
        process_add_meta("earlier", text);
}

/* Go's programs call the system without the C library: nothing but MPI calls would be seen. */
static bool starts_at_once(const char *executable, int argc, char **argv)
{
    if (is_linked_rank())
        return true;
    if (is_of_go())
        return false;
    if (process.all_processes || is_program(executable, argc, argv))
        return true;
    if (!is_command())
        return false;
    describe_earlier();
    return true;
}

/* The program may print dlerror()'s text with the first call of a function, for which capture then
 * must not ask. */
static void ask_before_errors(void)
{
    if (glibc_is_there() && !libdl_keeps_errors())
        functions_find_all();
}

__attribute__((constructor)) static void program_starts(int argc, char **argv)
{
    char executable[PATH_BYTES];
    int saved = errno;
    ssize_t bytes = system_readlink("/proc/self/exe", executable, sizeof executable - 1);
    executable[bytes < 0 ? 0 : bytes] = 0;
    remember_host();
    preload_prepare();
    if (getenv("TAILRACE_RAW") && starts_ranks(executable))
        name_launch();
    if (libdl_find()) {
        ask_before_errors();
        ending_prepare();
    }
    if (glibc_is_there() && libdl_find() && wants_recording(executable)) {
        process.may_record = true;
        modules_started_with();
        remember_stderr();
        describe(executable, argc, argv);
        if (starts_at_once(executable, argc, argv))
            start_recording();
        if (mpi_bind)
            mpi_bind();
    }
    errno = saved;
}

__attribute__((destructor)) static void program_ends(void)
{
    stdio_process_ends();
    thread_process_ends();
    node_process_ends();
}
