//===- NearestName.cpp - What a misspelt name was meant to be -------------===//

#include "hone/Support/NearestName.h"

#include "base/NearestName.h"

#include "llvm/ADT/StringExtras.h"

using llvm::StringRef;

StringRef hone::nearestName(StringRef name, llvm::ArrayRef<StringRef> names) {
  return honert::nearestName(name, {names.begin(), names.end()});
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
