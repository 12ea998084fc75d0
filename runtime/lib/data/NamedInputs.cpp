//===- NamedInputs.cpp - Inputs other than a token stream -----------------===//

#include "data/NamedInputs.h"

#include <cstring>
#include <set>

using namespace honert;

static Status checkIds(const Argument &argument, const std::string &path,
                       const char *data, int64_t count) {
  if (argument.vocab <= 0)
    return Status();
  int64_t width = byteWidth(argument.dtype);
  for (int64_t i = 0; i < count; ++i) {
    double id = loadElement(argument.dtype, data + i * width);
    // Targets may hold negative ids that the loss ignores.
    bool isIgnored = argument.role == Role::targets && id < 0;
    if (!isIgnored && !(id >= 0 && id < static_cast<double>(argument.vocab)))
      return Status::error(
          format("%s: id %.0f at position %lld, wanted ids from 0 to %lld",
                 path.c_str(), id, static_cast<long long>(i),
                 static_cast<long long>(argument.vocab - 1)));
  }
  return Status();
}

Status NamedInputs::openOne(const Argument &argument, const PartLayout &layout,
                            const std::string &path) {
  Input input{&argument, layout, {}, argument.dtype, 0, 1};
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
    return Status::error(format(
        "%s: %s of shape %s, wanted %s of shape %s (input '%s'), or that with "
        "a first dimension of micro-batches",
        path.c_str(), name(array.type), toString(array.shape).c_str(),
        name(argument.dtype), toString(argument.whole).c_str(),
        argument.fqn.c_str()));
  input.dtype = *dtype;
  input.offset = array.offset;
  input.values = perStep ? array.shape[0] : 1;
  HONERT_TRY(checkIds(argument, path, input.file.data() + array.offset,
                      *elementCount(array.shape)));
  input.file.release(input.file.data(), input.file.size());
  inputs.push_back(std::move(input));
  return Status();
}

Status
NamedInputs::open(const std::vector<std::pair<std::string, std::string>> &files,
                  const Program &program, const World &world,
                  bool tokensFromData) {
  auto isNamed = [&](const Argument &argument) {
    return argument.kind == Kind::input &&
           !(tokensFromData && argument.role != Role::none);
  };
  std::set<std::string> fed;
  for (const auto &[name, path] : files) {
    const Argument *argument = program.argument(Kind::input, name);
    if (!argument || !isNamed(*argument)) {
      std::string known;
      for (const Argument &each : program.arguments)
        if (isNamed(each))
          known += (known.empty() ? "" : ", ") + each.fqn;
      return Status::usage(format(
          "--input: '%s', wanted an input of this "
          "program (%s)",
          name.c_str(), known.empty() ? "there is none" : known.c_str()));
    }
    fed.insert(name);
    HONERT_TRY(openOne(*argument,
                       PartLayout(*argument, argument->parts.front(),
                                  program.mesh, world.rank()),
                       path));
  }
  for (const Argument &argument : program.arguments)
    if (isNamed(argument) && !fed.count(argument.fqn))
      return Status::usage(format(
          "--input: nothing for '%s', wanted --input %s=FILE.npy (%s of shape "
          "%s)%s",
          argument.fqn.c_str(), argument.fqn.c_str(), name(argument.dtype),
          toString(argument.whole).c_str(),
          argument.role == Role::none ? "" : " or --data FILE"));
  return Status();
}

void NamedInputs::load(int64_t index, char *arena) const {
  for (const Input &input : inputs) {
    const Argument &argument = *input.argument;
    int64_t from = byteWidth(input.dtype), to = byteWidth(argument.dtype);
    int64_t count = *elementCount(argument.whole);
    const char *source =
        input.file.data() + input.offset + index % input.values * count * from;
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
}
