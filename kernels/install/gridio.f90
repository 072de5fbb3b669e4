! gridio for Fortran; gridio.h says what each function does. Here dimensions are in Fortran's order, the first varies
! fastest, and blocks begin and steps count from one. The communicator is an integer, that of `use mpi`; with
! `use mpi_f08` it is comm%MPI_VAL. Functions give 0, or something else where gridio_error() is the sentence.
module gridio
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: gridio_open, gridio_define, gridio_end_definitions, gridio_steps, gridio_variables, gridio_find
  public :: gridio_describe, gridio_select, gridio_write, gridio_read, gridio_sync, gridio_close, gridio_error
  public :: gridio_pair

  type, public :: gridio_file
    private
    type(c_ptr) :: c = c_null_ptr
  end type gridio_file

  integer, parameter, public :: GRIDIO_READ_MODE = 0, GRIDIO_WRITE_MODE = 1
  integer, parameter, public :: GRIDIO_FLOAT64 = 0, GRIDIO_FLOAT32 = 1, GRIDIO_INT32 = 2, GRIDIO_CHARACTER = 3
  integer, parameter, public :: GRIDIO_DIMENSIONS = 4

  ! One block, or several: the second index is that of the block.
  interface gridio_define
    module procedure define_whole, define_block, define_blocks
  end interface gridio_define

  interface gridio_select
    module procedure select_block, select_blocks
  end interface gridio_select

  interface
    integer(c_int) function c_open(file, path, mode, comm, method, format, hints, settings) &
        bind(c, name='gridio_fortran_open')
      import
      type(c_ptr), intent(out) :: file
      character(kind=c_char), intent(in) :: path(*), method(*), format(*), hints(*), settings(*)
      integer(c_int), value :: mode, comm
    end function c_open

    integer(c_int) function c_define(file, name, units, kind, dimensions, sizes, names, tiled, every_step, blocks, &
        starts, counts, number) bind(c, name='gridio_fortran_define')
      import
      type(c_ptr), value :: file
      character(kind=c_char), intent(in) :: name(*), units(*), names(*)
      integer(c_int), value :: kind, dimensions, tiled, every_step, blocks
      integer(c_int64_t), intent(in) :: sizes(*), starts(*), counts(*)
      integer(c_int), intent(out) :: number
    end function c_define

    integer(c_int) function c_select(file, number, blocks, starts, counts) bind(c, name='gridio_fortran_select')
      import
      type(c_ptr), value :: file
      integer(c_int), value :: number, blocks
      integer(c_int64_t), intent(in) :: starts(*), counts(*)
    end function c_select

    integer(c_int) function c_describe(file, number, sizes, kind, every_step) bind(c, name='gridio_fortran_describe')
      import
      type(c_ptr), value :: file
      integer(c_int), value :: number
      integer(c_int64_t), intent(inout) :: sizes(*)
      integer(c_int), intent(out) :: kind, every_step
    end function c_describe

    integer(c_int) function c_end_definitions(file) bind(c, name='gridio_end_definitions')
      import
      type(c_ptr), value :: file
    end function c_end_definitions

    integer(c_int64_t) function c_steps(file) bind(c, name='gridio_steps')
      import
      type(c_ptr), value :: file
    end function c_steps

    integer(c_int) function c_variables(file) bind(c, name='gridio_variables')
      import
      type(c_ptr), value :: file
    end function c_variables

    integer(c_int) function c_find(file, name) bind(c, name='gridio_find')
      import
      type(c_ptr), value :: file
      character(kind=c_char), intent(in) :: name(*)
    end function c_find

    integer(c_int) function c_write(file, number, step, values) bind(c, name='gridio_write')
      import
      type(c_ptr), value :: file
      integer(c_int), value :: number
      integer(c_int64_t), value :: step
      type(*), intent(in) :: values(*)
    end function c_write

    integer(c_int) function c_read(file, number, step, values) bind(c, name='gridio_read')
      import
      type(c_ptr), value :: file
      integer(c_int), value :: number
      integer(c_int64_t), value :: step
      type(*), intent(inout) :: values(*)
    end function c_read

    integer(c_int) function c_sync(file) bind(c, name='gridio_sync')
      import
      type(c_ptr), value :: file
    end function c_sync

    integer(c_int) function c_close(file) bind(c, name='gridio_close')
      import
      type(c_ptr), intent(inout) :: file
    end function c_close

    type(c_ptr) function c_error() bind(c, name='gridio_error')
      import
    end function c_error

    type(c_ptr) function c_pair(method, format) bind(c, name='gridio_pair')
      import
      character(kind=c_char), intent(in) :: method(*), format(*)
    end function c_pair

    integer(c_size_t) function c_strlen(text) bind(c, name='strlen')
      import
      type(c_ptr), value :: text
    end function c_strlen
  end interface

