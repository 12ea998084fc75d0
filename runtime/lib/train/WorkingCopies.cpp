//===- WorkingCopies.cpp - Low-precision copies of parameters -------------===//

#include "train/WorkingCopies.h"
#include "program/Division.h"

#include <cstring>

using namespace honert;

/// f32 to bf16: halves of the lower 16 bits round to even, a NaN stays one.
static uint16_t roundToBFloat(uint32_t bits) {
  if ((bits & 0x7fffffff) > 0x7f800000)
    return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static void roundElements(const Argument &from, const char *source,
                          const Argument &to, char *target, int64_t lo,
                          int64_t hi) {
  if (from.dtype == DType::f32 && to.dtype == DType::bf16) {
    const auto *wide = reinterpret_cast<const uint32_t *>(source);
    auto *narrow = reinterpret_cast<uint16_t *>(target);
    for (int64_t i = lo; i < hi; ++i)
      narrow[i] = roundToBFloat(wide[i]);
    return;
  }
  int64_t fromWidth = byteWidth(from.dtype), toWidth = byteWidth(to.dtype);
  for (int64_t i = lo; i < hi; ++i)
    storeElement(to.dtype, target + i * toWidth,
                 loadElement(from.dtype, source + i * fromWidth));
}

static void fillFrom(const Argument &param, const Argument &workingCopy,
                     const ThreadPool &pool, Arena &arena) {
  pool.run(*elementCount(workingCopy.dims), 4096, [&](int64_t lo, int64_t hi) {
    roundElements(param, arena.at(param.offset), workingCopy,
                  arena.at(workingCopy.offset), lo, hi);
  });
  arena.pass(param.offset, param.bytes);
}

bool honert::isRounded(const Program &program, const Argument &argument) {
  return argument.kind == Kind::workingCopy &&
         program.whole().argument(Kind::param, argument.fqn);
}

void honert::fillWorkingCopies(const Program &program, const ThreadPool &pool,
                               Arena &arena) {
  for (const Argument &workingCopy : program.arguments) {
    if (workingCopy.kind != Kind::workingCopy)
      continue;
    const Argument *param = program.argument(Kind::param, workingCopy.fqn);
    if (param && areDividedAlike(*param, workingCopy))
      fillFrom(*param, workingCopy, pool, arena);
  }
}

const Argument *honert::fillWorkingCopy(const Program &program,
                                        const Argument &param,
                                        const ThreadPool &pool, Arena &arena) {
  const Argument *workingCopy = program.argument(Kind::workingCopy, param.fqn);
  if (param.kind != Kind::param || !workingCopy)
    return nullptr;
  fillFrom(param, *workingCopy, pool, arena);
  return workingCopy;
}
