//===- Graph.cpp - Attention as an operation graph of cuDNN ---------------===//

#include "exec/cuda/attention/Graph.h"
#include "exec/cuda/attention/Cudnn.h"

#include <limits>

using namespace honert;

using Operand = AttentionOperand;
using Dims = std::array<int64_t, 4>;

//===----------------------------------------------------------------------===//
// Support
//===----------------------------------------------------------------------===//

/// The widest head of a backward pass.
static int64_t widestBackward(int arch) { return arch / 10 == 9 ? 256 : 128; }

/// From this version on a padded backward pass needs no second mask.
static constexpr size_t firstWithLengths = 91000;

/// Of queries that begin at a position: NVIDIA's front end 1.23 refuses dropout
/// then, and masks twice before 9.10.
static Status checkLengths(const AttentionProblem &problem, size_t version) {
  if (!problem.readsLengths)
    return Status();
  if (version < firstWithLengths)
    return Status::error(
        format("queries begin at a position, cuDNN %zu.%zu.%zu takes those of "
               "all positions, expected 9.10.0 or newer",
               version / 10000, version / 100 % 100, version % 100));
  if (problem.dropout > 0)
    return Status::error("there is dropout and queries begin at a position, "
                         "cuDNN takes one or the other");
  return Status();
}

Status honert::checkSupport(const AttentionProblem &problem, int arch,
                            size_t version) {
  auto refuses = [](const std::string &seen, const std::string &expected) {
    return Status::error(seen + ", cuDNN takes " + expected);
  };
  if (problem.dtype != DType::bf16 && problem.dtype != DType::f16)
    return refuses(format("operands are %s", name(problem.dtype)),
                   "bf16 or f16");
  int64_t widest = problem.isBackward ? widestBackward(arch) : 256;
  for (int64_t width : {problem.width, problem.valueWidth})
    if (width % 8 != 0 || width > widest)
      return refuses(format("width is %lld", static_cast<long long>(width)),
                     format("multiples of 8 up to %lld %s on sm_%d",
                            static_cast<long long>(widest),
                            problem.isBackward ? "backward" : "forward", arch));
  if (problem.isBackward && problem.queries == 1 && problem.keys == 1)
    return refuses("there is one query and one key", "more backward");
  for (Operand operand : problem.operands()) {
    if (operand == Operand::lse || operand >= Operand::seed)
      continue;
    AttentionTensor tensor = problem.tensor(operand);
    for (size_t i = 0; i != 3; ++i)
      if (tensor.dims[i] > 1 && tensor.strides[i] % 8 != 0)
        return refuses(format("a stride of %s is %lld", tensor.name,
                              static_cast<long long>(tensor.strides[i])),
                       "multiples of 8");
  }
  HONERT_TRY(checkLengths(problem, version));
  if (problem.isBackward && problem.deterministic && problem.dropout > 0 &&
      arch / 10 == 10)
    return refuses("a deterministic backward pass has dropout",
                   format("one or the other on sm_%d", arch));
  return Status();
}

//===----------------------------------------------------------------------===//
// The graph
//===----------------------------------------------------------------------===//

static int cudnnType(DType dtype) {
  return dtype == DType::bf16  ? CUDNN_DATA_BFLOAT16
         : dtype == DType::f16 ? CUDNN_DATA_HALF
         : dtype == DType::i64 ? CUDNN_DATA_INT64
                               : CUDNN_DATA_FLOAT;
}

static Dims rowMajor(const Dims &dims) {
  return {dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3], 1};
}

static Dims swapped(Dims dims) {
  std::swap(dims[2], dims[3]);
  return dims;
}

namespace {
/// What bounds a dimension of a product where sequences have lengths.
enum class Bound { none, queries, keys };

/// A tensor is its index in the graph.
class Builder {
public:
  explicit Builder(const AttentionProblem &problem)
      : problem(problem), io(cudnnType(problem.dtype)),
        scores(
            {problem.batch, problem.queryHeads, problem.queries, problem.keys}),
        rows({problem.batch, problem.queryHeads, problem.queries, 1}) {}

  void forward();
  void backward();

  AttentionGraph result;

private:
  // Tensors.
  size_t add(GraphTensor tensor);
  size_t operand(Operand operand, bool isTransposed = false);
  size_t scalar(AttentionId id, double value);
  size_t scratch(AttentionId id, const Dims &dims);
  size_t seed(AttentionId id);
  size_t lengths(AttentionId id);
  size_t intermediate(const Dims &dims, const Dims &strides, int dtype);
  size_t score(int dtype = CUDNN_DATA_FLOAT) {
    return intermediate(scores, rowMajor(scores), dtype);
  }
  size_t row() { return intermediate(rows, rowMajor(rows), CUDNN_DATA_FLOAT); }

