/* python.c: CPython's frames, read as they lie in memory.
 *
 * The layouts are those of CPython's headers (pycore_frame.h, pystate.h, code.h, unicodeobject.h).
 * Before they are relied upon, they are tried on the thread at hand by a system call that reads
 * memory and cannot fail badly: where the type of what should be a code object is not that of code
 * objects (another build, another Python), there are no lines.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/uio.h>

#include "python.h"
#include "libdl.h"
#include "system.h"

enum {
    TYPE = 8,    /* of every object */
    LENGTH = 16, /* of strings and bytes */
    BYTES = 32,
    STATE = 32, /* of strings: how the characters lie */
    FILE_NAME = 112,
    QUALIFIED_NAME = 128,
    LINE_TABLE = 136,
    INSTRUCTION = 56, /* of a frame: the one that is executed */
    UNIT = 2,         /* bytes of an instruction */
    NO_LINE = 15,
};

/* Where things are in the objects of one version. */
static const struct layout {
    unsigned version;      /* 0x030b: 3.11 */
    int state, then_frame; /* of the thread's state to its frame; −1: no second step */
    int code, previous, owner, first_line, instructions, ascii, compact;
} layouts[] = {
    {0x030b, 56, 8, 32, 48, 69, 72, 184, 48, 72},
    {0x030c, 56, 0, 0, 8, 70, 68, 192, 40, 56},
    {0x030d, 72, -1, 0, 8, 70, 68, 200, 40, 56},
};

int python_known;
static const struct layout *layout;
static const void *code_type, *text_type;
static void *(*thread_state)(void);
static int (*is_initialized)(void);
static bool looked;

static inline const void *pointer_at(const void *object, long offset)
{
    const void *value;
    memcpy(&value, (const char *)object + offset, sizeof value);
    return value;
}

static inline uint32_t number_at(const void *object, long offset)
{
    uint32_t value;
    memcpy(&value, (const char *)object + offset, sizeof value);
    return value;
}

/* --- Is it as it should be? --- */

/* NULL where the memory is not there. */
static const void *tried(const void *object, long offset)
{
    const void *value = NULL;
    struct iovec here = {&value, sizeof value};
    struct iovec there = {(void *)((uintptr_t)object + (uintptr_t)offset), sizeof value};
    if (!object || system_call(SYS_process_vm_readv, system_process(), (long)&here, 1, (long)&there,
                               1, 0) != sizeof value)
        return NULL;
    return value;
}

/* On the frame that the thread is in; there is none before Python runs. */
static bool layout_fits(const struct layout *candidate)
{
    const void *frame = tried(thread_state(), candidate->state);
    if (candidate->then_frame >= 0)
        frame = tried(frame, candidate->then_frame);
    const void *code = tried(frame, candidate->code);
    return code && tried(code, TYPE) == code_type &&
           tried(tried(code, FILE_NAME), TYPE) == text_type;
}

void python_look(void)
{
    if (looked)
        return;
    const unsigned long *version = libdl.symbol(RTLD_DEFAULT, "Py_Version");
    code_type = libdl.symbol(RTLD_DEFAULT, "PyCode_Type");
    text_type = libdl.symbol(RTLD_DEFAULT, "PyUnicode_Type");
    thread_state = (void *(*)(void))libdl.symbol(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
    is_initialized = (int (*)(void))libdl.symbol(RTLD_DEFAULT, "Py_IsInitialized");
    if (!version || !code_type || !text_type || !thread_state || !is_initialized) {
        looked = true;
        return;
    }
    if (!is_initialized() || !thread_state())
        return;
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i].version == *version >> 16 && layout_fits(&layouts[i]))
            layout = &layouts[i];
    looked = layout || !tried(thread_state(), layouts[0].state);
    __atomic_store_n(&python_known, layout != NULL, __ATOMIC_RELEASE);
}

/* --- The frames --- */

/* The frame, or the next that is the program's: from 3.12 on CPython puts one of its own where C called
 * Python. */
static inline const void *of_program(const void *frame)
{
    enum { OWNED_BY_C_STACK = 3 };
    while (frame && ((const char *)frame)[layout->owner] == OWNED_BY_C_STACK)
        frame = pointer_at(frame, layout->previous);
    return frame;
}

static inline const void *next(const void *frame)
{
    return of_program(pointer_at(frame, layout->previous));
}

static inline const void *innermost(void)
{
    const char *state = is_initialized() ? thread_state() : NULL;
    if (!state)
        return NULL;
    const void *frame = pointer_at(state, layout->state);
    return of_program(frame && layout->then_frame >= 0 ? pointer_at(frame, layout->then_frame)
                                                       : frame);
}

/* Instructions lie in the code objects that they are of. They differ by less than the rotation
 * moves, so that what differs in one frame is not made up for by what differs in the next. */
