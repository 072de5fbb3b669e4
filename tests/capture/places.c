/* Calls whose paths are known: the test reads the functions off the program's symbols. */
#include <alloca.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#define FUNCTION(type, name) __attribute__((noinline)) type name
#define STAY __asm__ volatile("" ::: "memory")

static int file;

/* clang-format off */
FUNCTION(void, put)(int bytes) { if (pwrite(file, "12345678", (size_t)bytes, 0) < 0) abort(); STAY; }
FUNCTION(void, first)(int bytes) { put(bytes); STAY; }
FUNCTION(void, second)(int bytes) { put(bytes); STAY; }
FUNCTION(void, either)(int bytes) { (bytes & 1 ? first : second)(bytes); STAY; }
FUNCTION(void, again)(int depth) { if (depth) again(depth - 1); else put(3); STAY; }
FUNCTION(void, variable)(int bytes)
{
    volatile char *memory = alloca((size_t)bytes * 64);
    memory[0] = memory[bytes * 64 - 1] = 1;
    put(4);
    STAY;
}
FUNCTION(void, large)(void) { volatile char memory[1 << 20]; memory[0] = 1; put(9); STAY; }
FUNCTION(void, large_first)(void) { large(); STAY; }
FUNCTION(void, large_second)(void) { large(); STAY; }
FUNCTION(void, handler)(int number) { (void)number; put(5); STAY; }
FUNCTION(void *, thread)(void *unused) { put(6); STAY; return unused; }
FUNCTION(void, coroutine)(void) { put(7); STAY; }
/* clang-format on */

static ucontext_t outer, inner;

static void switch_stacks(void)
{
    static char stack[1 << 16];
    getcontext(&inner);
    inner.uc_stack.ss_sp = stack;
    inner.uc_stack.ss_size = sizeof stack;
    inner.uc_link = &outer;
    makecontext(&inner, coroutine, 0);
    swapcontext(&outer, &inner);
}

static int compare(const void *left, const void *right)
{
    (void)left;
    (void)right;
    put(8); /* called by libc, which has no frame pointers */
    return 0;
}

int main(int count, char **arguments)
{
    pthread_t other;
    int numbers[2] = {1, 2};
    file = open(count > 1 ? arguments[1] : "places.out", O_CREAT | O_RDWR, 0600);
    for (int i = 0; i < 20; i++)
        either(1 + i % 2);
    for (int i = 0; i < 20; i++)
        again(i);
    for (int i = 1; i < 20; i++)
        variable(i);
    for (int i = 0; i < 20; i++)
        (i & 1 ? large_first : large_second)();
    signal(SIGUSR1, handler);
    raise(SIGUSR1);
    pthread_create(&other, NULL, thread, NULL);
    pthread_join(other, NULL);
    switch_stacks();
    qsort(numbers, 2, sizeof *numbers, compare);
    return 0;
}
