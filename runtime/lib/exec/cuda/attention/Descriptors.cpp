//===- Descriptors.cpp - cuDNN's objects and who frees them ---------------===//

#include "exec/cuda/attention/Descriptors.h"

using namespace honert;

using Handle = Descriptors::Handle;

Descriptors::~Descriptors() {
  for (auto each = owned.rbegin(); each != owned.rend(); ++each)
    (void)cudnn.cudnnBackendDestroyDescriptor(*each);
}

Status Descriptors::create(int type, const char *what, Handle &descriptor) {
  HONERT_TRY(
      cudnn.check(cudnn.cudnnBackendCreateDescriptor(type, &descriptor), what));
  owned.push_back(descriptor);
  return Status();
}

Status Descriptors::set(Handle descriptor, int name, int type, int64_t count,
                        const void *elements, const char *what) const {
  return cudnn.check(
      cudnn.cudnnBackendSetAttribute(descriptor, name, type, count, elements),
      what);
}

Status Descriptors::finalize(Handle descriptor, const char *what) const {
  return cudnn.check(cudnn.cudnnBackendFinalize(descriptor), what);
}

Status Descriptors::describe(const GraphTensor &tensor, Handle &described) {
  constexpr const char *what = "describe a tensor";
  HONERT_TRY(create(CUDNN_BACKEND_TENSOR_DESCRIPTOR, what, described));
  auto rank = static_cast<int64_t>(tensor.dims.size());
  struct {
    int name, type;
    int64_t count;
    const void *elements;
  } const attributes[] = {
      {CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &tensor.id},
      {CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &tensor.dtype},
      {CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, rank,
       tensor.dims.data()},
      {CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, rank,
       tensor.strides.data()},
      {CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1,
       &tensor.alignment},
      {CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &tensor.isVirtual},
      {CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1,
       &tensor.isByValue}};
  for (const auto &each : attributes)
    HONERT_TRY(
        set(described, each.name, each.type, each.count, each.elements, what));
  return finalize(described, what);
}

namespace {
/// The descriptor types and attributes of a kind of node.
struct NodeNames {
  int kindType; ///< -1: the operation alone says it
  int operationType, kind, output;
  std::vector<int> inputs;
};
} // namespace

static const NodeNames &namesOf(GraphNode::Kind kind) {
  static const NodeNames matmul = {
      CUDNN_BACKEND_MATMUL_DESCRIPTOR,
      CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR,
      CUDNN_ATTR_OPERATION_MATMUL_DESC,
      CUDNN_ATTR_OPERATION_MATMUL_CDESC,
      {CUDNN_ATTR_OPERATION_MATMUL_ADESC, CUDNN_ATTR_OPERATION_MATMUL_BDESC}};
  static const NodeNames pointwise = {
      CUDNN_BACKEND_POINTWISE_DESCRIPTOR,
      CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR,
      CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR,
      CUDNN_ATTR_OPERATION_POINTWISE_YDESC,
      {CUDNN_ATTR_OPERATION_POINTWISE_XDESC,
       CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
       CUDNN_ATTR_OPERATION_POINTWISE_TDESC}};
  static const NodeNames reduction = {
      CUDNN_BACKEND_REDUCTION_DESCRIPTOR,
      CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR,
      CUDNN_ATTR_OPERATION_REDUCTION_DESC,
      CUDNN_ATTR_OPERATION_REDUCTION_YDESC,
      {CUDNN_ATTR_OPERATION_REDUCTION_XDESC}};
  static const NodeNames reshape = {-1,
                                    CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR,
                                    -1,
                                    CUDNN_ATTR_OPERATION_RESHAPE_YDESC,
                                    {CUDNN_ATTR_OPERATION_RESHAPE_XDESC}};
  static const NodeNames rng = {
      CUDNN_BACKEND_RNG_DESCRIPTOR,
      CUDNN_BACKEND_OPERATION_RNG_DESCRIPTOR,
      CUDNN_ATTR_OPERATION_RNG_DESC,
      CUDNN_ATTR_OPERATION_RNG_YDESC,
      {CUDNN_ATTR_OPERATION_RNG_SEED, CUDNN_ATTR_OPERATION_RNG_OFFSET_DESC}};
  switch (kind) {
  case GraphNode::Kind::matmul:
    return matmul;
  case GraphNode::Kind::pointwise:
    return pointwise;
  case GraphNode::Kind::reduction:
    return reduction;
  case GraphNode::Kind::reshape:
    return reshape;
  case GraphNode::Kind::rng:
    break;
  }
  return rng;
}

