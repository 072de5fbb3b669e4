/* flavour.h: what every part of the flavour library shares.
 *
 * The flavour library is compiled with the user's MPI header and loaded by libtailrace.so beside
 * the application's own libmpi. It never links an MPI: functions come from the application's libmpi
 * by dlsym (struct mpi), and so do the addresses of predefined handles where they are addresses
 * (struct predefined, Open MPI).
 *
 * Rules for all code here: PMPI only, only after the application's call succeeded (a failing query
 * would call the user's error handler), and only what is local. The two exceptions, clocks.c, say
 * why they are safe.
 */
#ifndef TAILRACE_FLAVOUR_H
#define TAILRACE_FLAVOUR_H

#include <mpi.h>
#include <stdatomic.h>
#include <string.h>

#include "../record.h"
#include "hash.h"

/* How the caller passes handles, statuses and strings. */
enum language {
    LANGUAGE_C,
    LANGUAGE_FORTRAN,
    LANGUAGE_DESCRIPTOR
}; /* the last: buffers of mpi_f08 as CFI descriptors */

/* --- loader.c --- */

/* Two lists that no formatter lays out well. */
/* clang-format off */
/* The functions capture itself needs of MPI, by X-macro: those every MPI since 3.0 has, … */
#define MPI_NEEDED(X)                                                                                                  \
    X(Comm_compare) X(Comm_dup) X(Comm_free) X(Comm_group) X(Comm_rank) X(Comm_remote_group) X(Comm_remote_size)       \
    X(Comm_size) X(Comm_test_inter) X(Comm_get_parent) X(Group_free) X(Group_rank) X(Group_size)                        \
    X(Group_translate_ranks) X(Type_size) X(Query_thread) X(Initialized) X(Finalized) X(Get_library_version)           \
    X(Get_count) X(Allgather) X(Send) X(Recv) X(Iprobe) X(File_get_byte_offset) X(Topo_test) X(Cartdim_get)                      \
    X(Cart_shift) X(Graph_neighbors_count) X(Graph_neighbors) X(Dist_graph_neighbors_count)                            \
    X(Dist_graph_neighbors) X(Error_class)

/* … Fortran's handles, which are integers: the standard ABI's header has fromint instead of f2c. */
#define MPI_CONVERSIONS(X)                                                                                             \
    X(Comm, MPI_Comm) X(Type, MPI_Datatype) X(Request, MPI_Request) X(File, MPI_File) X(Group, MPI_Group)              \
    X(Message, MPI_Message) X(Win, MPI_Win)
/* clang-format on */

#if defined(HAVE_F2C) || defined(MPI_Comm_f2c)
#define CONVERSION(name) "PMPI_" #name "_f2c"
#else
#define CONVERSION(name) "PMPI_" #name "_fromint"
typedef int MPI_Fint;
#endif

struct mpi {
#define MEMBER(name) __typeof__(&PMPI_##name) name;
    MPI_NEEDED(MEMBER)
#undef MEMBER
#define MEMBER(name, type) type (*name##_f2c)(MPI_Fint);
    MPI_CONVERSIONS(MEMBER)
#undef MEMBER
    /* … and those that newer ones have; NULL elsewhere. */
    int (*Type_size_c)(MPI_Datatype, MPI_Count *);
    int (*Type_size_x)(MPI_Datatype, MPI_Count *);
#ifdef HAVE_SESSIONS
    int (*Group_from_session_pset)(MPI_Session, const char *, MPI_Group *);
    MPI_Session (*Session_f2c)(MPI_Fint);
#endif
};
extern struct mpi mpi;

/* Predefined handles: constants in MPICH and the standard ABI, addresses of the library's objects
 * in Open MPI. */
struct predefined {
    MPI_Comm comm_world, comm_self, comm_null;
    MPI_Group group_null, group_empty;
    MPI_Request request_null;
    MPI_Message message_null, message_no_proc;
    MPI_Datatype datatype_null, byte, int64;
    MPI_File file_null;
    MPI_Win win_null;
};
extern struct predefined predefined;

