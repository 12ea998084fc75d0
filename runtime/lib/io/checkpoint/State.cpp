//===- State.cpp - A program's tensors from and to files ------------------===//

#include "io/checkpoint/State.h"
#include "base/Printable.h"
#include "io/checkpoint/LoadTensor.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

using namespace honert;

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

static bool allFinite(DType dtype, const char *data, int64_t count) {
  if (dtype == DType::f32) {
    const auto *values = reinterpret_cast<const uint32_t *>(data);
    bool bad = false;
    for (int64_t i = 0; i < count; ++i)
      bad |= (values[i] & 0x7f800000) == 0x7f800000;
    return !bad;
  }
  int64_t width = byteWidth(dtype);
  for (int64_t i = 0; isFloat(dtype) && i < count; ++i)
    if (!std::isfinite(loadElement(dtype, data + i * width)))
      return false;
  return true;
}

static bool allFinite(const Argument &argument, const PartLayout &layout,
                      const char *storage) {
  int64_t width = byteWidth(argument.dtype);
  bool finite = true;
  layout.forEachRun(
      0, layout.size(), [&](int64_t, int64_t place, int64_t length) {
        finite &= allFinite(argument.dtype, storage + place * width, length);
      });
  return finite;
}

/// Whether `tensor` is how checkpoints name optimizer state: that of one of the
/// weights `known`, or of the whole step.
static bool isOptimizerState(const std::string &tensor,
                             const std::set<std::string> &known) {
  static const std::set<std::string> prefixes = {
      "exp_avg",  "exp_avg_sq", "exp_avg_scale", "exp_avg_sq_scale",
      "momentum", "row_var",    "col_var",       "variance"};
  static const std::set<std::string> ofStep = {
      "loss_scale", "loss_scale.good_steps", "updates"};
  size_t dot = tensor.find('.');
  return ofStep.count(tensor) ||
         (dot != tensor.npos && prefixes.count(tensor.substr(0, dot)) &&
          known.count(tensor.substr(dot + 1)));
}

/// Tensors of the file that no argument answers to. Of a checkpoint's state the
/// weights may be loaded alone: then optimizer state is passed over.
static Status checkNoExtra(const SafeTensors &file, const Program &program,
                           bool optimizerToo) {
  std::set<std::string> known, passed;
  for (const Argument &argument : program.whole().arguments) {
    if (!argument.isState())
      continue;
    bool isPassed = argument.kind == Kind::opt && !optimizerToo;
    std::set<std::string> &names = isPassed ? passed : known;
    for (const Part &part : argument.parts)
      names.insert(part.name);
    names.insert(argument.aliases.begin(), argument.aliases.end());
  }
  for (const auto &entry : file.tensors())
    if (!known.count(entry.first) && !passed.count(entry.first) &&
        (optimizerToo || !isOptimizerState(entry.first, known)))
      return Status::error(format("%s: tensor '%s' is not in this program",
                                  file.path().c_str(), entry.first.c_str()));
  return Status();
}

/// Of the ranks that have the same elements of `argument`, one does.
static bool speaksFor(const Program &program, const Argument &argument,
                      const ProcessGroup &world) {
  int64_t stage =
      program.mesh.numberInGroup(world.rank(), program.mesh.stageAxes());
  return stage == argument.stage &&
         firstReplica(argument, program.mesh, world.rank()) == world.rank();
}

