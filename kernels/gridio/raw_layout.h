/* Where the raw formats (posix and mpiio) put their bytes: a header in plain text, then the
 * variables written once, then step after step the variables of every step, each a whole array in C
 * order without gaps.
 *
 *     gridio 1
 *     steps 00000000000000000012
 *     byte_order little
 *     header_bytes 4096
 *     variable NAME UNITS TYPE tiled|whole every_step|once DIMENSIONS SIZE...
 *     end
 *
 * The header is filled up with blanks to a multiple of 4,096 bytes. Types: float64, float32, int32,
 * character.
 *
 * Under a variable's line may stand, in a file per rank, which variable it is among all ranks'
 * (from 1) and, where it is the rank's part (its one block, or all of them in a row), the sizes of
 * what it is a part of and the blocks, in elements; then the names of the dimensions (of the whole,
 * where it is a part; - for none):
 *
 *     ordinal NUMBER
 *     part DIMENSIONS SIZE...
 *     block START... COUNT...
 *     dimensions NAME...
 */
#ifndef GRIDIO_RAW_LAYOUT_H
#define GRIDIO_RAW_LAYOUT_H

#include "internal.h"

enum { RAW_PAGE_BYTES = 4096, RAW_STEPS_OFFSET = 9, RAW_STEPS_BYTES = 27 };

typedef struct {
    int64_t header_bytes;
    int64_t first_step; /* offset in the file */
    int64_t step_bytes;
    int64_t offset[GRIDIO_VARIABLES_AT_MOST]; /* of a variable in the file, or in its step */
} raw_layout;

/* The header's text for the file's variables, filled up (to be freed), and the layout that follows;
 * NULL: no memory. */
char *raw_describe(const gridio_file *file, raw_layout *layout);

/* The line that says how many steps are whole: RAW_STEPS_BYTES characters at RAW_STEPS_OFFSET, and
 * a final zero. */
void raw_steps_line(int64_t steps, char line[RAW_STEPS_BYTES + 1]);

/* How long the header is, known from its first RAW_PAGE_BYTES (ended by a zero); 0: this is no
 * gridio file. */
int64_t raw_header_bytes(const char *text);

/* Fills the file's variables and steps, and the layout, from a header's whole text (ended by a
 * zero). */
int raw_parse(gridio_file *file, char *text, raw_layout *layout);

int64_t raw_offset(const gridio_file *file, const raw_layout *layout, int number, int64_t step);

#endif
