//===- Matmul.cpp - Matrix products by oneDNN -----------------------------===//

#include "exec/cpu/Matmul.h"
#include "exec/cpu/DirectMatmul.h"
#include "exec/cpu/GroupedMatmul.h"
#include "exec/cpu/PanelMatmul.h"
#include "exec/cpu/RowsMatmul.h"
#include "exec/cpu/VectorMatmul.h"

#include <algorithm>
#include <optional>
#include <tuple>

using namespace honert;

//===----------------------------------------------------------------------===//
// The library
//===----------------------------------------------------------------------===//

bool MatmulLibrary::Problem::operator<(const Problem &other) const {
  auto key = [](const Problem &p) {
    return std::tie(p.batch, p.m, p.n, p.k, p.lhs, p.rhs, p.out, p.operand,
                    p.result, p.bias, p.biasType, p.accumulate, p.oneThread);
  };
  return key(*this) < key(other);
}

bool MatmulLibrary::Primitive::isReference() const {
  return implementation.find("ref") != std::string::npos;
}

bool MatmulLibrary::Primitive::isThreadInvariant() const {
  return implementation.find("brg") != std::string::npos;
}

MatmulLibrary::~MatmulLibrary() {
  for (auto &entry : primitives)
    dnnl.dnnl_primitive_destroy(entry.second.primitive);
}

/// A batch of matrices; a batch stride of 0 is the library's broadcast.
static dnnl_status_t describeMatrix(const DnnlFunctions &dnnl, int64_t batch,
                                    int64_t rows, int64_t cols,
                                    const MatrixStrides &strides, DType dtype,
                                    dnnl_memory_desc_t &desc) {
  dnnl_data_type_t type = dnnlType(dtype);
  if (batch == 1) {
    dnnl_dims_t dims = {rows, cols}, steps = {strides.row, strides.col};
    return dnnl.dnnl_memory_desc_init_by_strides(&desc, 2, dims, type, steps);
  }
  bool repeats = strides.batch == 0;
  dnnl_dims_t dims = {repeats ? 1 : batch, rows, cols};
  dnnl_dims_t steps = {repeats
                           ? std::max(strides.row * rows, strides.col * cols)
                           : strides.batch,
                       strides.row, strides.col};
  return dnnl.dnnl_memory_desc_init_by_strides(&desc, 3, dims, type, steps);
}

Status MatmulLibrary::describe(const Problem &problem,
                               Primitive &primitive) const {
  int64_t batch = problem.batch, m = problem.m, n = problem.n, k = problem.k;
  dnnl_status_t results[] = {describeMatrix(dnnl, batch, m, k, problem.lhs,
                                            problem.operand, primitive.lhs),
                             describeMatrix(dnnl, batch, k, n, problem.rhs,
                                            problem.operand, primitive.rhs),
                             describeMatrix(dnnl, batch, m, n, problem.out,
                                            problem.result, primitive.out),
                             describeMatrix(dnnl, batch, 1, n, {0, n, 1},
                                            problem.biasType, primitive.bias)};
  for (dnnl_status_t result : results)
    HONERT_TRY(checkDnnl(result, "describe an operand", "matmul"));
  return Status();
}

Status MatmulLibrary::build(const std::string &name, const Problem &problem,
                            Primitive &primitive) {
  HONERT_TRY(describe(problem, primitive));
  std::optional<ThreadPool::Alone> alone;
  if (problem.oneThread)
    alone.emplace(pool);
  dnnl_primitive_attr_t attributes;
  HONERT_TRY(checkDnnl(dnnl.dnnl_primitive_attr_create(&attributes),
                       "make attributes", "matmul " + name));
  dnnl.dnnl_primitive_attr_set_scratchpad_mode(attributes,
                                               dnnl_scratchpad_mode_user);
  if (problem.accumulate) {
    dnnl_post_ops_t postOps;
    HONERT_TRY(checkDnnl(dnnl.dnnl_post_ops_create(&postOps), "make post-ops",
                         "matmul " + name));
    dnnl.dnnl_post_ops_append_sum(postOps, 1.0f);
    dnnl.dnnl_primitive_attr_set_post_ops(attributes, postOps);
    dnnl.dnnl_post_ops_destroy(postOps);
  }
  dnnl_matmul_desc_t operation;
  dnnl_primitive_desc_t desc = nullptr;
  dnnl_status_t status = dnnl.dnnl_matmul_desc_init(
      &operation, &primitive.lhs, &primitive.rhs,
      problem.bias ? &primitive.bias : nullptr, &primitive.out);
  if (status == dnnl_success)
    status = dnnl.dnnl_primitive_desc_create(&desc, &operation, attributes,
                                             engine.handle(), nullptr);
  dnnl.dnnl_primitive_attr_destroy(attributes);
  HONERT_TRY(checkDnnl(status, "find an implementation", "matmul " + name));

  primitive.scratch =
      *dnnl.dnnl_primitive_desc_query_md(desc, dnnl_query_scratchpad_md, 0);
  // Slots of the workspace stay on cache lines.
  primitive.scratchBytes =
      static_cast<int64_t>(dnnl.dnnl_memory_desc_get_size(&primitive.scratch) +
                           63) /
      64 * 64;
  const char *implementation = "";
  dnnl.dnnl_primitive_desc_query(desc, dnnl_query_impl_info_str, 0,
                                 &implementation);
  primitive.implementation = implementation;
  status = dnnl.dnnl_primitive_create(&primitive.primitive, desc);
  dnnl.dnnl_primitive_desc_destroy(desc);
  return checkDnnl(status, "make a primitive", "matmul " + name);
}

