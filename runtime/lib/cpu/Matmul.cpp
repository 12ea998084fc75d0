//===- Matmul.cpp - Matrix products by oneDNN -----------------------------===//

#include "cpu/Matmul.h"

#include <algorithm>
#include <cstring>

using namespace honert;

//===----------------------------------------------------------------------===//
// The library
//===----------------------------------------------------------------------===//

static Status check(dnnl_status_t status, const char *what,
                    const std::string &name) {
  if (status == dnnl_success)
    return Status();
  return Status::error(format("matmul %s: oneDNN could not %s (status %d)",
                              name.c_str(), what, status));
}

bool MatmulLibrary::Problem::operator<(const Problem &other) const {
  return std::tie(batch, m, n, k, lhs, rhs, out, bias, accumulate) <
         std::tie(other.batch, other.m, other.n, other.k, other.lhs, other.rhs,
                  other.out, other.bias, other.accumulate);
}

MatmulLibrary::~MatmulLibrary() {
  for (auto &entry : primitives)
    dnnl.dnnl_primitive_destroy(entry.second.primitive);
  if (stream)
    dnnl.dnnl_stream_destroy(stream);
  if (engine)
    dnnl.dnnl_engine_destroy(engine);
}

Status MatmulLibrary::start() {
  if (stream)
    return Status();
  HONERT_TRY(dnnl.open());
  HONERT_TRY(check(dnnl.dnnl_engine_create(&engine, dnnl_cpu, 0),
                   "start its engine", ""));
  return check(
      dnnl.dnnl_stream_create(&stream, engine, dnnl_stream_default_flags),
      "start its stream", "");
}

/// A batch of matrices; a batch stride of 0 is the library's broadcast.
static dnnl_status_t describeMatrix(const DnnlFunctions &dnnl, int64_t batch,
                                    int64_t rows, int64_t cols,
                                    const MatrixStrides &strides,
                                    dnnl_memory_desc_t &desc) {
  if (batch == 1) {
    dnnl_dims_t dims = {rows, cols}, steps = {strides.row, strides.col};
    return dnnl.dnnl_memory_desc_init_by_strides(&desc, 2, dims, dnnl_f32,
                                                 steps);
  }
  bool repeats = strides.batch == 0;
  dnnl_dims_t dims = {repeats ? 1 : batch, rows, cols};
  dnnl_dims_t steps = {repeats
                           ? std::max(strides.row * rows, strides.col * cols)
                           : strides.batch,
                       strides.row, strides.col};
  return dnnl.dnnl_memory_desc_init_by_strides(&desc, 3, dims, dnnl_f32, steps);
}

Status MatmulLibrary::describe(const Problem &problem,
                               Primitive &primitive) const {
  int64_t batch = problem.batch, m = problem.m, n = problem.n, k = problem.k;
  dnnl_status_t results[] = {
      describeMatrix(dnnl, batch, m, k, problem.lhs, primitive.lhs),
      describeMatrix(dnnl, batch, k, n, problem.rhs, primitive.rhs),
      describeMatrix(dnnl, batch, m, n, problem.out, primitive.out),
      describeMatrix(dnnl, batch, 1, n, {0, n, 1}, primitive.bias)};
  for (dnnl_status_t result : results)
    HONERT_TRY(check(result, "describe an operand", ""));
  return Status();
}

