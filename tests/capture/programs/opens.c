/* Knows no MPI: opens what it is told to and calls it. opens MODE LIBRARY, where the mode is
 * "functions" (LIBRARY is an MPI, each of its functions asked for by name) or "plugin" (LIBRARY has
 * a function `work`, which calls MPI). */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static int fails(void)
{
    printf("%s\n", dlerror());
    return 1;
}

static int use_functions(void *library)
{
    int (*init)(int *, char ***) = (int (*)(int *, char ***))dlsym(library, "MPI_Init");
    int (*version)(int *, int *) = (int (*)(int *, int *))dlsym(library, "MPI_Get_version");
    int (*finalize)(void) = (int (*)(void))dlsym(library, "MPI_Finalize");
    int major = 0, minor = 0;
    if (!init || !version || !finalize || dlsym(library, "MPI_Not_a_function"))
        return fails();
    init(NULL, NULL);
    version(&major, &minor);
    printf("version %d.%d\n", major, minor);
    return finalize();
}

int main(int argc, char **argv)
{
    void *library = argc > 2 ? dlopen(argv[2], RTLD_LAZY | RTLD_LOCAL) : NULL;
    if (!library)
        return fails();
    if (!strcmp(argv[1], "functions"))
        return use_functions(library);
    int (*work)(void) = (int (*)(void))dlsym(library, "work");
    return work ? work() : fails();
}
