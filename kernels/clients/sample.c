/* What an experiment found, as a record. */
#include "clients.h"
#include "records.h"

void report(const struct clients *clients, const struct experiment *experiment,
            const struct sample *sample)
{
    record_begin("sample");
    record_number("round", clients->round);
    record_text("experiment", sample->experiment);
    record_text("where", sample->where == INSIDE ? "inside" : "between");
    record_yes("held_out", experiment->held_out);
    record_number("ranks", sample->ranks);
    record_number("bytes", sample->bytes);
    record_number("block_bytes", sample->block_bytes);
    record_number("count", sample->count);
    record_real("seconds", sample->seconds);
    record_end();
}
