/* communicators.c: numbers, members and identities of communicators, without a message.
 *
 * The identity must be the same on all members and differ between communicators. It is a hash of
 * what all members know alike: the parent's identity, what they passed alike (tag, string), the
 * members' world ranks, and how many communicators with all that the same were created before.
 * Creation is collective, so all members count alike.
 */
#include <stdlib.h>

#include "flavour.h"

enum { MEMBERS_OUTSIDE = -1, PAYLOAD_MAX = 65535, COUNTS = 8 /* of two more lists of runs */ };

struct run {
    uint32_t first;
    int32_t step;
    uint32_t count;
};

static struct table communicators, occurrences;
static MPI_Group world_group;
static bool world_known;
static atomic_uint next_number = 2; /* 0 and 1 are MPI_COMM_WORLD and MPI_COMM_SELF */
static atomic_uint generation; /* a communicator was forgotten: the threads' caches are stale */
static struct communicator unknown, world_communicator, self_communicator;
static void (*catch_up)(void);

static __thread struct {
    uint64_t key;
    unsigned generation;
    const struct communicator *communicator;
} cache __attribute__((tls_model("initial-exec")));

static uint64_t hash_of_members(const int *ranks, int size)
{
    uint64_t hash = (uint64_t)size;
    for (int i = 0; i < size; i++)
        hash = mix(hash, (uint64_t)(int64_t)ranks[i]);
    return hash;
}

/* How often this base came before, counting it. */
static uint64_t occurrence(uint64_t base)
{
    struct entry entry = {.key = base | 1};
    if (table_take(&occurrences, base | 1, &entry))
        entry.number++;
    table_add(&occurrences, &entry);
    return entry.number;
}

int *group_world_ranks(MPI_Group group, int *size)
{
    if (!world_known || mpi.Group_size(group, size) != MPI_SUCCESS || *size < 0)
        return NULL;
    int *own = malloc(2 * ((size_t)*size + 1) * sizeof *own);
    if (!own)
        return NULL;
    int *world = own + *size;
    for (int i = 0; i < *size; i++)
        own[i] = i;
    if (*size && mpi.Group_translate_ranks(group, *size, own, world_group, world) != MPI_SUCCESS) {
        free(own);
        return NULL;
    }
    for (int i = 0; i < *size; i++)
        own[i] = world[i] == MPI_UNDEFINED ? MEMBERS_OUTSIDE : world[i];
    return own;
}

/* Members' world ranks as runs into `payload` at `at`; returns where it ends, cut where the record
 * is full. */
static size_t put_runs(unsigned char *payload, size_t at, const int *ranks, int size)
{
    size_t place = at;
    uint32_t runs = 0;
    at += sizeof runs;
    for (int i = 0; i < size && at + sizeof(struct run) + COUNTS <= PAYLOAD_MAX; runs++) {
        struct run run = {(uint32_t)ranks[i], 1, 1};
        if (i + 1 < size)
            run.step = ranks[i + 1] - ranks[i];
        while (i + (int)run.count < size &&
               ranks[i + (int)run.count] - ranks[i + (int)run.count - 1] == run.step)
            run.count++;
        memcpy(payload + at, &run, sizeof run);
        at += sizeof run;
        i += (int)run.count;
    }
    memcpy(payload + place, &runs, sizeof runs);
    return at;
}

enum { RECORD_INTER = 1, RECORD_SOURCES = 2 };

/* World ranks of those that neighbourhood collectives receive from; at the borders is nobody. */
static size_t put_sources(unsigned char *payload, size_t at, int *sources, int count,
                          const int *local, int size)
{
    int found = 0;
    for (int i = 0; i < count; i++)
        if (sources[i] >= 0 && sources[i] < size)
            sources[found++] = local[sources[i]];
    return put_runs(payload, at, sources, found);
}

