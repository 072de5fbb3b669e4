#include "plan.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLAN_BYTES_AT_MOST = 1 << 24 };

/* The first thing that is wrong is kept: later ones often follow from it. */
__attribute__((format(printf, 3, 4))) static void wrong(plan *p, int line, const char *format, ...)
{
    va_list words;
    int used;
    if (p->problem[0] != '\0')
        return;
    used = line > 0 ? snprintf(p->problem, sizeof p->problem, "%s:%d: ", p->path, line)
                    : snprintf(p->problem, sizeof p->problem, "%s: ", p->path);
    if (used < 0 || (size_t)used >= sizeof p->problem)
        return;
    va_start(words, format);
    vsnprintf(p->problem + used, sizeof p->problem - (size_t)used, format, words);
    va_end(words);
}

void plan_wrong(plan *p, const plan_entry *entry, const char *sentence)
{
    wrong(p, entry->line, "'%s' %s", entry->key, sentence);
}

/* The file's text, ended by 0; NULL with a sentence in place of it. */
static char *read_text(const char *path, const char **problem)
{
    char *text = NULL;
    FILE *file = fopen(path, "rb");
    if (!file) {
        *problem = strerror(errno);
        return NULL;
    }
    text = malloc(PLAN_BYTES_AT_MOST + 1);
    const size_t bytes = text ? fread(text, 1, PLAN_BYTES_AT_MOST + 1, file) : 0;
    *problem = ferror(file)                 ? strerror(errno)
               : bytes > PLAN_BYTES_AT_MOST ? "it is longer than 16 MiB"
               : memchr(text, '\0', bytes)  ? "it is no text"
                                            : NULL;
    fclose(file);
    if (*problem) {
        free(text);
        return NULL;
    }
    text[bytes] = '\0';
    return text;
}

/* Rank 0's text, or its sentence, on all ranks; true where it is the text. */
static bool share_text(plan *p, MPI_Comm comm)
{
    const char *problem = NULL;
    int rank;
    int64_t head[2] = {0, 0}; /* bytes; whether they are the text */
    MPI_Comm_rank(comm, &rank);
    if (rank == 0) {
        p->text = read_text(p->path, &problem);
        head[0] = (int64_t)strlen(p->text ? p->text : problem) + 1;
        head[1] = p->text != NULL;
        if (!p->text)
            p->text = strdup(problem);
    }
    MPI_Bcast(head, 2, MPI_INT64_T, 0, comm);
    if (rank != 0)
        p->text = malloc((size_t)head[0]);
    MPI_Bcast(p->text, (int)head[0], MPI_CHAR, 0, comm);
    return head[1] != 0;
}

static plan_section *add_section(plan *p, const char *kind, const char *name, int line)
{
    p->section = realloc(p->section, (size_t)(p->sections + 1) * sizeof *p->section);
    p->section[p->sections] = (plan_section){.kind = kind, .name = name, .line = line};
    return &p->section[p->sections++];
}

static void add_entry(plan_section *s, const char *key, const char *value, int line)
{
    if ((s->count & (s->count - 1)) == 0) /* room for 1, 2, 4, … */
        s->entry = realloc(s->entry, (size_t)(s->count ? 2 * s->count : 1) * sizeof *s->entry);
    s->entry[s->count++] = (plan_entry){.key = key, .value = value, .line = line};
}

static char *skip_blanks(char *at)
{
    return at + strspn(at, " \t\r");
}

static void trim_end(char *text)
{
    size_t length = strlen(text);
    while (length > 0 && strchr(" \t\r", text[length - 1]))
        text[--length] = '\0';
}

static void take_line(plan *p, char *line, int number)
{
    char *key = skip_blanks(line), *value;
    trim_end(key);
    if (*key == '\0' || *key == '#')
        return;
    value = key + strcspn(key, " \t");
    if (*value != '\0')
        *value++ = '\0';
    value = skip_blanks(value);
    if (strcmp(key, "output") != 0 && strcmp(key, "input") != 0 && strcmp(key, "restart") != 0) {
        add_entry(&p->section[p->sections - 1], key, value, number);
        return;
    }
    if (*value == '\0' && strcmp(key, "restart") != 0)
        wrong(p, number, "'%s' needs a name", key);
    add_section(p, key, value, number);
}

static void take_lines(plan *p)
{
    int number = 0;
    char *line, *rest = p->text;
    while ((line = strsep(&rest, "\n")))
        take_line(p, line, ++number);
}

void plan_read(plan *p, const char *path, MPI_Comm comm)
{
    *p = (plan){.path = strdup(path)};
    add_section(p, "", "", 0);
    if (share_text(p, comm))
        take_lines(p);
    else
        wrong(p, 0, "cannot read the plan: %s", p->text);
}

