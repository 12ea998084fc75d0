//===- Graph.cpp - Graphs out of descriptors and plans --------------------===//

#include "emulation/cudnn/FakeCudnn.h"

#include <algorithm>
#include <sstream>

using namespace honert;
using namespace honert::fake;

DType fake::dtypeOf(int cudnnType) {
  switch (cudnnType) {
  case CUDNN_DATA_HALF:
    return DType::f16;
  case CUDNN_DATA_BFLOAT16:
    return DType::bf16;
  case CUDNN_DATA_INT32:
    return DType::i32;
  case CUDNN_DATA_INT64:
    return DType::i64;
  case CUDNN_DATA_BOOLEAN:
    return DType::i1;
  default:
    return DType::f32;
  }
}

int64_t fake::extentOf(const GraphTensor &tensor) {
  int64_t last = 0;
  for (size_t i = 0; i != tensor.dims.size(); ++i)
    last += (tensor.dims[i] - 1) * tensor.strides[i];
  return last + 1;
}

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

namespace {
/// Reads the operations of a graph; tensors are numbered as they appear.
class Reader {
public:
  explicit Reader(std::string &mistake) : mistake(mistake) {}

  bool read(const CudnnDescriptor &operation);
  OperationGraph graph;

private:
  bool fails(const char *what) {
    mistake = what;
    return false;
  }
  bool input(const CudnnDescriptor &operation, int name, GraphNode &node,
             bool isOptional = false);
  bool output(const CudnnDescriptor &operation, int name, GraphNode &node);
  bool readSizes(const CudnnDescriptor &operation, GraphNode &node);
  bool tensor(const CudnnDescriptor &described, size_t &index);
  bool readKind(const CudnnDescriptor &operation, int name, GraphNode &node);

  std::string &mistake;
  std::map<const CudnnDescriptor *, size_t> known;
};
} // namespace

bool Reader::tensor(const CudnnDescriptor &described, size_t &index) {
  auto [found, isNew] = known.emplace(&described, graph.tensors.size());
  index = found->second;
  if (!isNew)
    return true;
  auto id = described.one<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID);
  auto dtype = described.one<int>(CUDNN_ATTR_TENSOR_DATA_TYPE);
  auto dims = described.all<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS);
  auto strides = described.all<int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
  auto alignment = described.one<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
  if (!id || !dtype || !alignment || dims.size() != 4 || strides.size() != 4)
    return fails("a tensor without id, type, alignment, or not of rank 4");
  GraphTensor tensor = {*id, *dtype, {}, {}, *alignment};
  std::copy(dims.begin(), dims.end(), tensor.dims.begin());
  std::copy(strides.begin(), strides.end(), tensor.strides.begin());
  tensor.isVirtual =
      described.one<bool>(CUDNN_ATTR_TENSOR_IS_VIRTUAL).value_or(false);
  tensor.isByValue =
      described.one<bool>(CUDNN_ATTR_TENSOR_IS_BY_VALUE).value_or(false);
  for (const GraphTensor &each : graph.tensors)
    if (each.id == tensor.id)
      return fails("two tensors with one id");
  graph.tensors.push_back(tensor);
  return true;
}

bool Reader::input(const CudnnDescriptor &operation, int name, GraphNode &node,
                   bool isOptional) {
  auto described = operation.one<CudnnDescriptor *>(name);
  if (!described)
    return isOptional || fails("an operation without an input");
  node.inputs.emplace_back();
  return tensor(**described, node.inputs.back());
}

bool Reader::output(const CudnnDescriptor &operation, int name,
                    GraphNode &node) {
  auto described = operation.one<CudnnDescriptor *>(name);
  return described ? tensor(**described, node.output)
                   : fails("an operation without an output");
}

/// Of a product: the numbers of rows, columns and terms that are in memory.
bool Reader::readSizes(const CudnnDescriptor &operation, GraphNode &node) {
  constexpr int names[] = {CUDNN_ATTR_OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC,
                           CUDNN_ATTR_OPERATION_MATMUL_GEMM_N_OVERRIDE_DESC,
                           CUDNN_ATTR_OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC};
  for (size_t i = 0; i != node.sizes.size(); ++i) {
    auto described = operation.one<CudnnDescriptor *>(names[i]);
    if (!described)
      continue;
    size_t index = 0;
    if (!tensor(**described, index))
      return false;
    const GraphTensor &sizes = graph.tensors[index];
    const GraphTensor &out = graph.tensors[node.output];
    if (sizes.dtype != CUDNN_DATA_INT32 || sizes.isVirtual ||
        sizes.dims != std::array<int64_t, 4>{out.dims[0], 1, 1, 1})
      return fails("sizes of a product that are no i32 per batch in memory");
    node.sizes[i] = static_cast<int64_t>(index);
  }
  return true;
}

/// The descriptor that says what the operation does.
bool Reader::readKind(const CudnnDescriptor &operation, int name,
                      GraphNode &node) {
  auto found = operation.one<CudnnDescriptor *>(name);
  if (!found)
    return fails("an operation that does nothing");
  const CudnnDescriptor &kind = **found;
  auto take = [&](int attribute, int &target) {
    if (auto value = kind.one<int>(attribute))
      target = *value;
  };
  take(CUDNN_ATTR_MATMUL_COMP_TYPE, node.computeType);
  take(CUDNN_ATTR_POINTWISE_MODE, node.mode);
  take(CUDNN_ATTR_POINTWISE_MATH_PREC, node.computeType);
  take(CUDNN_ATTR_REDUCTION_OPERATOR, node.mode);
  take(CUDNN_ATTR_REDUCTION_COMP_TYPE, node.computeType);
  node.axis = kind.one<int64_t>(CUDNN_ATTR_POINTWISE_AXIS).value_or(-1);
  node.fillsZero = kind.one<double>(CUDNN_ATTR_MATMUL_PADDING_VALUE) == 0.0;
  node.probability =
      kind.one<double>(CUDNN_ATTR_RNG_BERNOULLI_DIST_PROBABILITY).value_or(0);
  return true;
}

