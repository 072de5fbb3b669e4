/* Prints so many lines, each of which is flushed with "each": lines NUMBER [each]. */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **words)
{
    MPI_Init(&count, &words);
    for (int i = 0; i < atoi(words[1]); i++) {
        printf("step %7d: residual %.9f\n", i, 1.0 / (i + 1));
        if (count > 2)
            fflush(stdout);
    }
    MPI_Finalize();
    return 0;
}
