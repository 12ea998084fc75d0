//===- NearestName.cpp - What a misspelt name was meant to be -------------===//

#include "hone/Support/NearestName.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using llvm::StringRef;

StringRef hone::nearestName(StringRef name, llvm::ArrayRef<StringRef> names) {
  // Dashes are not letters: "-x" resembles no other short flag.
  size_t letters = name.size() - name.count('-');
  unsigned best = letters < 4 ? 1 : letters / 3 + 1;
  StringRef nearest;
  for (StringRef known : names) {
    unsigned distance = name.edit_distance(known, /*AllowReplacements=*/true,
                                           /*MaxEditDistance=*/best);
    if (distance < best) {
      best = distance;
      nearest = known;
    }
  }
  if (!nearest.empty() || letters < 3)
    return nearest;
  // The beginning of a longer name.
  const StringRef *found = llvm::find_if(
      names, [&](StringRef known) { return known.starts_with(name); });
  return found == names.end() ? "" : *found;
}

std::string hone::suggestName(StringRef name, llvm::ArrayRef<StringRef> names) {
  StringRef nearest = nearestName(name, names);
  return nearest.empty() ? "" : ("; did you mean " + nearest + "?").str();
}

/// The words of "a, b or c". "a number of rows" describes values, and is none.
static llvm::SmallVector<StringRef> wordsOf(StringRef list) {
  list.consume_front("one of ");
  llvm::SmallVector<StringRef> words;
  while (!list.empty()) {
    size_t end = std::min(list.find(", "), list.find(" or "));
    StringRef choice = list.take_front(end);
    if (!choice.contains(' '))
      words.push_back(choice);
    list = list.drop_front(choice.size());
    if (!list.consume_front(", "))
      list.consume_front(" or ");
  }
  return words;
}

bool hone::isWordOf(StringRef name, StringRef list) {
  return llvm::is_contained(wordsOf(list), name);
}

std::string hone::suggestWord(StringRef name, const llvm::Twine &list) {
  std::string text = list.str();
  return text + suggestName(name, wordsOf(text));
}
