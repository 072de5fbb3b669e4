/* variants_attributes.c: the extended attributes of a file. */
#include <sys/xattr.h>

#include "variants.h"

/* A file system need not have them: what a call answered is what was recorded. */
#define ANSWERS(name, op, file, call)                                                              \
    do {                                                                                           \
        int error = (call) < 0 ? errno : 0;                                                        \
        line(name, op, 0, -1, error, file);                                                        \
    } while (0)

void variants_of_attributes(int fd)
{
    char list[1000];
    ANSWERS("setxattr", "metadata", "data", setxattr("data", "user.a", "1", 1, 0));
    ANSWERS("lsetxattr", "metadata", "data", lsetxattr("data", "user.b", "1", 1, 0));
    ANSWERS("fsetxattr", "metadata", "data", fsetxattr(fd, "user.c", "1", 1, 0));
    ANSWERS("getxattr", "stat", "data", getxattr("data", "user.a", list, sizeof list));
    ANSWERS("lgetxattr", "stat", "data", lgetxattr("data", "user.d", list, sizeof list));
    ANSWERS("fgetxattr", "stat", "data", fgetxattr(fd, "user.a", list, sizeof list));
    ANSWERS("listxattr", "stat", "data", listxattr("data", list, sizeof list));
    ANSWERS("llistxattr", "stat", "data", llistxattr("data", list, sizeof list));
    ANSWERS("flistxattr", "stat", "data", flistxattr(fd, list, sizeof list));
    ANSWERS("removexattr", "metadata", "data", removexattr("data", "user.a"));
    ANSWERS("lremovexattr", "metadata", "data", lremovexattr("data", "user.b"));
    ANSWERS("fremovexattr", "metadata", "data", fremovexattr(fd, "user.c"));
}
