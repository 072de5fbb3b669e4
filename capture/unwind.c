/* unwind.c: one step up the stack: the table of a module is searched for the function, its program
 * (call frame information) run up to the instruction, and the caller's registers computed.
 */
#include <string.h>

#include "unwind.h"

enum {
    STACK_POINTER = 7,
    FRAME_POINTER = 6,
    RETURN_ADDRESS = 16,
    STACK_DEPTH = 16,     /* of expressions */
    OPERATIONS_MAX = 200, /* of expressions and programs */
    PROGRAM_MAX = 4096,
};

/* --- Bytes of the tables --- */

struct reader {
    const uint8_t *at, *end;
    bool failed;
};

static uint64_t fixed(struct reader *from, unsigned bytes)
{
    uint64_t value = 0;
    if ((size_t)(from->end - from->at) < bytes) {
        from->failed = true;
        return 0;
    }
    memcpy(&value, from->at, bytes);
    from->at += bytes;
    return value;
}

static int64_t fixed_signed(struct reader *from, unsigned bytes)
{
    uint64_t value = fixed(from, bytes);
    unsigned unused = 64 - 8 * bytes;
    return (int64_t)(value << unused) >> unused;
}

static uint64_t leb(struct reader *from, bool is_signed)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
        byte = (uint8_t)fixed(from, 1);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80 && !from->failed);
    if (is_signed && byte & 0x40 && shift < 64)
        value |= ~(uint64_t)0 << shift;
    return value;
}

/* DW_EH_PE: the low four bits say how long, the next three relative to what. */
static uint64_t encoded(struct reader *from, uint8_t encoding)
{
    uint64_t here = (uintptr_t)from->at, value;
    switch (encoding & 15) {
    case 0:
    case 4: value = fixed(from, 8); break;
    case 1: value = leb(from, false); break;
    case 2: value = fixed(from, 2); break;
    case 3: value = fixed(from, 4); break;
    case 9: value = leb(from, true); break;
    case 10: value = (uint64_t)fixed_signed(from, 2); break;
    case 11: value = (uint64_t)fixed_signed(from, 4); break;
    case 12: value = fixed(from, 8); break;
    default: from->failed = true; return 0;
    }
    if ((encoding & 0x70) == 0x10)
        value += here;
    else if (encoding & 0x70)
        from->failed = true;
    return value;
}

/* --- Which entry is about an instruction --- */

struct entry {
    struct reader initial, program;
    uint64_t begin, end, code_factor;
    int64_t data_factor;
    uint64_t return_register;
    uint8_t encoding;
    bool has_augmentation, is_signal;
};

/* The part with its length in front; an empty one where it does not fit. */
static struct reader part_at(const struct module *module, const uint8_t *at)
{
    struct reader part = {at, module->high, at < module->low || at >= module->high};
    if (part.failed)
        return part;
    uint64_t bytes = fixed(&part, 4);
    if (bytes == 0xffffffff)
        bytes = fixed(&part, 8);
    if (!bytes || bytes > (uint64_t)(part.end - part.at))
        part.failed = true;
    else
        part.end = part.at + bytes;
    return part;
}

static bool augmentation(struct reader *from, const char *letters, struct entry *entry)
{
    if (*letters != 'z')
        return !*letters;
    uint64_t bytes = leb(from, false);
    if (from->failed || bytes > (uint64_t)(from->end - from->at))
        return false;
    struct reader data = {from->at, from->at + bytes, false};
    from->at += bytes;
    entry->has_augmentation = true;
    for (letters++; *letters; letters++) {
        if (*letters == 'R')
            entry->encoding = (uint8_t)fixed(&data, 1);
        else if (*letters == 'L')
            fixed(&data, 1);
        else if (*letters == 'S')
            entry->is_signal = true;
        else if (*letters == 'P') {
            uint8_t encoding = (uint8_t)fixed(&data, 1);
            encoded(&data, encoding & 0x7f & ~0x70);
        } else
            return false;
    }
    return !data.failed;
}

