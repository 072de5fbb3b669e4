/* What capture adds to one call of MPI: MPI_Test of a request that is not complete, or MPI_Type_size.
 * Whichever name asks for the library's own, capture answers: it is found by its place in the file.
 *
 *     added_mpi FUNCTION CALLS PAIRS PLACE   on one rank; prints nanoseconds per call without and with
 */
#define _GNU_SOURCE
#include <link.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int test_function(MPI_Request *, int *, MPI_Status *);
typedef int size_function(MPI_Datatype, int *);

/* From where on MPI's library is in memory. */
static int find_mpi(struct dl_phdr_info *object, size_t size, void *found)
{
    (void)size;
    if (!strstr(object->dlpi_name, "/libmpi.so"))
        return 0;
    *(char **)found = (char *)object->dlpi_addr;
    return 1;
}

static double tests_ns(test_function *test, MPI_Request *request, long calls)
{
    const double begin = MPI_Wtime();
    for (long i = 0; i < calls; i++) {
        int done;
        test(request, &done, MPI_STATUS_IGNORE);
        if (done)
            abort();
    }
    return (MPI_Wtime() - begin) * 1e9 / calls;
}

static double sizes_ns(size_function *size, long calls)
{
    const double begin = MPI_Wtime();
    for (long i = 0; i < calls; i++) {
        int bytes;
        size(MPI_DOUBLE, &bytes);
        if (bytes != sizeof(double))
            abort();
    }
    return (MPI_Wtime() - begin) * 1e9 / calls;
}

int main(int count, char **words)
{
    MPI_Init(&count, &words);
    const int is_test = !strcmp(words[1], "MPI_Test");
    const long calls = atol(words[2]);
    double without = 1e9, with = 1e9;
    const int sent = 7;
    int value = 0;
    char *library = NULL;
    dl_iterate_phdr(find_mpi, &library);
    void *own = library + strtoul(words[4], NULL, 16);
    MPI_Request request;
    MPI_Irecv(&value, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, &request);
    for (int pair = 0; pair < atoi(words[3]); pair++) {
        const double plain = is_test ? tests_ns(own, &request, calls) : sizes_ns(own, calls);
        const double wrapped =
            is_test ? tests_ns(MPI_Test, &request, calls) : sizes_ns(MPI_Type_size, calls);
        without = plain < without ? plain : without;
        with = wrapped < with ? wrapped : with;
    }
    MPI_Send(&sent, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    printf("%.3f %.3f\n", without, with);
    MPI_Finalize();
    return 0;
}
