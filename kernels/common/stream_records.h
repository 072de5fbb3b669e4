/* What a stream leaves in the records. Collective. */
#ifndef COMMON_STREAM_RECORDS_H
#define COMMON_STREAM_RECORDS_H

#include "stream.h"

/* The stream, with method_in_use and format_in_use, and its variables. */
void stream_record_start(struct stream *stream);
/* One hint in force; context is the stream. */
void stream_record_hint(const char *key, const char *value, void *context);
/* The step that is just over, and its fingerprints. */
void stream_record_step(struct stream *stream, int64_t model_step, int64_t step_in_file);

#endif
