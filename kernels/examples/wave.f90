! Writes and reads a wave on 64 x 48 points: mpif90 wave.f90 $(pkg-config --cflags --libs gridio) -o wave
! mpiexec -n 4 ./wave collective mpiio wave.grid
program wave
  use gridio
  use mpi
  implicit none
  integer, parameter :: nx = 64, ny = 48, steps = 5
  character(200) :: method, format, path
  integer :: rank, ranks, code, number, step, x, y, first, rows
  real(8), allocatable :: height(:, :), back(:, :)
  type(gridio_file) :: file
  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, code)
  call get_command_argument(1, method)
  call get_command_argument(2, format)
  call get_command_argument(3, path)
  first = ny * rank / ranks + 1
  rows = ny * (rank + 1) / ranks + 1 - first
  allocate (height(nx, rows), back(nx, rows))
  call check(gridio_open(file, path, GRIDIO_WRITE_MODE, MPI_COMM_WORLD, method, format))
  call check(gridio_define(file, number, 'wave', 'm', GRIDIO_FLOAT64, [nx, ny], [1, first], [nx, rows], every_step=.true.))
  call check(gridio_end_definitions(file))
  do step = 1, steps
    height = reshape([((sin(0.1d0 * x + 0.2d0 * y - (step - 1)), x=0, nx - 1), y=first - 1, first + rows - 2)], [nx, rows])
    call check(gridio_write(file, number, step, height))
    call check(gridio_sync(file))
  end do
  call check(gridio_close(file))
  call check(gridio_open(file, path, GRIDIO_READ_MODE, MPI_COMM_WORLD, method, format))
  call check(gridio_select(file, number, [1, first], [nx, rows]))
  call check(gridio_read(file, number, gridio_steps(file), back))
  call check(gridio_close(file))
  if (maxval(abs(back - height)) > 0) error stop 'wave: other numbers come back'
  call MPI_Finalize(code)
contains
  subroutine check(status)
    integer, intent(in) :: status
    if (status /= 0) error stop gridio_error()
  end subroutine check
end program wave
