! The calls of bindings.inc by `use mpi`.
program use_mpi
  use mpi
  implicit none
  integer :: requests(2), status(MPI_STATUS_SIZE), half, file
  integer :: rank, ranks, left, right, in(64), out(64), index, error
  integer(kind=MPI_OFFSET_KIND) :: offset
  character(len=4096) :: path
  include 'bindings.inc'
end program
