//===- Dump.cpp - Loss and gradients of a step, in a file -----------------===//

#include "core/Dump.h"
#include "checkpoint/State.h"

#include <set>

using namespace honert;

static const char prefix[] = "grad.";

static bool isGradient(const Result &result) {
  return result.name.rfind(prefix, 0) == 0;
}

/// The parameter or gradient that a result "grad.NAME" lies as: the ranks have
/// what they have of it, or all of it. Null: there is none.
static const Argument *likeOf(const Program &program, const Result &result) {
  std::string fqn = result.name.substr(sizeof prefix - 1);
  for (Kind kind : {Kind::param, Kind::grad})
    if (const Argument *argument = program.argument(kind, fqn);
        argument &&
        (argument->dims == result.dims || argument->whole == result.dims))
      return argument;
  return nullptr;
}

Status honert::checkDump(const Program &program) {
  for (const Argument &argument : program.arguments)
    if (argument.kind == Kind::grad && !argument.partial.empty())
      return Status::error(format(
          "--dump: gradient '%s' is a sum over ranks (%s) that none of "
          "them has, wanted gradients in elements",
          argument.fqn.c_str(), program.mesh.text(argument.partial).c_str()));
  if (program.mesh.ranks() == 1)
    return Status();
  for (const Function &function : program.functions)
    for (const Result &result : function.results)
      if (isGradient(result) && !likeOf(program, result))
        return Status::error(
            format("--dump: '%s' has shape %s, wanted that of its parameter or "
                   "of a rank's part of it",
                   result.name.c_str(), toString(result.dims).c_str()));
  return Status();
}

namespace {
/// Collects tensors, each name once, and brings their values into the view.
class Dump {
public:
  Dump(const Program &program, Executor &executor, World &world)
      : program(program), executor(executor), world(world) {}

  Status add(const Result &result) {
    if (!names.insert(result.name).second)
      return Status();
    tensors.push_back({result.name, result.dtype, result.dtype, result.dims,
                       executor.arena().at(result.offset), std::nullopt,
                       world.isFirst()});
    return executor.fetch(result.offset, *byteCount(result.dtype, result.dims));
  }

  /// The gradient `result`, which lies as `like` does, part by part.
  Status addGradient(const Argument &like, const Result &result) {
    bool isAll = like.dims != result.dims; // on every rank
    for (const Part &part : like.parts) {
      TensorSource source =
          sourceOf(program, like, part, executor.arena(), world);
      source.name = prefix + part.name;
      source.dtype = source.storedDtype = result.dtype;
      source.data = executor.arena().at(result.offset);
      if (isAll) {
        source.layout = PartLayout(like.whole, part);
        source.isWritten = world.isFirst();
      }
      if (names.insert(source.name).second)
        tensors.push_back(std::move(source));
    }
    return executor.fetch(result.offset, *byteCount(result.dtype, result.dims));
  }

  Status addResults(const Function &function) {
    for (const Result &result : function.results) {
      const Argument *like =
          isGradient(result) ? likeOf(program, result) : nullptr;
      if (like)
        HONERT_TRY(addGradient(*like, result));
      else if (isGradient(result) || result.name == "loss" ||
               result.name == "grad_norm")
        HONERT_TRY(add(result));
    }
    return Status();
  }

  /// What micro-batches have added up.
  Status addSums() {
    for (const Argument &argument : program.arguments) {
      Result sum = {"loss", argument.dtype, argument.dims, argument.offset};
      if (argument.kind == Kind::grad)
        HONERT_TRY(addGradient(argument, sum));
      else if (argument.kind == Kind::scalar && argument.fqn == "loss")
        HONERT_TRY(add(sum));
    }
    return Status();
  }

  Status collect() {
    for (const char *name : {"step", "update"})
      if (const Function *function = program.function(name))
        HONERT_TRY(addResults(*function));
    return program.function("step") ? Status() : addSums();
  }

  std::vector<TensorSource> tensors;

private:
  const Program &program;
  Executor &executor;
  World &world;
  std::set<std::string> names;
};
} // namespace

Status honert::writeDump(const std::string &path, const Program &program,
                         Executor &executor, World &world) {
  Dump dump(program, executor, world);
  HONERT_TRY(world.agree(dump.collect()));
  return writeSafeTensors(path, dump.tensors, {{"format", "pt"}}, world);
}
