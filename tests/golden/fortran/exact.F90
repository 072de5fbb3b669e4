! exact CASE: the cases `imbalanced` and `master-writer` in Fortran, so that the same expectations hold for
! its three bindings: compile with -DBINDING=1 (mpif.h), 2 (use mpi) or 3 (use mpi_f08).
program exact
#if BINDING == 3
   use mpi_f08
#elif BINDING == 2
   use mpi
#endif
   use, intrinsic :: iso_fortran_env, only: int64, int8
   use, intrinsic :: iso_c_binding, only: c_int, c_int64_t
   implicit none
#if BINDING == 1
   include 'mpif.h'
#endif
   interface
      integer(c_int) function usleep(microseconds) bind(c)
         import :: c_int
         integer(c_int), value :: microseconds
      end function usleep
      integer(c_int64_t) function processor_wait_ns() bind(c, name='waited_ns')
         import :: c_int64_t
      end function processor_wait_ns
   end interface

   integer, parameter :: step_ms = 100, history_bytes = 2*1024*1024
   integer :: rank, ranks, error
   integer(int64) :: begin_ns, end_ns, useful_ns, late_ns, waited_ns
   character(len=64) :: name

   useful_ns = 0
   late_ns = 0
   call get_command_argument(1, name)
   call MPI_Init(error)
   waited_ns = -processor_wait_ns()
   begin_ns = now_ns()
   call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
   call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
   call MPI_Barrier(MPI_COMM_WORLD, error)
   select case (name)
   case ('imbalanced')
      call compute((rank + 1)*step_ms)
   case ('master-writer')
      call compute(2*step_ms)
      call gather_and_write()
   case default
      error stop 'exact: there is no such case'
   end select
   call MPI_Barrier(MPI_COMM_WORLD, error)
   end_ns = now_ns()
   waited_ns = waited_ns + processor_wait_ns()
   call MPI_Finalize(error)
   call leave_account()

contains

   integer(int64) function now_ns()
      integer(int64) :: rate
      call system_clock(now_ns, rate)
      now_ns = now_ns*(1000000000_int64/rate)
   end function now_ns

   subroutine compute(milliseconds)
      integer, intent(in) :: milliseconds
      integer(int64) :: start_ns, took_ns
      start_ns = now_ns()
      if (usleep(int(milliseconds*1000, c_int)) /= 0) error stop 'exact: usleep failed'
      took_ns = now_ns() - start_ns
      useful_ns = useful_ns + took_ns
      late_ns = late_ns + took_ns - milliseconds*1000000_int64
   end subroutine compute

   subroutine gather_and_write()
      integer(int8) :: mine(1024)
      integer(int8), allocatable :: all_of_them(:)
      allocate (all_of_them(1024*ranks))
      mine = int(rank, int8)
      call MPI_Gather(mine, 1024, MPI_BYTE, all_of_them, 1024, MPI_BYTE, 0, MPI_COMM_WORLD, error)
      if (rank == 0) call write_history()
   end subroutine gather_and_write

   subroutine write_history()
      integer(int8), allocatable, save :: history(:)
      integer :: unit
      allocate (history(history_bytes))
      open (newunit=unit, file=variable('EXACT_DIRECTORY')//'/history', access='stream', form='unformatted')
      write (unit) history
      close (unit)
   end subroutine write_history

   function variable(key) result(text)
      character(len=*), intent(in) :: key
      character(len=:), allocatable :: text
      integer :: length
      call get_environment_variable(key, length=length)
      allocate (character(len=length) :: text)
      call get_environment_variable(key, text)
   end function variable

   subroutine leave_account()
      character(len=16) :: digits
      integer :: unit
      write (digits, '(i0)') rank
      open (newunit=unit, file=variable('EXACT_RESULTS')//'/rank.'//trim(digits))
      write (unit, '(6(i0,1x))') begin_ns, end_ns, useful_ns, 0, late_ns, waited_ns
      close (unit)
   end subroutine leave_account

end program exact