/* MPI_THREAD_MULTIPLE, or not known: tables are locked. */
extern bool mpi_threads;
/* Between MPI_Init's end and MPI_Finalize's begin: PMPI may be called. */
extern bool mpi_usable;

/* --- begin of every wrapper --- */

/* An MPI call made by MPI itself, or by a callback inside one, is part of the outer call. The frame
 * tells an outer call that was left by longjmp. */
static inline bool mpi_nested(const struct stream *stream, uintptr_t frame)
{
    return stream_is_in_mpi(stream) && stream->open[stream->depth].frame > frame;
}

static inline struct stream *mpi_begin(struct call *call, unsigned function)
{
    struct stream *stream = tailrace_stream;
    if (UNLIKELY(stream && stream->depth && mpi_nested(stream, (uintptr_t)call)))
        return NULL;
    return call_begin(call, function);
}

/* In one instruction where there is one: between a load and its store a signal handler's file call
 * may write what was counted so far, and the store would count it again. */
static inline void counted_once(struct counted *counted)
{
#ifdef __x86_64__
    __asm__ volatile("incl %0" : "+m"(counted->calls) : : "cc");
#else
    __atomic_fetch_add(&counted->calls, 1, __ATOMIC_RELAXED);
#endif
}

/* A call that answers from memory is counted, which takes a nanosecond or two, and neither timed nor
 * recorded. Returns the stream, NULL where it does not count. */
static inline struct stream *mpi_count(unsigned function, unsigned slot)
{
    struct stream *stream = tailrace_stream;
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    if (UNLIKELY(!stream || stream->state != STREAM_READY)) {
        if (!tailrace_recording || !(stream = tailrace_stream_enter()))
            return NULL;
    }
    if (UNLIKELY(stream->counting > frame || (stream->depth && mpi_nested(stream, frame))))
        return NULL;
    struct counted *counted = &stream->counted[slot];
    counted_once(counted);
    if (UNLIKELY(counted->calls >= counted->most))
        tailrace_count_more(stream, counted, function);
    return stream;
}

/* Around a call that may be made of such calls: those of Fortran. */
static inline struct stream *mpi_count_outer(unsigned function, unsigned slot)
{
    struct stream *stream = mpi_count(function, slot);
    if (stream)
        stream->counting = (uintptr_t)__builtin_frame_address(0);
    return stream;
}

static inline void mpi_counted(struct stream *stream)
{
    if (stream)
        stream->counting = 0;
}

static inline void plain_after(struct stream *stream, struct call *call)
{
    call_end(stream, call, CLASS_PLAIN, NULL, 0);
}

/* --- tables.c: handle → something of ours --- */

/* One value per entry; a handle may have several entries: an MPI may give one handle to all
 * requests that were complete at once. The newest is found first. */
struct entry {
    uint64_t key;
    uint32_t next; /* an older entry of the same handle, 0 where none */
    uint32_t flags;
    uint64_t number;
    void *pointer;
};

struct table {
    uint32_t
        *slots; /* open addressing: index into entries, 0 empty, of the newest entry of a handle */
    struct entry *entries;
    uint32_t slot_bits, used, entries_count, entries_room, free;
    atomic_flag lock;
};

/* Adds an entry; without memory the entry is left out. */
void table_add(struct table *table, const struct entry *entry);
/* Copies the newest entry of a handle. */
bool table_find(struct table *table, uint64_t key, struct entry *found);
/* Copies and removes it. */
bool table_take(struct table *table, uint64_t key, struct entry *found);
/* Replaces the newest entry's flags. */
void table_set_flags(struct table *table, uint64_t key, uint32_t flags);

static inline uint64_t key_of_pointer(const void *handle)
{
    return (uint64_t)(uintptr_t)handle;
}
static inline uint64_t key_of_integer(int handle)
{
    return (uint64_t)(uint32_t)handle + 1;
}
/* Handles are integers in MPICH, pointers elsewhere. 0 is no key. */
#define KEY(handle)                                                                                \
    _Generic((handle),                                                                             \
        int: key_of_integer((int)(intptr_t)(handle)),                                              \
        default: key_of_pointer((const void *)(intptr_t)(handle)))

