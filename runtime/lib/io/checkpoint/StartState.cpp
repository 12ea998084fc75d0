//===- StartState.cpp - Values that a run starts from ---------------------===//

#include "io/checkpoint/LoadTensor.h"
#include "io/checkpoint/PackageWeights.h"
#include "io/checkpoint/State.h"
#include "program/Initialize.h"

#include <algorithm>
#include <cstring>

using namespace honert;

/// Fills buffers and optimizer state of init `file` that no weights file held,
/// and that are not in the executable, from the package, if it lies where it
/// was.
static Status loadConstants(const Program &program, const ProcessGroup &world,
                            Arena &arena, Filled &filled) {
  std::string path = program.text("package") + "/consts.safetensors";
  SafeTensors file;
  bool isOpen = false;
  for (const Argument &argument : program.whole().arguments) {
    if (argument.kind == Kind::param || argument.init != InitKind::file ||
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
  for (const Argument &argument : program.whole().arguments) {
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

/// Whether a fresh run has nothing but zeros in optimizer state, no file of
/// which was read.
static bool isZero(const Argument &argument, const Filled &filled) {
  return argument.kind == Kind::opt && !argument.data &&
         argument.init == InitKind::constant && argument.a == 0 &&
         std::none_of(
             argument.parts.begin(), argument.parts.end(),
             [&](const Part &part) { return filled.count(&part) != 0; });
}

Status honert::startState(const StartOptions &options, const Program &program,
                          const ProcessGroup &world, uint64_t seed,
                          const ThreadPool &pool, Arena &arena,
                          std::string &origin,
                          std::vector<const Argument *> &zeros) {
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
  for (const Argument &argument : program.whole().arguments) {
    if (!argument.isState())
      continue;
    if (isZero(argument, filled)) {
      if (const Argument *own = program.own(argument))
        zeros.push_back(own);
      continue;
    }
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
        arena.pass(target.offset, target.bytes);
      }
    }
  }
  return Status();
}
