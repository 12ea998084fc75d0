//===- Run.cpp - Evaluates operation graphs -------------------------------===//

#include "base/Status.h"
#include "emulation/cudnn/FakeCudnn.h"
#include "emulation/driver/FakeCuda.h"

#include <cmath>
#include <cstring>
#include <limits>

using namespace honert;
using namespace honert::fake;

using Index = std::array<int64_t, 4>;

namespace {
/// A tensor and its elements: in the caller's memory, or, if it is virtual,
/// here.
struct Values {
  const GraphTensor *tensor = nullptr;
  DType dtype = DType::f32;
  char *memory = nullptr;
  std::vector<double> own;
  bool isWritten = false; ///< of virtual ones

  double load(int64_t at) const {
    return memory ? loadElement(dtype, memory + at * byteWidth(dtype))
                  : own[static_cast<size_t>(at)];
  }
  /// Rounded to the tensor's type.
  void store(int64_t at, double value) {
    double rounded = 0; // room for any type
    void *address =
        memory ? memory + at * byteWidth(dtype) : static_cast<void *>(&rounded);
    storeElement(dtype, address, value);
    if (!memory)
      own[static_cast<size_t>(at)] = loadElement(dtype, address);
  }

  int64_t offset(const Index &index) const {
    int64_t at = 0;
    for (size_t i = 0; i != 4; ++i)
      at += index[i] * tensor->strides[i];
    return at;
  }
  /// Of an element of a tensor of shape `dims`: a dimension that is shorter
  /// here repeats its elements, each for as many neighbours.
  int64_t offset(Index index, const Index &dims) const {
    for (size_t i = 0; i != 4; ++i)
      index[i] = index[i] * tensor->dims[i] / dims[i];
    return offset(index);
  }
};

class Evaluator {
public:
  Evaluator(const OperationGraph &graph,
            const std::map<int64_t, void *> &memory);

  std::string run(const GraphNode &node);

private:
  std::string check(const GraphNode &node) const;
  int64_t sizeOf(const GraphNode &node, size_t dim, int64_t batch,
                 int64_t whole) const;
  void matmul(const GraphNode &node);
  void pointwise(const GraphNode &node);
  void reduce(const GraphNode &node);
  void reshape(const GraphNode &node);
  void random(const GraphNode &node);

  std::vector<Values> values;
};
} // namespace

/// Calls `body` with every index of a shape, the last dimension fastest.
template <typename Body> static void forEach(const Index &dims, Body body) {
  Index i;
  for (i[0] = 0; i[0] != dims[0]; ++i[0])
    for (i[1] = 0; i[1] != dims[1]; ++i[1])
      for (i[2] = 0; i[2] != dims[2]; ++i[2])
        for (i[3] = 0; i[3] != dims[3]; ++i[3])
          body(i);
}

Evaluator::Evaluator(const OperationGraph &graph,
                     const std::map<int64_t, void *> &memory) {
  for (const GraphTensor &tensor : graph.tensors) {
    Values each;
    each.tensor = &tensor;
    each.dtype = dtypeOf(tensor.dtype);
    if (tensor.isVirtual)
      each.own.assign(static_cast<size_t>(extentOf(tensor)),
                      std::numeric_limits<double>::quiet_NaN());
    else
      each.memory = static_cast<char *>(memory.at(tensor.id));
    values.push_back(std::move(each));
  }
}

/// Sizes that are equal, or divide what they repeat along.
static bool repeats(const Index &dims, const Index &along) {
  for (size_t i = 0; i != 4; ++i)
    if (along[i] % dims[i] != 0)
      return false;
  return true;
}