static void write_record(MPI_Comm comm, struct communicator *communicator, const int *local,
                         int size, const int *remote, int remote_size)
{
    unsigned char *payload = malloc(PAYLOAD_MAX + 1);
    if (!payload)
        return;
    int *sources = topology_sources(comm, communicator);
    uint8_t flags = (communicator->inter ? RECORD_INTER : 0) | (sources ? RECORD_SOURCES : 0);
    memcpy(payload, &communicator->number, 4);
    memcpy(payload + 4, &communicator->identity, 8);
    payload[12] = flags;
    memcpy(payload + 13, &communicator->rank, 4);
    size_t at = put_runs(payload, 17, local, size);
    if (communicator->inter)
        at = put_runs(payload, at, remote, remote_size);
    if (sources)
        at = put_sources(payload, at, sources, communicator->sources, local, size);
    tailrace_record(HEAD_COMMUNICATOR, payload, at);
    free(sources);
    free(payload);
}

static int *members(MPI_Comm comm, bool remote, int *size)
{
    MPI_Group group;
    int result = remote ? mpi.Comm_remote_group(comm, &group) : mpi.Comm_group(comm, &group);
    if (result != MPI_SUCCESS)
        return NULL;
    int *ranks = group_world_ranks(group, size);
    mpi.Group_free(&group);
    return ranks;
}

/* What is local knowledge about a communicator. */
static void fill(MPI_Comm comm, struct communicator *communicator)
{
    int inter = 0;
    mpi.Comm_test_inter(comm, &inter);
    mpi.Comm_rank(comm, &communicator->rank);
    mpi.Comm_size(comm, &communicator->size);
    communicator->inter = inter;
    communicator->peers = communicator->size;
    if (inter)
        mpi.Comm_remote_size(comm, &communicator->peers);
}

/* Both groups' members hashed so that the two sides of an intercommunicator agree. */
static uint64_t identity_of(uint64_t base, uint64_t local, uint64_t remote)
{
    base = mix(base, local < remote ? local : remote);
    base = mix(base, local < remote ? remote : local);
    return mix(base, occurrence(base));
}

/* Writes the record and enters the handle. An identity of 0 is computed. */
static void enter(MPI_Comm comm, struct communicator *communicator, uint64_t base)
{
    fill(comm, communicator);
    int size = 0, remote_size = 0;
    int *local = members(comm, false, &size);
    int *remote = communicator->inter ? members(comm, true, &remote_size) : NULL;
    uint64_t local_hash = local ? hash_of_members(local, size) : 0;
    uint64_t remote_hash = remote ? hash_of_members(remote, remote_size) : local_hash;
    if (!communicator->identity)
        communicator->identity = identity_of(base, local_hash, remote_hash);
    if (local && (remote || !communicator->inter))
        write_record(comm, communicator, local, size, remote, remote_size);
    free(local);
    free(remote);
    table_add(&communicators, &(struct entry){.key = KEY(comm), .pointer = communicator});
}

static struct communicator *register_new(MPI_Comm comm, uint64_t base)
{
    struct communicator *communicator = calloc(1, sizeof *communicator);
    if (!communicator)
        return &unknown;
    communicator->number = atomic_fetch_add(&next_number, 1);
    enter(comm, communicator, base);
    return communicator;
}

static void register_predefined(MPI_Comm comm, struct communicator *communicator, uint32_t number,
                                uint64_t identity)
{
    *communicator = (struct communicator){.number = number, .identity = identity};
    enter(comm, communicator, 0);
}

void sessions_start(MPI_Group world)
{
    world_group = world;
    world_known = true;
}

void communicators_call_when_late(void (*function)(void))
{
    catch_up = function;
}

void communicators_start(MPI_Group world)
{
    int rank = 0;
    world_group = world;
    world_known = true;
    mpi.Group_rank(world, &rank);
    register_predefined(predefined.comm_world, &world_communicator, 0, 1);
    register_predefined(predefined.comm_self, &self_communicator, 1, mix(2, (uint64_t)rank));
}

