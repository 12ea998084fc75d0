//===- Parts.h - Boxes of an argument's storage ---------------------------===//
//
// A part is a box inside row-major storage. In the order of its own elements it
// is a sequence of runs that are contiguous in the storage.
//
//===----------------------------------------------------------------------===//

#ifndef HONERT_CORE_PARTS_H
#define HONERT_CORE_PARTS_H

#include "core/Program.h"

#include <algorithm>

namespace honert {

/// Where the runs of a part lie.
class PartLayout {
public:
  PartLayout(const Shape &storage, const Part &part);

  /// Elements of the part.
  int64_t size() const { return count; }
  /// Elements of one run; all have this length.
  int64_t runLength() const { return run; }
  bool isContiguous() const { return run == count; }
  /// Element of the storage where run `index` begins.
  int64_t runBegin(int64_t index) const;

  /// Calls `body(element of the part, element of the storage, how many)` for
  /// the pieces of runs in [lo, hi), elements of the part.
  template <typename Body>
  void forEachRun(int64_t lo, int64_t hi, Body body) const {
    for (int64_t i = lo; i < hi;) {
      int64_t within = i % run;
      int64_t length = std::min(run - within, hi - i);
      body(i, runBegin(i / run) + within, length);
      i += length;
    }
  }

private:
  int64_t count = 1, run = 1, first = 0;
  /// Of the dimensions that runs are counted over, the last one first: size in
  /// the part, stride in the storage.
  std::vector<std::pair<int64_t, int64_t>> outer;
};

/// Copies elements [lo, hi) of a part between its own order, where `packed`
/// holds just these, and its storage.
void gatherPart(const PartLayout &layout, int64_t lo, int64_t hi, DType dtype,
                const char *storage, char *packed);
void scatterPart(const PartLayout &layout, int64_t lo, int64_t hi, DType dtype,
                 const char *packed, char *storage);

} // namespace honert

#endif // HONERT_CORE_PARTS_H