/* --- communicators.c --- */

struct communicator {
    uint64_t identity;
    uint32_t number;
    int rank, size, peers; /* peers: of a collective: the remote group's size of an
                              intercommunicator, else size */
    bool inter;
    int sources, destinations; /* neighbours in the topology */
};

void communicators_start(MPI_Group world);
/* What to do where a communicator is used and no MPI_Init was seen. */
void communicators_call_when_late(void (*function)(void));
/* Without MPI_COMM_WORLD (sessions): translation of ranks only. */
void sessions_start(MPI_Group world);
/* Looks up only, NULL where unknown: safe with whatever handle the user passed. */
const struct communicator *communicator_known(MPI_Comm comm);
/* After a successful call with it: an unknown one is registered. Never NULL. */
const struct communicator *communicator_get(MPI_Comm comm);
/* A communicator that was handed out, not created: MPI_Comm_get_parent's. */
void communicator_seen(MPI_Comm comm);
void communicator_forget(MPI_Comm comm);
/* World ranks of a group, into a fresh array (free it); NULL where not known. */
int *group_world_ranks(MPI_Group group, int *size);

static inline int64_t communicator_word_known(MPI_Comm comm)
{
    const struct communicator *known = communicator_known(comm);
    return known ? (int64_t)known->number : -1;
}

/* --- topology.c --- */

/* Ranks in `comm` that this rank's neighbourhood collectives receive from, `communicator->sources`
 * of them, in a fresh array (free it); NULL where there is no topology. MPI_PROC_NULL is among
 * them. */
int *topology_sources(MPI_Comm comm, struct communicator *communicator);

struct creation {
    MPI_Comm parent;
    uint64_t salt; /* what all members pass alike besides the parent: tag, string */
    int flags;
};
enum { CREATION_STARTS = 1, CREATION_MEMBERS_ONLY = 2 };
void creation_after(struct stream *stream, struct call *call, const struct creation *creation,
                    int result, MPI_Comm comm);
/* MPI_Comm_idup: the new handle is read from `place` when the request completes. */
void creation_starts(struct stream *stream, struct call *call, const struct creation *creation,
                     int result, MPI_Request request, void *place, enum language language);
void creation_completed(const struct entry *request);

/* --- requests.c --- */

enum { REQUEST_WILDCARD = 1, REQUEST_PERSISTENT = 2, REQUEST_ACTIVE = 4, REQUEST_CREATION = 8 };
extern struct table requests;

/* The calling event starts a request: gives it the thread's next number. To be called once per
 * event with the flag "starts", in the order of the records. */
void request_started(struct stream *stream, MPI_Request request, uint32_t flags, void *pointer);
/* The word that names a request: distance back from the next number, or its thread and number. */
int64_t request_token(const struct stream *stream, uint64_t number);

/* Word "flags" of sends, receives, collectives. */
enum { FLAG_STARTS = 1, FLAG_PERSISTENT = 2, FLAG_PARTITIONED = 4, FLAG_EXCLUSIVE = 8 };
static inline uint32_t request_flags(int flags)
{
    return flags & FLAG_PERSISTENT ? REQUEST_PERSISTENT : REQUEST_ACTIVE;
}

struct handles {
    const void *values;
    enum language language;
};
static inline MPI_Request handles_request(struct handles handles, int index)
{
    if (handles.language == LANGUAGE_C)
        return ((const MPI_Request *)handles.values)[index];
    return mpi.Request_f2c(((const MPI_Fint *)handles.values)[index]);
}

void start_after(struct stream *stream, struct call *call, int result, int count,
                 struct handles handles);
/* What is done to a request beside starting and completing it. A cancelled one is still to be
 * completed; a freed one is gone. */
