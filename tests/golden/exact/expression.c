/* Integer expressions of a case file: 200ms, p*100ms, (P-1-p)%2, 2MiB. No blanks inside. */
#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "exact.h"

struct cursor {
    const char *at;
    const struct variables *variables;
    int line;
};

static int64_t sum(struct cursor *cursor);

static const struct {
    const char *name;
    int64_t factor;
} units[] = {{"ns", 1},        {"us", 1000},     {"ms", 1000000}, {"s", 1000000000},
             {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"B", 1}};

static int64_t unit(struct cursor *cursor)
{
    for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
        size_t length = strlen(units[u].name);
        if (strncmp(cursor->at, units[u].name, length) == 0) {
            cursor->at += length;
            return units[u].factor;
        }
    }
    return 1;
}

static int64_t number(struct cursor *cursor)
{
    char *end;
    int64_t digits = strtoll(cursor->at, &end, 10);
    cursor->at = end;
    return digits * unit(cursor);
}

static int64_t bracket(struct cursor *cursor)
{
    int64_t inner = sum(cursor);
    if (*cursor->at++ != ')')
        fail(cursor->line, "a bracket is not closed", "");
    return inner;
}

static int64_t factor(struct cursor *cursor)
{
    if (isdigit((unsigned char)*cursor->at))
        return number(cursor);
    switch (*cursor->at++) {
    case 'p': return cursor->variables->rank;
    case 'P': return cursor->variables->ranks;
    case 'i': return cursor->variables->turn;
    case '-': return -factor(cursor);
    case '(': return bracket(cursor);
    }
    fail(cursor->line, "cannot read the expression at", cursor->at - 1);
}

static int64_t divide(struct cursor *cursor, char operator, int64_t left, int64_t right)
{
    if (right == 0)
        fail(cursor->line, "division by zero", "");
    return operator == '/' ? left / right : left % right;
}

static int64_t product(struct cursor *cursor)
{
    int64_t left = factor(cursor);
    while (*cursor->at && strchr("*/%", *cursor->at)) {
        char operator = *cursor->at++;
        int64_t right = factor(cursor);
        left = operator == '*' ? left * right : divide(cursor, operator, left, right);
    }
    return left;
}

static int64_t sum(struct cursor *cursor)
{
    int64_t left = product(cursor);
    while (*cursor->at == '+' || *cursor->at == '-') {
        int64_t sign = *cursor->at++ == '+' ? 1 : -1;
        left += sign * product(cursor);
    }
    return left;
}

int64_t expression(const char *text, const struct variables *variables, int line)
{
    struct cursor cursor = {text, variables, line};
    int64_t result = sum(&cursor);
    if (*cursor.at)
        fail(line, "cannot read the expression at", cursor.at);
    return result;
}
