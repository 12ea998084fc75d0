//===- StepValues.cpp - What steps are told, and what they show -----------===//

#include "train/StepValues.h"

#include <cmath>
#include <cstring>
#include <limits>

using namespace honert;

void honert::writeScalar(const Program &program, Arena &arena, const char *name,
                         double value) {
  if (const Argument *scalar = program.argument(Kind::scalar, name))
    storeElement(scalar->dtype, arena.at(scalar->offset), value);
}

void honert::writeClip(const Program &program, Arena &arena, double clip) {
  writeScalar(program, arena, "clip",
              clip > 0 ? clip : std::numeric_limits<double>::infinity());
}

void honert::writeKey(const Program &program, Arena &arena, uint64_t seed,
                      int64_t step, int64_t micro) {
  for (const Argument &argument : program.arguments) {
    if (argument.kind != Kind::rng)
      continue;
    auto *key = reinterpret_cast<int64_t *>(arena.at(argument.offset));
    key[0] = static_cast<int64_t>(seed);
    key[1] = step;
    key[2] = micro;
  }
}

void honert::readFacts(const Program &program, const Arena &arena,
                       StepFacts &facts) {
  auto read = [&](const auto &place) {
    return loadElement(place.dtype, arena.at(place.offset));
  };
  const Function *last = program.function("step");
  if (last) {
    facts.loss = read(*last->result("loss"));
  } else {
    last = program.function("update");
    facts.loss = read(*program.argument(Kind::scalar, "loss"));
  }
  if (const Result *norm = last->result("grad_norm"))
    facts.gradNorm = read(*norm);
}

static std::string behind(const std::string &ending) {
  return ending.empty() ? "" : "; " + ending;
}

Status honert::checkIds(const Program &program, const Arena &arena,
                        const Function &function, const char *when,
                        int64_t number, const std::string &ending) {
  for (const IdCheck &check : program.idChecks) {
    const Result *result = function.result(check.name);
    const Argument *running = program.argument(Kind::scalar, check.name);
    if (!result && !running)
      continue;
    int64_t id;
    std::memcpy(&id, arena.at(result ? result->offset : running->offset),
                sizeof id);
    if (id != 0)
      return Status::error(format(
          "%s %lld: %s%s%s reads id %lld, expected 0 to %lld%s", when,
          static_cast<long long>(number), check.op.c_str(),
          check.location.empty() ? "" : " at ", check.location.c_str(),
          static_cast<long long>(id), static_cast<long long>(check.size - 1),
          behind(ending).c_str()));
  }
  return Status();
}

/// Without a loss scale, a loss or gradients that are no numbers are an error.
/// Such gradients have changed nothing: the program's updates are conditional.
static Status checkFinite(const StepFacts &facts, const std::string &ending) {
  bool lossIsBad = !std::isfinite(facts.loss);
  if (!lossIsBad && (!facts.gradNorm || std::isfinite(*facts.gradNorm)))
    return Status();
  double seen = lossIsBad ? facts.loss : *facts.gradNorm;
  return Status::error(
      format("step %lld: %s is %g, expected a finite value%s",
             static_cast<long long>(facts.step),
             lossIsBad ? "the loss" : "the gradient norm",
             std::isnan(seen) ? std::fabs(seen) : seen, // its sign says nothing
             behind(ending).c_str()));
}

Status honert::checkStep(const Program &program, const Arena &arena,
                         StepFacts &facts, const std::string &ending) {
  const Argument *scale = program.argument(Kind::opt, "loss_scale");
  if (!scale)
    return checkFinite(facts, ending);
  constexpr double smallestScale = 0x1p-24;
  facts.lossScale = loadElement(scale->dtype, arena.at(scale->offset));
  facts.skipped = facts.gradNorm && !std::isfinite(*facts.gradNorm);
  if (*facts.lossScale >= smallestScale)
    return Status();
  return Status::error(
      format("step %lld: the loss scale is %g, expected at least %g: every "
             "step overflows%s",
             static_cast<long long>(facts.step), *facts.lossScale,
             smallestScale, behind(ending).c_str()));
}
