! Collectives by mpif.h. Prints a line for each part, and stops with 1 where a result is wrong.
module operators
  implicit none
contains
  ! Sums, as an operator of the program: MPI calls it by addresses.
  subroutine added(a, b, n, type)
    integer :: n, type, i
    double precision :: a(n), b(n)
    do i = 1, n
      b(i) = a(i) + b(i)
    end do
  end subroutine

  ! (a, b) after (c, d) is (a c, a d + b): does not commute. Elements are pairs.
  subroutine composed(a, b, n, type)
    integer :: n, type, i
    integer :: a(2, n), b(2, n)
    do i = 1, n
      b(2, i) = a(1, i) * b(2, i) + a(2, i)
      b(1, i) = a(1, i) * b(1, i)
    end do
  end subroutine
end module

program calls
  use operators
  implicit none
  include 'mpif.h'
  integer :: ierr, rank, ranks, i, failures, op, type, inner, pair, root, round
  integer :: lengths(2), types(2), numbers(8), received(8), both(2), wanted(2)
  integer, allocatable :: all(:), counts(:)
  integer(kind=MPI_ADDRESS_KIND) :: places(2)
  double precision :: x(4), y(4), matrix(6, 4)
  logical :: l, m
  complex :: c, d
  double complex :: z, w
  real :: location(2), lowest(2)
  character(len=8) :: word

  failures = 0
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  allocate (all(4 * ranks), counts(ranks))
  ! More than a preload leaves to MPI in the beginning.
  do round = 1, 12
    root = mod(round, ranks)
    x = rank + 1
    y = 0
    call MPI_Allreduce(x, y, 4, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
    call expect('allreduce', all_are(y, dble(ranks * (ranks + 1) / 2)))
    y = x
    call MPI_Allreduce(MPI_IN_PLACE, y, 4, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
    call expect('allreduce in place', all_are(y, dble(ranks * (ranks + 1) / 2)))

    call MPI_Op_create(added, .true., op, ierr)
    call MPI_Allreduce(x, y, 4, MPI_DOUBLE_PRECISION, op, MPI_COMM_WORLD, ierr)
    call expect('operator', all_are(y, dble(ranks * (ranks + 1) / 2)))
    call MPI_Op_free(op, ierr)

    call MPI_Type_contiguous(2, MPI_INTEGER, pair, ierr)
    call MPI_Type_commit(pair, ierr)
    call MPI_Op_create(composed, .false., op, ierr)
    both = (/2, rank + 1/)
    wanted = (/2, ranks/)
    do i = ranks - 2, 0, -1
      wanted = (/2 * wanted(1), 2 * wanted(2) + i + 1/)
    end do
    received = 0
    call MPI_Reduce(both, received, 1, pair, op, root, MPI_COMM_WORLD, ierr)
    call expect('operator in order', rank /= root .or. &
                received(1) == wanted(1) .and. received(2) == wanted(2))
    call MPI_Op_free(op, ierr)
    call MPI_Type_free(pair, ierr)

    numbers = rank
    if (rank == root) then
      call MPI_Reduce(MPI_IN_PLACE, numbers, 8, MPI_INTEGER, MPI_SUM, root, MPI_COMM_WORLD, ierr)
      call expect('reduce in place', numbers(8) == ranks * (ranks - 1) / 2)
    else
      call MPI_Reduce(numbers, received, 8, MPI_INTEGER, MPI_SUM, root, MPI_COMM_WORLD, ierr)
    end if

    l = rank /= 1
    call MPI_Allreduce(l, m, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, ierr)
    call expect('logical and', m .eqv. (ranks < 2))
    call MPI_Allreduce(l, m, 1, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD, ierr)
    call expect('logical or', m)
    c = cmplx(1.0, real(rank))
    call MPI_Allreduce(c, d, 1, MPI_COMPLEX, MPI_SUM, MPI_COMM_WORLD, ierr)
    call expect('complex', d == cmplx(real(ranks), real(ranks * (ranks - 1) / 2)))
    z = (0d0, 1d0)
    call MPI_Allreduce(z, w, 1, MPI_DOUBLE_COMPLEX, MPI_PROD, MPI_COMM_WORLD, ierr)
    call expect('double complex', abs(w - (0d0, 1d0)**ranks) < 1d-12)
    location = (/real(mod(rank + 2, ranks)), real(rank)/)
    call MPI_Allreduce(location, lowest, 1, MPI_2REAL, MPI_MINLOC, MPI_COMM_WORLD, ierr)
    call expect('minloc', lowest(1) == 0 .and. nint(lowest(2)) == mod(2 * ranks - 2, ranks))

    ! A row of a matrix, which is a vector.
    matrix = rank
    call MPI_Type_vector(4, 1, 6, MPI_DOUBLE_PRECISION, type, ierr)
    call MPI_Type_commit(type, ierr)
    call MPI_Bcast(matrix(2, 1), 1, type, root, MPI_COMM_WORLD, ierr)
    call expect('row', all_are(matrix(2, :), dble(root)) .and. all_are(matrix(3, :), dble(rank)))
    call MPI_Type_free(type, ierr)

    ! Two variables by their addresses.
    numbers(1) = rank
    y = rank
    lengths = (/1, 4/)
    types = (/MPI_INTEGER, MPI_DOUBLE_PRECISION/)
    call MPI_Get_address(numbers, places(1), ierr)
    call MPI_Get_address(y, places(2), ierr)
    call MPI_Type_create_struct(2, lengths, places, types, inner, ierr)
    call MPI_Type_commit(inner, ierr)
    call MPI_Bcast(MPI_BOTTOM, 1, inner, root, MPI_COMM_WORLD, ierr)
    call MPI_Get_address(numbers, places(1), ierr)
    call expect('bottom', numbers(1) == root .and. all_are(y, dble(root)))
    call MPI_Type_free(inner, ierr)

    word = 'nobody'
    if (rank == root) word = 'somebody'
    call MPI_Bcast(word, 8, MPI_CHARACTER, root, MPI_COMM_WORLD, ierr)
    call expect('character', word == 'somebody')

    all = -1
    numbers = (/(8 * rank + i, i=1, 8)/)
    call MPI_Allgather(numbers, 4, MPI_INTEGER, all, 4, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    call expect('allgather', in_order(.true.))
    all = -1
    all(4 * rank + 1:4 * rank + 4) = numbers(1:4)
    call MPI_Allgather(MPI_IN_PLACE, 0, MPI_INTEGER, all, 4, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    call expect('allgather in place', in_order(.true.))
    all = -1
    call MPI_Gather(numbers, 4, MPI_INTEGER, all, 4, MPI_INTEGER, root, MPI_COMM_WORLD, ierr)
    call expect('gather', in_order(rank == root))
    all = -1
    all(4 * rank + 1:4 * rank + 4) = numbers(1:4)
    if (rank == root) then
      call MPI_Gather(MPI_IN_PLACE, 0, MPI_INTEGER, all, 4, MPI_INTEGER, root, &
                      MPI_COMM_WORLD, ierr)
      call expect('gather in place', in_order(.true.))
    else
      call MPI_Gather(numbers, 4, MPI_INTEGER, all, 4, MPI_INTEGER, root, MPI_COMM_WORLD, ierr)
    end if
    received = -1
    if (rank == root) then
      call MPI_Scatter(all, 4, MPI_INTEGER, MPI_IN_PLACE, 4, MPI_INTEGER, root, MPI_COMM_WORLD, &
                       ierr)
    else
      call MPI_Scatter(all, 4, MPI_INTEGER, received, 4, MPI_INTEGER, root, MPI_COMM_WORLD, ierr)
      call expect('scatter', received(1) == 8 * rank + 1 .and. received(4) == 8 * rank + 4)
    end if

    all = rank
    counts = 4
    received = -1
    call MPI_Reduce_scatter(all, received, counts, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, ierr)
    call expect('reduce_scatter', received(4) == ranks - 1 .and. received(5) == -1)
    received = -1
    call MPI_Reduce_scatter_block(all, received, 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    call expect('reduce_scatter_block', received(1) == ranks * (ranks - 1) / 2)
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
  end do
  call MPI_Finalize(ierr)
  if (rank == 0) print '(a, i0)', 'failures ', failures
  if (failures > 0) stop 1

contains
  subroutine expect(what, right)
    character(len=*), intent(in) :: what
    logical, intent(in) :: right
    if (round == 12 .and. rank == 0) print '(3a)', what, ': ', trim(merge('right', 'wrong', right))
    if (right) return
    failures = failures + 1
    print '(a, i0, 2a)', 'rank ', rank, ': wrong: ', what
  end subroutine

  logical function all_are(values, value)
    double precision, intent(in) :: values(:), value
    integer :: k
    all_are = .true.
    do k = 1, size(values)
      all_are = all_are .and. abs(values(k) - value) < 1d-12
    end do
  end function

  logical function in_order(here)
    logical, intent(in) :: here
    integer :: k, r
    in_order = .true.
    if (.not. here) return
    do r = 0, ranks - 1
      do k = 1, 4
        in_order = in_order .and. all(4 * r + k) == 8 * r + k
      end do
    end do
  end function
end program
