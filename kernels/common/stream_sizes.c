/* What of a stream is due, and how large it is. */
#include "stream.h"

static int64_t elements_of(const gridio_block *block, int dimensions)
{
    int64_t elements = 1;
    for (int axis = 0; axis < dimensions; axis++)
        elements *= block->count[axis];
    return elements;
}

const gridio_block *stream_blocks(const struct stream_variable *variable)
{
    return variable->more ? variable->more : &variable->block;
}

int64_t stream_elements(const struct stream_variable *variable)
{
    int64_t elements = 0;
    for (int i = 0; i < variable->blocks; i++)
        elements += elements_of(&stream_blocks(variable)[i], variable->description.dimensions);
    return elements;
}

size_t stream_element_bytes(gridio_type type)
{
    return type == GRIDIO_FLOAT64 ? 8 : type == GRIDIO_CHARACTER ? 1 : 4;
}

size_t stream_bytes(const struct stream_variable *variable)
{
    return (size_t)stream_elements(variable) * stream_element_bytes(variable->description.type);
}

int64_t stream_step_in_file(const struct stream *stream)
{
    if (stream->last)
        return stream->file ? gridio_steps(stream->file) - 1 : 0;
    return stream->steps_per_file > 0 ? stream->step % stream->steps_per_file : stream->step;
}

bool stream_due(const struct stream *stream, int index)
{
    return stream->variable[index].description.every_step || stream->fresh;
}

int64_t stream_whole_bytes(const struct stream_variable *variable)
{
    int64_t bytes = (int64_t)stream_element_bytes(variable->description.type);
    for (int axis = 0; axis < variable->description.dimensions; axis++)
        bytes *= variable->description.size[axis];
    return bytes;
}