  // Nodes; each returns its output.
  size_t matmul(size_t a, size_t b, size_t out, Bound rows, Bound columns,
                Bound terms);
  size_t point(int mode, std::vector<size_t> inputs, size_t out,
               int computeType = CUDNN_DATA_FLOAT, int64_t axis = -1);
  size_t reduce(int mode, size_t x, size_t out);
  size_t reshape(size_t x, size_t out);
  size_t random();

  /// Products of rows of queries and of columns of keys.
  size_t scoresOf(size_t a, size_t b) {
    return matmul(a, b, score(), Bound::queries, Bound::keys, Bound::none);
  }
  /// The scores of the positions that sequences have, -inf elsewhere.
  size_t padded(size_t scores);
  /// The scores where a key comes before its query, -inf elsewhere.
  size_t masked(size_t scores, int indexType);
  /// The transpose, rounded to the operands' type: how weights enter a product.
  size_t transposedScores(size_t x);
  /// Sums over queries: a^T b into `out`, over the query heads that share a
  /// key head.
  void gradientOfKeys(size_t scores, size_t rows, Operand out);

  const AttentionProblem &problem;
  int io; ///< type of the operands
  Dims scores, rows;
  int64_t nextVirtual = idVirtual;
  std::map<AttentionId, size_t> known; ///< tensors of lengths
};
} // namespace

size_t Builder::add(GraphTensor tensor) {
  result.graph.tensors.push_back(tensor);
  return result.graph.tensors.size() - 1;
}

/// The same memory transposed has an id of its own nowhere: an operand enters
/// the graph once.
size_t Builder::operand(Operand operand, bool isTransposed) {
  AttentionTensor tensor = problem.tensor(operand);
  GraphTensor described;
  described.id = idOf(operand);
  described.dtype = cudnnType(tensor.dtype);
  described.dims = isTransposed ? swapped(tensor.dims) : tensor.dims;
  described.strides = isTransposed ? swapped(tensor.strides) : tensor.strides;
  return add(described);
}

size_t Builder::scalar(AttentionId id, double value) {
  result.scalars[id] = static_cast<float>(value);
  GraphTensor tensor;
  tensor.id = id;
  tensor.dtype = CUDNN_DATA_FLOAT;
  tensor.dims = tensor.strides = {1, 1, 1, 1};
  tensor.isByValue = true;
  return add(tensor);
}

size_t Builder::scratch(AttentionId id, const Dims &dims) {
  result.scratch[id] = dims[0] * dims[1] * dims[2] * dims[3] * 4;
  GraphTensor tensor;
  tensor.id = id;
  tensor.dtype = CUDNN_DATA_FLOAT;
  tensor.dims = dims;
  tensor.strides = rowMajor(dims);
  return add(tensor);
}

size_t Builder::seed(AttentionId id) {
  GraphTensor tensor;
  tensor.id = id;
  tensor.dtype = CUDNN_DATA_INT64;
  tensor.dims = tensor.strides = {1, 1, 1, 1};
  tensor.alignment = 8;
  return add(tensor);
}

size_t Builder::lengths(AttentionId id) {
  auto found = known.find(id);
  if (found != known.end())
    return found->second;
  GraphTensor tensor;
  tensor.id = id;
  tensor.dtype = CUDNN_DATA_INT32;
  tensor.dims = {problem.batch, 1, 1, 1};
  tensor.strides = {1, 1, 1, 1};
  tensor.alignment = 4;
  return known[id] = add(tensor);
}

size_t Builder::intermediate(const Dims &dims, const Dims &strides, int dtype) {
  GraphTensor tensor;
  tensor.id = nextVirtual++;
  tensor.dtype = dtype;
  tensor.dims = dims;
  tensor.strides = strides;
  tensor.isVirtual = true;
  return add(tensor);
}

size_t Builder::matmul(size_t a, size_t b, size_t out, Bound rows,
                       Bound columns, Bound terms) {
  GraphNode node;
  node.inputs = {a, b};
  const Bound bounds[] = {rows, columns, terms};
  for (size_t i = 0; problem.readsLengths && i != node.sizes.size(); ++i)
    if (bounds[i] != Bound::none)
      node.sizes[i] = static_cast<int64_t>(
          lengths(bounds[i] == Bound::keys ? idKeys : idQueries));
  node.output = out;
  node.computeType = CUDNN_DATA_FLOAT;
  result.graph.nodes.push_back(node);
  return out;
}

size_t Builder::point(int mode, std::vector<size_t> inputs, size_t out,
                      int computeType, int64_t axis) {
  GraphNode node;
  node.kind = GraphNode::Kind::pointwise;
  node.mode = mode;
  node.inputs = std::move(inputs);
  node.output = out;
  node.computeType = computeType;
  node.axis = axis;
  result.graph.nodes.push_back(node);
  return out;
}

