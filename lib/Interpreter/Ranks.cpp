//===- Ranks.cpp - Ranks of a mesh in one process -------------------------===//

#include "hone/Interpreter/Ranks.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace hone;
using namespace hone::interp;
using dist::DimShards;
using dist::Mesh;
using dist::Sharding;

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

/// Positions along each dimension.
using Positions = std::vector<SmallVector<int64_t>>;

static Positions allOf(ArrayRef<int64_t> shape) {
  Positions positions;
  for (int64_t size : shape)
    positions.push_back(llvm::to_vector(llvm::seq<int64_t>(0, size)));
  return positions;
}

/// Calls `body(place in a part, place in the whole)` for each element at
/// `positions` of a tensor of `shape`.
template <typename Body>
static void forEachAt(const Positions &positions, ArrayRef<int64_t> shape,
                      Body body) {
  Shape part, strides = stridesOf(shape);
  for (const SmallVector<int64_t> &along : positions)
    part.push_back(along.size());
  forEachIndex(part, [&](ArrayRef<int64_t> index, int64_t place) {
    int64_t whole = 0;
    for (size_t dim = 0; dim != index.size(); ++dim)
      whole += positions[dim][index[dim]] * strides[dim];
    body(place, whole);
  });
}

static Tensor make(Element element, ArrayRef<int64_t> shape,
                   std::vector<double> floats, std::vector<int64_t> ints) {
  // Elements are of the type already.
  return isFloat(element)
             ? Tensor::floats(element, shape, std::move(floats), Mode::F64)
             : Tensor::ints(element, shape, std::move(ints));
}

/// The elements of `tensor` at `positions`.
static Tensor elementsAt(const Tensor &tensor, const Positions &positions) {
  Shape shape;
  for (const SmallVector<int64_t> &along : positions)
    shape.push_back(along.size());
  std::vector<double> floats;
  std::vector<int64_t> ints;
  forEachAt(positions, tensor.shape(), [&](int64_t, int64_t place) {
    if (tensor.isFloat())
      floats.push_back(tensor.floats()[place]);
    else
      ints.push_back(tensor.ints()[place]);
  });
  return make(tensor.element(), shape, std::move(floats), std::move(ints));
}

namespace {
/// A tensor that is put together from parts.
class Assembly {
public:
  Assembly(Element element, ArrayRef<int64_t> shape)
      : element(element), shape(shape), seen(elementCount(shape), false) {
    if (isFloat(element))
      floats.resize(seen.size());
    else
      ints.resize(seen.size());
  }

  /// Returns false where an element is there already and is another.
  bool add(const Tensor &part, const Positions &positions) {
    bool agrees = true;
    forEachAt(positions, shape, [&](int64_t from, int64_t to) {
      if (seen[to])
        agrees &= equals(part, from, to);
      else if (part.isFloat())
        floats[to] = part.floats()[from];
      else
        ints[to] = part.ints()[from];
      seen[to] = true;
    });
    return agrees;
  }

  Tensor finish() {
    return make(element, shape, std::move(floats), std::move(ints));
  }

private:
  bool equals(const Tensor &part, int64_t from, int64_t to) const {
    if (!part.isFloat())
      return part.ints()[from] == ints[to];
    double a = part.floats()[from], b = floats[to];
    return a == b || (std::isnan(a) && std::isnan(b));
  }

  Element element;
  Shape shape;
  std::vector<bool> seen;
  std::vector<double> floats;
  std::vector<int64_t> ints;
};
} // namespace

static Positions placesOf(const Sharding &sharding, ArrayRef<int64_t> shape,
                          const Mesh &mesh, int64_t rank) {
  Positions positions;
  for (auto [dim, size] : llvm::zip_equal(sharding.dims, shape))
    positions.push_back(dist::positionsOf(dim, size, mesh, rank));
  return positions;
}

Tensor interp::partOf(const Tensor &whole, const Sharding &sharding,
                      const Mesh &mesh, int64_t rank) {
  Tensor part =
      elementsAt(whole, placesOf(sharding, whole.shape(), mesh, rank));
  if (mesh.partOf(rank, sharding.partial) == 0)
    return part;
  assert(sharding.kind == ReduceKind::sum && "terms of sums alone");
  return make(part.element(), part.shape(), std::vector<double>(part.size()),
              std::vector<int64_t>(part.size()));
}

static double combine(ReduceKind kind, double a, double b) {
  switch (kind) {
  case ReduceKind::sum:
    return a + b;
  case ReduceKind::max:
    return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b);
  case ReduceKind::min:
    return std::isnan(a) || std::isnan(b) ? NAN : std::min(a, b);
  }
  llvm_unreachable("unknown kind");
}

static int64_t combine(ReduceKind kind, int64_t a, int64_t b) {
  switch (kind) {
  case ReduceKind::sum:
    return int64_t(uint64_t(a) + uint64_t(b)); // wraps
  case ReduceKind::max:
    return std::max(a, b);
  case ReduceKind::min:
    return std::min(a, b);
  }
  llvm_unreachable("unknown kind");
}

template <typename T>
static std::vector<T> combineAll(ReduceKind kind, ArrayRef<Tensor> terms,
                                 ArrayRef<T> (*elements)(const Tensor &)) {
  std::vector<T> sums(elements(terms[0]).begin(), elements(terms[0]).end());
  for (const Tensor &term : terms.drop_front())
    for (auto [sum, value] : llvm::zip_equal(sums, elements(term)))
      sum = combine(kind, sum, value);
  return sums;
}

