//===- Parts.h - Where the elements of a part lie -------------------------===//
//
// A part is a box of an argument's whole, and a tensor of files. A rank has all
// of it or some of its elements. In the order of the part these are a sequence
// of runs: neighbours in the part that are neighbours in the rank's storage,
// which is row-major.
//
//===----------------------------------------------------------------------===//

#ifndef HONERT_PROGRAM_PARTS_H
#define HONERT_PROGRAM_PARTS_H

#include "program/Division.h"

#include <algorithm>

namespace honert {

/// Which elements of a part are in a storage, and where.
class PartLayout {
public:
  /// The storage has all of `part`, a box of it.
  PartLayout(const Shape &storage, const Part &part);
  /// The storage is the part itself, of this shape.
  static PartLayout ofTensor(const Shape &shape);
  /// The storage is what `rank` has of `argument`.
  PartLayout(const Argument &argument, const Part &part, const Mesh &mesh,
             int64_t rank);

  /// Elements that are in the storage; below they are numbered in order.
  int64_t size() const { return count; }

  /// Calls `body(element of the part, element of the storage, how many)` for
  /// the elements numbered [lo, hi), run by run.
  template <typename Body>
  void forEachRun(int64_t lo, int64_t hi, Body body) const {
    for (int64_t i = lo; i < hi;) {
      Run run = runFrom(i);
      int64_t length = std::min(run.length, hi - i);
      body(run.element, run.place, length);
      i += length;
    }
  }

private:
  struct Run {
    int64_t element, place, length;
  };
  /// One dimension, or the last ones together where the storage has all of
  /// them but for the first.
  struct Dim {
    std::vector<DimRun> runs;
    int64_t count;                    ///< positions in the storage
    int64_t elements = 1, places = 1; ///< strides in part and storage
  };

  void build(const Shape &storage, const Part &part,
             const std::vector<std::vector<DimRun>> &runsOfWhole);
  /// Number `index` and what follows it in its run.
  Run runFrom(int64_t index) const;

  int64_t count = 1;
  std::vector<Dim> dims; ///< the last one first, never empty
};

/// Copies the elements of a part numbered [lo, hi) between `packed`, which
/// holds just these, and their storage.
void gatherPart(const PartLayout &layout, int64_t lo, int64_t hi, DType dtype,
                const char *storage, char *packed);
void scatterPart(const PartLayout &layout, int64_t lo, int64_t hi, DType dtype,
                 const char *packed, char *storage);

} // namespace honert

#endif // HONERT_PROGRAM_PARTS_H
