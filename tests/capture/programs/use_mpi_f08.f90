! The calls of bindings.inc by `use mpi_f08`.
program use_mpi_f08
  use mpi_f08
  implicit none
  type(MPI_Request) :: requests(2)
  type(MPI_Status) :: status
  type(MPI_Comm) :: half
  type(MPI_File) :: file
  integer :: rank, ranks, left, right, in(64), out(64), index, error
  integer(kind=MPI_OFFSET_KIND) :: offset
  character(len=4096) :: path
  include 'bindings.inc'
end program
