#include "info.h"

#include <stdio.h>
#include <string.h>

static void set(MPI_Info info, const char *hint)
{
    char key[MPI_MAX_INFO_KEY + 1];
    const char *equals = strchr(hint, '=');
    if (!equals || snprintf(key, sizeof key, "%.*s", (int)(equals - hint), hint) >= (int)sizeof key)
        return;
    MPI_Info_set(info, key, equals + 1);
}

MPI_Info info_from_hints(const char *const *hints)
{
    MPI_Info info = MPI_INFO_NULL;
    if (!hints || !hints[0])
        return info;
    MPI_Info_create(&info);
    for (; *hints; hints++)
        set(info, *hints);
    return info;
}

void info_in_force(MPI_File file, void (*visit)(const char *key, const char *value, void *context),
                   void *context)
{
    char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
    MPI_Info info;
    int keys = 0, found;
    if (MPI_File_get_info(file, &info) != MPI_SUCCESS)
        return;
    MPI_Info_get_nkeys(info, &keys);
    for (int k = 0; k < keys; k++) {
        MPI_Info_get_nthkey(info, k, key);
        MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found);
        if (found)
            visit(key, value, context);
    }
    MPI_Info_free(&info);
}
