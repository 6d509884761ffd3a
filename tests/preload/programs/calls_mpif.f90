! SPDX-License-Identifier: BSD-3-Clause
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
  integer :: op, type, inner, pair, types(2)
  include 'calls.inc'
contains
  include 'calls_checks.inc'

  subroutine sections()  ! mpif.h has none
  end subroutine
end program
