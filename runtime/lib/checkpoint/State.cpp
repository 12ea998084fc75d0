//===- State.cpp - A program's tensors from and to files ------------------===//

#include "checkpoint/State.h"
#include "core/Initialize.h"

#include <cmath>
#include <cstdio>
#include <cstring>

using namespace honert;

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

/// The tensor of `file` that `argument` answers to, or null. Tied tensors may
/// be there under several names if they are equal.
static Status findTensor(const SafeTensors &file, const Argument &argument,
                         const TensorView *&found) {
  found = file.find(argument.fqn);
  for (const std::string &alias : argument.aliases) {
    const TensorView *other = file.find(alias);
    if (!found)
      found = other;
    if (!other || other == found)
      continue;
    if (other->bytes != found->bytes ||
        std::memcmp(other->data, found->data,
                    static_cast<size_t>(found->bytes)) != 0)
      return Status::error(format(
          "%s: tensor '%s' differs from '%s', wanted equal ones (tied in this "
          "program)",
          file.path().c_str(), alias.c_str(), argument.fqn.c_str()));
  }
  return Status();
}

static Status checkTensor(const SafeTensors &file, const Argument &argument,
                          const TensorView &tensor) {
  if (tensor.shape != argument.dims)
    return Status::error(format("%s: tensor '%s' has shape %s, wanted %s",
                                file.path().c_str(), argument.fqn.c_str(),
                                toString(tensor.shape).c_str(),
                                toString(argument.dims).c_str()));
  bool widens = tensor.dtype == DType::f32 && argument.dtype == DType::f64;
  if (tensor.dtype != argument.dtype && !widens)
    return Status::error(format("%s: tensor '%s' is %s, wanted %s",
                                file.path().c_str(), argument.fqn.c_str(),
                                safetensorsName(tensor.dtype),
                                safetensorsName(argument.dtype)));
  return Status();
}

static void copyTensor(const TensorView &tensor, const Argument &argument,
                       char *target) {
  if (tensor.dtype == argument.dtype) {
    std::memcpy(target, tensor.data, static_cast<size_t>(tensor.bytes));
    return;
  }
  int64_t from = byteWidth(tensor.dtype), to = byteWidth(argument.dtype);
  for (int64_t i = 0, e = *elementCount(argument.dims); i < e; ++i)
    storeElement(argument.dtype, target + i * to,
                 loadElement(tensor.dtype, tensor.data + i * from));
}

static bool allFinite(const Argument &argument, const char *data) {
  int64_t count = *elementCount(argument.dims);
  if (argument.dtype == DType::f32) {
    const auto *values = reinterpret_cast<const uint32_t *>(data);
    bool bad = false;
    for (int64_t i = 0; i < count; ++i)
      bad |= (values[i] & 0x7f800000) == 0x7f800000;
    return !bad;
  }
  int64_t width = byteWidth(argument.dtype);
  for (int64_t i = 0; isFloat(argument.dtype) && i < count; ++i)
    if (!std::isfinite(loadElement(argument.dtype, data + i * width)))
      return false;
  return true;
}

/// Tensors of the file that no argument of the wanted kinds answers to.
static Status checkNoExtra(const SafeTensors &file, const Program &program,
                           bool optimizerToo) {
  std::set<std::string> known;
  for (const Argument &argument : program.arguments) {
    if (!argument.isState() || (argument.kind == Kind::opt && !optimizerToo))
      continue;
    known.insert(argument.fqn);
    known.insert(argument.aliases.begin(), argument.aliases.end());
  }
  for (const auto &entry : file.tensors())
    if (!known.count(entry.first))
      return Status::error(format("%s: tensor '%s' is not in this program",
                                  file.path().c_str(), entry.first.c_str()));
  return Status();
}

Status honert::loadWeights(const std::string &path, const Program &program,
                           Arena &arena, Filled &filled) {
  SafeTensors file;
  HONERT_TRY(file.open(path));
  // First all checks, then all copies: nothing is half loaded.
  std::vector<std::pair<const Argument *, const TensorView *>> found;
  for (const Argument &argument : program.arguments) {
    if (argument.kind != Kind::param && argument.kind != Kind::buffer)
      continue;
    const TensorView *tensor;
    HONERT_TRY(findTensor(file, argument, tensor));
    if (!tensor && argument.kind == Kind::buffer)
      continue;
    if (!tensor)
      return Status::error(format("%s: tensor '%s' is missing (%s of shape %s)",
                                  path.c_str(), argument.fqn.c_str(),
                                  safetensorsName(argument.dtype),
                                  toString(argument.dims).c_str()));
    HONERT_TRY(checkTensor(file, argument, *tensor));
    found.emplace_back(&argument, tensor);
  }
  HONERT_TRY(checkNoExtra(file, program, /*optimizerToo=*/false));
  for (auto [argument, tensor] : found) {
    char *target = arena.at(argument->offset);
    copyTensor(*tensor, *argument, target);
    if (!allFinite(*argument, target))
      std::fprintf(
          stderr, "warning: %s: tensor '%s' holds values that are not finite\n",
          path.c_str(), argument->fqn.c_str());
    filled.insert(argument);
  }
  return Status();
}

