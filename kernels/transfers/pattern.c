#include "transfers.h"

static int64_t at_most(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Where rank r's part of a contiguous file begins, in bytes. */
static int64_t part_begin(const pattern *p, int rank, int ranks)
{
    const int64_t elements = p->file_bytes / ELEMENT_BYTES;
    return (elements / ranks * rank + at_most(rank, elements % ranks)) * ELEMENT_BYTES;
}

static int64_t calls_for(int64_t bytes, int64_t each)
{
    return (bytes + each - 1) / each;
}

int64_t pattern_calls(const pattern *p, int ranks)
{
    const int64_t blocks = calls_for(p->file_bytes, p->block_bytes);
    if (!p->interleaved)
        return calls_for(part_begin(p, 1, ranks), p->transfer_bytes); /* rank 0's part is a longest one */
    return calls_for(calls_for(blocks, ranks), p->transfer_bytes / p->block_bytes);
}

int pattern_blocks_at_most(const pattern *p)
{
    return p->interleaved ? (int)(p->transfer_bytes / p->block_bytes) : 1;
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

int pattern_blocks(const pattern *p, int64_t n, int rank, int ranks, gridio_block *block)
{
    const int many = pattern_blocks_at_most(p);
    int used = 0;
    if (!p->interleaved)
        return set_block(block, part_begin(p, rank, ranks) + n * p->transfer_bytes, p->transfer_bytes,
                         part_begin(p, rank + 1, ranks));
    while (used < many &&
           set_block(&block[used], ((n * many + used) * ranks + rank) * p->block_bytes, p->block_bytes, p->file_bytes))
        used++;
    return used;
}
