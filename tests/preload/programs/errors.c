/* SPDX-License-Identifier: BSD-3-Clause */
/* errors return|user|fatal [CASE ...], finalize, list: calls that MPI refuses, and the class of each
   error.

   return and user print a line for each case that this process survives: the name, and the class
   on rank 0. A case may be named, so that the one that ends a process does so alone. fatal runs one
   case under MPI_ERRORS_ARE_FATAL, which must end the job. finalize calls collectives in callbacks
   of MPI_Finalize. list prints the names. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, handled, handled_class, wrong;
static int in_buffer[64], out_buffer[64];
static MPI_Datatype uncommitted;

/* A handler that calls a collective itself: on a communicator whose calls nobody refuses. */
static MPI_Comm quiet = MPI_COMM_NULL;

static void handler(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  ++handled;
  MPI_Error_class(*code, &handled_class);
  int mine = 1, all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, quiet);
  if (all != size) ++wrong;
}

enum Call { ALLREDUCE, REDUCE, BCAST, ALLGATHER, SCATTER_REDUCED, SCATTER_BLOCK, GATHER, SCATTER };
static const char* const call_names[] = {"Allreduce", "Reduce",         "Bcast",
                                         "Allgather", "Reduce_scatter", "Reduce_scatter_block",
                                         "Gather",    "Scatter"};

/* What a call is given. Each case changes one of these. */
struct Arguments {
  void* in;
  void* out;
  int count;
  MPI_Datatype type;
  MPI_Op op;
  int root;
  MPI_Comm comm;
};

static int call(enum Call which, const struct Arguments* a) {
  int counts[64];
  for (int i = 0; i < 64; ++i) counts[i] = a->count;
  switch (which) {
    case ALLREDUCE:
      return MPI_Allreduce(a->in, a->out, a->count, a->type, a->op, a->comm);
    case REDUCE:
      return MPI_Reduce(a->in, a->out, a->count, a->type, a->op, a->root, a->comm);
    case BCAST:
      return MPI_Bcast(a->out, a->count, a->type, a->root, a->comm);
    case ALLGATHER:
      return MPI_Allgather(a->in, a->count, a->type, a->out, a->count, a->type, a->comm);
    case SCATTER_REDUCED:
      return MPI_Reduce_scatter(a->in, a->out, counts, a->type, a->op, a->comm);
    case SCATTER_BLOCK:
      return MPI_Reduce_scatter_block(a->in, a->out, a->count, a->type, a->op, a->comm);
    case GATHER:
      return MPI_Gather(a->in, a->count, a->type, a->out, a->count, a->type, a->root, a->comm);
    default:
      return MPI_Scatter(a->in, a->count, a->type, a->out, a->count, a->type, a->root, a->comm);
  }
}

static int reduces(enum Call c) {
  return c == ALLREDUCE || c == REDUCE || c == SCATTER_REDUCED || c == SCATTER_BLOCK;
}
static int has_root(enum Call c) {
  return c == REDUCE || c == BCAST || c == GATHER || c == SCATTER;
}

enum Mistake {
  ROOT_TOO_LARGE,
  ROOT_NEGATIVE,
  COUNT_NEGATIVE,
  TYPE_NULL,
  TYPE_UNCOMMITTED,
  OP_NULL,
  OP_UNFIT,
  OP_ON_DERIVED,
  ALIASED,
  IN_PLACE_WRONG,
  BUFFER_NULL,
  COMM_NULL,
  MISTAKES
};
static const char* const mistake_names[] = {
    "root too large", "negative root",      "negative count", "null type",
    "not committed",  "null operator",      "unfit operator", "operator on derived type",
    "aliased",        "wrong MPI_IN_PLACE", "null buffer",    "null communicator"};

/* Whether this mistake can be made in this call. */
static int possible(enum Call c, enum Mistake m) {
  switch (m) {
    case ROOT_TOO_LARGE:
    case ROOT_NEGATIVE:
      return has_root(c);
    case OP_NULL:
    case OP_UNFIT:
    case OP_ON_DERIVED:
      return reduces(c);
    /* Where only a root is refused, the others wait for it without end. */
    case ALIASED:
      return c == ALLREDUCE || c == ALLGATHER || c == SCATTER_REDUCED || c == SCATTER_BLOCK;
    case IN_PLACE_WRONG:
      return c != REDUCE && c != GATHER && c != SCATTER;
    default:
      return 1;
  }
}

