/*===- trainer.h - Training step by step in a process of the caller's -----===*
 *
 * Plain C: what a shared object of `honec --emit=so` exports, beside
 * `hone_program`, honert_program_new and honert_program_free. The caller owns
 * the loop and the data; a trainer owns the state (weights, optimizer), and
 * makes steps that have the bits of the training binary's. It installs no
 * signal handler, prints nothing but warnings on stderr, and leaves the calling
 * thread's floating-point mode and number of OpenMP threads as they were.
 *
 * Functions that return int return 0, or 1 after an error, whose line
 * honert_trainer_error tells. An error before a step has begun (wrong inputs)
 * changes nothing. Trainers of one process are independent; calls for the same
 * one wait for each other. After fork() a child may only close.
 *
 *===----------------------------------------------------------------------===*/

#ifndef HONERT_TRAINER_H
#define HONERT_TRAINER_H

#include "honert/honert.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct honert_trainer honert_trainer;

/* A tensor as DLPack lays out its DLTensor, which is what the capsule of
   tensor.__dlpack__() begins with. */
typedef struct honert_tensor {
  void *data;
  int32_t device, device_number; /* 1: memory of the host; 2: of a GPU */
  int32_t rank;
  uint8_t
      code; /* of an element: int 0, unsigned 1, float 2, bfloat 4, bool 6 */
  uint8_t bits;
  uint16_t lanes; /* 1 */
  const int64_t *dims;
  const int64_t *strides; /* in elements; NULL: dense, row-major */
  uint64_t byte_offset;   /* of the first element in data */
} honert_tensor;

/* Zero and NULL are the defaults of the training binary's flags. */
typedef struct honert_trainer_options {
  const char *init;        /* --init: start from the weights in this file */
  int64_t fresh;           /* --fresh: 1: not from those of the package */
  int64_t seed;            /* --seed: of initial values and dropout */
  int64_t threads;         /* --threads; 0: the cores of this process */
  int64_t deterministic;   /* --deterministic */
  const char *checkpoints; /* --checkpoint-dir */
  int64_t resume;          /* --resume: go on from its newest checkpoint */
} honert_trainer_options;

/* What a step showed. NaN stands for what the program does not have. */
typedef struct honert_step {
  int64_t step; /* 1 is the first */
  double loss, grad_norm, lr, loss_scale;
  int64_t skipped; /* 1: gradients overflowed, and the step changed nothing but
                      the loss scale */
} honert_step;

/* An input, or a tensor of the state. */
typedef struct honert_named_tensor {
  const char *name;
  const char *aliases; /* of tied weights, each followed by '\n' */
  int64_t kind;        /* of abi.def: 0 param, 1 buffer, 2 opt, 4 input */
  /* Of an input: its type and shape, without data. Of the state: where its
     values are, for as long as the trainer lives; of device 2 that is memory of
     the host all the same, which holds them as of honert_trainer_fetch. */
  honert_tensor tensor;
} honert_named_tensor;

/* Makes a trainer for `program`, which outlives it. NULL: out of memory.
   Otherwise honert_trainer_error tells whether it is of use; it must be closed
   in any case. */
honert_trainer *honert_trainer_open(honert_program *program,
                                    const honert_trainer_options *options);
void honert_trainer_close(honert_trainer *trainer);
/* The line of the latest call's error; "" if there was none. */
const char *honert_trainer_error(const honert_trainer *trainer);

/* All inputs, in the order in which steps take them, then parameters, buffers
   that change, and optimizer state. */
const honert_named_tensor *honert_trainer_tensors(const honert_trainer *trainer,
                                                  int64_t *count);
/* Steps that were made so far, those before a checkpoint included. */
int64_t honert_trainer_steps(const honert_trainer *trainer);
/* The text of --info; valid until the next call. */
const char *honert_trainer_info(honert_trainer *trainer);

/* Makes a step and waits for it. A program of K > 1 micro-batches takes them
   along a first dimension of K. Integers of any type serve an input of
   integers. A loss or norm that is not finite is an error, though `facts` are
   set. */
int honert_trainer_step(honert_trainer *trainer,
                        const honert_tensor *const *inputs, int64_t count,
                        honert_step *facts);
/* The loss of one micro-batch; nothing is trained. */
int honert_trainer_evaluate(honert_trainer *trainer,
                            const honert_tensor *const *inputs, int64_t count,
                            double *loss);
/* Sets "lr", "weight_decay" or "clip" (0: no bound) for the steps to come, or
   tells what they will use. */
int honert_trainer_set(honert_trainer *trainer, const char *scalar,
                       double value);
int honert_trainer_get(honert_trainer *trainer, const char *scalar,
                       double *value);

/* Brings the values of state tensor `index` of honert_trainer_tensors to its
   address (nothing to do on a CPU), and takes what was written there since for
   the program's value: copies of it in low precision follow. */
int honert_trainer_fetch(honert_trainer *trainer, int64_t index);
int honert_trainer_publish(honert_trainer *trainer, int64_t index);

/* Weights from and to a safetensors file, as --init and --save. Optimizer state
   stays as it is. */
int honert_trainer_load(honert_trainer *trainer, const char *path);
int honert_trainer_save(honert_trainer *trainer, const char *path);
/* Writes a checkpoint to the folder of the options, which --resume of the
   training binary takes too. */
int honert_trainer_checkpoint(honert_trainer *trainer);

#ifdef __cplusplus
}
#endif

#endif /* HONERT_TRAINER_H */