std::string Evaluator::check(const GraphNode &node) const {
  const Index &out = values[node.output].tensor->dims;
  for (size_t input : node.inputs) {
    const Values &each = values[input];
    if (each.tensor->isVirtual && !each.isWritten)
      return "an operation reads what none before it wrote";
    const Index &dims = each.tensor->dims;
    if (node.kind == GraphNode::Kind::pointwise && !repeats(dims, out))
      return "a pointwise operation of shapes that do not fit";
    if (node.kind == GraphNode::Kind::reduction && !repeats(out, dims))
      return "a reduction of shapes that do not fit";
    if (node.kind == GraphNode::Kind::reshape &&
        (extentOf(*each.tensor) != extentOf(*values[node.output].tensor) ||
         dims[0] * dims[1] * dims[2] * dims[3] !=
             out[0] * out[1] * out[2] * out[3]))
      return "a reshape to another number of elements";
  }
  if (node.kind != GraphNode::Kind::matmul)
    return "";
  const Index whole = {out[2], out[3], values[node.inputs[0]].tensor->dims[3],
                       0};
  for (size_t dim = 0; dim != node.sizes.size(); ++dim)
    for (int64_t batch = 0; batch != out[0]; ++batch)
      if (int64_t size = sizeOf(node, dim, batch, whole[dim]);
          size < 0 || size > whole[dim])
        return "a product of more rows, columns or terms than there are";
  const Index &a = values[node.inputs[0]].tensor->dims;
  const Index &b = values[node.inputs[1]].tensor->dims;
  bool fits = a[3] == b[2] && out[2] == a[2] && out[3] == b[3] &&
              repeats({a[0], a[1], 1, 1}, {out[0], out[1], 1, 1}) &&
              repeats({b[0], b[1], 1, 1}, {out[0], out[1], 1, 1});
  return fits ? "" : "a product of shapes that do not fit";
}

/// Rows, columns or terms of a product that count in a batch.
int64_t Evaluator::sizeOf(const GraphNode &node, size_t dim, int64_t batch,
                          int64_t whole) const {
  if (node.sizes[dim] < 0)
    return whole;
  const Values &sizes = values[static_cast<size_t>(node.sizes[dim])];
  return static_cast<int64_t>(sizes.load(sizes.offset({batch, 0, 0, 0})));
}

void Evaluator::matmul(const GraphNode &node) {
  const Values &a = values[node.inputs[0]], &b = values[node.inputs[1]];
  Values &c = values[node.output];
  const Index &dims = c.tensor->dims;
  int64_t terms = a.tensor->dims[3];
  Index shapeA = {dims[0], dims[1], dims[2], terms};
  Index shapeB = {dims[0], dims[1], terms, dims[3]};
  const double beyond =
      node.fillsZero ? 0 : std::numeric_limits<double>::quiet_NaN();
  forEach(dims, [&](const Index &i) {
    if (i[2] >= sizeOf(node, 0, i[0], dims[2]) ||
        i[3] >= sizeOf(node, 1, i[0], dims[3])) {
      c.store(c.offset(i), beyond);
      return;
    }
    int64_t fromA = a.offset({i[0], i[1], i[2], 0}, shapeA);
    int64_t fromB = b.offset({i[0], i[1], 0, i[3]}, shapeB);
    double sum = 0;
    for (int64_t k = 0, end = sizeOf(node, 2, i[0], terms); k != end; ++k)
      sum += a.load(fromA + k * a.tensor->strides[3]) *
             b.load(fromB + k * b.tensor->strides[2]);
    c.store(c.offset(i), sum);
  });
}

static double apply(int mode, double x, double b, double t) {
  switch (mode) {
  case CUDNN_POINTWISE_ADD:
    return x + b;
  case CUDNN_POINTWISE_SUB:
    return x - b;
  case CUDNN_POINTWISE_MUL:
    return x * b;
  case CUDNN_POINTWISE_DIV:
    return x / b;
  case CUDNN_POINTWISE_EXP:
    return std::exp(x);
  case CUDNN_POINTWISE_LOG:
    return std::log(x);
  case CUDNN_POINTWISE_CMP_GE:
    return state().settings.fault == Fault::plan ? x + 1 >= b : x >= b;
  case CUDNN_POINTWISE_CMP_LT:
    return x < b;
  case CUDNN_POINTWISE_LOGICAL_AND:
    return x != 0 && b != 0;
  case CUDNN_POINTWISE_BINARY_SELECT:
    return t != 0 ? x : b;
  default:
    return x; // CUDNN_POINTWISE_IDENTITY
  }
}

