! A table of numbers as text, line by line: formatted FOLDER.
program formatted
  implicit none
  integer, parameter :: lines = 200000
  character(len=4096) :: folder
  integer :: unit, line
  call get_command_argument(1, folder)
  open (newunit=unit, file=trim(folder)//'/table.txt', status='replace', action='write')
  do line = 1, lines
    write (unit, '(i8, 3es16.8)') line, sqrt(real(line, 8)), sin(real(line, 8)), 1.0d0/line
    if (mod(line, 20000) == 0) flush (unit)
  end do
  close (unit)
end program
