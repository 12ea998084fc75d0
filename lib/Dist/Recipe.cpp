//===- Recipe.cpp - How a step is divided, in words -----------------------===//

#include "hone/Dist/Recipe.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace hone::dist;
using llvm::Error;
using llvm::SmallVector;
using llvm::StringRef;

static Error wrong(StringRef text, const llvm::Twine &wanted) {
  return llvm::createStringError("'" + text + "': expected " + wanted);
}

llvm::ArrayRef<llvm::StringLiteral> hone::dist::levelsOfState() {
  static constexpr llvm::StringLiteral levels[] = {"zero1", "zero2", "zero3",
                                                   "zero3-keep"};
  return levels;
}

llvm::Expected<AxisText> hone::dist::parseAxis(StringRef text) {
  auto [name, rest] = text.split('=');
  auto [number, link] = rest.split('@');
  AxisText axis = {name, 0, link};
  if (llvm::is_contained({"rep", "dp", "fs", "tp"}, name) &&
      !number.getAsInteger(10, axis.size) && axis.size >= 1 &&
      rest.contains('@') == !link.empty())
    return axis;
  return wrong(text, "an axis rep, dp, fs or tp with its size, as fs=4 or "
                     "fs=4@nvlink");
}

namespace {
class RecipeReader {
public:
  Error readAxis(StringRef text);
  Error readWord(StringRef text);
  Recipe finish();
  Error check() const;

private:
  bool has(StringRef name) const {
    return llvm::any_of(axes, [&](StringRef axis) {
      return axis.take_until([](char c) { return c == '='; }) == name;
    });
  }

  SmallVector<StringRef> axes; // "tp=4@nvlink"
  Recipe recipe;
  bool isReplicated = false; // ddp was asked for
};
} // namespace

Error RecipeReader::readAxis(StringRef text) {
  llvm::Expected<AxisText> axis = parseAxis(text);
  if (!axis)
    return axis.takeError();
  if (has(axis->name))
    return wrong(text, "each axis once");
  axes.push_back(text);
  return Error::success();
}

Error RecipeReader::readWord(StringRef text) {
  StringRef level = text;
  if (text == "sp") {
    recipe.sequence = true;
    return Error::success();
  }
  if (text == "ddp") {
    isReplicated = true;
    return Error::success();
  }
  if (level == "fsdp")
    level = "zero3";
  level.consume_front("fsdp=");
  if (!llvm::is_contained(levelsOfState(), level))
    return text.contains('=') && !text.starts_with("fsdp")
               ? readAxis(text)
               : wrong(text, "ddp, fsdp, " + llvm::join(levelsOfState(), ", ") +
                                 ", sp or an axis with its size");
  if (!recipe.fsdp.empty() && recipe.fsdp != level)
    return wrong(text, "one level of zero");
  recipe.fsdp = level.str();
  return Error::success();
}

Error RecipeReader::check() const {
  bool isDivided = has("fs") || !recipe.fsdp.empty();
  if (isReplicated && isDivided)
    return wrong("ddp", "no axis fs and no zero with it");
  if (axes.empty() && (isReplicated || !recipe.fsdp.empty() || recipe.sequence))
    return wrong("", "a mesh, as dp=2,tp=2");
  if (recipe.sequence && !has("tp"))
    return wrong("sp", "an axis tp, which divides positions");
  if (!recipe.fsdp.empty() && !has("fs") && !has("dp"))
    return wrong(recipe.fsdp, "an axis fs or dp, which divides state");
  return Error::success();
}

Recipe RecipeReader::finish() {
  bool isRenamed = !recipe.fsdp.empty() && !has("fs");
  for (StringRef axis : axes) {
    std::string text = axis.str();
    if (isRenamed && axis.starts_with("dp="))
      text.replace(0, 2, "fs");
    recipe.mesh += (recipe.mesh.empty() ? "" : ",") + text;
  }
  return recipe;
}

llvm::Expected<Recipe> hone::dist::parseRecipe(StringRef mesh,
                                               StringRef recipe) {
  RecipeReader reader;
  for (StringRef axis : llvm::split(mesh, ','))
    if (!mesh.empty())
      if (Error error = reader.readAxis(axis))
        return std::move(error);
  for (StringRef word : llvm::split(recipe, ','))
    if (!recipe.empty())
      if (Error error = reader.readWord(word))
        return std::move(error);
  if (Error error = reader.check())
    return std::move(error);
  return reader.finish();
}
