/* variants_copies.c: descriptors that are copied, and bytes that go from one to another. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "variants.h"

void variants_of_copies(void)
{
    int fd, out, pair[2];
    char byte = 1;
    OK(fd = open("data", O_RDWR));
    line("open", "open", 0, -1, 0, "data");
    OK(out = open("out", O_RDWR | O_CREAT | O_TRUNC, 0600));
    line("open", "open", 0, -1, 0, "out");
    off_t offset = 0;
    OK(sendfile(out, fd, &offset, 100));
    line("sendfile", "write", 100, -1, 0, "out");
    line("sendfile", "read", 100, 0, 0, "data");
    OK(sendfile64(out, fd, &offset, 10));
    line("sendfile64", "write", 10, -1, 0, "out");
    line("sendfile64", "read", 10, 100, 0, "data");
    loff_t from = 0;
    OK(copy_file_range(fd, &from, out, NULL, 20, 0));
    line("copy_file_range", "write", 20, -1, 0, "out");
    line("copy_file_range", "read", 20, 0, 0, "data");
    OK(pipe(pair));
    OK(splice(fd, &from, pair[1], NULL, 30, 0));
    line("splice", "read", 30, 20, 0, "data");
    OK(write(pair[1], &byte, 1));
    line("write", "write", 1, -1, 0, "<pipe>");
    OK(close(pair[0])); /* nothing went through this end: nobody asked what it is */
    OK(close(pair[1]));
    line("close", "close", 0, -1, 0, "<pipe>");
    int copy = dup(fd), second = dup2(fd, 50), third = dup3(fd, 51, 0),
        fourth = fcntl(fd, F_DUPFD, 60);
    OK(pwrite(copy, &byte, 1, 0));
    line("pwrite", "write", 1, 0, 0, "data");
    OK(pwrite(second, &byte, 1, 1));
    line("pwrite", "write", 1, 1, 0, "data");
    OK(pwrite(third, &byte, 1, 2));
    line("pwrite", "write", 1, 2, 0, "data");
    OK(pwrite(fourth, &byte, 1, 3));
    line("pwrite", "write", 1, 3, 0, "data");
    OK(dup2(out, 50));
    OK(pwrite(50, &byte, 1, 4));
    line("pwrite", "write", 1, 4, 0, "out");
    OK(close_range(51, 60, 0));
    OK(pipe2(pair, 0));
    OK(dup2(pair[1], 50));
    OK(write(50, &byte, 1)); /* the number of a file before, a pipe now */
    line("write", "write", 1, -1, 0, "<pipe>");
    OK(close(50));
    line("close", "close", 0, -1, 0, "<pipe>");
    OK(close(fd));
    line("close", "close", 0, -1, 0, "data");
    OK(close(copy));
    line("close", "close", 0, -1, 0, "data");
    OK(close(out));
    line("close", "close", 0, -1, 0, "out");
}