void plan_parse(plan *p, const char *label, const char *text)
{
    *p = (plan){.path = strdup(label), .text = strdup(text)};
    add_section(p, "", "", 0);
    take_lines(p);
}

void plan_free(plan *p)
{
    for (int s = 0; s < p->sections; s++)
        free(p->section[s].entry);
    free(p->section);
    free(p->text);
    free(p->path);
}

const char *plan_problem(plan *p)
{
    for (int s = 0; s < p->sections; s++)
        for (int e = 0; e < p->section[s].count; e++)
            if (!p->section[s].entry[e].known)
                wrong(p, p->section[s].entry[e].line, "'%s' is no key here", p->section[s].entry[e].key);
    return p->problem[0] != '\0' ? p->problem : NULL;
}

const plan_entry *plan_next(plan *p, plan_section *s, const char *key, int *at)
{
    (void)p;
    while (*at < s->count) {
        plan_entry *entry = &s->entry[(*at)++];
        if (strcmp(entry->key, key) != 0)
            continue;
        entry->known = true;
        return entry;
    }
    return NULL;
}

const plan_entry *plan_find(plan *p, plan_section *s, const char *key)
{
    int at = 0;
    const plan_entry *found = plan_next(p, s, key, &at), *second = plan_next(p, s, key, &at);
    if (second)
        plan_wrong(p, second, "is given twice");
    return found;
}

static const char *where(const plan_section *s)
{
    return s->kind[0] != '\0' ? s->kind : "plan";
}

const char *plan_text(plan *p, plan_section *s, const char *key, const char *usual)
{
    const plan_entry *entry = plan_find(p, s, key);
    if (entry && entry->value[0] == '\0')
        plan_wrong(p, entry, "needs a value");
    return entry ? entry->value : usual;
}

const char *plan_must(plan *p, plan_section *s, const char *key)
{
    const char *value = plan_text(p, s, key, NULL);
    if (!value)
        wrong(p, s->line, "the %s needs the key '%s'", where(s), key);
    return value ? value : "";
}

/* A number and what follows it; false where there is none. */
static bool number_in(const char *text, int64_t *value, const char **end)
{
    char *after;
    errno = 0;
    *value = strtoll(text, &after, 10);
    *end = after;
    return after != text && errno == 0;
}

int64_t plan_number(plan *p, plan_section *s, const char *key, int64_t least, int64_t most, int64_t usual)
{
    const plan_entry *entry = plan_find(p, s, key);
    const char *end;
    int64_t value;
    if (!entry && usual != PLAN_MUST)
        return usual;
    if (!entry)
        return wrong(p, s->line, "the %s needs the key '%s'", where(s), key), least;
    if (number_in(entry->value, &value, &end) && *end == '\0' && value >= least && value <= most)
        return value;
    wrong(p, entry->line, "'%s' must be a number from %lld to %lld, not '%s'", key, (long long)least, (long long)most,
          entry->value);
    return least;
}

bool plan_yes(plan *p, plan_section *s, const char *key, bool usual)
{
    return plan_choice(p, s, key, "no|yes", usual) == 1;
}

/* The n-th of "a|b|c", or NULL; its length in *length. */
static const char *nth_word(const char *words, int n, size_t *length)
{
    for (; n > 0; n--) {
        words = strchr(words, '|');
        if (!words)
            return NULL;
        words++;
    }
    *length = strcspn(words, "|");
    return words;
}

int plan_choice(plan *p, plan_section *s, const char *key, const char *words, int usual)
{
    const plan_entry *entry = plan_find(p, s, key);
    const char *word;
    size_t length;
    if (!entry)
        return usual;
    for (int n = 0; (word = nth_word(words, n, &length)); n++)
        if (strlen(entry->value) == length && strncmp(entry->value, word, length) == 0)
            return n;
    wrong(p, entry->line, "'%s' must be one of %s, not '%s'", key, words, entry->value);
    return usual;
}

bool plan_sizes(plan *p, plan_section *s, const char *key, int count, int64_t *sizes)
{
    const plan_entry *entry = plan_find(p, s, key);
    const char *at = entry ? entry->value : NULL;
    for (int i = 0; entry && i < count; i++) {
        if (!number_in(at, &sizes[i], &at) || sizes[i] < 1 || sizes[i] > 1 << 30 ||
            *at != (i < count - 1 ? 'x' : '\0')) {
            wrong(p, entry->line, "'%s' must be %d numbers with an x between them, not '%s'", key, count, entry->value);
            return false;
        }
        at++;
    }
    return entry != NULL;
}

const char **plan_list(plan *p, plan_section *s, const char *key)
{
    const char **values = calloc((size_t)s->count + 1, sizeof *values);
    const plan_entry *entry;
    int at = 0, used = 0;
    while ((entry = plan_next(p, s, key, &at)))
        values[used++] = entry->value;
    return values;
}