static struct Arguments arguments(enum Mistake m, MPI_Datatype derived) {
  struct Arguments a = {in_buffer, out_buffer, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD};
  switch (m) {
    case ROOT_TOO_LARGE:
      a.root = size + 3;
      break;
    case ROOT_NEGATIVE:
      a.root = -17;
      break;
    case COUNT_NEGATIVE:
      a.count = -1;
      break;
    case TYPE_NULL:
      a.type = MPI_DATATYPE_NULL;
      break;
    case TYPE_UNCOMMITTED:
      a.type = uncommitted;
      break;
    case OP_NULL:
      a.op = MPI_OP_NULL;
      break;
    case OP_UNFIT:
      a.type = MPI_DOUBLE, a.op = MPI_BAND;
      break;
    case OP_ON_DERIVED:
      a.type = derived;
      break;
    case ALIASED:
      a.in = a.out;
      break;
    case IN_PLACE_WRONG:
      a.out = MPI_IN_PLACE;
      break;
    case BUFFER_NULL:
      a.in = NULL, a.out = NULL;
      break;
    default:
      a.comm = MPI_COMM_NULL;
      break;
  }
  return a;
}

/* Both communicators stay usable after a refused call. */
static void check_usable(void) {
  int mine = rank + 1, all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, quiet);
  if (all != size * (size + 1) / 2) ++wrong;
}

static int at_end(MPI_Comm comm, int key, void* value, void* extra) {
  (void)comm, (void)key, (void)value, (void)extra;
  int mine = rank + 1, all = 0;
  const int code = MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  int value_of_root = rank == 0 ? 41 : 0;
  MPI_Bcast(&value_of_root, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  if (code != MPI_SUCCESS || all != size * (size + 1) / 2 || value_of_root != 41) {
    fprintf(stderr, "errors: rank %d: wrong results in a callback of MPI_Finalize\n", rank);
    exit(1);
  }
  if (rank == 0) printf("callback of MPI_Finalize: right\n");
  fflush(stdout);
  return MPI_SUCCESS;
}

static void copy(char* to, size_t room, enum Call c, enum Mistake m) {
  snprintf(to, room, "%s: %s", call_names[c], mistake_names[m]);
}

/* All cases, or those whose names are given. */
static int run_cases(const char* how, int names, char** only) {
  MPI_Errhandler own;
  MPI_Comm_create_errhandler(handler, &own);
  MPI_Errhandler chosen = MPI_ERRORS_RETURN;
  if (strcmp(how, "user") == 0) chosen = own;
  if (strcmp(how, "fatal") == 0) chosen = MPI_ERRORS_ARE_FATAL;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, chosen);
  /* Some libraries report MPI_COMM_NULL here. */
  MPI_Comm_set_errhandler(MPI_COMM_SELF, chosen);
  MPI_Datatype derived;
  MPI_Type_contiguous(2, MPI_INT, &derived);
  MPI_Type_commit(&derived);
  /* More calls than a preload leaves to MPI in the beginning. */
  for (int i = 0; i < 80; ++i) MPI_Barrier(MPI_COMM_WORLD);
  int found = 0;
  for (int c = 0; c <= SCATTER; ++c) {
    for (int m = 0; m < MISTAKES; ++m) {
      if (!possible((enum Call)c, (enum Mistake)m)) continue;
      char name[80];
      copy(name, sizeof name, (enum Call)c, (enum Mistake)m);
      int asked = names == 0;
      for (int i = 0; i < names; ++i) asked |= strcmp(only[i], name) == 0;
      if (!asked) continue;
      found = 1;
      const struct Arguments a = arguments((enum Mistake)m, derived);
      handled = 0;
      handled_class = MPI_SUCCESS;
      const int code = call((enum Call)c, &a);
      int class = MPI_SUCCESS;
      MPI_Error_class(code, &class);
      /* A line of each rank in one write, for ranks may print at a time. */
      printf("%s: rank %d: class %d, handled %d of class %d\n", name, rank, class, handled,
             handled_class);
      fflush(stdout);
      check_usable();
    }
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Type_free(&derived);
  MPI_Errhandler_free(&own);
  return found ? 0 : 2;
}

int main(int argc, char** argv) {
  const char* const how = argc > 1 ? argv[1] : "return";
  if (strcmp(how, "list") == 0) {
    for (int c = 0; c <= SCATTER; ++c) {
      for (int m = 0; m < MISTAKES; ++m) {
        if (possible((enum Call)c, (enum Mistake)m)) {
          printf("%s: %s\n", call_names[c], mistake_names[m]);
        }
      }
    }
    return 0;
  }
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Type_vector(2, 1, 2, MPI_INT, &uncommitted);
  MPI_Comm_dup(MPI_COMM_WORLD, &quiet);
  int status = 0;
  if (strcmp(how, "finalize") == 0) {
    int key;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_end, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
    for (int i = 0; i < 80; ++i) MPI_Barrier(MPI_COMM_WORLD);
  } else {
    status = run_cases(how, argc > 2 ? argc - 2 : 0, argv + 2);
  }
  MPI_Type_free(&uncommitted);
  MPI_Comm_free(&quiet);
  MPI_Finalize();
  if (wrong != 0) fprintf(stderr, "errors: rank %d: %d calls beside went wrong\n", rank, wrong);
  return wrong != 0 ? 1 : status;
}
