! The calls of bindings.inc by `include 'mpif.h'`.
program mpif
  implicit none
  include 'mpif.h'
  integer :: requests(2), status(MPI_STATUS_SIZE), half, file
  integer :: rank, ranks, left, right, in(64), out(64), index, error
  integer(kind=MPI_OFFSET_KIND) :: offset
  character(len=4096) :: path
  include 'bindings.inc'
end program