const struct communicator *communicator_known(MPI_Comm comm)
{
    uint64_t key = KEY(comm);
    if (LIKELY(cache.key == key &&
               cache.generation == atomic_load_explicit(&generation, memory_order_acquire)))
        return cache.communicator;
    struct entry found;
    unsigned now = atomic_load_explicit(&generation, memory_order_acquire);
    if (!table_find(&communicators, key, &found))
        return NULL;
    cache.key = key;
    cache.generation = now;
    cache.communicator = found.pointer;
    return found.pointer;
}

const struct communicator *communicator_get(MPI_Comm comm)
{
    const struct communicator *known = communicator_known(comm);
    if (LIKELY(known != NULL))
        return known;
    if (!mpi_usable)
        catch_up();
    if (!mpi_usable || comm == predefined.comm_null)
        return &unknown;
    known = communicator_known(comm);
    if (known)
        return known;
    tailrace_note("unknown_communicator", "a communicator was used whose creation was not seen");
    return register_new(comm, 3);
}

void communicator_seen(MPI_Comm comm)
{
    if (mpi_usable && comm != predefined.comm_null && !communicator_known(comm))
        register_new(comm, 3);
}

void communicator_forget(MPI_Comm comm)
{
    struct entry found;
    if (comm == predefined.comm_world || comm == predefined.comm_self)
        return;
    if (table_take(&communicators, KEY(comm), &found)) {
        atomic_fetch_add_explicit(&generation, 1, memory_order_release);
        /* The structure is left to the process: another thread may be reading it. */
    }
}

/* --- creation --- */

static const struct communicator *parent_of(const struct creation *creation)
{
    return creation->parent == predefined.comm_null ? NULL : communicator_get(creation->parent);
}

static uint64_t base_of(const struct communicator *parent, uint64_t salt)
{
    return mix(mix(parent ? parent->identity : 5, salt), 7);
}

static int64_t register_created(MPI_Comm comm, uint64_t base)
{
    if (comm == predefined.comm_null)
        return -1;
    return register_new(comm, base)->number;
}

void creation_after(struct stream *stream, struct call *call, const struct creation *creation,
                    int result, MPI_Comm comm)
{
    if (result != MPI_SUCCESS || !mpi_usable) {
        plain_after(stream, call);
        return;
    }
    const struct communicator *parent = parent_of(creation);
    int64_t words[] = {parent ? (int64_t)parent->number : -1,
                       register_created(comm, base_of(parent, creation->salt)), creation->flags};
    call_end(stream, call, CLASS_COMMUNICATOR, words, 3);
}

struct pending {
    void *place;
    enum language language;
    uint64_t base;
};

void creation_starts(struct stream *stream, struct call *call, const struct creation *creation,
                     int result, MPI_Request request, void *place, enum language language)
{
    struct pending *pending = result == MPI_SUCCESS && mpi_usable ? malloc(sizeof *pending) : NULL;
    if (!pending) {
        plain_after(stream, call);
        return;
    }
    const struct communicator *parent = parent_of(creation);
    /* Counted now: requests may complete in another order on other members. */
    uint64_t base = base_of(parent, creation->salt + 11);
    *pending = (struct pending){place, language, mix(base, occurrence(base))};
    int64_t words[] = {parent ? (int64_t)parent->number : -1, -1, CREATION_STARTS};
    call_end(stream, call, CLASS_COMMUNICATOR, words, 3);
    request_started(stream, request, REQUEST_ACTIVE | REQUEST_CREATION, pending);
}

void creation_completed(const struct entry *request)
{
    struct pending *pending = request->pointer;
    MPI_Comm comm = pending->language == LANGUAGE_C ? *(MPI_Comm *)pending->place
                                                    : mpi.Comm_f2c(*(MPI_Fint *)pending->place);
    if (mpi_usable)
        register_created(comm, pending->base);
    free(pending);
}
