/* Prints which bytes each rank moves in each call: "rank call start count". */
#include "transfers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_call(const struct pattern *pattern, int rank, int ranks, int64_t call)
{
    gridio_block *block = calloc((size_t)pattern_blocks_at_most(pattern), sizeof *block);
    const int blocks = pattern_blocks(pattern, call, rank, ranks, block);
    for (int b = 0; b < blocks; b++)
        printf("%d %lld %lld %lld\n", rank, (long long)call,
               (long long)block[b].start[0] * ELEMENT_BYTES,
               (long long)block[b].count[0] * ELEMENT_BYTES);
    free(block);
}

int main(int count, char **words)
{
    if (count != 6)
        return 2;
    const int ranks = atoi(words[1]);
    struct pattern pattern = {.interleaved = strcmp(words[2], "interleaved") == 0,
                              .file_bytes = atoll(words[3]),
                              .transfer_bytes = atoll(words[4]),
                              .block_bytes = atoll(words[5])};
    pattern.calls = pattern_calls(&pattern, ranks);
    for (int rank = 0; rank < ranks; rank++)
        for (int64_t call = 0; call < pattern.calls; call++)
            print_call(&pattern, rank, ranks, call);
    printf("calls %lld\n", (long long)pattern.calls);
    return 0;
}
