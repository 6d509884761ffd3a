! Collectives by mpi_f08, of array sections, too.
program cases
  use mpi_f08
  implicit none
  integer :: rank, size, i, sum
  integer :: x(8), y(8)
  logical :: right

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  right = .true.
  do i = 1, 40
    sum = rank + i
    call MPI_Allreduce(MPI_IN_PLACE, sum, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    right = right .and. sum == size * (size - 1) / 2 + size * i
    x = rank
    if (MPI_SUBARRAYS_SUPPORTED) then
      call MPI_Bcast(x(1:7:2), 4, MPI_INTEGER, size - 1, MPI_COMM_WORLD)
      right = right .and. all(x(1:7:2) == size - 1) .and. all(x(2:8:2) == rank)
    end if
    x = rank + 1
    call MPI_Reduce(x, y, 8, MPI_INTEGER, MPI_MAX, 0, MPI_COMM_WORLD)
    if (rank == 0) right = right .and. all(y == size)
    call MPI_Barrier(MPI_COMM_WORLD)
  end do
  call MPI_Allreduce(MPI_IN_PLACE, right, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD)
  call MPI_Finalize()
  if (.not. right) stop 1
  if (rank == 0) print '(a)', 'all right'
end program cases
