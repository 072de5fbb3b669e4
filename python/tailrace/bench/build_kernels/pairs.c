/* Prints what this build of gridio can do, a line each: `pair METHOD FORMAT`. Starts no MPI. */
#include "gridio.h"

#include <stdio.h>

int main(void)
{
    for (int m = 0; gridio_method(m); m++)
        for (int f = 0; gridio_format(f); f++)
            if (!gridio_pair(gridio_method(m), gridio_format(f)))
                printf("pair %s %s\n", gridio_method(m), gridio_format(f));
    return 0;
}