contains

  ! hints and settings: "name=value" words with blanks between them.
  integer function gridio_open(file, path, mode, comm, method, format, hints, settings) result(status)
    type(gridio_file), intent(out) :: file
    character(*), intent(in) :: path
    integer, intent(in) :: mode, comm
    character(*), intent(in), optional :: method, format, hints, settings
    status = c_open(file%c, ended(path), mode, comm, given(method), given(format), given(hints), given(settings))
  end function gridio_open

  ! A variable of which every rank has the same whole. dimension_names: words with blanks between them.
  integer function define_whole(file, number, name, units, kind, sizes, every_step, dimension_names) result(status)
    type(gridio_file), intent(in) :: file
    integer, intent(out) :: number
    character(*), intent(in) :: name, units
    integer, intent(in) :: kind, sizes(:)
    logical, intent(in), optional :: every_step
    character(*), intent(in), optional :: dimension_names
    integer(c_int64_t) :: none(1)
    none = 0
    status = c_define(file%c, ended(name), ended(units), kind, size(sizes), int(sizes, c_int64_t), &
                      given(dimension_names), 0, flag(every_step), 0, none, none, number)
  end function define_whole

  integer function define_block(file, number, name, units, kind, sizes, starts, counts, every_step, &
                                dimension_names) result(status)
    type(gridio_file), intent(in) :: file
    integer, intent(out) :: number
    character(*), intent(in) :: name, units
    integer, intent(in) :: kind, sizes(:), starts(:), counts(:)
    logical, intent(in), optional :: every_step
    character(*), intent(in), optional :: dimension_names
    status = define_blocks(file, number, name, units, kind, sizes, reshape(starts, [size(starts), 1]), &
                           reshape(counts, [size(counts), 1]), every_step, dimension_names)
  end function define_block

  integer function define_blocks(file, number, name, units, kind, sizes, starts, counts, every_step, &
                                 dimension_names) result(status)
    type(gridio_file), intent(in) :: file
    integer, intent(out) :: number
    character(*), intent(in) :: name, units
    integer, intent(in) :: kind, sizes(:), starts(:, :), counts(:, :)
    logical, intent(in), optional :: every_step
    character(*), intent(in), optional :: dimension_names
    status = c_define(file%c, ended(name), ended(units), kind, size(sizes), int(sizes, c_int64_t), &
                      given(dimension_names), 1, flag(every_step), size(starts, 2), &
                      [int(starts, c_int64_t)], [int(counts, c_int64_t)], number)
  end function define_blocks

  integer function gridio_end_definitions(file) result(status)
    type(gridio_file), intent(in) :: file
    status = c_end_definitions(file%c)
  end function gridio_end_definitions

  integer function gridio_steps(file) result(steps)
    type(gridio_file), intent(in) :: file
    steps = int(c_steps(file%c))
  end function gridio_steps

  integer function gridio_variables(file) result(count)
    type(gridio_file), intent(in) :: file
    count = c_variables(file%c)
  end function gridio_variables

  ! A variable's number, -1: there is none of that name.
  integer function gridio_find(file, name) result(number)
    type(gridio_file), intent(in) :: file
    character(*), intent(in) :: name
    number = c_find(file%c, ended(name))
  end function gridio_find

  ! How many dimensions the variable has (-1: there is none), and their sizes.
  integer function gridio_describe(file, number, sizes, kind, every_step) result(dimensions)
    type(gridio_file), intent(in) :: file
    integer, intent(in) :: number
    integer, intent(out) :: sizes(GRIDIO_DIMENSIONS), kind
    logical, intent(out) :: every_step
    integer(c_int64_t) :: long_sizes(GRIDIO_DIMENSIONS)
    integer(c_int) :: every
    long_sizes = 0
    kind = 0
    every = 0
    dimensions = c_describe(file%c, number, long_sizes, kind, every)
    sizes = int(long_sizes)
    every_step = every /= 0
  end function gridio_describe

  integer function select_block(file, number, starts, counts) result(status)
    type(gridio_file), intent(in) :: file
    integer, intent(in) :: number, starts(:), counts(:)
    status = c_select(file%c, number, 1, int(starts, c_int64_t), int(counts, c_int64_t))
  end function select_block

  integer function select_blocks(file, number, starts, counts) result(status)
    type(gridio_file), intent(in) :: file
    integer, intent(in) :: number, starts(:, :), counts(:, :)
    status = c_select(file%c, number, size(starts, 2), [int(starts, c_int64_t)], [int(counts, c_int64_t)])
  end function select_blocks

  ! values: an array of the variable's kind and any rank; a single number as [number].
  integer function gridio_write(file, number, step, values) result(status)
    type(gridio_file), intent(in) :: file
    integer, intent(in) :: number, step
    type(*), intent(in) :: values(*)
    status = c_write(file%c, number, step - 1_c_int64_t, values)
  end function gridio_write

  integer function gridio_read(file, number, step, values) result(status)
    type(gridio_file), intent(in) :: file
    integer, intent(in) :: number, step
    type(*), intent(inout) :: values(*)
    status = c_read(file%c, number, step - 1_c_int64_t, values)
  end function gridio_read

  integer function gridio_sync(file) result(status)
    type(gridio_file), intent(in) :: file
    status = c_sync(file%c)
  end function gridio_sync

  integer function gridio_close(file) result(status)
    type(gridio_file), intent(inout) :: file
    status = c_close(file%c)
  end function gridio_close

  function gridio_error() result(sentence)
    character(:), allocatable :: sentence
    sentence = text_at(c_error())
  end function gridio_error

  ! Empty where the two go together; otherwise the sentence that says why not.
  function gridio_pair(method, format) result(sentence)
    character(*), intent(in) :: method, format
    character(:), allocatable :: sentence
    sentence = text_at(c_pair(ended(method), ended(format)))
  end function gridio_pair

  function ended(text)
    character(*), intent(in) :: text
    character(len_trim(text) + 1, kind=c_char) :: ended
    ended = trim(text) // c_null_char
  end function ended

  function given(text)
    character(*), intent(in), optional :: text
    character(:, kind=c_char), allocatable :: given
    given = c_null_char
    if (present(text)) given = ended(text)
  end function given

  integer function flag(value)
    logical, intent(in), optional :: value
    flag = 0
    if (present(value)) flag = merge(1, 0, value)
  end function flag

  function text_at(address) result(text)
    type(c_ptr), intent(in) :: address
    character(:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    integer :: i
    if (.not. c_associated(address)) then
      text = ''
      return
    end if
    call c_f_pointer(address, letters, [c_strlen(address)])
    allocate (character(size(letters)) :: text)
    do i = 1, size(letters)
      text(i:i) = letters(i)
    end do
  end function text_at
end module gridio