Status MatmulLibrary::build(const std::string &name, const Problem &problem,
                            Primitive &primitive) {
  HONERT_TRY(describe(problem, primitive));
  dnnl_primitive_attr_t attributes;
  dnnl_post_ops_t postOps;
  HONERT_TRY(check(dnnl.dnnl_primitive_attr_create(&attributes),
                   "make attributes", name));
  dnnl.dnnl_primitive_attr_set_scratchpad_mode(attributes,
                                               dnnl_scratchpad_mode_user);
  if (problem.accumulate) {
    HONERT_TRY(
        check(dnnl.dnnl_post_ops_create(&postOps), "make post-ops", name));
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
                                             engine, nullptr);
  dnnl.dnnl_primitive_attr_destroy(attributes);
  HONERT_TRY(check(status, "find an implementation", name));

  primitive.scratch =
      *dnnl.dnnl_primitive_desc_query_md(desc, dnnl_query_scratchpad_md, 0);
  primitive.scratchBytes =
      static_cast<int64_t>(dnnl.dnnl_memory_desc_get_size(&primitive.scratch));
  const char *implementation = "";
  dnnl.dnnl_primitive_desc_query(desc, dnnl_query_impl_info_str, 0,
                                 &implementation);
  primitive.isReference = std::strstr(implementation, "ref") != nullptr;
  status = dnnl.dnnl_primitive_create(&primitive.primitive, desc);
  dnnl.dnnl_primitive_desc_destroy(desc);
  return check(status, "make a primitive", name);
}

Status MatmulLibrary::lookUp(const std::string &name, const MatmulPlan &plan,
                             const Primitive *&primitive) {
  Problem problem{plan.batch,
                  plan.m,
                  plan.n,
                  plan.k,
                  plan.libraryLhs(),
                  plan.libraryRhs(),
                  plan.libraryOut(),
                  plan.biasInLibrary,
                  plan.accumulate};
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

Status MatmulLibrary::prepare(const std::string &name,
                              const MatmulLaunch &launch, char *arena,
                              std::unique_ptr<Matmul> &matmul) {
  matmul.reset(new Matmul(*this, name));
  matmul->launch = launch;
  auto at = [&](int64_t offset) {
    return offset == -1 ? nullptr : reinterpret_cast<float *>(arena + offset);
  };
  matmul->out = at(launch.c);
  matmul->bias = at(launch.bias);
  matmul->addend = at(launch.addend);

  MatmulPlan plan = planMatmul(launch);
  bool isEmpty =
      launch.batch == 0 || launch.m == 0 || launch.n == 0 || launch.k == 0;
  if (!isEmpty) {
    HONERT_TRY(start());
    HONERT_TRY(lookUp(name, plan, matmul->primitive));
    // Layouts the fast kernels decline are copied into ones they take.
    if (matmul->primitive->isReference) {
      MatmulPlan packed = planMatmul(launch, /*packAll=*/true);
      const Primitive *candidate;
      HONERT_TRY(lookUp(name, packed, candidate));
      if (!candidate->isReference) {
        matmul->primitive = candidate;
        plan = packed;
      }
    }
    workspace = std::max(workspace, matmul->primitive->scratchBytes + 64 +
                                        plan.packedElements() * 4);
  }
  matmul->plan = plan;
  matmul->lhs = at(plan.swapped ? launch.b : launch.a);
  matmul->rhs = at(plan.swapped ? launch.a : launch.b);
  return Status();
}

//===----------------------------------------------------------------------===//
// One product
//===----------------------------------------------------------------------===//

Matmul::~Matmul() {
  for (dnnl_memory_t memory : memories)
    library.dnnl.dnnl_memory_destroy(memory);
}

Status Matmul::bind(char *workspace) {
  if (!primitive)
    return Status();
  auto take = [&](bool needed, int64_t elements) -> float * {
    if (!needed)
      return nullptr;
    auto *taken = reinterpret_cast<float *>(workspace);
    workspace += (elements + 15) / 16 * 16 * 4;
    return taken;
  };
  packedLhs = take(plan.packLhs, plan.batch * plan.m * plan.k);
  packedRhs = take(plan.packRhs, plan.batch * plan.k * plan.n);
  packedOut = take(plan.packOut, plan.batch * plan.m * plan.n);

  auto operand = [&](int index, const dnnl_memory_desc_t &desc,
                     const void *data) {
    dnnl_memory_t memory;
    HONERT_TRY(
        check(library.dnnl.dnnl_memory_create(&memory, &desc, library.engine,
                                              const_cast<void *>(data)),
              "wrap an operand", name));
    memories.push_back(memory);
    operands.push_back({index, memory});
    return Status();
  };
  HONERT_TRY(
      operand(DNNL_ARG_SRC, primitive->lhs, packedLhs ? packedLhs : lhs));
  HONERT_TRY(
      operand(DNNL_ARG_WEIGHTS, primitive->rhs, packedRhs ? packedRhs : rhs));
  HONERT_TRY(
      operand(DNNL_ARG_DST, primitive->out, packedOut ? packedOut : out));
  if (plan.biasInLibrary)
    HONERT_TRY(operand(DNNL_ARG_BIAS, primitive->bias, bias));
  return operand(DNNL_ARG_SCRATCHPAD, primitive->scratch, workspace);
}

/// to[b, r, c] = from[b, r, c], by all threads.
static void copyMatrices(const ThreadPool &pool, int64_t batch, int64_t rows,
                         int64_t cols, const float *from,
                         const MatrixStrides &fromStrides, float *to,
                         const MatrixStrides &toStrides) {
  int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, cols));
  pool.run(batch * rows, grain, [&](int64_t lo, int64_t hi) {
    for (int64_t i = lo; i < hi; ++i) {
      const float *source =
          from + i / rows * fromStrides.batch + i % rows * fromStrides.row;
      float *target =
          to + i / rows * toStrides.batch + i % rows * toStrides.row;
      if (fromStrides.col == 1 && toStrides.col == 1) {
        std::memcpy(target, source, static_cast<size_t>(cols) * sizeof(float));
        continue;
      }
      for (int64_t j = 0; j < cols; ++j)
        target[j * toStrides.col] = source[j * fromStrides.col];
    }
  });
}

