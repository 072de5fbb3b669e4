#include "plan.h"
#include "allocation.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLAN_BYTES_AT_MOST = 1 << 24 };

/* The first thing that is wrong is kept: later ones often follow from it. */
__attribute__((format(printf, 3, 4))) static void wrong(struct plan *plan, int line,
                                                        const char *format, ...)
{
    va_list words;
    int used;
    if (plan->problem[0] != '\0')
        return;
    used = line > 0 ? snprintf(plan->problem, sizeof plan->problem, "%s:%d: ", plan->path, line)
                    : snprintf(plan->problem, sizeof plan->problem, "%s: ", plan->path);
    if (used < 0 || (size_t)used >= sizeof plan->problem)
        return;
    va_start(words, format);
    vsnprintf(plan->problem + used, sizeof plan->problem - (size_t)used, format, words);
    va_end(words);
}

void plan_wrong(struct plan *plan, const struct plan_entry *entry, const char *sentence)
{
    wrong(plan, entry->line, "'%s' %s", entry->key, sentence);
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
    text = gridio_allocate(PLAN_BYTES_AT_MOST + 1, 1);
    const size_t bytes = fread(text, 1, PLAN_BYTES_AT_MOST + 1, file);
    *problem = ferror(file)                 ? strerror(errno)
               : bytes > PLAN_BYTES_AT_MOST ? "it is longer than 16 MiB"
               : memchr(text, '\0', bytes)  ? "it is not text"
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
static bool share_text(struct plan *plan, MPI_Comm comm)
{
    const char *problem = NULL;
    int rank;
    int64_t head[2] = {0, 0}; /* bytes; whether they are the text */
    MPI_Comm_rank(comm, &rank);
    if (rank == 0) {
        plan->text = read_text(plan->path, &problem);
        head[0] = (int64_t)strlen(plan->text ? plan->text : problem) + 1;
        head[1] = plan->text != NULL;
        if (!plan->text)
            plan->text = strdup(problem);
    }
    MPI_Bcast(head, 2, MPI_INT64_T, 0, comm);
    if (rank != 0)
        plan->text = gridio_allocate((size_t)head[0], 1);
    MPI_Bcast(plan->text, (int)head[0], MPI_CHAR, 0, comm);
    return head[1] != 0;
}

static struct plan_section *add_section(struct plan *plan, const char *kind, const char *name,
                                        int line)
{
    plan->section =
        gridio_enlarge(plan->section, (size_t)plan->sections + 1, sizeof *plan->section);
    plan->section[plan->sections] = (struct plan_section){.kind = kind, .name = name, .line = line};
    return &plan->section[plan->sections++];
}

static void add_entry(struct plan_section *section, const char *key, const char *value, int line)
{
    if ((section->count & (section->count - 1)) == 0) /* room for 1, 2, 4, … */
        section->entry =
            gridio_enlarge(section->entry, (size_t)(section->count ? 2 * section->count : 1),
                           sizeof *section->entry);
    section->entry[section->count++] =
        (struct plan_entry){.key = key, .value = value, .line = line};
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

static void take_line(struct plan *plan, char *line, int number)
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
        add_entry(&plan->section[plan->sections - 1], key, value, number);
        return;
    }
    if (*value == '\0' && strcmp(key, "restart") != 0)
        wrong(plan, number, "'%s' needs a name", key);
    add_section(plan, key, value, number);
}

static void take_lines(struct plan *plan)
{
    int number = 0;
    char *line, *rest = plan->text;
    while ((line = strsep(&rest, "\n")))
        take_line(plan, line, ++number);
}

void plan_read(struct plan *plan, const char *path, MPI_Comm comm)
{
    *plan = (struct plan){.path = strdup(path)};
    add_section(plan, "", "", 0);
    if (share_text(plan, comm))
        take_lines(plan);
    else
        wrong(plan, 0, "cannot read the plan: %s", plan->text);
}

void plan_parse(struct plan *plan, const char *label, const char *text)
{
    *plan = (struct plan){.path = strdup(label), .text = strdup(text)};
    add_section(plan, "", "", 0);
    take_lines(plan);
}

void plan_free(struct plan *plan)
{
    for (int i = 0; i < plan->sections; i++)
        free(plan->section[i].entry);
    free(plan->section);
    free(plan->text);
    free(plan->path);
}

