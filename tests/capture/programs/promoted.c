/* Knows no MPI: opens a tool that is in front of one for itself, then makes it global, and calls MPI
 * by what is found then. promoted LIBRARY */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int (*init)(int *, char ***), (*finalize)(void);
    if (argc < 2 || !dlopen(argv[1], RTLD_LAZY | RTLD_LOCAL))
        return 1;
    init = (__typeof__(init))dlsym(RTLD_DEFAULT, "MPI_Init");
    printf("found before: %d\n", !!init);
    if (!dlopen(argv[1], RTLD_LAZY | RTLD_GLOBAL | RTLD_NOLOAD))
        return 1;
    init = (__typeof__(init))dlsym(RTLD_DEFAULT, "MPI_Init");
    finalize = (__typeof__(finalize))dlsym(RTLD_DEFAULT, "MPI_Finalize");
    return init(NULL, NULL) || finalize();
}