/// What the node does, apart from the tensors it does it to.
Status Descriptors::describeKind(const GraphNode &node, Handle &described) {
  constexpr const char *what = "describe an operation";
  HONERT_TRY(create(namesOf(node.kind).kindType, what, described));
  auto setOne = [&](int name, int type, const void *element) {
    return set(described, name, type, 1, element, what);
  };
  int bernoulli = CUDNN_RNG_DISTRIBUTION_BERNOULLI;
  double zero = 0;
  switch (node.kind) {
  case GraphNode::Kind::matmul:
    HONERT_TRY(setOne(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE,
                      &node.computeType));
    if (node.fillsZero)
      HONERT_TRY(
          setOne(CUDNN_ATTR_MATMUL_PADDING_VALUE, CUDNN_TYPE_DOUBLE, &zero));
    break;
  case GraphNode::Kind::pointwise:
    HONERT_TRY(setOne(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE,
                      &node.mode));
    HONERT_TRY(setOne(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE,
                      &node.computeType));
    if (node.axis >= 0)
      HONERT_TRY(
          setOne(CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, &node.axis));
    break;
  case GraphNode::Kind::reduction:
    HONERT_TRY(setOne(CUDNN_ATTR_REDUCTION_OPERATOR,
                      CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, &node.mode));
    HONERT_TRY(setOne(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE,
                      &node.computeType));
    break;
  case GraphNode::Kind::rng:
    HONERT_TRY(setOne(CUDNN_ATTR_RNG_DISTRIBUTION, CUDNN_TYPE_RNG_DISTRIBUTION,
                      &bernoulli));
    HONERT_TRY(setOne(CUDNN_ATTR_RNG_BERNOULLI_DIST_PROBABILITY,
                      CUDNN_TYPE_DOUBLE, &node.probability));
    break;
  case GraphNode::Kind::reshape:
    break;
  }
  return finalize(described, what);
}

Status Descriptors::describe(const GraphNode &node,
                             const std::vector<Handle> &tensors,
                             Handle &described) {
  constexpr const char *what = "describe an operation";
  const NodeNames &names = namesOf(node.kind);
  Handle kind = nullptr;
  if (names.kindType != -1)
    HONERT_TRY(describeKind(node, kind));
  HONERT_TRY(create(names.operationType, what, described));
  auto setOne = [&](int name, Handle each) {
    return set(described, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &each, what);
  };
  if (kind)
    HONERT_TRY(setOne(names.kind, kind));
  for (size_t i = 0; i != node.inputs.size(); ++i)
    HONERT_TRY(setOne(names.inputs[i], tensors[node.inputs[i]]));
  constexpr int sizes[] = {CUDNN_ATTR_OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC,
                           CUDNN_ATTR_OPERATION_MATMUL_GEMM_N_OVERRIDE_DESC,
                           CUDNN_ATTR_OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC};
  for (size_t i = 0; i != node.sizes.size(); ++i)
    if (node.sizes[i] >= 0)
      HONERT_TRY(setOne(sizes[i], tensors[static_cast<size_t>(node.sizes[i])]));
  HONERT_TRY(setOne(names.output, tensors[node.output]));
  return finalize(described, what);
}

Status Descriptors::describe(const OperationGraph &graph, cudnnHandle_t handle,
                             Handle &described) {
  constexpr const char *what = "take the operation graph";
  std::vector<Handle> tensors(graph.tensors.size()), nodes(graph.nodes.size());
  for (size_t i = 0; i != tensors.size(); ++i)
    HONERT_TRY(describe(graph.tensors[i], tensors[i]));
  for (size_t i = 0; i != nodes.size(); ++i)
    HONERT_TRY(describe(graph.nodes[i], tensors, nodes[i]));
  HONERT_TRY(create(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, what, described));
  if (handle)
    HONERT_TRY(set(described, CUDNN_ATTR_OPERATIONGRAPH_HANDLE,
                   CUDNN_TYPE_HANDLE, 1, &handle, what));
  HONERT_TRY(set(described, CUDNN_ATTR_OPERATIONGRAPH_OPS,
                 CUDNN_TYPE_BACKEND_DESCRIPTOR,
                 static_cast<int64_t>(nodes.size()), nodes.data(), what));
  return finalize(described, what);
}