const char *plan_problem(struct plan *plan)
{
    for (int i = 0; i < plan->sections; i++)
        for (int j = 0; j < plan->section[i].count; j++)
            if (!plan->section[i].entry[j].known)
                wrong(plan, plan->section[i].entry[j].line, "there is no key '%s' here",
                      plan->section[i].entry[j].key);
    return plan->problem[0] != '\0' ? plan->problem : NULL;
}

const struct plan_entry *plan_next(struct plan *plan, struct plan_section *section, const char *key,
                                   int *at)
{
    (void)plan;
    while (*at < section->count) {
        struct plan_entry *entry = &section->entry[(*at)++];
        if (strcmp(entry->key, key) != 0)
            continue;
        entry->known = true;
        return entry;
    }
    return NULL;
}

const struct plan_entry *plan_find(struct plan *plan, struct plan_section *section, const char *key)
{
    int at = 0;
    const struct plan_entry *found = plan_next(plan, section, key, &at),
                            *second = plan_next(plan, section, key, &at);
    if (second)
        plan_wrong(plan, second, "is given twice");
    return found;
}

static const char *where(const struct plan_section *section)
{
    return section->kind[0] != '\0' ? section->kind : "plan";
}

const char *plan_text(struct plan *plan, struct plan_section *section, const char *key,
                      const char *default_value)
{
    const struct plan_entry *entry = plan_find(plan, section, key);
    if (entry && entry->value[0] == '\0')
        plan_wrong(plan, entry, "needs a value");
    return entry ? entry->value : default_value;
}

const char *plan_must(struct plan *plan, struct plan_section *section, const char *key)
{
    const char *value = plan_text(plan, section, key, NULL);
    if (!value)
        wrong(plan, section->line, "the %s needs the key '%s'", where(section), key);
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

int64_t plan_number(struct plan *plan, struct plan_section *section, const char *key, int64_t least,
                    int64_t most, int64_t default_value)
{
    const struct plan_entry *entry = plan_find(plan, section, key);
    const char *end;
    int64_t value;
    if (!entry && default_value != PLAN_MUST)
        return default_value;
    if (!entry)
        return wrong(plan, section->line, "the %s needs the key '%s'", where(section), key), least;
    if (number_in(entry->value, &value, &end) && *end == '\0' && value >= least && value <= most)
        return value;
    wrong(plan, entry->line, "'%s' must be a number from %lld to %lld, not '%s'", key,
          (long long)least, (long long)most, entry->value);
    return least;
}

bool plan_yes(struct plan *plan, struct plan_section *section, const char *key, bool default_value)
{
    return plan_choice(plan, section, key, "no|yes", default_value) == 1;
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

int plan_choice(struct plan *plan, struct plan_section *section, const char *key, const char *words,
                int default_value)
{
    const struct plan_entry *entry = plan_find(plan, section, key);
    const char *word;
    size_t length;
    if (!entry)
        return default_value;
    for (int n = 0; (word = nth_word(words, n, &length)); n++)
        if (strlen(entry->value) == length && strncmp(entry->value, word, length) == 0)
            return n;
    wrong(plan, entry->line, "'%s' must be one of %s, not '%s'", key, words, entry->value);
    return default_value;
}

bool plan_sizes(struct plan *plan, struct plan_section *section, const char *key, int count,
                int64_t *sizes)
{
    const struct plan_entry *entry = plan_find(plan, section, key);
    const char *at = entry ? entry->value : NULL;
    for (int i = 0; entry && i < count; i++) {
        if (!number_in(at, &sizes[i], &at) || sizes[i] < 1 || sizes[i] > 1 << 30 ||
            *at != (i < count - 1 ? 'x' : '\0')) {
            wrong(plan, entry->line, "'%s' must be %d numbers with an x between them, not '%s'",
                  key, count, entry->value);
            return false;
        }
        at++;
    }
    return entry != NULL;
}

const char **plan_list(struct plan *plan, struct plan_section *section, const char *key)
{
    const char **values = gridio_allocate((size_t)section->count + 1, sizeof *values);
    const struct plan_entry *entry;
    int at = 0, used = 0;
    while ((entry = plan_next(plan, section, key, &at)))
        values[used++] = entry->value;
    return values;
}
