#include "logical.h"

#include <string.h>

static bool from_character(char letter, bool *value)
{
    *value = letter != '\0' && strchr("Tt1", letter);
    return letter != '\0' && strchr("TtFf10", letter);
}

static bool from_integer(int32_t number, bool *value)
{
    *value = number == 1;
    return number == 0 || number == 1;
}

bool logical_from(gridio_type type, const void *data, bool *value)
{
    if (type == GRIDIO_CHARACTER)
        return from_character(*(const char *)data, value);
    return type == GRIDIO_INT32 && from_integer(*(const int32_t *)data, value);
}