uint64_t python_hash(void)
{
    enum { ROTATION = 25 };
    uint64_t hash = 0;
    const void *frame = innermost();
    for (int i = 0; frame && i < PYTHON_FRAMES; i++) {
        hash = (hash << ROTATION | hash >> (64 - ROTATION)) +
               (uintptr_t)pointer_at(frame, INSTRUCTION);
        frame = next(frame);
    }
    return hash;
}

unsigned python_frames(const void *frames[PYTHON_FRAMES])
{
    unsigned count = 0;
    for (const void *frame = innermost(); frame && count < PYTHON_FRAMES; frame = next(frame))
        frames[count++] = frame;
    return count;
}

/* --- Names and lines --- */

static char *put_character(char *at, const char *end, uint32_t character)
{
    if (end - at < 4)
        return at;
    if (character < 0x80)
        *at++ = (char)character;
    else if (character < 0x800) {
        *at++ = (char)(0xc0 | character >> 6);
        *at++ = (char)(0x80 | (character & 63));
    } else if (character < 0x10000) {
        *at++ = (char)(0xe0 | character >> 12);
        *at++ = (char)(0x80 | (character >> 6 & 63));
        *at++ = (char)(0x80 | (character & 63));
    } else {
        *at++ = (char)(0xf0 | character >> 18);
        *at++ = (char)(0x80 | (character >> 12 & 63));
        *at++ = (char)(0x80 | (character >> 6 & 63));
        *at++ = (char)(0x80 | (character & 63));
    }
    return at;
}

/* A string of Python's in UTF-8, its end left out where there is no room. */
static char *put_text(char *at, const char *end, const void *text)
{
    enum { KIND = 7 << 2, COMPACT = 1 << 5, ASCII = 1 << 6 };
    uint32_t state = number_at(text, STATE), width = (state & KIND) >> 2;
    if (pointer_at(text, TYPE) != text_type || !(state & COMPACT) || !width || width > 4)
        return at;
    const char *data = (const char *)text + (state & ASCII ? layout->ascii : layout->compact);
    uint64_t length = (uintptr_t)pointer_at(text, LENGTH);
    for (uint64_t i = 0; i < length && end - at >= 4; i++) {
        uint32_t character = 0;
        memcpy(&character, data + i * width, width);
        if (character)
            at = put_character(at, end, character);
    }
    return at;
}

/* Seven bits a byte but for the continuation: six of value, one that says that more come. */
static uint32_t small_varint(const uint8_t **at, const uint8_t *end)
{
    uint32_t value = 0;
    for (unsigned shift = 0; *at < end && shift < 30; shift += 6) {
        uint8_t byte = *(*at)++;
        value |= (uint32_t)(byte & 63) << shift;
        if (!(byte & 64))
            break;
    }
    return value;
}

/* Entries of a code object's table of locations: the first byte has its top bit set, those behind
 * it have not. */
static uint32_t line_of(const void *code, uint64_t unit)
{
    enum { FIRST_ONE_LINE = 10, NO_COLUMNS = 13, LONG = 14, START = 0x80 };
    const void *table = pointer_at(code, LINE_TABLE);
    const uint8_t *at = (const uint8_t *)table + BYTES;
    const uint8_t *end = at + (uintptr_t)pointer_at(table, LENGTH);
    uint32_t line = number_at(code, layout->first_line);
    for (uint64_t passed = 0; at < end;) {
        uint8_t kind = *at >> 3 & 15;
        passed += (*at++ & 7u) + 1;
        if (kind == LONG || kind == NO_COLUMNS) {
            uint32_t value = small_varint(&at, end);
            line += value & 1 ? -(value >> 1) : value >> 1;
        } else if (kind >= FIRST_ONE_LINE && kind < NO_COLUMNS)
            line += kind - FIRST_ONE_LINE;
        if (unit < passed)
            return kind == NO_LINE ? 0 : line;
        while (at < end && !(*at & START))
            at++;
    }
    return 0;
}

bool python_line(const void *frame, struct python_line *line)
{
    const void *code = pointer_at(frame, layout->code);
    if (!code || pointer_at(code, TYPE) != code_type)
        return false; /* where C called Python */
    char *end = line->text + sizeof line->text - 1;
    char *at =
        put_text(line->text, line->text + sizeof line->text / 2, pointer_at(code, FILE_NAME));
    *at++ = 0;
    at = put_text(at, end, pointer_at(code, QUALIFIED_NAME));
    line->bytes = (size_t)(at - line->text);
    if (!strncmp(line->text, "<interpreter", 12) || !strcmp(line->text, "<shim>"))
        return false; /* a piece of code that is CPython's own */
    uintptr_t first = (uintptr_t)code + (uintptr_t)layout->instructions;
    uintptr_t instruction = (uintptr_t)pointer_at(frame, INSTRUCTION);
    line->line = instruction < first ? 0 : line_of(code, (instruction - first) / UNIT);
    return true;
}
