/* Settings of the method and the format, and hints for MPI-IO: what was given, checked by name. */
#include "core.h"
#include "allocation.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether `name` of the given length is one of "name: meaning", ended by NULL. */
static bool is_listed(const char *const *settings, const char *name, size_t length)
{
    for (; settings && *settings; settings++)
        if (strncmp(*settings, name, length) == 0 && (*settings)[length] == ':')
            return true;
    return false;
}

static int list_names(const char *const *settings, char *names, int room)
{
    int used = 0;
    for (; settings && *settings && used < room; settings++)
        used += snprintf(names + used, (size_t)(room - used), " %.*s", (int)strcspn(*settings, ":"),
                         *settings);
    return used < room ? used : room - 1;
}

static int unknown(gridio_file *file, const char *setting)
{
    char names[1024] = "";
    const int room = (int)sizeof names;
    int used = list_names(file->method->settings, names, room);
    list_names(file->format->settings, names + used, room - used);
    return gridio_fail(file, "method '%s' and format '%s' have no setting '%.*s'; they have:%s",
                       file->method->name, file->format->name, (int)strcspn(setting, "="), setting,
                       *names ? names : " none");
}

int gridio_set_settings(gridio_file *file, const char *const *settings)
{
    size_t count = 0;
    while (settings && settings[count])
        count++;
    file->settings = gridio_allocate(count + 1, sizeof *file->settings);
    for (size_t i = 0; i < count; i++) {
        const size_t name = strcspn(settings[i], "=");
        if (name == 0 || settings[i][name] == '\0')
            return gridio_fail(file, "the setting '%s' is not of the form name=value", settings[i]);
        if (!is_listed(file->method->settings, settings[i], name) &&
            !is_listed(file->format->settings, settings[i], name))
            return unknown(file, settings[i]);
        file->settings[i] = strdup(settings[i]);
    }
    return 0;
}

void gridio_free_settings(gridio_file *file)
{
    for (char **setting = file->settings; setting && *setting; setting++)
        free(*setting);
    free(file->settings);
    if (file->info != MPI_INFO_NULL)
        MPI_Info_free(&file->info);
}

int gridio_set_hints(gridio_file *file, const char *const *hints)
{
    MPI_Info_create(&file->info);
    if (hints && *hints && !file->format->hints)
        return gridio_fail(file, "the format '%s' takes no hints, and was given '%s'",
                           file->format->name, *hints);
    for (; hints && *hints; hints++) {
        const char *equals = strchr(*hints, '=');
        char key[MPI_MAX_INFO_KEY + 1];
        if (!equals || equals == *hints || equals - *hints > MPI_MAX_INFO_KEY)
            return gridio_fail(file, "the hint '%s' is not of the form key=value", *hints);
        snprintf(key, sizeof key, "%.*s", (int)(equals - *hints), *hints);
        MPI_Info_set(file->info, key, equals + 1);
    }
    return 0;
}

const char *gridio_setting(const gridio_file *file, const char *name)
{
    const size_t length = strlen(name);
    const char *value = NULL; /* the last one given counts */
    for (char **setting = file->settings; setting && *setting; setting++)
        if (strncmp(*setting, name, length) == 0 && (*setting)[length] == '=')
            value = *setting + length + 1;
    return value;
}

int64_t gridio_setting_number(gridio_file *file, const char *name, int64_t default_value)
{
    const char *text = gridio_setting(file, name);
    char *end;
    if (!text)
        return default_value;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    if (end != text && *end == '\0' && errno == 0 && value >= 0)
        return value;
    gridio_fail(file, "the setting %s is a number of at least 0, not '%s'", name, text);
    return default_value;
}

/* Whether value is one of the words of "this|that". */
static bool is_choice(const char *values, const char *value)
{
    const size_t length = strlen(value);
    for (const char *word = values; *word; word += strcspn(word, "|"), word += *word == '|')
        if (strcspn(word, "|") == length && strncmp(word, value, length) == 0)
            return true;
    return false;
}

bool gridio_setting_is(gridio_file *file, const char *name, const char *values,
                       const char *default_value, const char *value)
{
    const char *given = gridio_setting(file, name);
    if (given && !is_choice(values, given)) {
        gridio_fail(file, "the setting %s is one of %s, not '%s'", name, values, given);
        given = NULL;
    }
    return strcmp(given ? given : default_value, value) == 0;
}

void gridio_visit_hints(MPI_Info hints, void (*visit)(const char *, const char *, void *),
                        void *context)
{
    int keys = 0;
    MPI_Info_get_nkeys(hints, &keys);
    for (int i = 0; i < keys; i++) {
        char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
        int set = 0;
        MPI_Info_get_nthkey(hints, i, key);
        MPI_Info_get(hints, key, MPI_MAX_INFO_VAL, value, &set);
        if (set)
            visit(key, value, context);
    }
    MPI_Info_free(&hints);
}
