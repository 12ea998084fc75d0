//===- Recipe.cpp - How a step is divided, in words -----------------------===//

#include "hone/Sharding/Propagate/Recipe.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace hone::dist;
using llvm::Error;
using llvm::SmallVector;
using llvm::StringRef;

static Error wrong(StringRef text, const llvm::Twine &expected) {
  return llvm::createStringError("'" + text + "': expected " + expected);
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
  if (llvm::is_contained({"pp", "rep", "dp", "fs", "ep", "cp", "tp"}, name) &&
      !number.getAsInteger(10, axis.size) && axis.size >= 1 &&
      rest.contains('@') == !link.empty())
    return axis;
  return wrong(
      text, "an axis pp, rep, dp, fs, ep, cp or tp with its size, as fs=4 or "
            "fs=4@nvlink");
}

int64_t hone::dist::sizeOfAxis(StringRef mesh, StringRef name) {
  for (StringRef text : llvm::split(mesh, ','))
    if (text.split('=').first == name)
      return llvm::cantFail(parseAxis(text)).size;
  return 1;
}

int64_t hone::dist::batchRanks(StringRef mesh) {
  return sizeOfAxis(mesh, "rep") * sizeOfAxis(mesh, "dp") *
         sizeOfAxis(mesh, "fs");
}

namespace {
class RecipeReader {
public:
  /// Reads an axis of the mesh; it goes behind those read before.
  Error readAxis(StringRef text);
  /// Reads a word of the recipe; an axis goes to its place among the others.
  Error readWord(StringRef text);
  Recipe finish();
  /// `words` is the recipe, for messages.
  Error check(StringRef words) const;

private:
  bool has(StringRef name) const {
    return llvm::any_of(
        axes, [&](StringRef axis) { return axis.split('=').first == name; });
  }

  SmallVector<StringRef> axes; // "tp=4@nvlink"
  StringRef level;             // as it is written: "fsdp=zero2"
  StringRef context;           // as it is written: "cp-heads"
  StringRef experts;           // as it is written: "ep-gather"
  Recipe recipe;
  bool isReplicated = false; // ddp was asked for
};
} // namespace

/// Where an axis stands in a mesh: those that exchange most are innermost.
static size_t placeOf(StringRef axis) {
  static constexpr llvm::StringLiteral names[] = {"pp", "rep", "dp", "fs",
                                                  "ep", "cp",  "tp"};
  return llvm::find(names, axis.split('=').first) - std::begin(names);
}

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
  if (text == "sp") {
    recipe.sequence = true;
    return Error::success();
  }
  if (llvm::is_contained({"ep", "ep-gather", "ep-all-to-all"}, text)) {
    StringRef how = text == "ep" ? "auto" : text.drop_front(3);
    if (!recipe.experts.empty() && recipe.experts != how)
      return wrong(text, "one way to divide experts");
    recipe.experts = how.str();
    experts = text;
    return Error::success();
  }
  if (text == "ddp") {
    isReplicated = true;
    return Error::success();
  }
  if (llvm::is_contained({"cp", "cp-gather", "cp-heads", "cp-ring"}, text)) {
    StringRef how = text == "cp" ? "auto" : text.drop_front(3);
    if (!recipe.context.empty() && recipe.context != how)
      return wrong(text, "one way to divide positions");
    recipe.context = how.str();
    context = text;
    return Error::success();
  }
  StringRef named = text;
  if (named == "fsdp")
    named = "zero3";
  named.consume_front("fsdp=");
  if (!llvm::is_contained(levelsOfState(), named)) {
    if (!text.contains('=') || text.starts_with("fsdp"))
      return wrong(text,
                   "ddp, fsdp, " + llvm::join(levelsOfState(), ", ") +
                       ", ep, ep-gather, ep-all-to-all, sp, cp, cp-gather, "
                       "cp-heads, cp-ring or an axis with its size");
    if (Error error = readAxis(text))
      return error;
    auto *last = std::prev(axes.end());
    auto *inner = std::find_if(axes.begin(), last, [&](StringRef axis) {
      return placeOf(axis) > placeOf(text);
    });
    std::rotate(inner, last, axes.end());
    return Error::success();
  }
  if (!recipe.fsdp.empty() && recipe.fsdp != named)
    return wrong(text, "one level of zero");
  level = text;
  recipe.fsdp = named.str();
  return Error::success();
}

Error RecipeReader::check(StringRef words) const {
  bool isDivided = has("fs") || !recipe.fsdp.empty();
  if (isReplicated && isDivided)
    return wrong("ddp", "no axis fs and no zero with it");
  if (axes.empty() &&
      (isReplicated || !recipe.fsdp.empty() || recipe.sequence ||
       !recipe.context.empty() || !recipe.experts.empty()))
    return wrong(words, "a mesh, as dp=2,tp=2");
  if (recipe.sequence && !has("tp"))
    return wrong("sp", "an axis tp, which divides positions, as tp=2");
  if (!recipe.context.empty() && !has("cp"))
    return wrong(context, "an axis cp, which divides positions, as cp=2");
  if (!recipe.experts.empty() && !has("ep"))
    return wrong(experts, "an axis ep, which divides experts, as ep=2");
  if (!recipe.fsdp.empty() && !has("fs") && !has("dp"))
    return wrong(level, "an axis fs or dp, which divides state, as fs=2");
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
  recipe.stages = sizeOfAxis(recipe.mesh, "pp");
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
  if (Error error = reader.check(recipe))
    return std::move(error);
  return reader.finish();
}
