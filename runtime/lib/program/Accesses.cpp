//===- Accesses.cpp - What a launch reads and writes ----------------------===//

#include "program/Accesses.h"

#include <algorithm>

using namespace honert;

static bool overlap(const std::vector<ArenaRange> &some,
                    const std::vector<ArenaRange> &others) {
  for (const ArenaRange &one : some)
    for (const ArenaRange &other : others)
      if (one.begin < other.end && other.begin < one.end)
        return true;
  return false;
}

bool Accesses::conflictsWith(const Accesses &other) const {
  return !isKnown || !other.isKnown || overlap(writes, other.writes) ||
         overlap(writes, other.reads) || overlap(reads, other.writes);
}

static Accesses unknown() {
  Accesses accesses;
  accesses.isKnown = false;
  return accesses;
}

namespace {
/// One overload per kind of launch.
struct Reader {
  Accesses operator()(const DeviceLaunch &launch) const;
  Accesses operator()(const MatmulLaunch &launch) const;
  Accesses operator()(const AttentionLaunch &launch) const;
  Accesses operator()(const ZeroLaunch &launch) const;
  template <typename Other> Accesses operator()(const Other &) const {
    return unknown();
  }
};
} // namespace

Accesses Reader::operator()(const DeviceLaunch &launch) const {
  if (launch.writes.empty() || !launch.reads)
    return unknown();
  Accesses accesses;
  auto add = [](std::vector<ArenaRange> &ranges, const ArenaTensor &tensor) {
    ranges.push_back({tensor.offset, tensor.offset + tensor.bytes()});
  };
  for (const ArenaTensor &tensor : launch.writes)
    add(accesses.writes, tensor);
  for (const ArenaTensor &tensor : *launch.reads)
    add(accesses.reads, tensor);
  return accesses;
}

/// Of a matrix that may be absent, from its first element to the end of its
/// last; strides are not negative.
static void addMatrix(std::vector<ArenaRange> &ranges, int64_t offset,
                      DType dtype, const int64_t *strides,
                      std::array<int64_t, 3> sizes) {
  if (offset < 0)
    return;
  int64_t elements = 1;
  for (size_t dim = 0; dim != 3; ++dim)
    elements += (sizes[dim] - 1) * strides[dim];
  ranges.push_back({offset, offset + elements * byteWidth(dtype)});
}

static void addScales(std::vector<ArenaRange> &ranges,
                      const ProductScales::Side &scales, int64_t rows,
                      int64_t k) {
  ranges.push_back({scales.offset, scales.offset + scales.bytes(rows, k)});
}

Accesses Reader::operator()(const MatmulLaunch &launch) const {
  Accesses accesses;
  if (launch.activationKernel || launch.batch == 0 || launch.m == 0 ||
      launch.n == 0)
    return unknown();
  const int64_t *strides = launch.strides.data();
  int64_t batch = launch.batch, m = launch.m, n = launch.n, k = launch.k;
  auto addVector = [](std::vector<ArenaRange> &ranges, int64_t offset,
                      int64_t count, DType dtype) {
    if (offset >= 0)
      ranges.push_back({offset, offset + count * byteWidth(dtype)});
  };
  if (k > 0) {
    addMatrix(accesses.reads, launch.a, launch.operand, strides, {batch, m, k});
    addMatrix(accesses.reads, launch.b, launch.operandB(), strides + 3,
              {batch, k, n});
  }
  if (launch.scales) {
    addScales(accesses.reads, launch.scales->a, m, k);
    addScales(accesses.reads, launch.scales->b, n, k);
  }
  addMatrix(accesses.writes, launch.c, launch.result, strides + 6,
            {batch, m, n});
  addMatrix(accesses.reads, launch.addend, launch.result, strides + 9,
            {batch, m, n});
  addVector(accesses.reads, launch.bias, n, launch.result);
  // The gradient of an activation reads aux, others write it.
  addVector(accesses.writes, launch.aux, (m - 1) * launch.auxStride + n,
            launch.result);
  addVector(accesses.writes, launch.sums, std::max(m, n), DType::f32);
  return accesses;
}

Accesses Reader::operator()(const AttentionLaunch &launch) const {
  Accesses accesses;
  std::vector<AttentionOperand> operands = launch.problem.operands();
  for (size_t i = 0; i != operands.size(); ++i) {
    AttentionTensor tensor = launch.problem.tensor(operands[i]);
    int64_t bytes = tensor.extentBytes();
    if (bytes < 0)
      return unknown();
    (tensor.isWritten ? accesses.writes : accesses.reads)
        .push_back({launch.offsets[i], launch.offsets[i] + bytes});
  }
  accesses.writes.push_back(
      {launch.workspace, launch.workspace + launch.workspaceBytes});
  return accesses;
}

Accesses Reader::operator()(const ZeroLaunch &launch) const {
  Accesses accesses;
  accesses.writes.push_back({launch.offset, launch.offset + launch.bytes});
  return accesses;
}

Accesses honert::accessesOf(const Launch &launch) {
  return std::visit(Reader{}, launch.action);
}