Status honert::loadWeights(const std::string &path, const Program &program,
                           const ProcessGroup &world, Arena &arena,
                           Filled &filled, bool onlyInitFile) {
  SafeTensors file;
  HONERT_TRY(file.open(path));
  // First all checks, then all copies: nothing is half loaded.
  std::vector<LoadedTensor> found;
  for (const Argument &argument : program.whole().arguments) {
    bool isLoaded = argument.kind == Kind::buffer ||
                    (argument.kind == Kind::param &&
                     (!onlyInitFile || argument.init == InitKind::file));
    if (!isLoaded)
      continue;
    for (const Part &part : argument.parts) {
      const TensorView *tensor;
      HONERT_TRY(findTensor(file, argument, part, tensor));
      if (!tensor && argument.kind == Kind::buffer)
        continue;
      if (!tensor)
        return Status::error(
            format("%s: tensor '%s' is missing (%s of shape %s)", path.c_str(),
                   part.name.c_str(), safetensorsName(argument.dtype),
                   toString(part.shape).c_str()));
      HONERT_TRY(checkTensor(file, argument, part, *tensor, /*exact=*/false));
      found.push_back({&argument, &part, tensor});
    }
  }
  HONERT_TRY(checkNoExtra(file, program, /*optimizerToo=*/false));
  for (const LoadedTensor &loaded : found) {
    const Argument &argument = *loaded.argument;
    PartLayout layout = layoutOf(program, argument, *loaded.part, world);
    copyToTargets(file, loaded, program, world, arena);
    const Argument *own = program.own(argument);
    if (own && speaksFor(program, argument, world) &&
        !allFinite(*own, layout, arena.at(own->offset)))
      std::fprintf(
          stderr, "warning: %s: tensor '%s' holds values that are not finite\n",
          printable(path).c_str(), printable(loaded.part->name).c_str());
    filled.insert(loaded.part);
  }
  return Status();
}

/// The tensors of a checkpoint's `file`, which are the state of `program`.
static Status findState(const SafeTensors &file, const Program &program,
                        std::vector<LoadedTensor> &found) {
  HONERT_TRY(checkNoExtra(file, program, /*optimizerToo=*/true));
  for (const Argument &argument : program.whole().arguments) {
    if (!argument.isState())
      continue;
    for (const Part &part : argument.parts) {
      const TensorView *tensor = file.find(part.name);
      if (!tensor)
        return Status::error(format("%s: tensor '%s' is missing",
                                    file.path().c_str(), part.name.c_str()));
      HONERT_TRY(checkTensor(file, argument, part, *tensor, /*exact=*/true));
      found.push_back({&argument, &part, tensor});
    }
  }
  return Status();
}

Status honert::checkState(const std::string &path, const Program &program) {
  SafeTensors file;
  HONERT_TRY(file.open(path));
  std::vector<LoadedTensor> found;
  return findState(file, program, found);
}

Status honert::loadState(const std::string &path, const Program &program,
                         const ProcessGroup &world, Arena &arena) {
  SafeTensors file;
  HONERT_TRY(file.open(path));
  std::vector<LoadedTensor> found;
  HONERT_TRY(findState(file, program, found));
  clearPadding(program, arena);
  for (const LoadedTensor &loaded : found)
    copyToTargets(file, loaded, program, world, arena);
  return Status();
}

//===----------------------------------------------------------------------===//
// Saving
//===----------------------------------------------------------------------===//

TensorSource honert::sourceOf(const Program &program, const Argument &argument,
                              const Part &part, const Arena &arena,
                              const ProcessGroup &world) {
  const Argument *own = program.own(argument);
  TensorSource source = {part.name,
                         argument.dtype,
                         argument.dtype,
                         part.shape,
                         own ? arena.at(own->offset) : nullptr,
                         layoutOf(program, argument, part, world),
                         own && speaksFor(program, argument, world)};
  if (own && own->isOnHost)
    source.passed = [&arena, own] { arena.pass(own->offset, own->bytes); };
  return source;
}

Status honert::saveWeights(const std::string &path, const Program &program,
                           ProcessGroup &world, const Arena &arena,
                           std::map<std::string, std::string> metadata) {
  std::vector<TensorSource> tensors;
  for (const Argument &argument : program.whole().arguments) {
    bool isWeight = argument.kind == Kind::param ||
                    (argument.kind == Kind::buffer && !argument.isConstant());
    if (!isWeight)
      continue;
    for (const Part &part : argument.parts) {
      tensors.push_back(sourceOf(program, argument, part, arena, world));
      if (argument.dtype == DType::f64)
        tensors.back().storedDtype = DType::f32;
    }
  }
  metadata["format"] = "pt";
  return writeSafeTensors(path, tensors, metadata, world);
}

Status honert::saveState(const std::string &path, const Program &program,
                         ProcessGroup &world, const Arena &arena,
                         FileChecksum *checksum) {
  std::vector<TensorSource> tensors;
  for (const Argument &argument : program.whole().arguments)
    for (const Part &part : argument.parts)
      if (argument.isState())
        tensors.push_back(sourceOf(program, argument, part, arena, world));
  return writeSafeTensors(path, tensors, {{"format", "pt"}}, world, checksum);
}
