/*===- main.c - Entry point of a compiled training program ----------------===*/

#include "honert/honert.h"

#include <stdio.h>

/* Defined by the compiled object. */
void hone_program(honert_program *program);

int main(int argc, char **argv) {
  honert_program *program = honert_program_new();
  if (!program) {
    fputs("error: out of memory\n", stderr);
    return 1;
  }
  hone_program(program);
  int result = honert_main(program, argc, argv);
  honert_program_free(program);
  return result;
}
