/* control.c: the beginning and the end of MPI. */
#include <stdio.h>

#include "flavour.h"

static MPI_Group world = {0};
static atomic_flag starting = ATOMIC_FLAG_INIT;
static bool has_world;

void control_known(struct stream *stream, struct call *call, enum control_what what, int64_t value)
{
    int64_t words[] = {what, value};
    call_known(stream, call, CLASS_CONTROL, words, 2);
}

void control_record(struct stream *stream, struct call *call, enum control_what what, int64_t value)
{
    int64_t words[] = {what, value};
    call_end(stream, call, CLASS_CONTROL, words, 2);
}

static void meta_number(const char *key, long long value)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", value);
    tailrace_meta(key, text);
}

static void meta_library(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    mpi.Get_library_version(text, &length);
    text[strcspn(text, "\n")] = 0;
    tailrace_meta("mpi", text);
}

static void meta_threads(void)
{
    int level = MPI_THREAD_SINGLE;
    mpi.Query_thread(&level);
    mpi_threads = level == MPI_THREAD_MULTIPLE;
    meta_number("thread_level", level);
}

static void meta_world(void)
{
    int rank = 0, ranks = 1;
    mpi.Group_rank(world, &rank);
    mpi.Group_size(world, &ranks);
    meta_number("rank", rank);
    meta_number("ranks", ranks);
}

/* A spawned process has a MPI_COMM_WORLD of its own: its ranks are not those of the run that is
 * looked at. */
static void meta_spawned(void)
{
    MPI_Comm parent = predefined.comm_null;
    if (mpi.Comm_get_parent(&parent) == MPI_SUCCESS && parent != predefined.comm_null)
        tailrace_meta("spawned", "yes");
}

static void start_world(void)
{
    mpi.Comm_group(predefined.comm_world, &world);
    has_world = true;
    meta_world();
    meta_spawned();
    mpi_usable = true;
    communicators_start(world);
}

static bool claim(void)
{
    return !atomic_flag_test_and_set(&starting);
}

static void describe(void)
{
    tailrace_rank_starts();
    tailrace_mark_main();
    meta_library();
    meta_threads();
}

void control_initialized(int result)
{
    if (result != MPI_SUCCESS || has_world)
        return;
    if (claim())
        describe();
    fortran_initialized();
    start_world();
    clocks_align_begin();
    tailrace_clock_record();
}

void control_catch_up(void)
{
    int initialized = 0, finalized = 0;
    if (mpi.Initialized(&initialized) != MPI_SUCCESS || !initialized)
        return;
    if (mpi.Finalized(&finalized) != MPI_SUCCESS || finalized || !claim())
        return;
    describe();
    fortran_initialized();
    start_world();
    tailrace_note(
        "late_start",
        "MPI was initialized before capture saw a call: what came before is not recorded");
}

__attribute__((constructor)) static void offer_to_catch_up(void)
{
    communicators_call_when_late(control_catch_up);
}

/* In a program that also calls MPI_Init, sessions do not bound the run. */
void session_record(struct stream *stream, struct call *call, enum control_what what)
{
    if (has_world)
        plain_after(stream, call);
    else
        control_record(stream, call, what, 0);
}

#ifdef HAVE_SESSIONS
static MPI_Session session_of(const void *passed, enum language language)
{
    if (language == LANGUAGE_C || !mpi.Session_f2c)
        return *(const MPI_Session *)passed;
    return mpi.Session_f2c(*(const MPI_Fint *)passed);
}

/* Sessions have no MPI_COMM_WORLD; the set of all processes stands for it. Clocks are not aligned:
 * nothing tells that all processes are here. */
void session_initialized(int result, const void *passed, enum language language)
{
    if (result != MPI_SUCCESS || has_world || !mpi.Group_from_session_pset || !claim())
        return;
    tailrace_rank_starts();
    tailrace_mark_main();
    meta_library();
    mpi_threads = true;
    if (mpi.Group_from_session_pset(session_of(passed, language), "mpi://WORLD", &world) !=
        MPI_SUCCESS)
        return;
    meta_world();
    mpi_usable = true;
    sessions_start(world);
    tailrace_clock_record();
}
#endif

void control_finalizing(void)
{
    if (!mpi_usable)
        return;
    clocks_align_end();
    tailrace_usage_ends();
    tailrace_clock_record();
    if (has_world)
        mpi.Group_free(&world);
    mpi_usable = false;
}