Status MatmulLibrary::lookUp(const std::string &name, const Problem &problem,
                             const Primitive *&primitive) {
  auto [entry, isNew] = primitives.try_emplace(problem);
  if (isNew) {
    if (Status status = build(name, problem, entry->second); !status.ok()) {
      primitives.erase(entry);
      return status;
    }
  }
  primitive = &entry->second;
  return Status();
}

/// The matrix of a call whose sizes are known now.
static dnnl_memory_desc_t withSizes(dnnl_memory_desc_t desc, int64_t rows,
                                    int64_t cols) {
  int64_t sizes[] = {rows, cols};
  for (int i = 0; i < 2; ++i)
    if (desc.dims[i] == MatmulLibrary::anySize)
      desc.dims[i] = desc.padded_dims[i] = sizes[i];
  return desc;
}

dnnl_status_t MatmulLibrary::execute(const Call &call, int thread,
                                     char *scratch) const {
  const Primitive &primitive = *call.primitive;
  dnnl_memory_desc_t lhs = withSizes(primitive.lhs, call.m, call.k),
                     rhs = withSizes(primitive.rhs, call.k, 0),
                     out = withSizes(primitive.out, call.m, 0);
  return engine.execute(primitive.primitive, thread,
                        {{DNNL_ARG_SRC, &lhs, call.lhs},
                         {DNNL_ARG_WEIGHTS, &rhs, call.rhs},
                         {DNNL_ARG_DST, &out, call.out},
                         {DNNL_ARG_SCRATCHPAD, &primitive.scratch, scratch},
                         {DNNL_ARG_BIAS, &primitive.bias, call.bias}});
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

std::array<Scales, 2> honert::scalesOf(const MatmulLaunch &launch,
                                       const char *arena) {
  if (!launch.scales)
    return {};
  auto of = [&](const ProductScales::Side &side, int64_t rows) {
    return Scales{{scaleTileOf(side.mode), rows, launch.k},
                  arena + side.offset};
  };
  return {of(launch.scales->a, launch.m), of(launch.scales->b, launch.n)};
}

/// Whether elements of a type are multiplied as bf16 by units for it.
bool MatmulLibrary::onBFloatUnits(DType operand) const {
  return (operand == DType::bf16 || isFp8(operand)) && engine.hasBFloatUnits();
}

/// Whether the library multiplies elements of a type fast.
bool MatmulLibrary::multiplies(DType operand) const {
  return operand == DType::f32 ||
         (operand == DType::bf16 && onBFloatUnits(operand));
}

/// Whole operands are copied up to this size; larger ones by rows or panels.
constexpr int64_t mostCopiedBytes = 12 << 20;

Status MatmulLibrary::prepare(const std::string &name,
                              const MatmulLaunch &launch,
                              std::unique_ptr<Matmul> &matmul) {
  // Nothing to sum: no library is needed.
  if (launch.isEmpty()) {
    matmul = std::make_unique<DirectMatmul>(*this, name, launch);
    return Status();
  }
  if (VectorMatmul::accepts(launch)) {
    matmul = std::make_unique<VectorMatmul>(pool, launch);
    workspace = std::max(workspace, matmul->neededBytes());
    return Status();
  }
  HONERT_TRY(engine.start());
  operandTypes.insert(launch.operand);
  bool isMultiplied = multiplies(launch.operand);
  DType multiplied = onBFloatUnits(launch.operand) ? DType::bf16 : DType::f32;
  if (isMultiplied || launch.scales) {
    auto direct =
        std::make_unique<DirectMatmul>(*this, name, launch, multiplied);
    HONERT_TRY(direct->prepare());
    int64_t rows = 0;
    if (direct->copiedBytes() <= mostCopiedBytes)
      matmul = std::move(direct);
    else if (!launch.scales)
      rows = direct->rowsWithin(mostCopiedBytes);
    if (rows) {
      auto parts = std::make_unique<RowsMatmul>(*this, name, launch, rows);
      HONERT_TRY(parts->prepare());
      matmul = std::move(parts);
    }
  }
  if (!matmul) {
    auto panels =
        std::make_unique<PanelMatmul>(*this, name, launch, multiplied);
    HONERT_TRY(panels->prepare());
    matmul = std::move(panels);
  }
  workspace = std::max(workspace, matmul->neededBytes());
  return Status();
}

Status MatmulLibrary::prepare(const std::string &name,
                              const GroupedMatmulLaunch &launch,
                              std::unique_ptr<Matmul> &matmul) {
  HONERT_TRY(engine.start());
  operandTypes.insert(launch.operand);
  auto grouped = std::make_unique<GroupedMatmul>(
      *this, name, launch,
      multiplies(launch.operand) ? launch.operand : DType::f32);
  HONERT_TRY(grouped->prepare());
  workspace = std::max(workspace, grouped->neededBytes());
  matmul = std::move(grouped);
  return Status();
}

bool MatmulLibrary::usesBFloatUnits() const {
  return std::any_of(operandTypes.begin(), operandTypes.end(),
                     [&](DType dtype) { return onBFloatUnits(dtype); });
}

std::string MatmulLibrary::versionText() const {
  if (operandTypes.empty())
    return "";
  std::string text = dnnl.versionText();
  for (DType dtype : operandTypes)
    if (dtype != DType::f32)
      text +=
          format(", %s products %s", honert::name(dtype),
                 onBFloatUnits(dtype) ? "on bf16 units" : "emulated in fp32");
  return text;
}