/// What the library adds to: the addend, plus the bias where it is not the
/// library's. The bias of a swapped product belongs to rows.
void Matmul::prefill(float *to, const MatrixStrides &strides) const {
  const auto &s = launch.strides;
  MatrixStrides from = plan.swapped ? MatrixStrides{s[9], s[11], s[10]}
                                    : MatrixStrides{s[9], s[10], s[11]};
  // (In a collapsed batch the rows continue, so the row stride serves them.)
  const float *rowBias = plan.biasInLibrary ? nullptr : bias;
  if (addend == to && !rowBias)
    return;
  if (addend && !rowBias)
    return copyMatrices(library.pool, plan.batch, plan.m, plan.n, addend, from,
                        to, strides);
  int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, plan.n));
  library.pool.run(plan.batch * plan.m, grain, [&](int64_t lo, int64_t hi) {
    for (int64_t i = lo; i < hi; ++i) {
      int64_t batch = i / plan.m, row = i % plan.m;
      float *target = to + batch * strides.batch + row * strides.row;
      for (int64_t col = 0; col < plan.n; ++col) {
        float value = 0;
        if (addend)
          value = addend[batch * from.batch + row * from.row + col * from.col];
        if (rowBias)
          value += rowBias[plan.swapped ? row : col];
        target[col * strides.col] = value;
      }
    }
  });
}

Status Matmul::run() const {
  if (packedLhs)
    copyMatrices(library.pool, plan.batch, plan.m, plan.k, lhs, plan.lhs,
                 packedLhs, plan.libraryLhs());
  if (packedRhs)
    copyMatrices(library.pool, plan.batch, plan.k, plan.n, rhs, plan.rhs,
                 packedRhs, plan.libraryRhs());
  float *target = packedOut ? packedOut : out;
  if (plan.prefill)
    prefill(target, packedOut ? plan.libraryOut() : plan.out);
  if (primitive) {
    // The pool's threads flush subnormals; the library starts its own regions
    // on them and keeps their mode.
    HONERT_TRY(check(library.dnnl.dnnl_primitive_execute(
                         primitive->primitive, library.stream,
                         static_cast<int>(operands.size()), operands.data()),
                     "run", name));
    HONERT_TRY(
        check(library.dnnl.dnnl_stream_wait(library.stream), "finish", name));
  }
  if (packedOut)
    copyMatrices(library.pool, plan.batch, plan.m, plan.n, packedOut,
                 plan.libraryOut(), out, plan.out);
  return Status();
}
