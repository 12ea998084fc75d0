/*===- Flags.c - A training program without a model ------------------------===*
 *
 * Its --help-json lists the flags of every training program, for tools that
 * read them before one is compiled.
 *
 *===----------------------------------------------------------------------===*/

#include "honert/honert.h"

void hone_program(honert_program *program);

void hone_program(honert_program *program) { (void)program; }
