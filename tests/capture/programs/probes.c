/* Asks whether there is an MPI, and for what an MPI may lack, and does as it is answered. Compiled
 * with and without an MPI. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

extern int MPI_Initialized(int *) __attribute__((weak));
extern int MPI_Type_get_extent_c(void) __attribute__((weak));
extern int MPI_Abi_get_version(void) __attribute__((weak));

static void ask(const char *name)
{
    void *address = dlsym(RTLD_DEFAULT, name);
    const char *error = address ? NULL : dlerror();
    printf("%s: %s\n", name, address ? "there" : error ? error : "NULL without an error");
}

int main(void)
{
    int flag = -1;
    printf("weak %d %d %d\n", MPI_Initialized != NULL, MPI_Type_get_extent_c != NULL,
           MPI_Abi_get_version != NULL);
    if (MPI_Initialized)
        MPI_Initialized(&flag);
    printf("initialized %d\n", flag);
    ask("MPI_Init");
    ask("MPI_Get_version");
    ask("MPI_Type_get_extent_c");
    ask("mpi_init_");
    printf("next: %d\n", dlsym(RTLD_NEXT, "MPI_Send") != NULL);
    return 0;
}