size_t Builder::reduce(int mode, size_t x, size_t out) {
  GraphNode node;
  node.kind = GraphNode::Kind::reduction;
  node.mode = mode;
  node.inputs = {x};
  node.output = out;
  node.computeType = CUDNN_DATA_FLOAT;
  result.graph.nodes.push_back(node);
  return out;
}

size_t Builder::reshape(size_t x, size_t out) {
  GraphNode node;
  node.kind = GraphNode::Kind::reshape;
  node.inputs = {x};
  node.output = out;
  result.graph.nodes.push_back(node);
  return out;
}

/// 1 where a weight stays, 0 where it drops out. Forward and backward draw the
/// same numbers from the same seed and offset.
size_t Builder::random() {
  GraphNode node;
  node.kind = GraphNode::Kind::rng;
  node.inputs = {seed(idSeed), seed(idOffset)};
  node.output = score();
  node.probability = 1 - problem.dropout;
  result.graph.nodes.push_back(node);
  return node.output;
}

size_t Builder::padded(size_t x) {
  if (!problem.readsLengths)
    return x;
  auto isWithin = [&](int64_t axis, AttentionId id) {
    size_t index = point(CUDNN_POINTWISE_GEN_INDEX, {x},
                         score(CUDNN_DATA_INT32), CUDNN_DATA_INT32, axis);
    return point(CUDNN_POINTWISE_CMP_LT, {index, lengths(id)},
                 score(CUDNN_DATA_BOOLEAN), CUDNN_DATA_BOOLEAN);
  };
  size_t row = isWithin(2, idQueries), column = isWithin(3, idKeys);
  size_t both = point(CUDNN_POINTWISE_LOGICAL_AND, {row, column},
                      score(CUDNN_DATA_BOOLEAN), CUDNN_DATA_BOOLEAN);
  size_t hidden = scalar(idPadding, -std::numeric_limits<float>::infinity());
  return point(CUDNN_POINTWISE_BINARY_SELECT, {x, hidden, both}, score());
}

size_t Builder::masked(size_t x, int indexType) {
  if (problem.readsLengths)
    indexType = CUDNN_DATA_INT32;
  size_t query = point(CUDNN_POINTWISE_GEN_INDEX, {x}, score(indexType),
                       CUDNN_DATA_FLOAT, /*axis=*/2);
  size_t key = point(CUDNN_POINTWISE_GEN_INDEX, {x}, score(indexType),
                     CUDNN_DATA_FLOAT, /*axis=*/3);
  auto shift = [&](int mode, AttentionId id) {
    query = point(mode, {query, lengths(id)}, score(CUDNN_DATA_INT32),
                  CUDNN_DATA_INT32, /*axis=*/3);
  };
  if (problem.readsLengths) { // the last query is at the last key
    shift(CUDNN_POINTWISE_ADD, idKeys);
    shift(CUDNN_POINTWISE_SUB, idQueries);
  }
  size_t isVisible = point(CUDNN_POINTWISE_CMP_GE, {query, key},
                           score(CUDNN_DATA_BOOLEAN), CUDNN_DATA_BOOLEAN);
  size_t hidden = scalar(idHidden, -std::numeric_limits<float>::infinity());
  return point(CUDNN_POINTWISE_BINARY_SELECT, {x, hidden, isVisible}, score());
}

// s = scale q k^T; p = e^(s - max) / sum; lse = max + log sum; result = p v.
void Builder::forward() {
  size_t q = operand(Operand::query), k = operand(Operand::key, true),
         v = operand(Operand::value), o = operand(Operand::result),
         lse = operand(Operand::lse);
  size_t scale = scalar(idScale, problem.scale);
  size_t products = scoresOf(q, k);
  result.graph.nodes.back().fillsZero = problem.readsLengths;
  size_t s = point(CUDNN_POINTWISE_MUL, {products, scale}, score());
  s = padded(s);
  if (problem.causal)
    s = masked(s, CUDNN_DATA_FLOAT);
  size_t max = reduce(CUDNN_REDUCE_TENSOR_MAX, s, row());
  size_t e = point(CUDNN_POINTWISE_EXP,
                   {point(CUDNN_POINTWISE_SUB, {s, max}, score())}, score());
  size_t sum = reduce(CUDNN_REDUCE_TENSOR_ADD, e, row());
  size_t log = point(CUDNN_POINTWISE_LOG, {sum}, row());
  point(CUDNN_POINTWISE_ADD, {max, log}, lse);
  bool drops = problem.dropout > 0;
  size_t p = point(CUDNN_POINTWISE_DIV, {e, sum},
                   score(drops ? int(CUDNN_DATA_FLOAT) : io));
  if (drops) {
    p = point(CUDNN_POINTWISE_MUL, {p, random()}, score());
    p = point(CUDNN_POINTWISE_MUL,
              {p, scalar(idInverseKept, 1 / (1 - problem.dropout))}, score(io));
  }
  matmul(p, v, o, Bound::queries, Bound::none, Bound::keys);
}