/* What all entries of one compiled unit share. */
static bool read_common(const struct module *module, const uint8_t *at, struct entry *entry)
{
    struct reader from = part_at(module, at);
    if (from.failed || fixed(&from, 4))
        return false;
    uint64_t version = fixed(&from, 1);
    const char *letters = (const char *)from.at;
    while (fixed(&from, 1) && !from.failed) {
    }
    if (from.failed || (version != 1 && version != 3))
        return false;
    entry->code_factor = leb(&from, false);
    entry->data_factor = (int64_t)leb(&from, true);
    entry->return_register = version == 1 ? fixed(&from, 1) : leb(&from, false);
    if (!augmentation(&from, letters, entry))
        return false;
    entry->initial = from;
    return !from.failed && entry->return_register == RETURN_ADDRESS;
}

static bool read_entry(const struct module *module, const uint8_t *at, struct entry *entry)
{
    struct reader from = part_at(module, at);
    if (from.failed)
        return false;
    const uint8_t *field = from.at;
    uint64_t back = fixed(&from, 4);
    memset(entry, 0, sizeof *entry);
    if (!back || !read_common(module, field - back, entry))
        return false;
    entry->begin = encoded(&from, entry->encoding);
    entry->end = entry->begin + encoded(&from, entry->encoding & 15);
    if (entry->has_augmentation) {
        uint64_t bytes = leb(&from, false);
        if (from.failed || bytes > (uint64_t)(from.end - from.at))
            return false;
        from.at += bytes;
    }
    entry->program = from;
    return !from.failed;
}

/* The table of pairs (function, entry), sorted, each relative to the table's header. */
static bool find_entry(const struct module *module, uint64_t instruction, struct entry *entry)
{
    enum { BY_PAIRS = 0x3b, COUNT_32 = 3, PAIR_BYTES = 8 };
    struct reader from = {module->frames, module->high, !module->frames};
    if (from.failed || fixed(&from, 1) != 1)
        return false;
    uint8_t encoding = (uint8_t)fixed(&from, 1);
    uint64_t counts = fixed(&from, 1), pairs = fixed(&from, 1);
    encoded(&from, encoding);
    if (from.failed || counts != COUNT_32 || pairs != BY_PAIRS)
        return false;
    uint64_t count = fixed(&from, 4), low = 0;
    if (from.failed || !count || count > (uint64_t)(from.end - from.at) / PAIR_BYTES)
        return false;
    int64_t wanted = (int64_t)(instruction - (uintptr_t)module->frames);
    int32_t pair[2];
    for (uint64_t high = count; high - low > 1;) {
        uint64_t middle = (low + high) / 2;
        memcpy(pair, from.at + middle * PAIR_BYTES, sizeof pair);
        if (pair[0] <= wanted)
            low = middle;
        else
            high = middle;
    }
    memcpy(pair, from.at + low * PAIR_BYTES, sizeof pair);
    return read_entry(module, module->frames + pair[1], entry) && entry->begin <= instruction &&
           instruction < entry->end;
}

/* --- Its program --- */

static void set_rule(struct unwind_row *row, uint64_t number, enum unwind_kind kind, int64_t value)
{
    if (number < UNWIND_REGISTERS)
        row->rules[number] = (struct unwind_rule){.kind = kind, .value = value};
}

static void skip_expression(struct reader *from, struct unwind_rule *rule, enum unwind_kind kind)
{
    uint64_t bytes = leb(from, false);
    if (from->failed || bytes > (uint64_t)(from->end - from->at)) {
        from->failed = true;
        return;
    }
    *rule = (struct unwind_rule){
        .kind = kind, .bytes = (uint32_t)bytes, .value = (int64_t)(uintptr_t)from->at};
    from->at += bytes;
}

static void set_expression(struct unwind_row *row, struct reader *from, enum unwind_kind kind)
{
    struct unwind_rule unused;
    uint64_t number = leb(from, false);
    skip_expression(from, number < UNWIND_REGISTERS ? &row->rules[number] : &unused, kind);
}

static void set_cfa(struct unwind_row *row, uint64_t number, int64_t offset)
{
    row->cfa = (struct unwind_rule){.kind = RULE_REGISTER, .value = (int64_t)number};
    row->cfa_offset = offset;
}