bool Reader::read(const CudnnDescriptor &operation) {
  GraphNode node;
  bool good = false;
  switch (operation.type) {
  case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
    good = readKind(operation, CUDNN_ATTR_OPERATION_MATMUL_DESC, node) &&
           input(operation, CUDNN_ATTR_OPERATION_MATMUL_ADESC, node) &&
           input(operation, CUDNN_ATTR_OPERATION_MATMUL_BDESC, node) &&
           output(operation, CUDNN_ATTR_OPERATION_MATMUL_CDESC, node) &&
           readSizes(operation, node);
    break;
  case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
    node.kind = GraphNode::Kind::pointwise;
    good = readKind(operation, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR,
                    node) &&
           input(operation, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, node) &&
           input(operation, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, node, true) &&
           input(operation, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, node, true) &&
           output(operation, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, node);
    break;
  case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
    node.kind = GraphNode::Kind::reduction;
    good = readKind(operation, CUDNN_ATTR_OPERATION_REDUCTION_DESC, node) &&
           input(operation, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, node) &&
           output(operation, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, node);
    break;
  case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
    node.kind = GraphNode::Kind::reshape;
    good = input(operation, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, node) &&
           output(operation, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, node);
    break;
  case CUDNN_BACKEND_OPERATION_RNG_DESCRIPTOR:
    node.kind = GraphNode::Kind::rng;
    good = readKind(operation, CUDNN_ATTR_OPERATION_RNG_DESC, node) &&
           input(operation, CUDNN_ATTR_OPERATION_RNG_SEED, node) &&
           input(operation, CUDNN_ATTR_OPERATION_RNG_OFFSET_DESC, node) &&
           output(operation, CUDNN_ATTR_OPERATION_RNG_YDESC, node);
    break;
  default:
    return fails("a graph of what is no operation");
  }
  graph.nodes.push_back(node);
  return good;
}

std::optional<OperationGraph> fake::readGraph(const CudnnDescriptor &described,
                                              std::string &mistake) {
  Reader reader(mistake);
  for (const CudnnDescriptor *operation :
       described.all<CudnnDescriptor *>(CUDNN_ATTR_OPERATIONGRAPH_OPS))
    if (!reader.read(*operation))
      return std::nullopt;
  if (reader.graph.nodes.empty()) {
    mistake = "a graph without operations";
    return std::nullopt;
  }
  return std::move(reader.graph);
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

std::string CudnnPlan::text() const {
  std::ostringstream out;
  out.precision(17);
  out << "{\"emulated cudnn\": " << cudnnSettings().version << ", \"plan\": \""
      << workspaceBytes << " " << graph.tensors.size() << " "
      << graph.nodes.size();
  for (const GraphTensor &tensor : graph.tensors) {
    out << " " << tensor.id << " " << tensor.dtype << " " << tensor.alignment
        << " " << tensor.isVirtual << " " << tensor.isByValue;
    for (size_t i = 0; i != 4; ++i)
      out << " " << tensor.dims[i] << " " << tensor.strides[i];
  }
  for (const GraphNode &node : graph.nodes) {
    out << " " << static_cast<int>(node.kind) << " " << node.mode << " "
        << node.output << " " << node.computeType << " " << node.axis << " "
        << node.probability << " " << node.fillsZero;
    for (int64_t size : node.sizes)
      out << " " << size;
    out << " " << node.inputs.size();
    for (size_t input : node.inputs)
      out << " " << input;
  }
  out << "\"}";
  return out.str();
}

std::optional<CudnnPlan> CudnnPlan::parse(const std::string &text) {
  const std::string head =
      "{\"emulated cudnn\": " + std::to_string(cudnnSettings().version) +
      ", \"plan\": \"";
  if (text.rfind(head, 0) != 0)
    return std::nullopt;
  std::istringstream in(text.substr(head.size()));
  CudnnPlan plan;
  size_t tensors = 0, nodes = 0;
  in >> plan.workspaceBytes >> tensors >> nodes;
  for (size_t i = 0; in && i != tensors; ++i) {
    GraphTensor tensor;
    in >> tensor.id >> tensor.dtype >> tensor.alignment >> tensor.isVirtual >>
        tensor.isByValue;
    for (size_t dim = 0; dim != 4; ++dim)
      in >> tensor.dims[dim] >> tensor.strides[dim];
    plan.graph.tensors.push_back(tensor);
  }
  for (size_t i = 0; in && i != nodes; ++i) {
    GraphNode node;
    int kind = 0;
    size_t inputs = 0;
    in >> kind >> node.mode >> node.output >> node.computeType >> node.axis >>
        node.probability >> node.fillsZero;
    for (int64_t &size : node.sizes)
      in >> size;
    in >> inputs;
    node.kind = static_cast<GraphNode::Kind>(kind);
    node.inputs.resize(in ? std::min<size_t>(inputs, 3) : 0);
    for (size_t &input : node.inputs)
      in >> input;
    plan.graph.nodes.push_back(node);
  }
  return in ? std::optional<CudnnPlan>(std::move(plan)) : std::nullopt;
}
