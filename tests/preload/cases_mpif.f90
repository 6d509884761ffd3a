! Collectives by mpif.h: MPI_IN_PLACE, MPI_BOTTOM, LOGICAL, COMPLEX, an operator of the program's.
module an_operator
contains
  ! Differences of neighbours: x - y, which neither commutes nor associates; of two ranks only.
  subroutine subtract(in, inout, n, type)
    integer :: n, type
    double precision :: in(n), inout(n)
    inout = in - inout
  end subroutine subtract
end module an_operator

program cases
  use an_operator
  implicit none
  include 'mpif.h'
  integer :: ierr, rank, size, i, sum, op, type, lengths(1)
  integer(kind=MPI_ADDRESS_KIND) :: places(1)
  logical :: all_true, right
  complex :: z, total
  double precision :: x(3), y(3)
  integer, allocatable :: gathered(:)
  logical :: is_later

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierr)
  right = .true.
  allocate(gathered(size))
  do i = 1, 40
    sum = rank + i
    call MPI_Allreduce(MPI_IN_PLACE, sum, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    right = right .and. sum == size * (size - 1) / 2 + size * i
    is_later = rank /= 0
    call MPI_Allreduce(is_later, all_true, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, ierr)
    right = right .and. .not. all_true
    z = cmplx(rank, i)
    call MPI_Allreduce(z, total, 1, MPI_COMPLEX, MPI_SUM, MPI_COMM_WORLD, ierr)
    right = right .and. total == cmplx(size * (size - 1) / 2, i * size)
    call MPI_Allgather(rank, 1, MPI_INTEGER, gathered, 1, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    right = right .and. gathered(size) == size - 1
    gathered = 0
    gathered(rank + 1) = i
    if (rank == 0) then
      call MPI_Gather(MPI_IN_PLACE, 1, MPI_INTEGER, gathered, 1, MPI_INTEGER, 0, &
                      MPI_COMM_WORLD, ierr)
      right = right .and. all(gathered == i)
    else
      call MPI_Gather(gathered(rank + 1), 1, MPI_INTEGER, gathered, 1, MPI_INTEGER, 0, &
                      MPI_COMM_WORLD, ierr)
    end if
    x = rank + 1
    call MPI_Get_address(x, places(1), ierr)
    lengths(1) = 3
    call MPI_Type_create_hindexed(1, lengths, places, MPI_DOUBLE_PRECISION, type, ierr)
    call MPI_Type_commit(type, ierr)
    call MPI_Bcast(MPI_BOTTOM, 1, type, size - 1, MPI_COMM_WORLD, ierr)
    right = right .and. all(x == size)
    call MPI_Type_free(type, ierr)
    if (size == 2) then
      call MPI_Op_create(subtract, .false., op, ierr)
      x = rank + i
      call MPI_Allreduce(x, y, 3, MPI_DOUBLE_PRECISION, op, MPI_COMM_WORLD, ierr)
      right = right .and. all(y == -1)
      call MPI_Op_free(op, ierr)
    end if
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
  end do
  call MPI_Allreduce(MPI_IN_PLACE, right, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, ierr)
  call MPI_Finalize(ierr)
  if (.not. right) stop 1
  if (rank == 0) print '(a)', 'all right'
end program cases