Status honert::loadState(const std::string &path, const Program &program,
                         Arena &arena) {
  SafeTensors file;
  HONERT_TRY(file.open(path));
  HONERT_TRY(checkNoExtra(file, program, /*optimizerToo=*/true));
  std::vector<std::pair<const Argument *, const TensorView *>> found;
  for (const Argument &argument : program.arguments) {
    if (!argument.isState())
      continue;
    const TensorView *tensor = file.find(argument.fqn);
    if (!tensor)
      return Status::error(format("%s: tensor '%s' is missing", path.c_str(),
                                  argument.fqn.c_str()));
    HONERT_TRY(checkTensor(file, argument, *tensor));
    found.emplace_back(&argument, tensor);
  }
  for (auto [argument, tensor] : found)
    copyTensor(*tensor, *argument, arena.at(argument->offset));
  return Status();
}

/// Fills arguments of init `file` that no weights file held from the package
/// the program was compiled from, if it still lies where it was.
static Status loadFromPackage(const Program &program, Arena &arena,
                              Filled &filled) {
  std::string package = program.text("package");
  if (package.empty())
    return Status();
  for (const char *name : {"consts.safetensors", "model.safetensors"}) {
    std::string path = package + "/" + name;
    SafeTensors file;
    bool isOpen = false;
    for (const Argument &argument : program.arguments) {
      if (argument.init != InitKind::file || argument.data ||
          filled.count(&argument) || !fileExists(path))
        continue;
      if (!isOpen)
        HONERT_TRY(file.open(path));
      isOpen = true;
      const TensorView *tensor;
      HONERT_TRY(findTensor(file, argument, tensor));
      if (!tensor)
        continue;
      HONERT_TRY(checkTensor(file, argument, *tensor));
      copyTensor(*tensor, argument, arena.at(argument.offset));
      filled.insert(&argument);
    }
  }
  return Status();
}

Status honert::startState(const std::string &initFile, const Program &program,
                          uint64_t seed, const ThreadPool &pool, Arena &arena) {
  Filled filled;
  if (!initFile.empty())
    HONERT_TRY(loadWeights(initFile, program, arena, filled));
  HONERT_TRY(loadFromPackage(program, arena, filled));
  for (const Argument &argument : program.arguments) {
    if (!argument.isState() || filled.count(&argument))
      continue;
    char *target = arena.at(argument.offset);
    if (argument.data)
      std::memcpy(target, argument.data, static_cast<size_t>(argument.bytes));
    else if (argument.init == InitKind::file)
      return Status::error(format(
          "%s '%s' has no initial value: wanted a file that holds it (--init)",
          name(argument.kind), argument.fqn.c_str()));
    else
      initialize(argument, seed, target, pool);
  }
  return Status();
}

//===----------------------------------------------------------------------===//
// Saving
//===----------------------------------------------------------------------===//

Status honert::saveWeights(const std::string &path, const Program &program,
                           const Arena &arena,
                           std::map<std::string, std::string> metadata) {
  std::vector<TensorSource> tensors;
  for (const Argument &argument : program.arguments) {
    bool isWeight = argument.kind == Kind::param ||
                    (argument.kind == Kind::buffer && !argument.isConstant());
    if (!isWeight)
      continue;
    DType stored = argument.dtype == DType::f64 ? DType::f32 : argument.dtype;
    tensors.push_back({argument.fqn, argument.dtype, stored, argument.dims,
                       arena.at(argument.offset)});
  }
  metadata["format"] = "pt";
  return writeSafeTensors(path, tensors, metadata);
}

Status honert::saveState(const std::string &path, const Program &program,
                         const Arena &arena, Checksum *checksum) {
  std::vector<TensorSource> tensors;
  for (const Argument &argument : program.arguments)
    if (argument.isState())
      tensors.push_back({argument.fqn, argument.dtype, argument.dtype,
                         argument.dims, arena.at(argument.offset)});
  return writeSafeTensors(path, tensors, {{"format", "pt"}}, checksum);
}
