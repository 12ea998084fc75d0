//===- IdBounds.h - Ids that an input may hold ------------------*- C++ -*-===//

#ifndef HONERT_IO_DATA_IDBOUNDS_H
#define HONERT_IO_DATA_IDBOUNDS_H

#include "program/Program.h"

namespace honert {

/// The ids that files may hold: [0, vocab), and perhaps one that a loss
/// ignores or that is replaced before it is read.
struct IdBounds {
  int64_t vocab; ///< 0: every id >= 0
  std::optional<int64_t> ignored;

  IdBounds(int64_t vocab = 0, std::optional<int64_t> ignored = std::nullopt)
      : vocab(vocab), ignored(ignored) {}

  /// Of an input that has a vocab.
  static IdBounds of(const Argument &argument) {
    return {argument.vocab, argument.ignored};
  }
  /// The ids that both allow.
  void intersect(const IdBounds &other);

  bool contains(int64_t id) const {
    // Negative ids are huge as unsigned ones: one comparison finds both.
    return static_cast<uint64_t>(id) < end() || id == ignored;
  }
  /// The index of the first of n ids that is out of bounds; n: there is none.
  int64_t findOther(const int64_t *ids, int64_t n) const;
  /// "expected 0 to 60 or -1", and a hint at what the wrong `id` may stand for.
  std::string expected(int64_t id) const;

private:
  uint64_t end() const {
    return vocab > 0 ? static_cast<uint64_t>(vocab) : uint64_t{1} << 63;
  }
};

} // namespace honert

#endif // HONERT_IO_DATA_IDBOUNDS_H
