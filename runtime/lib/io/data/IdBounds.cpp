//===- IdBounds.cpp - Ids that an input may hold --------------------------===//

#include "io/data/IdBounds.h"

#include <algorithm>

using namespace honert;

void IdBounds::intersect(const IdBounds &other) {
  std::optional<int64_t> both;
  if (ignored && other.contains(*ignored))
    both = ignored;
  else if (other.ignored && contains(*other.ignored))
    both = other.ignored;
  ignored = both;
  if (other.vocab > 0)
    vocab = vocab > 0 ? std::min(vocab, other.vocab) : other.vocab;
}

int64_t IdBounds::findOther(const int64_t *ids, int64_t n) const {
  bool areGood = true;
  for (int64_t i = 0; i < n; ++i)
    areGood &= contains(ids[i]);
  return areGood ? n : std::find_if(ids, ids + n, [&](int64_t id) {
                         return !contains(id);
                       }) - ids;
}

std::string IdBounds::expected(int64_t id) const {
  std::string text =
      format("expected 0 to %lld", static_cast<long long>(end() - 1));
  if (ignored && static_cast<uint64_t>(*ignored) >= end())
    text += format(" or %lld", static_cast<long long>(*ignored));
  if (id != -100)
    return text;
  text += "; -100 marks ignored labels, ";
  return text + (ignored ? format("but this program ignores or replaces %lld",
                                  static_cast<long long>(*ignored))
                         : "which only an input of a loss with "
                           "ignore_index=-100 takes");
}
