/* Prints which bytes each rank moves in each call: "rank call start count". */
#include "transfers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_call(const pattern *p, int rank, int ranks, int64_t call)
{
    gridio_block *block = calloc((size_t)pattern_blocks_at_most(p), sizeof *block);
    const int blocks = pattern_blocks(p, call, rank, ranks, block);
    for (int b = 0; b < blocks; b++)
        printf("%d %lld %lld %lld\n", rank, (long long)call, (long long)block[b].start[0] * ELEMENT_BYTES,
               (long long)block[b].count[0] * ELEMENT_BYTES);
    free(block);
}

int main(int count, char **words)
{
    if (count != 6)
        return 2;
    const int ranks = atoi(words[1]);
    pattern p = {.interleaved = strcmp(words[2], "interleaved") == 0,
                 .file_bytes = atoll(words[3]),
                 .transfer_bytes = atoll(words[4]),
                 .block_bytes = atoll(words[5])};
    p.calls = pattern_calls(&p, ranks);
    for (int rank = 0; rank < ranks; rank++)
        for (int64_t call = 0; call < p.calls; call++)
            print_call(&p, rank, ranks, call);
    printf("calls %lld\n", (long long)p.calls);
    return 0;
}
