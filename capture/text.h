/* text.h: numbers in text, as the kernel's files have them, and the last part of a path. Not strtol
 * and its like: compiled with a new glibc, they are functions that an older one lacks. */
#ifndef TAILRACE_TEXT_H
#define TAILRACE_TEXT_H

#include <stdint.h>
#include <string.h>

/* In digits and small letters; returns what follows the number. No digit is 0. */
static inline const char *text_number(const char *at, unsigned base, uint64_t *value)
{
    for (*value = 0;; at++) {
        unsigned digit = *at >= '0' && *at <= '9'   ? (unsigned)(*at - '0')
                         : *at >= 'a' && *at <= 'f' ? (unsigned)(*at - 'a' + 10)
                                                    : base;
        if (digit >= base)
            return at;
        *value = *value * base + digit;
    }
}

static inline uint64_t text_decimal(const char *at)
{
    uint64_t value;
    text_number(at, 10, &value);
    return value;
}

/* The decimal number that is the word with this number, of words with a space between; 0 where there
 * are fewer. The first is word 0. */
static inline uint64_t text_word(const char *at, unsigned word)
{
    for (; word && *at; at++)
        word -= *at == ' ';
    return text_decimal(at);
}

static inline const char *text_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

#endif
