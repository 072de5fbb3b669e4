/* functions.h: numbers of the wrapped functions of libc, and the real ones behind them. */
#ifndef TAILRACE_FUNCTIONS_H
#define TAILRACE_FUNCTIONS_H

#include "descriptors.h"
#include "record.h"

enum function {
    FUNCTION_none,
#define FUNCTION(name, layer) FUNCTION_##name,
#include "functions.def"
#undef FUNCTION
    FUNCTION_COUNT
};

/* Finds all of them. */
void functions_find_all(void);

/* Tells the core the names and layers. */
void functions_register(void);

/* The next definition of the function behind ours; found once. */
typedef void (*any_function)(void);
extern any_function functions_real[FUNCTION_COUNT];
FEW_CALLS any_function functions_find(enum function function);

static inline any_function real_function(enum function function)
{
    any_function real = __atomic_load_n(&functions_real[function], __ATOMIC_RELAXED);
    return LIKELY(real != 0) ? real : functions_find(function);
}

#define REAL(name) ((__typeof__(name) *)real_function(FUNCTION_##name))

/* stdio_buffer.c: before the first call; what exit will write from the buffers. */
void stdio_prepare(void);
void stdio_process_ends(void);

/* The flags of a call at that place in a file; less than 0 where nobody knows it. */
static inline int flags_of_place(int64_t place)
{
    return place < 0 ? 0 : FILE_OFFSET;
}

/* The file of a call on a descriptor that ended at `end` ticks. */
static inline uint32_t file_of_call(const struct stream *stream, const struct call *call,
                                    uint64_t end, int descriptor, uint32_t file)
{
    bool is_short = end - stream->open[call->depth].begin < DESCRIPTOR_LONG_TICKS;
    return LIKELY(is_short) ? file : descriptor_of_long_call(descriptor, file);
}

/* Ends a call on a file that ended at `end` ticks. */
static inline void end_file_call(struct stream *stream, struct call *call, uint64_t end,
                                 enum file_op op, int flags, uint32_t file, int64_t bytes,
                                 int64_t offset, int error)
{
    int64_t words[FILE_WORDS] = {op, flags, file, bytes, offset, error, -1};
    tailrace_call_end(stream, call->depth, end, CLASS_FILE, words, FILE_WORDS);
}

#endif
