! The test writes other names of the module and of the calls into this text.
program profiled
  use mpi
  implicit none
  integer :: rank, number, i, error
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  do i = 1, 3
    call MPI_Barrier(MPI_COMM_WORLD, error)
  end do
  number = rank
  call MPI_Bcast(number, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
  print '(a, i2, i2)', 'rank', rank, number
  call MPI_Finalize(error)
end program
