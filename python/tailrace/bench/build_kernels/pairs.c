/* gridio-pairs METHOD FORMAT [METHOD FORMAT...]: prints, a line each, those that this build of gridio can do:
 * `pair METHOD FORMAT`. Starts no MPI. */
#include "gridio.h"

#include <stdio.h>

int main(int count, char **words)
{
    for (int i = 1; i + 1 < count; i += 2)
        if (!gridio_pair(words[i], words[i + 1]))
            printf("pair %s %s\n", words[i], words[i + 1]);
    return 0;
}
