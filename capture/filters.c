/* filters.c: for how long the main thread is in the filters through which HDF5 writes and reads
 * chunks.
 *
 * A chunk is filtered as a whole before it is written, or when it was read, with no other call in
 * between: without this it looks like computation. A filter reaches HDF5 as a structure that has its function: each that
 * HDF5 has itself, that is registered, or that HDF5 loads as a plugin gets a structure from here
 * (mpi/bind.c), whose function calls the filter's. So does a program that holds HDF5 where it calls
 * zlib's compress2. All is measured and summed, and no call is recorded.
 */
#include <stdio.h>

#include "process.h"
#include "record.h"

enum { ZLIB, REGISTERED, FILTERS = REGISTERED + 32 };
/* Of H5Zpublic.h. */
enum { DEFLATE_ID = 1, CLASS_VERSION = 1, REVERSE = 0x0100 };

typedef int (*compress2_function)(unsigned char *, unsigned long *, const unsigned char *,
                                  unsigned long, int);
typedef int (*register_function)(const void *);
typedef size_t (*filter_function)(unsigned flags, size_t count, const unsigned *values,
                                  size_t bytes, size_t *room, void **buffer);

/* H5Z_class2_t. */
struct filter_class {
    int version, id;
    unsigned encodes, decodes;
    const char *name;
    void *can_apply, *set_local;
    filter_function filter;
};

struct sums {
    uint64_t ticks, calls, taken, made; /* bytes */
};

static struct {
    compress2_function compress2;
    register_function registers;
} real;

/* The sums are of the main thread, which alone changes them. */
static struct filter {
    int id;
    filter_function real;
    struct filter_class class; /* as HDF5 sees it */
    struct sums done[FILTERS_WAYS], before[FILTERS_WAYS];
} filters[FILTERS] = {[ZLIB] = {.id = DEFLATE_ID}};
static unsigned registered = REGISTERED;
static bool inside; /* the main thread: a filter may call zlib */

/* --- Measuring --- */

static bool is_of_main(const struct stream *stream)
{
    return stream && stream->state == STREAM_READY && stream->header->flags & HEADER_FLAG_MAIN;
}

/* 0 where it is not measured. */
static uint64_t begin(void)
{
    if (!tailrace_recording || !is_of_main(tailrace_stream) || inside)
        return 0;
    inside = true;
    return clock_now();
}

static void end(struct sums *done, uint64_t begun, size_t taken, size_t made)
{
    if (!begun)
        return;
    inside = false;
    if (!is_of_main(tailrace_stream))
        return;
    done->ticks += clock_now() - begun;
    done->calls++;
    done->taken += taken;
    done->made += made;
}

/* --- zlib --- */

/* Another zlib, of which a program may have several, is left alone. */
void *filters_compress2(void *target)
{
    if (!real.compress2)
        real.compress2 = (compress2_function)target;
    return (void *)real.compress2;
}

/* Where it did not fit, what was made is the room for it, which is no less. */
int tailrace_compress2(unsigned char *made, unsigned long *made_bytes, const unsigned char *taken,
                       unsigned long bytes, int level)
{
    uint64_t begun = begin();
    int result = real.compress2(made, made_bytes, taken, bytes, level);
    end(&filters[ZLIB].done[FILTERS_WRITE], begun, bytes, *made_bytes);
    return result;
}

/* --- Filters --- */

/* A filter that gives nothing did not make the chunk smaller, which is written as it was; or could
 * not read it. */
static size_t filtered(unsigned number, unsigned flags, size_t count, const unsigned *values,
                       size_t bytes, size_t *room, void **buffer)
{
    enum filters_way way = flags & REVERSE ? FILTERS_READ : FILTERS_WRITE;
    uint64_t begun = begin();
    size_t made = filters[number].real(flags, count, values, bytes, room, buffer);
    end(&filters[number].done[way], begun, bytes, made ? made : bytes);
    return made;
}

/* A function of a filter does not learn whose it is: each has one of its own. hdf5plugin registers a
 * dozen at once, and HDF5 has six. */
#define EACH_STUB(stub)                                                                            \
    stub(0) stub(1) stub(2) stub(3) stub(4) stub(5) stub(6) stub(7) stub(8) stub(9) stub(10)       \
        stub(11) stub(12) stub(13) stub(14) stub(15) stub(16) stub(17) stub(18) stub(19) stub(20)  \
            stub(21) stub(22) stub(23) stub(24) stub(25) stub(26) stub(27) stub(28) stub(29)       \
                stub(30) stub(31)
