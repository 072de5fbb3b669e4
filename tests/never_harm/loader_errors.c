/* loader_errors.c: loader_errors BROKEN WHOLE prints what dlerror() says after each way to fail and
 * to succeed. BROKEN needs a library that is not there, WHOLE needs nothing. Each function that
 * capture wraps is called for the first time while an error stands. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *broken, *whole;

static void say(const char *what)
{
    const char *error = dlerror();
    printf("%s: %s\n", what, error ? error : "no error");
}

static void fail_to_open(void)
{
    dlopen(broken, RTLD_LAZY);
}

static void fail(void)
{
    fail_to_open();
    say("dlopen without what it needs");
    say("told once");
    dlopen("/nowhere/library.so", RTLD_NOW);
    say("dlopen of nothing");
    dlmopen(LM_ID_NEWLM, broken, RTLD_NOW);
    say("dlmopen");
    dlsym(RTLD_DEFAULT, "MPI_No_such_function");
    say("dlsym");
    dlsym(RTLD_NEXT, "no_such_function");
    say("dlsym of the next");
    dlvsym(RTLD_DEFAULT, "malloc", "NO_SUCH_VERSION");
    say("dlvsym");
}

static void succeed(void)
{
    fail_to_open();
    void *library = dlopen(whole, RTLD_NOW);
    say("after a success");
    fail_to_open();
    void *found = dlsym(library, "answer");
    say(found ? "found" : "not found");
    fail_to_open();
    dlclose(library);
    say("closed");
}

/* Calls that are captured, from places that were not seen before. */
static void use_files(const char *name)
{
    struct stat status;
    char text[8];
    int file = open(name, O_RDWR | O_CREAT, 0600);
    (void)!write(file, "four", 4);
    (void)!pread(file, text, 4, 0);
    fstat(file, &status);
    ftruncate(file, 2);
    fsync(file);
    close(file);
    rename(name, "renamed");
    unlink("renamed");
}

static void wait_to_be_told(void)
{
    fail_to_open();
    use_files("pending");
    say("told late");
    fail_to_open();
    char *told = dlerror(), *copied = strdup(told);
    FILE *stream = fopen("kept", "w");
    fputs("text", stream);
    fclose(stream);
    remove("kept");
    use_files("kept too");
    printf("kept: %s, %s\n", told, strcmp(told, copied) ? "changed" : "the same");
    free(copied);
}

static void *all(void *unused)
{
    wait_to_be_told();
    fail();
    succeed();
    return unused;
}

int main(int count, char **arguments)
{
    pthread_t thread;
    if (count < 3)
        return 2;
    broken = arguments[1];
    whole = arguments[2];
    say("at first");
    all(NULL);
    pthread_create(&thread, NULL, all, NULL);
    pthread_join(thread, NULL);
    return 0;
}
