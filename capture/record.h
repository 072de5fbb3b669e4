/* record.h: how a wrapper records one call.
 *
 *   struct call call;
 *   struct stream *stream = call_begin(&call, FUNCTION_pwrite);
 *   ssize_t result = real_pwrite(...);
 *   if (stream) { int64_t words[7] = {...}; call_end(stream, &call, CLASS_FILE, words, 7); }
 *
 * A call inside which others may be recorded (MPI-IO, MPI_Wait) sets what it knows before it goes on, so that
 * the record of its beginning can be written when, and only when, something nested comes:
 *
 *   call_known(&call, CLASS_FILE, words, 7);
 *
 * The format is docs/trace.md. Nothing here allocates, locks or calls the system on the common path.
 */