struct machine {
    struct unwinder *unwinder;
    const struct entry *entry;
    struct reader *from;
    uint64_t at;
    unsigned remembered;
};

static void remember(struct machine *machine)
{
    if (machine->remembered == UNWIND_REMEMBERED)
        machine->from->failed = true;
    else
        machine->unwinder->remembered[machine->remembered++] = machine->unwinder->row;
}

static void restore(struct machine *machine)
{
    if (!machine->remembered)
        machine->from->failed = true;
    else
        machine->unwinder->row = machine->unwinder->remembered[--machine->remembered];
}

static void restore_rule(struct machine *machine, uint64_t number)
{
    if (number < UNWIND_REGISTERS)
        machine->unwinder->row.rules[number] = machine->unwinder->initial.rules[number];
}

/* The operations with their number in the low six bits; their names are those of DWARF. */
static void operate(struct machine *machine, uint8_t operation)
{
    struct reader *from = machine->from;
    struct unwind_row *row = &machine->unwinder->row;
    const struct entry *entry = machine->entry;
    uint64_t number;
    switch (operation) {
    case 0x00: break;                                                     /* nop */
    case 0x01: machine->at = encoded(from, entry->encoding); break;       /* set_loc */
    case 0x02: machine->at += fixed(from, 1) * entry->code_factor; break; /* advance_loc1 */
    case 0x03: machine->at += fixed(from, 2) * entry->code_factor; break; /* advance_loc2 */
    case 0x04: machine->at += fixed(from, 4) * entry->code_factor; break; /* advance_loc4 */
    case 0x05:                                                            /* offset_extended */
        number = leb(from, false);
        set_rule(row, number, RULE_OFFSET, (int64_t)leb(from, false) * entry->data_factor);
        break;
    case 0x06: restore_rule(machine, leb(from, false)); break;            /* restore_extended */
    case 0x07: set_rule(row, leb(from, false), RULE_UNDEFINED, 0); break; /* undefined */
    case 0x08: set_rule(row, leb(from, false), RULE_SAME, 0); break;      /* same_value */
    case 0x09:                                                            /* register */
        number = leb(from, false);
        set_rule(row, number, RULE_REGISTER, (int64_t)leb(from, false));
        break;
    case 0x0a: remember(machine); break; /* remember_state */
    case 0x0b: restore(machine); break;  /* restore_state */
    case 0x0c:                           /* def_cfa */
        number = leb(from, false);
        set_cfa(row, number, (int64_t)leb(from, false));
        break;
    case 0x0d: set_cfa(row, leb(from, false), row->cfa_offset); break; /* def_cfa_register */
    case 0x0e: row->cfa_offset = (int64_t)leb(from, false); break;     /* def_cfa_offset */
    case 0x0f: skip_expression(from, &row->cfa, RULE_VALUE_EXPRESSION); break;
    case 0x10: set_expression(row, from, RULE_EXPRESSION); break; /* expression */
    case 0x11:                                                    /* offset_extended_sf */
        number = leb(from, false);
        set_rule(row, number, RULE_OFFSET, (int64_t)leb(from, true) * entry->data_factor);
        break;
    case 0x12: /* def_cfa_sf */
        number = leb(from, false);
        set_cfa(row, number, (int64_t)leb(from, true) * entry->data_factor);
        break;
    case 0x13: row->cfa_offset = (int64_t)leb(from, true) * entry->data_factor; break;
    case 0x14: /* val_offset */
        number = leb(from, false);
        set_rule(row, number, RULE_VALUE_OFFSET, (int64_t)leb(from, false) * entry->data_factor);
        break;
    case 0x15: /* val_offset_sf */
        number = leb(from, false);
        set_rule(row, number, RULE_VALUE_OFFSET, (int64_t)leb(from, true) * entry->data_factor);
        break;
    case 0x16: set_expression(row, from, RULE_VALUE_EXPRESSION); break; /* val_expression */
    case 0x2e: leb(from, false); break;                                 /* GNU_args_size */
    default: from->failed = true;
    }
}