enum request_action { REQUEST_FREE, REQUEST_CANCEL, REQUEST_READY };
/* Before the call, which may set the handle to null. */
uint64_t request_key(struct handles handle);
void request_acted(struct stream *stream, struct call *call, int result, uint64_t key,
                   enum request_action action);

/* --- status.h --- */
#include "status.h"

/* --- completion.c --- */

struct completion {
    struct handles handles;
    int count;
    bool test, wildcard;
    uint64_t *keys, one;
    struct entry *taken,
        one_taken;  /* where threads may reuse a handle at once: taken before the call */
    void *statuses; /* what the call gets */
    bool ignored;
};

/* `statuses` as the user passed them; completion->statuses is what to pass on. */
void completion_before(struct completion *completion, int count, struct handles handles,
                       void *statuses, struct status_place *place, bool test);
/* All of them (Wait, Test, Waitall, Testall), if `done`. */
void completion_all(struct stream *stream, struct call *call, struct completion *completion,
                    int result, bool done);
/* The one of that index (Waitany, Testany), counted as the language does; undefined: none. */
void completion_any(struct stream *stream, struct call *call, struct completion *completion,
                    int result, bool done, int index);
/* `done` of them (Waitsome, Testsome). */
void completion_some(struct stream *stream, struct call *call, struct completion *completion,
                     int result, int done, const int *indices);

/* --- point_to_point.c --- */

struct send {
    MPI_Comm comm;
    int peer, tag, mode, flags;
    int64_t count;
    MPI_Datatype type;
};
struct receive {
    MPI_Comm comm;
    int peer, tag, flags;
    int64_t count;
    MPI_Datatype type;
};
struct probe {
    MPI_Comm comm;
    int peer, tag;
    bool test;
};

void send_before(struct stream *stream, struct call *call, const struct send *send);
void send_after(struct stream *stream, struct call *call, const struct send *send, int result,
                MPI_Request request);
void receive_before(struct stream *stream, struct call *call, const struct receive *receive);
bool receive_wildcard(const struct receive *receive);
void receive_after(struct stream *stream, struct call *call, const struct receive *receive,
                   int result, const struct status_place *status);
void receive_started(struct stream *stream, struct call *call, const struct receive *receive,
                     int result, MPI_Request request);
void exchange_after(struct stream *stream, struct call *call, const struct send *send,
                    const struct receive *receive, int result, const struct status_place *status);
void exchange_started(struct stream *stream, struct call *call, const struct send *send,
                      const struct receive *receive, int result, MPI_Request request);
void probe_after(struct stream *stream, struct call *call, const struct probe *probe, int result,
                 bool found, const struct status_place *status);
void message_found(const struct probe *probe, int result, bool found, MPI_Message message,
                   const struct status_place *status);
/* The envelope of a matched message, before MPI_Mrecv takes the handle. */
void message_envelope(MPI_Message message, struct receive *receive);

/* Bytes of `count` elements; 0 for MPI_DATATYPE_NULL. After a successful call only. */
int64_t bytes_of(int64_t count, MPI_Datatype type);

/* --- collectives.c --- */

enum flow {
    FLOW_ALL,
    FLOW_FROM_ROOT,
    FLOW_TO_ROOT,
    FLOW_PREFIX,
    FLOW_EXCLUSIVE_PREFIX,
    FLOW_NEIGHBOURS
};
enum amount_kind {
    AMOUNT_NONE,
    AMOUNT_ONE,   /* count × type */
    AMOUNT_EACH,  /* … to or from each peer */
    AMOUNT_LIST,  /* a count per peer, one type */
    AMOUNT_TYPES, /* a count and a type per peer */
    AMOUNT_OWN,   /* the element of a list of counts that is this rank's */
};
enum amount_who { BY_ALL, BY_ROOT, BY_OTHERS };
struct amount {
    enum amount_kind kind;
    enum amount_who who; /* whose arguments are significant */
    const void *buffer;  /* MPI_IN_PLACE: nothing moves from or to it */
    int64_t count;
    const void *counts; /* int, or MPI_Count where wide */
    bool wide;
    MPI_Datatype type;
    const void *types;
};
struct collective {
    MPI_Comm comm;
    enum flow flow;
    bool rooted;
    int root, flags;
    enum language language;
    struct amount sent, received;
};
void collective_before(struct stream *stream, struct call *call,
                       const struct collective *collective);
