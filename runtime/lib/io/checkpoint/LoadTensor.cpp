//===- LoadTensor.cpp - Tensors of files into arguments -------------------===//

#include "io/checkpoint/LoadTensor.h"

#include <algorithm>
#include <cstring>

using namespace honert;

/// Compares tensors of the same file, which pass through memory.
static bool areEqual(const SafeTensors &file, const TensorView &x,
                     const TensorView &y) {
  bool equal = x.bytes == y.bytes;
  for (int64_t at = 0; equal && at < x.bytes; at += pieceBytes) {
    int64_t length = std::min(pieceBytes, x.bytes - at);
    equal =
        std::memcmp(x.data + at, y.data + at, static_cast<size_t>(length)) == 0;
    file.release(x.data + at, length);
    file.release(y.data + at, length);
  }
  return equal;
}

Status honert::findTensor(const SafeTensors &file, const Argument &argument,
                          const Part &part, const TensorView *&found) {
  found = file.find(part.name);
  for (const std::string &alias : argument.aliases) {
    const TensorView *other = file.find(alias);
    if (!found)
      found = other;
    if (!other || other == found)
      continue;
    if (!areEqual(file, *other, *found))
      return Status::error(format("%s: tensor '%s' differs from '%s', expected "
                                  "equal ones (tied in this "
                                  "program)",
                                  file.path().c_str(), alias.c_str(),
                                  part.name.c_str()));
  }
  return Status();
}

Status honert::checkTensor(const SafeTensors &file, const Argument &argument,
                           const Part &part, const TensorView &tensor,
                           bool exact) {
  if (tensor.shape != part.shape)
    return Status::error(format("%s: tensor '%s' has shape %s, expected %s",
                                file.path().c_str(), part.name.c_str(),
                                toString(tensor.shape).c_str(),
                                toString(part.shape).c_str()));
  // What trains in bf16 alone starts from weights in fp32, rounded, and the
  // other way round; a checkpoint is loaded exactly or not at all.
  bool widens = tensor.dtype == DType::f32 && argument.dtype == DType::f64;
  bool converts = isFloat(tensor.dtype) && tensor.dtype != DType::f64 &&
                  isFloat(argument.dtype);
  if (tensor.dtype != argument.dtype && !widens && (exact || !converts))
    return Status::error(format("%s: tensor '%s' is %s, expected %s",
                                file.path().c_str(), part.name.c_str(),
                                safetensorsName(tensor.dtype),
                                safetensorsName(argument.dtype)));
  return Status();
}

PartLayout honert::layoutOf(const Program &program, const Argument &argument,
                            const Part &part, const ProcessGroup &world) {
  return PartLayout(argument, part, program.mesh, world.rank());
}

/// Copies what `layout` places of a tensor of `file`, which passes through
/// memory, to its place in the argument's storage.
static void copyTensor(const SafeTensors &file, const LoadedTensor &loaded,
                       const PartLayout &layout, char *storage) {
  const TensorView &tensor = *loaded.tensor;
  DType dtype = loaded.argument->dtype;
  int64_t from = byteWidth(tensor.dtype), to = byteWidth(dtype);
  int64_t length = pieceBytes / from;
  for (int64_t lo = 0; lo < layout.size(); lo += length) {
    const char *begin = nullptr, *end = nullptr;
    layout.forEachRun(
        lo, std::min(lo + length, layout.size()),
        [&](int64_t element, int64_t place, int64_t count) {
          const char *source = tensor.data + element * from;
          char *target = storage + place * to;
          if (tensor.dtype == dtype)
            std::memcpy(target, source, static_cast<size_t>(count * from));
          else
            for (int64_t i = 0; i < count; ++i)
              storeElement(dtype, target + i * to,
                           loadElement(tensor.dtype, source + i * from));
          begin = begin ? begin : source;
          end = source + count * from;
        });
    file.release(begin, end - begin);
  }
}

std::vector<Argument> honert::targetsOf(const Program &program,
                                        const Argument &argument) {
  std::vector<Argument> targets;
  const Argument *own = program.own(argument);
  if (own)
    targets.push_back(*own);
  const Argument *workingCopy =
      program.argument(Kind::workingCopy, argument.fqn);
  if (argument.kind != Kind::param || !workingCopy ||
      (own && areDividedAlike(*own, *workingCopy)))
    return targets;
  Argument copy = argument;
  copy.dtype = workingCopy->dtype;
  copy.dims = workingCopy->dims;
  copy.divisions = workingCopy->divisions;
  copy.offset = workingCopy->offset;
  copy.isOnHost = workingCopy->isOnHost;
  copy.bytes = workingCopy->bytes;
  targets.push_back(std::move(copy));
  return targets;
}

void honert::copyToTargets(const SafeTensors &file, const LoadedTensor &loaded,
                           const Program &program, const ProcessGroup &world,
                           Arena &arena) {
  for (const Argument &target : targetsOf(program, *loaded.argument)) {
    copyTensor(file, {&target, loaded.part, loaded.tensor},
               layoutOf(program, target, *loaded.part, world),
               arena.at(target.offset));
    arena.pass(target.offset, target.bytes);
  }
}

void honert::clearPadding(const Program &program, Arena &arena) {
  for (const Argument &argument : program.arguments)
    if ((argument.isState() && !argument.isWhole) ||
        argument.kind == Kind::workingCopy) {
      std::memset(arena.at(argument.offset), 0,
                  static_cast<size_t>(argument.bytes));
      arena.pass(argument.offset, argument.bytes);
    }
}