/* Until the instruction is passed; false where the program is not understood. */
static bool run(struct unwinder *unwinder, const struct entry *entry, struct reader from,
                uint64_t instruction)
{
    struct machine machine = {unwinder, entry, &from, entry->begin, 0};
    for (int i = 0; i < PROGRAM_MAX && from.at < from.end && !from.failed; i++) {
        uint8_t byte = (uint8_t)fixed(&from, 1), low = byte & 0x3f;
        switch (byte >> 6) {
        case 1: machine.at += low * entry->code_factor; break;
        case 2:
            set_rule(&unwinder->row, low, RULE_OFFSET,
                     (int64_t)leb(&from, false) * entry->data_factor);
            break;
        case 3: restore_rule(&machine, low); break;
        default: operate(&machine, byte);
        }
        if (machine.at > instruction)
            return !from.failed;
    }
    return !from.failed;
}

/* --- The caller's registers --- */

static bool load(const struct unwinder *unwinder, uint64_t address, uint64_t *value)
{
    uint64_t low = unwinder->modules.stack_low, high = unwinder->modules.stack_high;
    if (address & 7 || address < low || high < 8 || address > high - 8)
        return false;
    memcpy(value, (const void *)(uintptr_t)address, sizeof *value);
    return true;
}

static bool register_value(const struct unwinder *unwinder, uint64_t number, uint64_t *value)
{
    if (number >= UNWIND_REGISTERS || !unwinder->known[number])
        return false;
    *value = unwinder->value[number];
    return true;
}

static bool binary(uint8_t operation, uint64_t left, uint64_t right, uint64_t *result)
{
    switch (operation) {
    case 0x1a: *result = left & right; return true;
    case 0x1c: *result = left - right; return true;
    case 0x21: *result = left | right; return true;
    case 0x22: *result = left + right; return true;
    case 0x24: *result = right < 64 ? left << right : 0; return true;
    case 0x2a: *result = (int64_t)left >= (int64_t)right; return true;
    default: return false;
    }
}

/* The few operations that compilers and the C library put into call frame information. */
static bool evaluate(const struct unwinder *unwinder, const struct unwind_rule *rule,
                     const uint64_t *cfa, uint64_t *result)
{
    const uint8_t *begin = (const uint8_t *)(uintptr_t)rule->value;
    struct reader from = {begin, begin + rule->bytes, false};
    uint64_t stack[STACK_DEPTH];
    unsigned depth = 0;
    if (cfa)
        stack[depth++] = *cfa;
    for (int i = 0; i < OPERATIONS_MAX && from.at < from.end && !from.failed; i++) {
        uint8_t operation = (uint8_t)fixed(&from, 1);
        uint64_t value;
        if (operation >= 0x30 && operation <= 0x4f)
            value = operation - 0x30u;
        else if (operation >= 0x70 && operation <= 0x8f) {
            if (!register_value(unwinder, operation - 0x70u, &value))
                return false;
            value += leb(&from, true);
        } else if (operation >= 0x08 && operation <= 0x0f) {
            unsigned bytes = 1u << (operation - 0x08) / 2;
            value = operation & 1 ? (uint64_t)fixed_signed(&from, bytes) : fixed(&from, bytes);
        } else if (operation == 0x10 || operation == 0x11)
            value = leb(&from, operation == 0x11);
        else if (operation == 0x06 || operation == 0x23) {
            if (!depth--)
                return false;
            if (operation == 0x23)
                value = stack[depth] + leb(&from, false);
            else if (!load(unwinder, stack[depth], &value))
                return false;
        } else {
            if (depth < 2 || !binary(operation, stack[depth - 2], stack[depth - 1], &value))
                return false;
            depth -= 2;
        }
        if (depth == STACK_DEPTH)
            return false;
        stack[depth++] = value;
    }
    if (!depth || from.failed)
        return false;
    *result = stack[depth - 1];
    return true;
}

