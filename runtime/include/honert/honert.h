/*===- honert.h - The Hone runtime, for a caller -------------------------===*
 *
 * Plain C. A caller describes a program (abi.def) and hands it to honert_main,
 * which trains with it. Nothing here is global: state lives in the program.
 *
 *===----------------------------------------------------------------------===*/

#ifndef HONERT_HONERT_H
#define HONERT_HONERT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of the functions in abi.def; a program of another one is refused. */
#define HONERT_ABI 2

typedef struct honert_program honert_program;
typedef void (*honert_kernel)(void *const *buffers, int64_t lo, int64_t hi);
/* Runs one function of the program over the arena; returns 0, or 1 after
   printing one line to stderr. */
typedef int (*honert_callback_fn)(void *user, const char *function,
                                  void *arena);

#define HONERT_FUNCTION(result, name, parameters) result name parameters;
#include "honert/abi.def"

/* An empty program; freed with honert_program_free. */
honert_program *honert_program_new(void);
void honert_program_free(honert_program *program);

/* The training program's command line (README, "The training binary"). Returns
   the exit code: 0, 1 after an error (one line on stderr), 2 for a wrong
   command line. */
int honert_main(honert_program *program, int argc, char **argv);

#ifdef __cplusplus
}
#endif

#endif /* HONERT_HONERT_H */
