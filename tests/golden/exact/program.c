/* Reads the lines between `program:` and `expect:` of a case file, and runs them. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exact.h"

static void nothing(const struct call *call)
{
    (void)call;
}

const struct operation operation_repeat = {"repeat", 1, nothing},
                       operation_end = {"end", 0, nothing};

void fail(int line, const char *sentence, const char *what)
{
    fprintf(stderr, "exact: line %d: %s %s\n", line, sentence, what);
    exit(3);
}

static const struct operation *find_in(const struct operation *table, const char *name)
{
    for (; table && table->name; table++)
        if (strcmp(table->name, name) == 0)
            return table;
    return NULL;
}

static const struct operation *find(const char *name, int line)
{
    const struct operation *tables[] = {operations_posix,      operations_message,
                                        operations_collective, operations_shared,
                                        operations_group,      operations_request};
    if (strcmp(name, "repeat") == 0)
        return &operation_repeat;
    if (strcmp(name, "end") == 0)
        return &operation_end;
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) {
        const struct operation *found = find_in(tables[t], name);
        if (found)
            return found;
    }
    fail(line, "there is no operation", name);
}

/* `all`, `rank 2`, `rank 1..P-1` */
static void parse_selector(char *selector, struct instruction *instruction)
{
    if (strcmp(selector, "all") == 0)
        return;
    char *range = strncmp(selector, "rank ", 5) == 0 ? selector + 5 : NULL;
    if (!range)
        fail(instruction->line, "neither `all:` nor `rank N:`:", selector);
    char *dots = strstr(range, "..");
    snprintf(instruction->last, sizeof instruction->last, "%s", dots ? dots + 2 : range);
    if (dots)
        *dots = 0;
    snprintf(instruction->first, sizeof instruction->first, "%s", range);
}

static void parse_call(char *words, struct instruction *instruction)
{
    char *rest, *word = strtok_r(words, " ", &rest);
    if (!word)
        fail(instruction->line, "no operation", "");
    instruction->operation = find(word, instruction->line);
    while ((word = strtok_r(NULL, " ", &rest))) {
        if (instruction->arguments == ARGUMENTS_MAX)
            fail(instruction->line, "too many arguments", word);
        snprintf(instruction->argument[instruction->arguments++], 64, "%s", word);
    }
    if (instruction->arguments < instruction->operation->arguments_min)
        fail(instruction->line, "too few arguments for", instruction->operation->name);
}

static void parse_line(char *line, int number, struct program *program)
{
    line[strcspn(line, "#\n")] = 0;
    line += strspn(line, " ");
    if (!*line)
        return;
    if (program->instructions == INSTRUCTIONS_MAX)
        fail(number, "the program is too long", "");
    struct instruction *instruction = &program->instruction[program->instructions++];
    *instruction = (struct instruction){.line = number};
    char *colon = strchr(line, ':');
    if (colon)
        *colon = 0;
    if (colon)
        parse_selector(line, instruction);
    parse_call(colon ? colon + 1 : line, instruction);
}

void read_program(const char *path, struct program *program)
{
    FILE *file = fopen(path, "r");
    char line[512];
    int number = 0, inside = 0;
    if (!file)
        fail(0, "cannot open", path);
    while (fgets(line, sizeof line, file)) {
        number++;
        if (strncmp(line, "expect:", 7) == 0)
            inside = 0;
        if (inside)
            parse_line(line, number, program);
        if (strncmp(line, "program:", 8) == 0)
            inside = 1;
    }
    fclose(file);
}

static int selected(const struct instruction *instruction, const struct variables *variables)
{
    if (!*instruction->first)
        return 1;
    return variables->rank >= expression(instruction->first, variables, instruction->line) &&
           variables->rank <= expression(instruction->last, variables, instruction->line);
}

static int end_of_loop(const struct program *program, int repeat)
{
    int depth = 0;
    for (int n = repeat; n < program->instructions; n++) {
        const struct operation *operation = program->instruction[n].operation;
        depth += (operation == &operation_repeat) - (operation == &operation_end);
        if (depth == 0)
            return n;
    }
    fail(program->instruction[repeat].line, "`repeat` has no `end`", "");
}

static void run_range(const struct program *program, int from, int to, struct variables variables)
{
    for (int n = from; n < to; n++) {
        struct call call = {&program->instruction[n], variables};
        if (call.instruction->operation != &operation_repeat) {
            if (selected(call.instruction, &variables))
                call.instruction->operation->run(&call);
            continue;
        }
        int end = end_of_loop(program, n);
        int64_t turns = value(&call, 0);
        for (variables.turn = 0; variables.turn < turns; variables.turn++)
            run_range(program, n + 1, end, variables);
        n = end;
    }
}

void run_program(const struct program *program, struct variables variables)
{
    run_range(program, 0, program->instructions, variables);
}

int64_t value(const struct call *call, int index)
{
    if (index >= call->instruction->arguments)
        fail(call->instruction->line, "an argument is missing", "");
    return expression(call->instruction->argument[index], &call->variables,
                      call->instruction->line);
}

int64_t value_or(const struct call *call, int index, int64_t absent)
{
    return index < call->instruction->arguments ? value(call, index) : absent;
}

const char *text(const struct call *call, int index)
{
    static _Thread_local char expanded[80];
    const char *raw = call->instruction->argument[index], *mark = strstr(raw, "{p}");
    if (!mark)
        return raw;
    snprintf(expanded, sizeof expanded, "%.*s%lld%s", (int)(mark - raw), raw,
             (long long)call->variables.rank, mark + 3);
    return expanded;
}

int slot(char names[32][64], const char *name, int line)
{
    for (int n = 0; n < 32; n++) {
        if (!*names[n])
            snprintf(names[n], 64, "%s", name);
        if (strcmp(names[n], name) == 0)
            return n;
    }
    fail(line, "more than 32 names, the last is", name);
}
