/* What a stream leaves in the records. Collective. */
#ifndef COMMON_STREAM_RECORDS_H
#define COMMON_STREAM_RECORDS_H

#include "stream.h"

/* The stream, its variables, the hints in force; its file is open. */
void stream_record_start(stream *s);
/* The step that is just over, and its fingerprints. */
void stream_record_step(stream *s, int64_t model_step, int64_t step_in_file);

#endif
