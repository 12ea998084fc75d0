//===- Dump.cpp - Loss and gradients of a step, in a file -----------------===//

#include "train/Dump.h"
#include "base/GradientSums.h"
#include "io/checkpoint/State.h"

#include <algorithm>
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

/// The other sum of the parameter that `sum` adds up a gradient of, where two
/// places that read it have one each; null: there is none.
static const Argument *secondOf(const Program &program, const Argument &sum) {
  return program.argument(Kind::grad, secondGradientSum(sum.fqn));
}

/// Whether `sum` is the second of such sums.
static bool isSecond(const Program &program, const Argument &sum) {
  std::string parameter(parameterOfGradientSum(sum.fqn));
  return parameter != sum.fqn && program.argument(Kind::grad, parameter);
}

Status honert::checkDump(const Program &program) {
  if (program.mesh.ranks() == 1)
    return Status();
  for (const Function &function : program.functions)
    for (const Result &result : function.results)
      if (isGradient(result) && !likeOf(program, result))
        return Status::error(format(
            "--dump: '%s' has shape %s, expected that of its parameter or "
            "of a rank's part of it",
            result.name.c_str(), toString(result.dims).c_str()));
  return Status();
}

namespace {
/// Collects tensors, each name once, and brings their values into the view.
class Dump {
public:
  Dump(const Program &program, Executor &executor, ProcessGroup &world)
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
      if (argument.kind == Kind::grad && isSecond(program, argument))
        HONERT_TRY(executor.fetch(argument.offset, argument.bytes));
      else if (argument.kind == Kind::grad)
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

  /// Where ranks, or two sums, hold terms of a gradient, the sum of all takes
  /// their place. Called by all ranks.
  Status addTerms() {
    for (const Argument &argument : program.arguments) {
      if (argument.kind != Kind::grad || isSecond(program, argument))
        continue;
      const Argument *second = secondOf(program, argument);
      if (argument.partial.empty() && !second)
        continue;
      const char *own = executor.arena().at(argument.offset);
      std::vector<char> sum;
      HONERT_TRY(sumTerms(argument, sum));
      if (second) {
        std::vector<char> other;
        HONERT_TRY(sumTerms(*second, other));
        addTo(argument, sum, other);
      }
      sums.push_back(std::move(sum));
      for (TensorSource &tensor : tensors)
        if (tensor.data == own)
          tensor.data = sums.back().data();
    }
    return Status();
  }

  std::vector<TensorSource> tensors;

private:
  /// Adds the terms of ranks, in the order of their group, rounded once, piece
  /// by piece.
  Status sumTerms(const Argument &argument, std::vector<char> &sum) {
    const char *own = executor.arena().at(argument.offset);
    sum.assign(own, own + argument.bytes);
    if (argument.partial.empty())
      return Status();
    int64_t width = byteWidth(argument.dtype);
    int64_t most = std::max<int64_t>(4096, pieceBytes / world.size() / 64 * 64);
    std::vector<char> all(static_cast<size_t>(most * world.size()));
    std::vector<int64_t> group =
        program.mesh.groupOf(world.rank(), argument.partial);
    for (int64_t at = 0; at < argument.bytes; at += most) {
      int64_t length = std::min(most, argument.bytes - at);
      HONERT_TRY(world.allGather(own + at, length, all.data()));
      for (int64_t i = 0; i < length; i += width) {
        double total = 0;
        for (int64_t rank : group)
          total += loadElement(argument.dtype, &all[rank * length + i]);
        storeElement(argument.dtype, &sum[at + i], total);
      }
    }
    return Status();
  }

  /// Adds `other` to `sum`, element by element.
  static void addTo(const Argument &argument, std::vector<char> &sum,
                    const std::vector<char> &other) {
    for (int64_t i = 0; i < argument.bytes; i += byteWidth(argument.dtype))
      storeElement(argument.dtype, &sum[i],
                   loadElement(argument.dtype, &sum[i]) +
                       loadElement(argument.dtype, &other[i]));
  }

  const Program &program;
  Executor &executor;
  ProcessGroup &world;
  std::set<std::string> names;
  std::vector<std::vector<char>> sums;
};
} // namespace

Status honert::writeDump(const std::string &path, const Program &program,
                         Executor &executor, ProcessGroup &world) {
  Dump dump(program, executor, world);
  HONERT_TRY(world.agree(dump.collect()));
  HONERT_TRY(dump.addTerms());
  return writeSafeTensors(path, dump.tensors, {{"format", "pt"}}, world);
}
