/* What capture knows of code: of the program, of a library that it is linked with, of one that it
 * loads later and closes again. One line each: the file, whether its tables were found, and how far
 * the address is from where the file begins. With -DASKS_EACH=0 the kernel is asked as one before
 * Linux 6.11 would be. */
#include "../../capture/modules.c"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int tailrace_calls_forbidden;

static void tell(struct modules *modules, const char *what, uintptr_t address)
{
    const struct region *region = modules_region(modules, address);
    const struct module *module = region ? modules_examined(modules, region->module) : NULL;
    printf("%s: %s\n", what, region ? module ? module->name : "no file" : "no code");
    if (module)
        printf("  %#lx from its begin, tables %s, build %d\n",
               (unsigned long)(address - module->base), module->frames ? "found" : "missing",
               module->build_id_bytes);
}

int main(void)
{
    struct modules *modules = calloc(1, sizeof *modules);
    char here;
    modules_started_with();
    modules_read(modules, (uintptr_t)&here);
    printf("the stack is %s\n",
           modules->stack_low <= (uintptr_t)&here && (uintptr_t)&here < modules->stack_high
               ? "found"
               : "missing");
    tell(modules, "the program", (uintptr_t)main);
    tell(modules, "the C library", (uintptr_t)dlsym(RTLD_NEXT, "qsort"));
    tell(modules, "data", (uintptr_t)modules);
    void *library = dlopen("libm.so.6", RTLD_NOW);
    uintptr_t cosine = (uintptr_t)dlsym(library, "cos");
    modules_read(modules, (uintptr_t)&here);
    tell(modules, "loaded", cosine);
    tell(modules, "the program again", (uintptr_t)main);
    dlclose(library);
    modules_read(modules, (uintptr_t)&here);
    tell(modules, "closed", cosine);
    void *made = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    modules_read(modules, (uintptr_t)&here);
    tell(modules, "made", (uintptr_t)made);
    fprintf(stderr, "%s\n", modules->asking == ASKING_EACH ? "each" : "all");
    return 0;
}
