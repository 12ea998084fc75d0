/*===- emulator.h - Device code on the host ------------------------------===*
 *
 * Runs kernels that the compiler translated for the host from the code of a
 * GPU: one fibre per thread, one block at a time, so that barriers and shuffles
 * are where threads meet. What a GPU would answer with wrong numbers or not at
 * all is an error here, one line naming kernel, block, thread and byte:
 *
 *   - a barrier that not all threads of the block reach
 *   - a shuffle whose members wait elsewhere, or that reads a thread which is
 *     not there
 *   - an access beyond all known memory, to memory that is constant, or at an
 *     address that is not a multiple of the alignment that the code declares
 *   - two threads at one byte without a barrier between them, unless both read
 *     or both are atomic
 *   - a write to what the same launch reads as constant memory, by a path that
 *     may hold old values
 *   - an access to shared memory into which an asynchronous copy goes on, and a
 *     thread that ends before its copies
 *   - matrices of a warp that not all of its lanes load or multiply
 *
 * Shared memory holds NaNs (bytes 0xFF) when a block starts. Accesses,
 * constants and races need code that the compiler instrumented.
 *
 *===----------------------------------------------------------------------===*/

#ifndef HONERT_EMULATOR_H
#define HONERT_EMULATOR_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes that device code knows by name. */
typedef struct honemu_segment {
  void *address;
  int64_t bytes;
  int64_t writable; /* 0: constant */
} honemu_segment;

/* A kernel as the compiler describes it. */
typedef struct honemu_kernel {
  const char *name;
  /* One thread of it. args[i] is the address of its i-th parameter. */
  void (*thread)(void **args);
  int64_t max_threads; /* of a block; 0: not stated */
  int64_t segments;    /* of shared memory */
  const honemu_segment *shared;
} honemu_kernel;

/* All kernels of a program, and its variables in global memory. */
typedef struct honemu_image {
  int64_t kernel_count;
  const honemu_kernel *kernels;
  int64_t global_count;
  const honemu_segment *globals;
} honemu_image;

typedef struct honemu_options {
  /* Blocks, warps and lanes take turns in an order drawn from it; 0: in their
     own. */
  uint64_t seed;
  /* Whether races in global memory are looked for, also between blocks, and
     writes to constants. Takes 20 bytes per byte that kernels touch. */
  int64_t global_races;
  /* Whether approximate instructions err, by up to what the PTX manual allows
     and as the bits of their result decide; else they are exact. */
  int64_t inexact;
  /* Faults of a broken GPU, to be added: tests show that they are found. */
  int64_t faults;
} honemu_options;

enum {
  honemu_fault_shuffle = 1, /* a lane of a shuffle gets its own value */
  honemu_fault_barrier = 2  /* nobody waits at a barrier; races go unnoticed */
};

typedef struct honemu_emulator honemu_emulator;

/* An emulator of `image`, which outlives it. One host thread at a time may run
   it. */
honemu_emulator *honemu_create(const honemu_image *image);
void honemu_destroy(honemu_emulator *emulator);
/* Makes `bytes` bytes known as global memory; 0 bytes: the allocation that
   starts at `address` is known no longer. Allocations do not overlap. */
void honemu_add_memory(honemu_emulator *emulator, void *address, int64_t bytes);
/* Runs a kernel to its end. `args` as cuLaunchKernel takes them: args[i] is the
   address of the i-th parameter. Returns 0, or 1 after the first mistake, which
   it writes to `message`; blocks that came before it have run. */
int honemu_run(honemu_emulator *emulator, const char *kernel, int64_t blocks,
               int64_t threads, void **args, const honemu_options *options,
               char *message, int64_t message_bytes);

/* Whether the latest run came to an approximate instruction. */
int honemu_approximated(const honemu_emulator *emulator);

/* The same for an executable into which one image was linked under the name
   `honemu_linked_image`. The options come from the environment: HONEMU_SEED,
   HONEMU_GLOBAL_RACES and HONEMU_INEXACT, 0 unless set, and HONE_FAKE_FAULT,
   `shuffle:KERNEL` or `barrier:KERNEL`, for kernels in whose names KERNEL is.
 */
int honemu_launch(const char *kernel, int64_t blocks, int64_t threads,
                  void **args, char *message, int64_t message_bytes);
void honemu_allocation(void *address, int64_t bytes);

/* What device code calls. */
#define HONEMU_INTRINSIC(result, name, parameters) result name parameters;
#include "honert/emulator.def"
#undef HONEMU_INTRINSIC

/* Kinds of accesses, to be added. */
enum {
  honemu_writes = 1,
  honemu_is_atomic = 2,
  honemu_is_shared = 4,
  honemu_is_constant = 8 /* ld.global.nc */
};
/* Comes before each access of instrumented code. */
void honemu_access(void *address, int64_t bytes, int64_t alignment,
                   int64_t kind);

#ifdef __cplusplus
}
#endif

#endif /* HONERT_EMULATOR_H */
