/* many_files.c: writes files PREFIX.000000 … one after another, 900 bytes each.
 *
 * usage: many_files PREFIX COUNT
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int count, char **arguments)
{
    static char bytes[900];
    char name[4096];
    if (count != 3)
        return 2;
    for (long i = 0; i < atol(arguments[2]); i++) {
        snprintf(name, sizeof name, "%s.%06ld", arguments[1], i);
        int file = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0600);
        if (file < 0 || write(file, bytes, sizeof bytes) != sizeof bytes || close(file))
            return 1;
    }
    return 0;
}
