/* environment.c: prints the variable that names preloaded libraries, without a C library: 32-bit
 * ones are not on every machine.
 */
#if defined(__i386__)
#define EXIT 1
#define WRITE 4
static long call(long number, long a, const void *b, long c)
{
    __asm__ volatile("int $0x80" : "+a"(number) : "b"(a), "c"(b), "d"(c) : "memory");
    return number;
}
__asm__(".globl _start\n_start: pushl %esp\n call begin\n");
#else
#define EXIT 60
#define WRITE 1
static long call(long number, long a, const void *b, long c)
{
    __asm__ volatile("syscall" : "+a"(number) : "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return number;
}
__asm__(".globl _start\n_start: movq %rsp, %rdi\n call begin\n");
#endif

void begin(char **words)
{
    static const char wanted[] = "LD_PRELOAD=";
    for (words += (long)words[0] + 2; *words; words++) {
        long bytes = 0, same = 0;
        while ((*words)[bytes])
            bytes++;
        while (same < bytes && wanted[same] && (*words)[same] == wanted[same])
            same++;
        if (!wanted[same])
            call(WRITE, 1, *words + same, bytes - same);
    }
    call(EXIT, 7, 0, 0);
}