static Tensor combineAll(ReduceKind kind, ArrayRef<Tensor> terms, Mode mode) {
  const Tensor &first = terms.front();
  if (!first.isFloat())
    return Tensor::ints(
        first.element(), first.shape(),
        combineAll<int64_t>(kind, terms,
                            [](const Tensor &term) { return term.ints(); }));
  return Tensor::floats(
      first.element(), first.shape(),
      combineAll<double>(kind, terms,
                         [](const Tensor &term) { return term.floats(); }),
      mode);
}

llvm::Expected<Tensor> interp::assemble(ArrayRef<Tensor> parts,
                                        ArrayRef<int64_t> shape,
                                        const Sharding &sharding,
                                        const Mesh &mesh) {
  Assembly assembly(parts.front().element(), shape);
  for (int64_t rank = 0; rank != mesh.numRanks(); ++rank) {
    if (mesh.partOf(rank, sharding.partial) != 0)
      continue;
    std::vector<Tensor> terms;
    for (int64_t peer : mesh.peersOf(rank, sharding.partial))
      terms.push_back(parts[peer]);
    if (!assembly.add(combineAll(sharding.kind, terms, Mode::F64),
                      placesOf(sharding, shape, mesh, rank)))
      return llvm::createStringError("the copy of rank " + Twine(rank) +
                                     " differs");
  }
  return assembly.finish();
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

namespace {
/// What one op between ranks gives each of them.
class Collective {
public:
  Collective(const Mesh &mesh, Mode mode, ArrayRef<Tensors> operands)
      : mesh(mesh), mode(mode), operands(operands) {}

  Tensor run(dist::CoordinateOp op, int64_t rank) {
    return Tensor::ints(Element::I64, {}, {mesh.partOf(rank, axes(op))});
  }
  Tensor run(dist::AllReduceOp op, int64_t rank) { return reduced(op, rank); }
  Tensor run(dist::ShiftOp op, int64_t rank) {
    dist::Axes along = axes(op);
    int64_t n = mesh.count(along), own = mesh.partOf(rank, along);
    int64_t below = (own + n - int64_t(op.getAmount())) % n;
    return operands[mesh.peersOf(rank, along)[below]][0];
  }
  /// What is async is there at once.
  Tensor run(dist::WaitOp, int64_t rank) { return operands[rank][0]; }
  Tensor run(dist::AllGatherOp op, int64_t rank) {
    return gathered(op, op.getDim(), shards(op), rank);
  }
  Tensor run(dist::ReduceScatterOp op, int64_t rank) {
    return part(reduced(op, rank), op.getDim(), shards(op), rank);
  }
  Tensor run(dist::ShardOp op, int64_t rank) {
    return part(operands[rank][0], op.getDim(), shards(op), rank);
  }
  Tensor run(dist::AllToAllOp op, int64_t rank) {
    auto along = [&](ArrayRef<int64_t> cuts, bool isSnake) {
      return DimShards{axes(op), {cuts.begin(), cuts.end()}, isSnake};
    };
    Tensor whole = gathered(op, op.getFrom(),
                            along(op.getFromCuts(), op.getFromSnake()), rank);
    return part(whole, op.getTo(), along(op.getToCuts(), op.getToSnake()),
                rank);
  }

private:
  template <typename OpTy> dist::Axes axes(OpTy op) {
    return dist::axesOf(op.getAxes(), mesh);
  }
  template <typename OpTy> DimShards shards(OpTy op) {
    ArrayRef<int64_t> cuts = op.getCuts();
    return {axes(op), {cuts.begin(), cuts.end()}, op.getSnake()};
  }

  template <typename OpTy> Tensor reduced(OpTy op, int64_t rank) {
    std::vector<Tensor> terms;
    for (int64_t peer : mesh.peersOf(rank, axes(op)))
      terms.push_back(operands[peer][0]);
    return combineAll(op.getKind(), terms, mode);
  }

  /// The operands of all peers side by side along `dim`.
  template <typename OpTy>
  Tensor gathered(OpTy op, int64_t dim, const DimShards &shards, int64_t rank) {
    const Tensor &own = operands[rank][0];
    Shape shape(own.shape());
    shape[dim] *= mesh.count(shards.axes);
    Assembly whole(own.element(), shape);
    for (int64_t peer : mesh.peersOf(rank, shards.axes)) {
      Positions positions = allOf(shape);
      positions[dim] = dist::positionsOf(shards, shape[dim], mesh, peer);
      (void)whole.add(operands[peer][0], positions);
    }
    return whole.finish();
  }

  Tensor part(const Tensor &whole, int64_t dim, const DimShards &shards,
              int64_t rank) {
    Positions positions = allOf(whole.shape());
    positions[dim] = dist::positionsOf(shards, whole.shape()[dim], mesh, rank);
    return elementsAt(whole, positions);
  }

  const Mesh &mesh;
  Mode mode;
  ArrayRef<Tensors> operands;
};
} // namespace

CollectiveFunction interp::collectivesOn(const Mesh &mesh, Mode mode) {
  return [mesh,
          mode](Operation *op,
                ArrayRef<Tensors> operands) -> FailureOr<std::vector<Tensor>> {
    Collective collective(mesh, mode, operands);
    std::vector<Tensor> results;
    for (int64_t rank = 0; rank != int64_t(operands.size()); ++rank) {
      using namespace dist;
      std::optional<Tensor> result =
          llvm::TypeSwitch<Operation *, std::optional<Tensor>>(op)
              .Case<CoordinateOp, AllReduceOp, AllGatherOp, ReduceScatterOp,
                    ShardOp, AllToAllOp, ShiftOp, WaitOp>(
                  [&](auto op) -> std::optional<Tensor> {
                    return collective.run(op, rank);
                  })
              .Default([](Operation *) { return std::nullopt; });
      if (!result)
        return op->emitOpError("is no op of ranks, expected dist-partition, "
                               "dist-lower-blocks and dist-lower-rings before");
      results.push_back(std::move(*result));
    }
    return results;
  };
}
