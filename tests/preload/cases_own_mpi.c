/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that has MPI within itself, as one that is linked statically. */
int PMPI_Init(void) { return 0; }
int main(void) { return PMPI_Init() + 3; }
