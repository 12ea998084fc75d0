//===- State.cpp - A program's tensors from and to files ------------------===//

#include "io/checkpoint/State.h"
#include "base/Printable.h"
#include "io/checkpoint/PackageWeights.h"
#include "program/Initialize.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

using namespace honert;

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

namespace {
/// A part of an argument and the tensor of a file that is its value.
struct Loaded {
  const Argument *argument;
  const Part *part;
  const TensorView *tensor;
};
} // namespace

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

/// The tensor of `file` that `part` answers to, or null. Tied tensors may be
/// there under several names if they are equal.
static Status findTensor(const SafeTensors &file, const Argument &argument,
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

static Status checkTensor(const SafeTensors &file, const Argument &argument,
                          const Part &part, const TensorView &tensor,
                          bool exact) {
  if (tensor.shape != part.shape)
    return Status::error(format("%s: tensor '%s' has shape %s, expected %s",
                                file.path().c_str(), part.name.c_str(),
                                toString(tensor.shape).c_str(),
                                toString(part.shape).c_str()));
  // What trains in bf16 alone starts from weights in fp32, rounded, and the
  // other way round; a checkpoint is taken up as it is or not at all.
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

/// The elements of `part` that this rank of `world` has.
static PartLayout layoutOf(const Program &program, const Argument &argument,
                           const Part &part, const ProcessGroup &world) {
  return PartLayout(argument, part, program.mesh, world.rank());
}

/// Copies what `layout` places of a tensor of `file`, which passes through
/// memory, to its place in the argument's storage.
static void copyTensor(const SafeTensors &file, const Loaded &loaded,
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

/// What a value of `argument` is written to: the argument, and its copy in low
/// precision where this rank has other elements of that.
static std::vector<Argument> targetsOf(const Program &program,
                                       const Argument &argument) {
  std::vector<Argument> targets = {argument};
  const Argument *shadow = program.argument(Kind::shadow, argument.fqn);
  if (argument.kind != Kind::param || !shadow ||
      areDividedAlike(argument, *shadow))
    return targets;
  Argument copy = argument;
  copy.dtype = shadow->dtype;
  copy.dims = shadow->dims;
  copy.divisions = shadow->divisions;
  copy.offset = shadow->offset;
  copy.bytes = shadow->bytes;
  targets.push_back(std::move(copy));
  return targets;
}

static void copyToTargets(const SafeTensors &file, const Loaded &loaded,
                          const Program &program, const ProcessGroup &world,
                          Arena &arena) {
  for (const Argument &target : targetsOf(program, *loaded.argument))
    copyTensor(file, {&target, loaded.part, loaded.tensor},
               layoutOf(program, target, *loaded.part, world),
               arena.at(target.offset));
}

/// Zeroes the storage of arguments that parts do not cover.
static void clearPadding(const Program &program, Arena &arena) {
  for (const Argument &argument : program.arguments)
    if ((argument.isState() && !argument.isWhole) ||
        argument.kind == Kind::shadow)
      std::memset(arena.at(argument.offset), 0,
                  static_cast<size_t>(argument.bytes));
}

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
  std::set<std::string> known;
  for (const Argument &argument : program.arguments) {
    if (!argument.isState() || (argument.kind == Kind::opt && !optimizerToo))
      continue;
    for (const Part &part : argument.parts)
      known.insert(part.name);
    known.insert(argument.aliases.begin(), argument.aliases.end());
  }
  for (const auto &entry : file.tensors())
    if (!known.count(entry.first) &&
        (optimizerToo || !isOptimizerState(entry.first, known)))
      return Status::error(format("%s: tensor '%s' is not in this program",
                                  file.path().c_str(), entry.first.c_str()));
  return Status();
}

Status honert::loadWeights(const std::string &path, const Program &program,
                           const ProcessGroup &world, Arena &arena,
                           Filled &filled, bool onlyInitFile) {
  SafeTensors file;
  HONERT_TRY(file.open(path));
  // First all checks, then all copies: nothing is half loaded.
  std::vector<Loaded> found;
  for (const Argument &argument : program.arguments) {
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
  for (const Loaded &loaded : found) {
    const Argument &argument = *loaded.argument;
    PartLayout layout = layoutOf(program, argument, *loaded.part, world);
    char *storage = arena.at(argument.offset);
    copyToTargets(file, loaded, program, world, arena);
    if (!allFinite(argument, layout, storage) &&
        firstReplica(argument, program.mesh, world.rank()) == world.rank())
      std::fprintf(
          stderr, "warning: %s: tensor '%s' holds values that are not finite\n",
          printable(path).c_str(), printable(loaded.part->name).c_str());
    filled.insert(loaded.part);
  }
  return Status();
}

Status honert::loadState(const std::string &path, const Program &program,
                         const ProcessGroup &world, Arena &arena) {
  SafeTensors file;
  HONERT_TRY(file.open(path));
  HONERT_TRY(checkNoExtra(file, program, /*optimizerToo=*/true));
  std::vector<Loaded> found;
  for (const Argument &argument : program.arguments) {
    if (!argument.isState())
      continue;
    for (const Part &part : argument.parts) {
      const TensorView *tensor = file.find(part.name);
      if (!tensor)
        return Status::error(format("%s: tensor '%s' is missing", path.c_str(),
                                    part.name.c_str()));
      HONERT_TRY(checkTensor(file, argument, part, *tensor, /*exact=*/true));
      found.push_back({&argument, &part, tensor});
    }
  }
  clearPadding(program, arena);
  for (const Loaded &loaded : found)
    copyToTargets(file, loaded, program, world, arena);
  return Status();
}

/// Fills buffers of init `file` that no weights file held, and that are not in
/// the executable, from the package, if it lies where it was.
static Status loadConstants(const Program &program, const ProcessGroup &world,
                            Arena &arena, Filled &filled) {
  std::string path = program.text("package") + "/consts.safetensors";
  SafeTensors file;
  bool isOpen = false;
  for (const Argument &argument : program.arguments) {
    if (argument.kind != Kind::buffer || argument.init != InitKind::file ||
        argument.data)
      continue;
    for (const Part &part : argument.parts) {
      if (filled.count(&part) || !fileExists(path))
        continue;
      if (!isOpen)
        HONERT_TRY(file.open(path));
      isOpen = true;
      const TensorView *tensor;
      HONERT_TRY(findTensor(file, argument, part, tensor));
      if (!tensor)
        continue;
      HONERT_TRY(checkTensor(file, argument, part, *tensor, /*exact=*/false));
      copyToTargets(file, {&argument, &part, tensor}, program, world, arena);
      filled.insert(&part);
    }
  }
  return Status();
}

/// Whether the package's file holds parameters of init `file` alone, beside
/// others that are generated.
static Status holdsSome(const std::string &path, const Program &program,
                        bool &some) {
  SafeTensors file;
  HONERT_TRY(file.open(path));
  bool hasFile = false, hasLaw = false, holdsLaw = false;
  for (const Argument &argument : program.arguments) {
    if (argument.kind != Kind::param)
      continue;
    for (const Part &part : argument.parts) {
      const TensorView *tensor;
      HONERT_TRY(findTensor(file, argument, part, tensor));
      bool isFile = argument.init == InitKind::file;
      hasFile |= isFile;
      hasLaw |= !isFile;
      holdsLaw |= !isFile && tensor;
    }
  }
  some = hasFile && hasLaw && !holdsLaw;
  return Status();
}

/// "base.safetensors (38 tensors)".
static std::string describeWeights(const std::string &path, size_t count) {
  return format("%s (%zu tensor%s)", path.c_str(), count,
                count == 1 ? "" : "s");
}

/// The weights of the package, unless it has none.
static Status loadPackageWeights(const Program &program,
                                 const ProcessGroup &world, Arena &arena,
                                 Filled &filled, std::string &origin) {
  std::string path;
  HONERT_TRY(findPackageWeights(program, path));
  if (path.empty())
    return Status();
  bool some;
  HONERT_TRY(holdsSome(path, program, some));
  HONERT_TRY(loadWeights(path, program, world, arena, filled,
                         /*onlyInitFile=*/some));
  origin = describeWeights(path, filled.size()) + (some ? ", " + origin : "");
  return Status();
}

/// The initial value in the executable, that of the whole argument.
static void copyData(const Argument &argument, const Argument &target,
                     const PartLayout &layout, char *storage) {
  int64_t from = byteWidth(argument.dtype), to = byteWidth(target.dtype);
  layout.forEachRun(
      0, layout.size(), [&](int64_t element, int64_t place, int64_t length) {
        const char *source = argument.data + element * from;
        if (argument.dtype == target.dtype)
          std::memcpy(storage + place * to, source,
                      static_cast<size_t>(length * to));
        else
          for (int64_t i = 0; i < length; ++i)
            storeElement(target.dtype, storage + (place + i) * to,
                         loadElement(argument.dtype, source + i * from));
      });
}

/// A value that nothing gives.
static Status noValue(const Argument &argument, const Part &part,
                      const StartOptions &options) {
  return Status::error(
      format("%s '%s' has no initial value%s: expected a file that holds it "
             "(--init)",
             name(argument.kind), part.name.c_str(),
             options.fresh && argument.kind == Kind::param
                 ? " but the package's, which --fresh leaves out"
                 : ""));
}

Status honert::startState(const StartOptions &options, const Program &program,
                          const ProcessGroup &world, uint64_t seed,
                          const ThreadPool &pool, Arena &arena,
                          std::string &origin) {
  clearPadding(program, arena);
  Filled filled;
  origin = format("fresh, seed %llu", static_cast<unsigned long long>(seed));
  if (!options.init.empty()) {
    HONERT_TRY(loadWeights(options.init, program, world, arena, filled));
    origin = describeWeights(options.init, filled.size());
  } else if (!options.fresh) {
    HONERT_TRY(loadPackageWeights(program, world, arena, filled, origin));
  }
  HONERT_TRY(loadConstants(program, world, arena, filled));
  for (const Argument &argument : program.arguments) {
    if (!argument.isState())
      continue;
    for (const Part &part : argument.parts) {
      if (filled.count(&part))
        continue;
      if (!argument.data && argument.init == InitKind::file)
        return noValue(argument, part, options);
      for (const Argument &target : targetsOf(program, argument)) {
        PartLayout layout = layoutOf(program, target, part, world);
        if (argument.data)
          copyData(argument, target, layout, arena.at(target.offset));
        else
          initialize(target, part, layout, seed, arena.at(target.offset), pool);
      }
    }
  }
  return Status();
}

//===----------------------------------------------------------------------===//
// Saving
//===----------------------------------------------------------------------===//

TensorSource honert::sourceOf(const Program &program, const Argument &argument,
                              const Part &part, const Arena &arena,
                              const ProcessGroup &world) {
  int64_t rank = world.rank();
  return {part.name,
          argument.dtype,
          argument.dtype,
          part.shape,
          arena.at(argument.offset),
          layoutOf(program, argument, part, world),
          firstReplica(argument, program.mesh, rank) == rank};
}

Status honert::saveWeights(const std::string &path, const Program &program,
                           ProcessGroup &world, const Arena &arena,
                           std::map<std::string, std::string> metadata) {
  std::vector<TensorSource> tensors;
  for (const Argument &argument : program.arguments) {
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
  for (const Argument &argument : program.arguments)
    for (const Part &part : argument.parts)
      if (argument.isState())
        tensors.push_back(sourceOf(program, argument, part, arena, world));
  return writeSafeTensors(path, tensors, {{"format", "pt"}}, world, checksum);
}