size_t Builder::transposedScores(size_t x) {
  Dims dims = swapped(scores);
  return reshape(x, intermediate(dims, swapped(rowMajor(scores)), io));
}

void Builder::gradientOfKeys(size_t x, size_t y, Operand out) {
  size_t grad = operand(out);
  auto sum = [&](size_t into) {
    return matmul(transposedScores(x), y, into, Bound::keys, Bound::none,
                  Bound::queries);
  };
  if (problem.queryHeads == problem.keyHeads) {
    sum(grad);
    return;
  }
  Dims dims = result.graph.tensors[grad].dims;
  dims[1] = problem.queryHeads;
  size_t perHead = intermediate(dims, rowMajor(dims), io);
  reduce(CUDNN_REDUCE_TENSOR_ADD, sum(perHead), grad);
}

// delta = sum do o; p = e^(scale q k^T - lse); dv = p^T do;
// ds = scale p (do v^T - delta); dq = ds k; dk = ds^T q.
// With dropout, mask m and k = 1 - dropout: dv = (p m / k)^T do and
// ds = scale / k p (m do v^T - k delta).
void Builder::backward() {
  bool drops = problem.dropout > 0;
  size_t q = operand(Operand::query), k = operand(Operand::key, true),
         v = operand(Operand::value, true), o = operand(Operand::result),
         lse = operand(Operand::lse), grad = operand(Operand::resultGrad);
  size_t scale = scalar(idScale, problem.scale);
  size_t kept = scalar(idKept, drops ? 1 - problem.dropout : 1);
  size_t inverse = drops ? scalar(idInverseKept, 1 / (1 - problem.dropout)) : 0;
  size_t mask = drops ? random() : 0;

  Dims result = {problem.batch, problem.queryHeads, problem.queries,
                 problem.valueWidth};
  size_t products =
      point(CUDNN_POINTWISE_MUL, {grad, o},
            intermediate(result, rowMajor(result), CUDNN_DATA_FLOAT));
  size_t delta = point(CUDNN_POINTWISE_MUL,
                       {reduce(CUDNN_REDUCE_TENSOR_ADD, products, row()), kept},
                       scratch(idSums, rows));

  size_t s = point(CUDNN_POINTWISE_MUL, {scoresOf(q, k), scale}, score());
  s = padded(s);
  s = point(CUDNN_POINTWISE_SUB, {s, lse}, score());
  if (problem.causal)
    s = masked(s, CUDNN_DATA_INT32);
  size_t p = point(CUDNN_POINTWISE_EXP, {s}, score()), dropped = p;
  if (drops) {
    dropped = point(CUDNN_POINTWISE_MUL, {p, mask}, score());
    dropped = point(CUDNN_POINTWISE_MUL, {dropped, inverse}, score());
  }
  gradientOfKeys(dropped, grad, Operand::valueGrad);

  size_t dp = scoresOf(grad, v);
  if (drops)
    dp = point(CUDNN_POINTWISE_MUL, {dp, mask}, score());
  size_t ds = point(CUDNN_POINTWISE_SUB, {dp, delta}, score());
  ds = point(CUDNN_POINTWISE_MUL, {ds, p}, score());
  if (drops)
    ds = point(CUDNN_POINTWISE_MUL, {ds, inverse}, score());
  ds = point(CUDNN_POINTWISE_MUL, {ds, scale}, score());
  gradientOfKeys(ds, q, Operand::keyGrad);

  AttentionTensor key = problem.tensor(Operand::key);
  size_t rowsOfKeys = reshape(k, intermediate(key.dims, key.strides, io));
  size_t queryGrad = operand(Operand::queryGrad);
  if (problem.deterministic) { // no sums in memory that blocks race for
    matmul(ds, rowsOfKeys, queryGrad, Bound::queries, Bound::none, Bound::keys);
    return;
  }
  size_t sums = scratch(idAccumulator, {problem.batch, problem.queryHeads,
                                        problem.queries, problem.width});
  matmul(ds, rowsOfKeys, sums, Bound::queries, Bound::none, Bound::keys);
  point(CUDNN_POINTWISE_IDENTITY, {sums}, queryGrad);
}

AttentionGraph honert::buildAttentionGraph(const AttentionProblem &problem) {
  Builder builder(problem);
  if (problem.isBackward)
    builder.backward();
  else
    builder.forward();
  return std::move(builder.result);
}
