#include "transfers.h"

static int64_t at_most(int64_t first, int64_t second)
{
    return first < second ? first : second;
}

/* Where rank r's part of a contiguous file begins, in bytes. */
static int64_t part_begin(const struct pattern *pattern, int rank, int ranks)
{
    const int64_t elements = pattern->file_bytes / ELEMENT_BYTES;
    return (elements / ranks * rank + at_most(rank, elements % ranks)) * ELEMENT_BYTES;
}

static int64_t calls_for(int64_t bytes, int64_t each)
{
    return (bytes + each - 1) / each;
}

int64_t pattern_calls(const struct pattern *pattern, int ranks)
{
    const int64_t blocks = calls_for(pattern->file_bytes, pattern->block_bytes);
    if (!pattern->interleaved)
        return calls_for(part_begin(pattern, 1, ranks),
                         pattern->transfer_bytes); /* rank 0's part is a longest one */
    return calls_for(calls_for(blocks, ranks), pattern->transfer_bytes / pattern->block_bytes);
}

int pattern_blocks_at_most(const struct pattern *pattern)
{
    return pattern->interleaved ? (int)(pattern->transfer_bytes / pattern->block_bytes) : 1;
}

/* From byte `begin`, at most `bytes` and not beyond `end`; false where that is nothing. */
static bool set_block(gridio_block *block, int64_t begin, int64_t bytes, int64_t end)
{
    const int64_t here = at_most(bytes, end - begin);
    if (here <= 0)
        return false;
    block->start[0] = begin / ELEMENT_BYTES;
    block->count[0] = here / ELEMENT_BYTES;
    return true;
}

int pattern_blocks(const struct pattern *pattern, int64_t n, int rank, int ranks,
                   gridio_block *block)
{
    const int many = pattern_blocks_at_most(pattern);
    int used = 0;
    if (!pattern->interleaved)
        return set_block(block, part_begin(pattern, rank, ranks) + n * pattern->transfer_bytes,
                         pattern->transfer_bytes, part_begin(pattern, rank + 1, ranks));
    while (used < many &&
           set_block(&block[used], ((n * many + used) * ranks + rank) * pattern->block_bytes,
                     pattern->block_bytes, pattern->file_bytes))
        used++;
    return used;
}