static bool find_cfa(const struct unwinder *unwinder, uint64_t *cfa)
{
    const struct unwind_rule *rule = &unwinder->row.cfa;
    if (rule->kind == RULE_VALUE_EXPRESSION)
        return evaluate(unwinder, rule, NULL, cfa);
    if (rule->kind != RULE_REGISTER || !register_value(unwinder, (uint64_t)rule->value, cfa))
        return false;
    *cfa += (uint64_t)unwinder->row.cfa_offset;
    return true;
}

/* A register of the caller; where it was saved is told for the return address. */
static bool caller_value(struct unwinder *unwinder, unsigned number, uint64_t cfa, uint64_t *value)
{
    const struct unwind_rule *rule = &unwinder->row.rules[number];
    uint64_t address = cfa + (uint64_t)rule->value;
    switch (rule->kind) {
    case RULE_SAME: return number != RETURN_ADDRESS && register_value(unwinder, number, value);
    case RULE_VALUE_OFFSET: *value = address; return true;
    case RULE_REGISTER: return register_value(unwinder, (uint64_t)rule->value, value);
    case RULE_VALUE_EXPRESSION: return evaluate(unwinder, rule, &cfa, value);
    case RULE_EXPRESSION:
        if (!evaluate(unwinder, rule, &cfa, &address))
            return false;
        break;
    case RULE_OFFSET: break;
    default: return false;
    }
    if (number == RETURN_ADDRESS)
        unwinder->slot = (uintptr_t)address;
    return load(unwinder, address, value);
}

static bool apply(struct unwinder *unwinder)
{
    uint64_t cfa;
    unwinder->slot = 0;
    if (!find_cfa(unwinder, &cfa) || cfa <= unwinder->value[STACK_POINTER])
        return false;
    bool known[UNWIND_REGISTERS];
    for (unsigned i = 0; i < UNWIND_REGISTERS; i++)
        known[i] = caller_value(unwinder, i, cfa, &unwinder->next[i]);
    if (unwinder->row.rules[STACK_POINTER].kind == RULE_SAME) {
        unwinder->next[STACK_POINTER] = cfa;
        known[STACK_POINTER] = true;
    }
    memcpy(unwinder->value, unwinder->next, sizeof unwinder->value);
    memcpy(unwinder->known, known, sizeof known);
    return known[RETURN_ADDRESS] && known[STACK_POINTER] && unwinder->value[RETURN_ADDRESS];
}

/* Code without tables that keeps a frame pointer: Go, and what assemblers wrote. */
static bool step_by_frame_pointer(struct unwinder *unwinder)
{
    uint64_t frame, saved, address;
    if (!register_value(unwinder, FRAME_POINTER, &frame) ||
        frame < unwinder->value[STACK_POINTER] || !load(unwinder, frame, &saved) ||
        !load(unwinder, frame + 8, &address) || !modules_region(&unwinder->modules, address))
        return false;
    memset(unwinder->known, 0, sizeof unwinder->known);
    unwinder->known[FRAME_POINTER] = unwinder->known[STACK_POINTER] =
        unwinder->known[RETURN_ADDRESS] = true;
    unwinder->value[FRAME_POINTER] = saved;
    unwinder->value[STACK_POINTER] = frame + 16;
    unwinder->value[RETURN_ADDRESS] = address;
    unwinder->slot = (uintptr_t)frame + 8;
    unwinder->interrupted = false;
    return true;
}

bool unwind_step(struct unwinder *unwinder)
{
    uint64_t instruction = unwinder->value[RETURN_ADDRESS] - !unwinder->interrupted;
    const struct region *region = modules_region(&unwinder->modules, instruction);
    const struct module *module =
        region ? modules_examined(&unwinder->modules, region->module) : NULL;
    struct entry entry;
    if (!module || !find_entry(module, instruction, &entry))
        return module && step_by_frame_pointer(unwinder);
    memset(&unwinder->row, 0, sizeof unwinder->row);
    if (!run(unwinder, &entry, entry.initial, UINT64_MAX))
        return false;
    unwinder->initial = unwinder->row;
    if (!run(unwinder, &entry, entry.program, instruction) || !apply(unwinder))
        return false;
    unwinder->interrupted = entry.is_signal;
    return true;
}
