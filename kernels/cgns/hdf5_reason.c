/* HDF5's stack of failures in one phrase. */
#include "hdf5_reason.h"

#include <hdf5.h>
#include <stdio.h>
#include <string.h>

enum { REASON_BYTES = 512 };

static char kept[REASON_BYTES];

/* The walk begins with the innermost. */
static herr_t keep_first(unsigned depth, const H5E_error2_t *error, void *context)
{
    (void)depth, (void)context;
    if (*kept == '\0' && error->desc)
        snprintf(kept, REASON_BYTES, "%s", error->desc);
    return 0;
}

static herr_t keep(hid_t stack, void *context)
{
    return H5Ewalk2(stack, H5E_WALK_UPWARD, keep_first, context);
}

void hdf5_keep_reasons(void)
{
    *kept = '\0';
    H5Eset_auto2(H5E_DEFAULT, keep, NULL);
}

/* The POSIX driver's description has the system's message in the midst of addresses and sizes. */
static void only_message(char *reason)
{
    static const char BEFORE[] = "error message = '";
    char *message = strstr(reason, BEFORE);
    if (!message)
        return;
    message += strlen(BEFORE);
    message[strcspn(message, "'")] = '\0';
    memmove(reason, message, strlen(message) + 1);
}

const char *hdf5_reason(void)
{
    static char reason[REASON_BYTES];
    snprintf(reason, sizeof reason, "%s", *kept ? kept : "HDF5 does not say why");
    only_message(reason);
    *kept = '\0';
    return reason;
}
