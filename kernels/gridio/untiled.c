#include "untiled.h"

static bool is_together(gridio_file *file)
{
    const char *default_value =
        file->method->needs == GRIDIO_TOGETHER ? "collective" : "independent";
    return gridio_setting_is(file, "whole_access", "collective|independent", default_value,
                             "collective");
}

static bool is_by_all(gridio_file *file)
{
    return gridio_setting_is(file, "whole_writers", "root|all", "root", "all");
}

int gridio_check_untiled(gridio_file *file)
{
    const bool together = is_together(file);
    is_by_all(file);
    if (file->format->can & (together ? GRIDIO_TOGETHER : GRIDIO_APART))
        return 0;
    return gridio_fail(file,
                       "the format '%s' has no %s access, which the setting whole_access asks for",
                       file->format->name, together ? "collective" : "independent");
}

gridio_slab gridio_untiled_slab(gridio_file *file, const gridio_slab *slab)
{
    gridio_slab mine = *slab;
    int rank;
    MPI_Comm_rank(file->accessors, &rank);
    mine.together = is_together(file);
    if (file->mode == GRIDIO_WRITE && rank != GRIDIO_ROOT && !is_by_all(file))
        mine.blocks = 0, mine.elements = 0;
    return mine;
}
