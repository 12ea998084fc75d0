//===- Plan.cpp - One way to divide a step among ranks --------------------===//

#include "hone/Analysis/MeshSearch/Plan.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <array>

using namespace hone;
using namespace hone::search;
using llvm::Error;
using llvm::StringRef;
using llvm::Twine;

static constexpr std::array<llvm::StringLiteral, 5> levelNames = {
    "ddp", "zero1", "zero2", "zero3", "zero3-keep"};
static constexpr std::array<llvm::StringLiteral, 3> keepNames = {
    "all", "products", "borders"};

StringRef hone::search::keepName(Keep keep) { return keepNames[size_t(keep)]; }

StringRef hone::search::keyExchangeName(KeyExchange keys) {
  static constexpr llvm::StringLiteral names[] = {"cp-ring", "cp-gather",
                                                  "cp-heads"};
  return names[size_t(keys)];
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static Error wrong(StringRef word, const Twine &expected) {
  return llvm::createStringError("'" + word + "': expected " + expected);
}

/// The size that a word gives an axis, or a micro-batch.
static int64_t *findSize(Plan &plan, StringRef name) {
  std::pair<StringRef, int64_t *> sizes[] = {
      {"pp", &plan.pp}, {"dp", &plan.dp},           {"rep", &plan.dp},
      {"fs", &plan.fs}, {"ep", &plan.ep},           {"cp", &plan.cp},
      {"tp", &plan.tp}, {"micro", &plan.microBatch}};
  for (auto [known, size] : sizes)
    if (known == name)
      return size;
  return nullptr;
}

static Error readWord(StringRef word, Plan &plan) {
  auto [name, value] = word.split('=');
  if (int64_t *size = findSize(plan, name)) {
    if (value.getAsInteger(10, *size) || *size < 1)
      return wrong(word, "a size of at least 1, as " + name + "=2");
    return Error::success();
  }
  if (name == "keep") {
    auto *found = llvm::find(keepNames, value);
    if (found == keepNames.end())
      return wrong(word, "keep=all, keep=products or keep=borders");
    plan.keep = Keep(found - keepNames.begin());
    return Error::success();
  }
  if (auto *level = llvm::find(levelNames, word); level != levelNames.end()) {
    plan.state = StateLevel(level - levelNames.begin());
    return Error::success();
  }
  if (word == "sp") {
    plan.dividesPositions = true;
    return Error::success();
  }
  if (word == "hide-rows") {
    plan.hidesRows = true;
    return Error::success();
  }
  if (word == "fused-attention") {
    plan.fusesAttention = true;
    return Error::success();
  }
  llvm::Expected<pipeline::ScheduleChoice> choice =
      pipeline::parseScheduleChoice(word);
  if (!choice) {
    llvm::consumeError(choice.takeError());
    return wrong(word, "an axis (pp, rep, dp, fs, ep, cp, tp) or micro with "
                       "its size, a word of a recipe, a schedule, "
                       "keep=all, products or borders, hide-rows or "
                       "fused-attention");
  }
  plan.schedule = *choice;
  return Error::success();
}

llvm::Expected<Plan> hone::search::parsePlan(StringRef text) {
  Plan plan;
  for (StringRef word : llvm::split(text, ','))
    if (Error error = readWord(word, plan))
      return std::move(error);
  if (plan.fs > 1 && plan.state == StateLevel::None)
    plan.state = StateLevel::Zero3; // as a recipe has it
  if (plan.fs == 1 && plan.state != StateLevel::None)
    return wrong(levelNames[size_t(plan.state)],
                 "an axis fs of at least 2 with it, which divides state");
  return plan;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

std::string hone::search::formatMesh(const Plan &plan) {
  std::pair<StringRef, int64_t> axes[] = {
      {"pp", plan.pp}, {plan.fs > 1 ? "rep" : "dp", plan.dp},
      {"fs", plan.fs}, {"ep", plan.ep},
      {"cp", plan.cp}, {"tp", plan.tp}};
  std::string text;
  for (auto [name, size] : axes)
    if (size != 1)
      text +=
          (text.empty() ? "" : ",") + name.str() + "=" + std::to_string(size);
  return text.empty() ? "dp=1" : text;
}

std::string hone::search::formatRecipe(const Plan &plan) {
  std::string text;
  if (plan.state != StateLevel::None)
    text = levelNames[size_t(plan.state)].str();
  if (plan.dividesPositions)
    text += text.empty() ? "sp" : ",sp";
  return text;
}

std::string hone::search::formatSchedule(const Plan &plan) {
  return plan.pp == 1 ? "" : pipeline::formatScheduleChoice(plan.schedule);
}

std::string hone::search::formatPlan(const Plan &plan) {
  std::string text = formatMesh(plan);
  for (const std::string &words : {formatRecipe(plan), formatSchedule(plan)})
    text += (words.empty() ? "" : ",") + words;
  text += ",micro=" + std::to_string(plan.microBatch) +
          ",keep=" + keepName(plan.keep).str();
  text += plan.hidesRows ? ",hide-rows" : "";
  return text + (plan.fusesAttention ? ",fused-attention" : "");
}
