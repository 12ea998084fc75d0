/*===- NullCublas.c - A cuBLASLt that multiplies nothing ------------------===*
 *
 * cuDNN opens libcublasLt.so and asks for its version before it makes a plan
 * of attention, which has no use for it. Loaded by hone-plan-attention beside
 * the null driver.
 *
 *===----------------------------------------------------------------------===*/

#include <stddef.h>

size_t cublasLtGetVersion(void);
size_t cublasLtGetVersion(void) { return 130100; }
