! SPDX-License-Identifier: BSD-3-Clause
! Collectives by mpi_f08, as in calls_mpif.f90, and with array sections where they are supported: these
! without ierr, which is optional here.
! Prints a line for each part, and stops with 1 where a result is wrong.
module operators
  use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
  use mpi_f08
  implicit none
contains
  ! Sums, as an operator of the program: MPI calls it by addresses.
  subroutine added(in, inout, n, type)
    type(c_ptr), value :: in, inout
    integer :: n, i
    type(MPI_Datatype) :: type
    double precision, pointer :: a(:), b(:)
    call c_f_pointer(in, a, (/n/))
    call c_f_pointer(inout, b, (/n/))
    do i = 1, n
      b(i) = a(i) + b(i)
    end do
  end subroutine

  ! (a, b) after (c, d) is (a c, a d + b): does not commute. Elements are pairs.
  subroutine composed(in, inout, n, type)
    type(c_ptr), value :: in, inout
    integer :: n, i
    type(MPI_Datatype) :: type
    integer, pointer :: a(:, :), b(:, :)
    call c_f_pointer(in, a, (/2, n/))
    call c_f_pointer(inout, b, (/2, n/))
    do i = 1, n
      b(2, i) = a(1, i) * b(2, i) + a(2, i)
      b(1, i) = a(1, i) * b(1, i)
    end do
  end subroutine
end module

program calls
  use operators
  implicit none
  type(MPI_Op) :: op
  type(MPI_Datatype) :: type, inner, pair, types(2)
  include 'calls.inc'
contains
  include 'calls_checks.inc'

  subroutine sections()
    ! Every other element of a column: a descriptor with strides. MPICH 4.0.2 mistakes sections of
    ! two dimensions.
    if (.not. MPI_SUBARRAYS_SUPPORTED) return
    matrix = rank
    call MPI_Bcast(matrix(1:6:2, 2), 3, MPI_DOUBLE_PRECISION, root, MPI_COMM_WORLD)
    call expect('section', all_are(matrix(1:6:2, 2), dble(root)) .and. &
                all_are(matrix(2:6:2, 2), dble(rank)) .and. all_are(matrix(:, 3), dble(rank)))
    ! No predefined operator: MPICH makes the section a derived type, which it then refuses.
    numbers = -1
    numbers(1:4) = (/(8 * rank + i, i=1, 4)/)
    all = -1
    call MPI_Allgather(numbers(1:4), 4, MPI_INTEGER, all(1:4 * ranks), 4, MPI_INTEGER, &
                       MPI_COMM_WORLD)
    call expect('section of all', in_order(.true.))
    numbers = (/(8 * rank + i, i=1, 8)/)
    call MPI_Gather(numbers(2:8:2), 4, MPI_INTEGER, all, 4, MPI_INTEGER, root, MPI_COMM_WORLD)
    call expect('section sent', rank /= root .or. all(4) == 8 .and. all(4 * ranks) == 8 * ranks)
  end subroutine
end program
