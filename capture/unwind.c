/* unwind.c: one step up the stack: the table of a module is searched for the function, its program
 * (call frame information) run up to the instruction, and the caller's registers computed.
 */
#include <string.h>

#include "unwind.h"

enum {
    STACK_POINTER = 7,
    FRAME_POINTER = 6,
    OPERATIONS_MAX = 200, /* of expressions and programs */
    PROGRAM_MAX = 4096,
};

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
static bool evaluate(struct unwinder *unwinder, const struct unwind_rule *rule, const uint64_t *cfa,
                     uint64_t *result)
{
    const uint8_t *begin = (const uint8_t *)(uintptr_t)rule->value;
    struct reader from = {begin, begin + rule->bytes, false};
    uint64_t *stack = unwinder->stack;
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
        if (depth == UNWIND_EXPRESSION)
            return false;
        stack[depth++] = value;
    }
    if (!depth || from.failed)
        return false;
    *result = stack[depth - 1];
    return true;
}

static bool find_cfa(struct unwinder *unwinder, uint64_t *cfa)
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

static __attribute__((noinline)) bool apply(struct unwinder *unwinder)
{
    uint64_t cfa;
    unwinder->slot = 0;
    if (!find_cfa(unwinder, &cfa) || cfa <= unwinder->value[STACK_POINTER])
        return false;
    bool *known = unwinder->next_known;
    for (unsigned i = 0; i < UNWIND_REGISTERS; i++)
        known[i] = caller_value(unwinder, i, cfa, &unwinder->next[i]);
    if (unwinder->row.rules[STACK_POINTER].kind == RULE_SAME) {
        unwinder->next[STACK_POINTER] = cfa;
        known[STACK_POINTER] = true;
    }
    memcpy(unwinder->value, unwinder->next, sizeof unwinder->value);
    memcpy(unwinder->known, known, sizeof unwinder->known);
    return known[RETURN_ADDRESS] && known[STACK_POINTER] && unwinder->value[RETURN_ADDRESS];
}

/* Code without tables that keeps a frame pointer: Go, and what assemblers wrote. */
static __attribute__((noinline)) bool step_by_frame_pointer(struct unwinder *unwinder)
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

/* --- Rows that were computed before --- */

static const uint8_t preserved[6] = {3, FRAME_POINTER, 12, 13, 14, 15};

static struct unwind_kept *kept_of(struct unwinder *unwinder, uint64_t instruction)
{
    if (unwinder->kept_for != unwinder->modules.contents) {
        memset(unwinder->kept, 0, sizeof unwinder->kept);
        unwinder->kept_for = unwinder->modules.contents;
    }
    return &unwinder->kept[instruction * 0x9e3779b97f4a7c15u >> 53];
}

static bool is_preserved(unsigned number)
{
    return number == 3 || number == FRAME_POINTER || (number >= 12 && number <= 15);
}

static bool is_simple(const struct unwind_row *row)
{
    if (row->cfa.kind != RULE_REGISTER || row->cfa_offset != (int32_t)row->cfa_offset ||
        row->rules[RETURN_ADDRESS].kind != RULE_OFFSET || row->rules[RETURN_ADDRESS].value != -8)
        return false;
    for (unsigned i = 0; i < RETURN_ADDRESS; i++) {
        const struct unwind_rule *rule = &row->rules[i];
        bool saved = rule->kind == RULE_OFFSET && is_preserved(i);
        if (rule->kind != RULE_SAME && (!saved || rule->value != (int32_t)rule->value))
            return false;
    }
    return true;
}

static void keep_row(struct unwind_kept *kept, const struct unwind_row *row, uint64_t instruction)
{
    *kept = (struct unwind_kept){.instruction = instruction,
                                 .cfa_offset = (int32_t)row->cfa_offset,
                                 .cfa_register = (uint8_t)row->cfa.value};
    for (unsigned i = 0; i < 6; i++)
        if (row->rules[preserved[i]].kind == RULE_OFFSET) {
            kept->saved |= (uint8_t)(1 << i);
            kept->offsets[i] = (int32_t)row->rules[preserved[i]].value;
        }
}

/* As apply(), of such a row: in most steps there is no more to do. */
static bool apply_kept(struct unwinder *unwinder, const struct unwind_kept *kept)
{
    uint64_t cfa, *value = unwinder->value;
    bool *known = unwinder->known;
    unwinder->slot = 0;
    if (!register_value(unwinder, kept->cfa_register, &cfa))
        return false;
    cfa += (uint64_t)(int64_t)kept->cfa_offset;
    if (cfa <= value[STACK_POINTER])
        return false;
    for (unsigned i = 0; i < 6; i++)
        if (kept->saved >> i & 1) {
            uint64_t address = cfa + (uint64_t)(int64_t)kept->offsets[i];
            known[preserved[i]] = load(unwinder, address, &value[preserved[i]]);
        }
    value[STACK_POINTER] = cfa;
    unwinder->slot = (uintptr_t)cfa - 8;
    known[RETURN_ADDRESS] = load(unwinder, cfa - 8, &value[RETURN_ADDRESS]);
    return known[RETURN_ADDRESS] && value[RETURN_ADDRESS];
}

/* The row of an instruction that is no signal's, kept for the next time. */
static __attribute__((noinline)) bool compute_row(struct unwinder *unwinder,
                                                  const struct entry *entry, uint64_t instruction)
{
    memset(&unwinder->row, 0, sizeof unwinder->row);
    if (!run(unwinder, entry, entry->initial, UINT64_MAX))
        return false;
    unwinder->initial = unwinder->row;
    if (!run(unwinder, entry, entry->program, instruction))
        return false;
    if (!entry->is_signal && is_simple(&unwinder->row))
        keep_row(kept_of(unwinder, instruction), &unwinder->row, instruction);
    return true;
}

bool unwind_step(struct unwinder *unwinder)
{
    uint64_t instruction = unwinder->value[RETURN_ADDRESS] - !unwinder->interrupted;
    const struct region *region = modules_region(&unwinder->modules, instruction);
    const struct module *module =
        region ? modules_examined(&unwinder->modules, region->module) : NULL;
    const struct unwind_kept *kept = kept_of(unwinder, instruction);
    struct entry *entry = &unwinder->entry;
    if (module && kept->instruction == instruction) {
        unwinder->interrupted = false;
        return apply_kept(unwinder, kept);
    }
    entry->is_signal = false;
    if (!module || !find_entry(module, instruction, entry))
        return module && step_by_frame_pointer(unwinder);
    if (!compute_row(unwinder, entry, instruction))
        return false;
    if (!apply(unwinder))
        return false;
    unwinder->interrupted = entry->is_signal;
    return true;
}
