/* gridio-info: prints what this build of gridio has, as JSON: methods and formats in the order in
 * which they are offered, their settings, which go together and why the others do not. Starts no
 * MPI. */
#include "core.h"

#include <stdio.h>
#include <string.h>

static void put_string(const char *text, size_t length)
{
    putchar('"');
    for (size_t i = 0; i < length; i++)
        printf(text[i] == '"' || text[i] == '\\' ? "\\%c" : "%c", text[i]);
    putchar('"');
}

static void put_text(const char *key, const char *text)
{
    printf("\"%s\": ", key);
    if (text)
        put_string(text, strlen(text));
    else
        printf("null");
}

/* Of "name: meaning" each. */
static void put_settings(const char *name)
{
    const char *separator = "";
    printf("\"settings\": {");
    for (const char *const *setting = gridio_settings(name); *setting; setting++) {
        const char *meaning = strchr(*setting, ':') + 2;
        printf("%s", separator);
        separator = ", ";
        put_string(*setting, (size_t)(meaning - 2 - *setting));
        printf(": ");
        put_string(meaning, strlen(meaning));
    }
    printf("}");
}

static void put_method(const gridio_method *method)
{
    printf("    {");
    put_text("name", method->name);
    printf(", ");
    put_text("default_format", method->default_format);
    printf(",\n     ");
    put_settings(method->name);
    printf("}");
}

/* Why the method does not go with the format; NULL: it does. */
static const char *why_not(const gridio_method *method, const gridio_format *format)
{
    if (format->can & method->needs)
        return NULL;
    switch (method->needs) {
    case GRIDIO_ALONE: return "is always opened by several ranks";
    case GRIDIO_TOGETHER: return "has no collective calls";
    default: return "is always opened by one rank";
    }
}

static void put_never(const gridio_format *format)
{
    const gridio_method *method;
    const char *separator = "";
    printf("\"never_with\": {");
    for (int i = 0; (method = gridio_known_method_at(i)); i++)
        if (why_not(method, format)) {
            printf("%s", separator);
            put_text(method->name, why_not(method, format));
            separator = ", ";
        }
    printf("}");
}

static void put_format(const gridio_known_format *known)
{
    printf("    {");
    put_text("name", known->name);
    printf(", \"available\": %s, ", known->format ? "true" : "false");
    put_text("library", known->library->name);
    printf(", ");
    put_text("packages", known->library->packages);
    if (known->format) {
        printf(",\n     ");
        put_text("suffix", known->format->suffix);
        printf(", \"for_tests\": %s,\n     ", known->format->for_tests ? "true" : "false");
        put_never(known->format);
        printf(",\n     ");
        put_settings(known->name);
    }
    printf("}");
}

int main(void)
{
    const gridio_method *method;
    const gridio_known_format *known;
    printf("{\n  \"dimensions_at_most\": %d, \"variables_at_most\": %d,\n  \"methods\": [",
           GRIDIO_DIMENSIONS, GRIDIO_VARIABLES_AT_MOST);
    for (int i = 0; (method = gridio_known_method_at(i)); i++) {
        printf(i ? ",\n" : "\n");
        put_method(method);
    }
    printf("\n  ],\n  \"formats\": [");
    for (int i = 0; (known = gridio_known_format_at(i)); i++) {
        printf(i ? ",\n" : "\n");
        put_format(known);
    }
    printf("\n  ],\n  \"pairs\": [");
    const char *separator = "\n    ";
    for (int i = 0; (method = gridio_known_method_at(i)); i++)
        for (int j = 0; (known = gridio_known_format_at(j)); j++)
            if (known->format && !why_not(method, known->format)) {
                printf("%s[\"%s\", \"%s\"]", separator, method->name, known->name);
                separator = ",\n    ";
            }
    printf("\n  ]\n}\n");
    return 0;
}