void Evaluator::pointwise(const GraphNode &node) {
  Values &out = values[node.output];
  const Index &dims = out.tensor->dims;
  forEach(dims, [&](const Index &i) {
    double operands[3] = {0, 0, 0};
    for (size_t k = 0; k != node.inputs.size(); ++k) {
      const Values &input = values[node.inputs[k]];
      operands[k] = input.load(input.offset(i, dims));
    }
    double value =
        node.mode == CUDNN_POINTWISE_GEN_INDEX
            ? static_cast<double>(i[static_cast<size_t>(node.axis)])
            : apply(node.mode, operands[0], operands[1], operands[2]);
    out.store(out.offset(i), value);
  });
}

void Evaluator::reduce(const GraphNode &node) {
  const Values &x = values[node.inputs[0]];
  Values &out = values[node.output];
  const Index &from = x.tensor->dims, &to = out.tensor->dims;
  Index terms;
  for (size_t i = 0; i != 4; ++i)
    terms[i] = from[i] / to[i];
  bool adds = node.mode == CUDNN_REDUCE_TENSOR_ADD;
  forEach(to, [&](const Index &i) {
    double sum = adds ? 0 : -std::numeric_limits<double>::infinity();
    forEach(terms, [&](const Index &k) {
      Index at;
      for (size_t dim = 0; dim != 4; ++dim)
        at[dim] = i[dim] * terms[dim] + k[dim];
      double value = x.load(x.offset(at));
      sum = adds ? sum + value : std::fmax(sum, value);
    });
    out.store(out.offset(i), sum);
  });
}

/// The same memory under another shape: the element at each offset stays.
void Evaluator::reshape(const GraphNode &node) {
  const Values &x = values[node.inputs[0]];
  Values &out = values[node.output];
  forEach(out.tensor->dims, [&](const Index &i) {
    int64_t at = out.offset(i);
    out.store(at, x.load(at));
  });
}

/// A number in [0, 1) for an element (Steele et al., "Fast splittable
/// pseudorandom number generators", 2014).
static double uniform(uint64_t seed, uint64_t offset, uint64_t element) {
  uint64_t z = seed + 0x9e3779b97f4a7c15 * (element + (offset << 32) + 1);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

void Evaluator::random(const GraphNode &node) {
  Values &out = values[node.output];
  auto word = [&](size_t input) {
    int64_t value = 0; // exact, as doubles are not
    std::memcpy(&value, values[node.inputs[input]].memory, sizeof value);
    return static_cast<uint64_t>(value);
  };
  uint64_t seed = word(0), offset = word(1), element = 0;
  forEach(out.tensor->dims, [&](const Index &i) {
    out.store(out.offset(i),
              uniform(seed, offset, element++) < node.probability);
  });
}

std::string Evaluator::run(const GraphNode &node) {
  if (std::string wrong = check(node); !wrong.empty())
    return wrong;
  switch (node.kind) {
  case GraphNode::Kind::matmul:
    matmul(node);
    break;
  case GraphNode::Kind::pointwise:
    pointwise(node);
    break;
  case GraphNode::Kind::reduction:
    reduce(node);
    break;
  case GraphNode::Kind::reshape:
    reshape(node);
    break;
  case GraphNode::Kind::rng:
    random(node);
    break;
  }
  values[node.output].isWritten = true;
  return "";
}

std::string fake::evaluate(const CudnnPlan &plan,
                           const std::map<int64_t, void *> &memory,
                           void *workspace) {
  Evaluator evaluator(plan.graph, memory);
  for (const GraphNode &node : plan.graph.nodes) {
    if (std::string wrong = evaluator.run(node); !wrong.empty())
      return wrong;
    if (plan.workspaceBytes > 0)
      std::memset(workspace, 0xa5, static_cast<size_t>(plan.workspaceBytes));
  }
  return "";
}
