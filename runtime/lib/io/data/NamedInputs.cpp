//===- NamedInputs.cpp - Inputs other than a token stream -----------------===//

#include "io/data/NamedInputs.h"
#include "io/data/IdBounds.h"

#include <algorithm>
#include <cstring>
#include <set>

using namespace honert;

/// `count` ids at `data`, the first of which has `position` in the file.
static Status checkIds(const Argument &argument, const std::string &path,
                       const char *data, int64_t position, int64_t count) {
  if (argument.vocab <= 0)
    return Status();
  IdBounds bounds = IdBounds::of(argument);
  int64_t width = byteWidth(argument.dtype);
  for (int64_t i = 0; i < count; ++i) {
    double element = loadElement(argument.dtype, data + i * width);
    auto id = static_cast<int64_t>(element);
    if (!bounds.contains(id))
      return Status::error(format("%s: id %lld at position %lld, %s",
                                  path.c_str(), static_cast<long long>(id),
                                  static_cast<long long>(position) + i,
                                  bounds.expected(id).c_str()));
  }
  return Status();
}

Status NamedInputs::openOne(const Argument &argument, const PartLayout &layout,
                            const std::string &path) {
  Input input{&argument, layout, path, {}, argument.dtype, 0, 1};
  HONERT_TRY(input.file.open(path));
  NpyArray array;
  HONERT_TRY(readNpy(path, input.file.view(), array));
  bool perStep =
      array.shape.size() == argument.whole.size() + 1 &&
      Shape(array.shape.begin() + 1, array.shape.end()) == argument.whole &&
      array.shape[0] > 0;
  std::optional<DType> dtype = programType(array.type);
  // The interpreter in double precision reads the files of the program.
  bool isWidened = dtype == DType::f32 && argument.dtype == DType::f64;
  if ((dtype != argument.dtype && !isWidened) ||
      (array.shape != argument.whole && !perStep))
    return Status::error(
        format("%s: %s of shape %s, expected %s of shape %s (input '%s'), or "
               "that with "
               "a first dimension of micro-batches",
               path.c_str(), name(array.type), toString(array.shape).c_str(),
               name(argument.dtype), toString(argument.whole).c_str(),
               argument.fqn.c_str()));
  input.dtype = *dtype;
  input.offset = array.offset;
  input.values = perStep ? array.shape[0] : 1;
  HONERT_TRY(checkIds(argument, path, input.file.data() + array.offset, 0,
                      *elementCount(array.shape)));
  input.file.release(input.file.data(), input.file.size());
  inputs.push_back(std::move(input));
  return Status();
}

Status
NamedInputs::open(const std::vector<std::pair<std::string, std::string>> &files,
                  const Program &program, const ProcessGroup &world,
                  bool tokensFromData, const char *flag,
                  const char *tokensFlag) {
  auto isNamed = [&](const Argument &argument) {
    return argument.kind == Kind::input &&
           !(tokensFromData && argument.role != Role::none);
  };
  std::set<std::string> fed;
  for (const auto &[name, path] : files) {
    const Argument *argument = program.whole().argument(Kind::input, name);
    if (!argument || !isNamed(*argument)) {
      std::string known;
      for (const Argument &each : program.whole().arguments)
        if (isNamed(each))
          known += (known.empty() ? "" : ", ") + each.fqn;
      return Status::usage(format(
          "--%s: '%s', expected an input of this program (%s)", flag,
          name.c_str(), known.empty() ? "there is none" : known.c_str()));
    }
    fed.insert(name);
    const Argument *own = program.own(*argument);
    argument = own ? own : argument;
    HONERT_TRY(openOne(*argument,
                       PartLayout(*argument, argument->parts.front(),
                                  program.mesh, world.rank()),
                       path));
    inputs.back().isLoaded = own;
  }
  for (const Argument &argument : program.whole().arguments)
    if (isNamed(argument) && !fed.count(argument.fqn))
      return Status::usage(format(
          "--%s: nothing for '%s', expected --%s %s=FILE.npy (%s of shape "
          "%s)%s",
          flag, argument.fqn.c_str(), flag, argument.fqn.c_str(),
          name(argument.dtype), toString(argument.whole).c_str(),
          argument.role == Role::none
              ? ""
              : format(" or --%s FILE", tokensFlag).c_str()));
  return checkCounts();
}

Status NamedInputs::checkCounts() const {
  const Input *first = nullptr;
  for (const Input &input : inputs) {
    if (input.values == 1)
      continue;
    if (!first)
      first = &input;
    if (input.values != first->values)
      return Status::error(format(
          "%s: values of %lld micro-batches, expected %lld as in %s, or shape "
          "%s for all of them",
          input.path.c_str(), static_cast<long long>(input.values),
          static_cast<long long>(first->values), first->path.c_str(),
          toString(input.argument->whole).c_str()));
  }
  return Status();
}

Status NamedInputs::checkReordering(const char *cause) const {
  for (const Input &input : inputs)
    if (input.values > 1)
      return Status::usage(format(
          "%s: %s holds values in the order of the stream, expected no %s, or "
          "shape %s for all micro-batches",
          cause, input.path.c_str(), cause,
          toString(input.argument->whole).c_str()));
  return Status();
}

Status NamedInputs::checkStream(int64_t streamBatches, int64_t steps,
                                int64_t perStep) const {
  if (streamBatches == 0)
    return Status();
  for (const Input &input : inputs) {
    if (input.values == 1)
      continue;
    int64_t least = std::min(input.values, streamBatches) / perStep;
    if (input.values != streamBatches && steps > least)
      return Status::error(format(
          "%s: values of %lld micro-batches, expected %lld as in the stream of "
          "--data, or --steps %lld at most",
          input.path.c_str(), static_cast<long long>(input.values),
          static_cast<long long>(streamBatches),
          static_cast<long long>(least)));
  }
  return Status();
}

int64_t NamedInputs::batchesPerEpoch() const {
  int64_t most = 1;
  for (const Input &input : inputs)
    most = std::max(most, input.values);
  return most;
}

Status NamedInputs::checkRepeats(const char *flag) const {
  for (const Input &input : inputs)
    if (input.values > 1 && input.argument->role == Role::none)
      return Status::usage(format(
          "--%s: nothing for '%s', whose values of training go with other "
          "tokens, expected --%s %s=FILE.npy",
          flag, input.argument->fqn.c_str(), flag,
          input.argument->fqn.c_str()));
  return Status();
}

Status NamedInputs::load(int64_t index, char *arena) const {
  for (const Input &input : inputs) {
    if (!input.isLoaded)
      continue;
    const Argument &argument = *input.argument;
    int64_t from = byteWidth(input.dtype), to = byteWidth(argument.dtype);
    int64_t count = *elementCount(argument.whole);
    int64_t first = index % input.values * count;
    const char *source = input.file.data() + input.offset + first * from;
    if (Status status = checkIds(argument, input.path, source, first, count);
        !status.ok())
      return Status::error(status.message() +
                           "; the file has changed since the run began");
    char *target = arena + argument.offset;
    auto copy = [&](int64_t element, int64_t place, int64_t length) {
      if (input.dtype == argument.dtype)
        std::memcpy(target + place * to, source + element * from,
                    static_cast<size_t>(length * to));
      else
        for (int64_t i = 0; i < length; ++i)
          storeElement(argument.dtype, target + (place + i) * to,
                       loadElement(input.dtype, source + (element + i) * from));
    };
    input.layout.forEachRun(0, input.layout.size(), copy);
    if (input.values > 1) // else it is read again
      input.file.release(source, count * from);
  }
  return Status();
}