void collective_after(struct stream *stream, struct call *call, const struct collective *collective,
                      int result, MPI_Request request);

/* --- one_sided.c --- */

enum window_op {
    WINDOW_PUT,
    WINDOW_GET,
    WINDOW_ACCUMULATE,
    WINDOW_FENCE,
    WINDOW_POST,
    WINDOW_START,
    WINDOW_COMPLETE,
    WINDOW_WAIT,
    WINDOW_LOCK,
    WINDOW_UNLOCK,
    WINDOW_FLUSH,
    WINDOW_CREATE,
    WINDOW_OTHER,
};
struct one_sided {
    MPI_Win window;
    enum window_op op;
    int target, flags;
    int64_t count;
    MPI_Datatype type;
    MPI_Group group;
    bool has_group;
};
void one_sided_before(struct stream *stream, struct call *call, const struct one_sided *one_sided);
void one_sided_after(struct stream *stream, struct call *call, const struct one_sided *one_sided,
                     int result, MPI_Request request);
void window_created(struct stream *stream, struct call *call, int result, MPI_Comm comm,
                    MPI_Win window);
/* MPI_Win_free: the window's communicator, before the handle goes. */
int64_t window_forget(MPI_Win window);
void window_freed(struct stream *stream, struct call *call, int64_t comm);

/* --- files.c --- */

struct file_call {
    MPI_File file;
    int op, flags;
    bool at;
    MPI_Offset offset; /* in the view's elementary types */
    int64_t count;
    MPI_Datatype type;
    bool no_bytes; /* the end of a split collective: its begin holds them */
    int64_t number, comm;
};
void file_before(struct stream *stream, struct call *call, struct file_call *file);
void file_after(struct stream *stream, struct call *call, const struct file_call *file, int result,
                const struct status_place *status);
void file_started(struct stream *stream, struct call *call, const struct file_call *file,
                  int result, MPI_Request request);
void file_open_before(struct stream *stream, struct call *call, struct file_call *file,
                      MPI_Comm comm, const char *path, int mode);
void file_opened(struct stream *stream, struct call *call, struct file_call *file, MPI_Comm comm,
                 int result, MPI_File handle);
void file_closed(struct stream *stream, struct call *call, const struct file_call *file,
                 int result);
void file_deleted(struct stream *stream, struct call *call, const char *path, int result);

/* --- control.c, clocks.c --- */

enum control_what { CONTROL_INIT, CONTROL_FINALIZE, CONTROL_PCONTROL, CONTROL_ABORT };
void control_record(struct stream *stream, struct call *call, enum control_what what,
                    int64_t value);
void control_known(struct stream *stream, struct call *call, enum control_what what, int64_t value);
/* After MPI_Init succeeded (inside its call), before MPI_Finalize goes on; nested ones do nothing.
 */
void control_initialized(int result);
void control_finalizing(void);
void session_record(struct stream *stream, struct call *call, enum control_what what);
void session_initialized(int result, const void *session, enum language language);
/* MPI was initialized by somebody who was not seen: what MPI_Init's wrapper would have done,
 * without messages. */
void control_catch_up(void);
void clocks_align_begin(void);
void clocks_align_end(void);

/* --- fortran.c --- */

void fortran_start(void *library, void *(*find_symbol)(void *handle, const char *name));
void fortran_initialized(void);
bool fortran_ignored(const void *status);
bool fortran_in_place(const void *buffer, enum language language);
/* A blank-padded Fortran string as a C string in `text`. */
const char *fortran_string(char *text, size_t room, const char *characters, size_t length);

#endif
