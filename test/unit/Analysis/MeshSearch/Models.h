//===- Models.h - Small models for tests of the search ----------*- C++ -*-===//

#ifndef HONE_TEST_UNIT_ANALYSIS_MESHSEARCH_MODELS_H
#define HONE_TEST_UNIT_ANALYSIS_MESHSEARCH_MODELS_H

#include "hone/Analysis/MeshSearch/Search.h"

namespace hone::test {

/// A decoder of `layers` units of `width`, 8 heads of which 2 are key heads,
/// and a head for 32000 words. Every second unit has 8 experts, of which a
/// token gets two, if `hasExperts`.
inline search::Model smallModel(int64_t layers, double width,
                                bool hasExperts = false) {
  search::Model model;
  model.positions = 1024;
  model.sequences = 32;
  double tokens = double(model.positions);
  for (int64_t layer = 0; layer != layers; ++layer) {
    search::Unit unit;
    unit.parameters = 12 * width * width;
    unit.productFlops = 2 * unit.parameters * tokens;
    unit.attentionFlops = 2 * tokens * tokens * width;
    unit.attentionBackwardFlops = 2.5 * unit.attentionFlops;
    unit.moved.stream = 20 * tokens * width;
    unit.moved.inner = 28 * tokens * width;
    unit.saved.stream = 4 * tokens * width;
    unit.saved.inner = 16 * tokens * width;
    unit.cheap.stream = 4 * tokens * width;
    unit.cheap.inner = 8 * tokens * width;
    unit.remade.stream = 8 * tokens * width;
    unit.remade.inner = 16 * tokens * width;
    unit.sums = 2;
    unit.keyBytes = tokens * width;
    unit.headBytes = 6 * tokens * width;
    if (hasExperts && layer % 2 == 1) {
      unit.expertParameters = 8 * 8 * width * width;
      unit.expertFlops = 2 * 2 * 8 * width * width * tokens;
      unit.rowBytes = 2 * 2 * tokens * width;
      unit.saved.rows = 2 * unit.rowBytes;
    }
    model.units.push_back(unit);
  }
  search::Unit head;
  head.parameters = 32000 * width;
  head.productFlops = 2 * head.parameters * tokens;
  head.moved.inner = 2 * 32000 * tokens;
  head.saved.inner = head.moved.inner;
  model.units.push_back(head);
  model.boundaryBytes = 2 * tokens * width;
  model.heads = 8;
  model.keyHeads = 2;
  model.innerWidth = int64_t(width);
  model.experts = hasExperts ? 8 : 0;
  return model;
}

} // namespace hone::test

#endif // HONE_TEST_UNIT_ANALYSIS_MESHSEARCH_MODELS_H
