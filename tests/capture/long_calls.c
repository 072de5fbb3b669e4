/* Writes and reads blocks that take long, to "file" (descriptor 5, which it was given, and one that
 * it opens), copies it to "copy", and asks for O_DIRECT in between. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <unistd.h>

enum { GIVEN = 5, BLOCKS = 8, BLOCK = 4 << 20 };

int main(void)
{
    char *block = calloc(1, BLOCK);
    int file = open("file", O_RDWR), copy = open("copy", O_RDWR | O_CREAT, 0600);
    for (int i = 0; i < BLOCKS; i++) {
        if (write(GIVEN, block, BLOCK) != BLOCK || read(file, block, BLOCK) != BLOCK)
            return 1;
        if (pwrite(file, block, BLOCK, 0) != BLOCK)
            return 1;
    }
    fcntl(file, F_SETFL, O_DIRECT);
    fcntl(file, F_SETFL, 0);
    off_t begin = 0;
    return sendfile(copy, file, &begin, BLOCK) == BLOCK ? 0 : 2;
}