#define STUB(number)                                                                               \
    static size_t filter_##number(unsigned flags, size_t count, const unsigned *values,            \
                                  size_t bytes, size_t *room, void **buffer)                       \
    {                                                                                              \
        return filtered(REGISTERED + (number), flags, count, values, bytes, room, buffer);         \
    }                                                                                              \
    static const void *plugin_##number(void)                                                       \
    {                                                                                              \
        return &filters[REGISTERED + (number)].class;                                              \
    }
EACH_STUB(STUB)

#define FILTER_OF(number) filter_##number,
#define PLUGIN_OF(number) plugin_##number,
static const filter_function stubs[] = {EACH_STUB(FILTER_OF)};
static const plugin_function plugins[] = {EACH_STUB(PLUGIN_OF)};

/* 0 where it is ours, or there are more than can be told apart. */
static unsigned number_of(filter_function filter)
{
    unsigned number = REGISTERED;
    for (unsigned i = 0; i < FILTERS - REGISTERED; i++)
        if (stubs[i] == filter)
            return 0;
    while (number < registered && filters[number].real != filter)
        number++;
    if (number < FILTERS && number == registered)
        registered++;
    return number < FILTERS ? number : 0;
}

/* Which of the filters it is now; 0 where it is left as it is, as one of an older form is. */
static unsigned watch(const struct filter_class *class)
{
    bool known = class && class->version == CLASS_VERSION && class->filter;
    unsigned number = known ? number_of(class->filter) : 0;
    if (!number)
        return 0;
    struct filter *filter = &filters[number];
    filter->id = class->id;
    filter->real = class->filter;
    filter->class = *class;
    filter->class.filter = stubs[number - REGISTERED];
    return number;
}

/* One of HDF5's own, which it changes before it registers it: as one structure, for all of it. */
void *filters_of_hdf5(void *class)
{
    unsigned number = watch(class);
    return number ? &filters[number].class : NULL;
}

/* Another HDF5 is left alone. */
void *filters_register(void *target)
{
    if (!real.registers)
        real.registers = (register_function)target;
    return (void *)real.registers;
}

/* HDF5 keeps a copy of the class. */
int tailrace_register_filter(const void *class)
{
    unsigned number = watch(class);
    return real.registers(number ? &filters[number].class : class);
}

plugin_function filters_plugin(plugin_function tells)
{
    unsigned number = watch(tells());
    return number ? plugins[number - REGISTERED] : tells;
}

/* --- What is told --- */

void filters_begin(void)
{
    for (unsigned i = 0; i < FILTERS; i++)
        memcpy(filters[i].before, filters[i].done, sizeof filters[i].before);
}

static struct sums since(const struct sums *now, const struct sums *before)
{
    return (struct sums){now->ticks - before->ticks, now->calls - before->calls,
                         now->taken - before->taken, now->made - before->made};
}

static size_t spell(char *text, size_t room, const struct sums *sums, int id)
{
    unsigned long long ns =
        (unsigned long long)((double)sums->ticks * 1e9 / (double)clock_ticks_per_s());
    unsigned long long numbers[] = {ns, sums->calls, sums->taken, sums->made};
    int bytes =
        snprintf(text, room, "%llu %llu %llu %llu", numbers[0], numbers[1], numbers[2], numbers[3]);
    if (id != DEFLATE_ID && bytes > 0 && (size_t)bytes < room)
        bytes += snprintf(text + bytes, room - (size_t)bytes, " %d", id);
    return (size_t)bytes;
}

/* Of each that was called since the run's begin: ns, calls, bytes before and after, and its number
 * where it is not zlib. */
bool filters_spell(enum filters_way way, char *text, size_t room)
{
    size_t bytes = 0;
    for (unsigned i = 0; i < FILTERS; i++) {
        char told[META_VALUE_BYTES];
        struct sums sums = since(&filters[i].done[way], &filters[i].before[way]);
        size_t more = sums.calls ? spell(told, sizeof told, &sums, filters[i].id) : 0;
        if (!more || bytes + 1 + more >= room)
            continue;
        if (bytes)
            text[bytes++] = ';';
        memcpy(text + bytes, told, more + 1);
        bytes += more;
    }
    return bytes > 0;
}
