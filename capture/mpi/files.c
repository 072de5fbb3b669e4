/* files.c: MPI-IO. */
#include <errno.h>
#include <stdlib.h>

#include "flavour.h"

static struct table files; /* number of the file; flags: the communicator's number */

/* ROMIO takes a driver's name before the path, "ufs:/scratch/file". */
static const char *without_driver(const char *path)
{
    static const char *const drivers[] = {"ufs",  "nfs",    "lustre", "gpfs",    "panfs",   "pvfs2",
                                          "pvfs", "testfs", "daos",   "quobyte", "unifyfs", "ime"};
    const char *colon = strchr(path, ':');
    for (size_t i = 0; colon && i < sizeof drivers / sizeof *drivers; i++)
        if (strlen(drivers[i]) == (size_t)(colon - path) &&
            !strncmp(drivers[i], path, (size_t)(colon - path)))
            return colon + 1;
    return path;
}

/* Numbers of the system's errors end below. */
enum { NO_ERRNO = 4096 };

/* MPI's classes have other numbers in each MPI: what says the same as an errno is that, and others
 * have numbers beyond all of these. */
static int64_t errno_of_class(int class)
{
    const struct {
        int class, number;
    } same[] = {
        {MPI_ERR_ACCESS, EACCES},
        {MPI_ERR_BAD_FILE, ENAMETOOLONG},
        {MPI_ERR_FILE_EXISTS, EEXIST},
        {MPI_ERR_FILE_IN_USE, EBUSY},
        {MPI_ERR_IO, EIO},
        {MPI_ERR_NO_MEM, ENOMEM},
        {MPI_ERR_NO_SPACE, ENOSPC},
        {MPI_ERR_NO_SUCH_FILE, ENOENT},
        {MPI_ERR_QUOTA, EDQUOT},
        {MPI_ERR_READ_ONLY, EROFS},
        {MPI_ERR_UNSUPPORTED_OPERATION, EOPNOTSUPP},
        {MPI_ERR_AMODE, NO_ERRNO + 1},
        {MPI_ERR_FILE, NO_ERRNO + 2},
        {MPI_ERR_NOT_SAME, NO_ERRNO + 3},
        {MPI_ERR_ARG, NO_ERRNO + 4},
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (same[i].class == class)
            return same[i].number;
    return NO_ERRNO;
}

static int64_t error_of(int result)
{
    int class = MPI_SUCCESS;
    if (result == MPI_SUCCESS)
        return 0;
    return errno_of_class(mpi.Error_class(result, &class) == MPI_SUCCESS ? class : MPI_ERR_OTHER);
}

static void put_words(int64_t *words, const struct file_call *file, int64_t bytes, int64_t offset,
                      bool has_offset, int result)
{
    words[FILE_WORD_OP] = file->op;
    words[FILE_WORD_FLAGS] = file->flags | (has_offset ? FILE_OFFSET : 0);
    words[FILE_WORD_FILE] = file->number;
    words[FILE_WORD_BYTES] = bytes;
    words[FILE_WORD_OFFSET] = has_offset ? offset : 0;
    words[FILE_WORD_ERROR] = error_of(result);
    words[FILE_WORD_COMM] = file->comm;
}

static void look_up(struct file_call *file)
{
    struct entry found;
    bool known = table_find(&files, KEY(file->file), &found);
    file->number = known ? (int64_t)found.number : -1;
    file->comm = known ? (int64_t)found.flags : -1;
}

void file_before(struct stream *stream, struct call *call, struct file_call *file)
{
    int64_t words[FILE_WORDS];
    look_up(file);
    if (file->number < 0)
        return;
    put_words(words, file, 0, 0, false, 0);
    call_known(stream, call, CLASS_FILE, words, FILE_WORDS);
}

/* The byte at which the access began. */
static bool byte_offset(const struct file_call *file, int64_t *offset)
{
    MPI_Offset bytes = 0;
    if (!file->at || !mpi_usable ||
        mpi.File_get_byte_offset(file->file, file->offset, &bytes) != MPI_SUCCESS)
        return false;
    *offset = bytes;
    return true;
}

static void end(struct stream *stream, struct call *call, const struct file_call *file,
                int64_t bytes, int result)
{
    int64_t words[FILE_WORDS], offset = 0;
    if (file->number < 0) {
        plain_after(stream, call);
        return;
    }
    bool has_offset = result == MPI_SUCCESS && byte_offset(file, &offset);
    put_words(words, file, result == MPI_SUCCESS ? bytes : 0, offset, has_offset, result);
    call_end(stream, call, CLASS_FILE, words, FILE_WORDS);
}

/* Bytes moved as the status says; what was asked for where it says nothing. */
static int64_t bytes_moved(const struct file_call *file, int result,
                           const struct status_place *place)
{
    MPI_Status status;
    int count = MPI_UNDEFINED;
    if (result != MPI_SUCCESS || file->no_bytes)
        return 0;
    int64_t asked = bytes_of(file->count, file->type);
    if (place && asked <= INT32_MAX && status_read(place->used, 0, place->language, &status) &&
        mpi_usable)
        mpi.Get_count(&status, predefined.byte, &count);
    return count == MPI_UNDEFINED || count < 0 || count > asked ? asked : count;
}

void file_after(struct stream *stream, struct call *call, const struct file_call *file, int result,
                const struct status_place *status)
{
    end(stream, call, file, bytes_moved(file, result, status), result);
}

void file_started(struct stream *stream, struct call *call, const struct file_call *file,
                  int result, MPI_Request request)
{
    struct file_call plain = *file;
    if (result != MPI_SUCCESS)
        plain.flags &= ~FILE_STARTS;
    end(stream, call, &plain, bytes_moved(file, result, NULL), result);
    if (plain.flags & FILE_STARTS && file->number >= 0)
        request_started(stream, request, REQUEST_ACTIVE, NULL);
}

static int64_t open_flags(int mode)
{
    return FILE_COLLECTIVE | (mode & MPI_MODE_CREATE ? FILE_CREATES : 0);
}

void file_open_before(struct stream *stream, struct call *call, struct file_call *file,
                      MPI_Comm comm, const char *path, int mode)
{
    int64_t words[FILE_WORDS];
    *file = (struct file_call){.op = FILE_OPEN,
                               .flags = (int)open_flags(mode),
                               .number = tailrace_file_open(without_driver(path))};
    file->comm = communicator_word_known(comm);
    put_words(words, file, 0, 0, false, 0);
    call_known(stream, call, CLASS_FILE, words, FILE_WORDS);
}

void file_opened(struct stream *stream, struct call *call, struct file_call *file, MPI_Comm comm,
                 int result, MPI_File handle)
{
    if (result == MPI_SUCCESS) {
        file->comm = communicator_get(comm)->number;
        table_add(&files, &(struct entry){.key = KEY(handle),
                                          .flags = (uint32_t)file->comm,
                                          .number = (uint64_t)file->number});
    }
    end(stream, call, file, 0, result);
}

void file_closed(struct stream *stream, struct call *call, const struct file_call *file, int result)
{
    struct entry found;
    end(stream, call, file, 0, result);
    if (result == MPI_SUCCESS)
        table_take(&files, KEY(file->file), &found);
}

void file_deleted(struct stream *stream, struct call *call, const char *path, int result)
{
    struct file_call file = {
        .op = FILE_UNLINK, .number = tailrace_file_named(without_driver(path)), .comm = -1};
    end(stream, call, &file, 0, result);
}
