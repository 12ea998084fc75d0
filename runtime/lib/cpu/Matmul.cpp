//===- Matmul.cpp - Matrix products by oneDNN -----------------------------===//

#include "cpu/Matmul.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>
#include <tuple>

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
  return std::tie(batch, m, n, k, lhs, rhs, out, bias, accumulate, oneThread) <
         std::tie(other.batch, other.m, other.n, other.k, other.lhs, other.rhs,
                  other.out, other.bias, other.accumulate, other.oneThread);
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
  for (dnnl_stream_t stream : streams)
    dnnl.dnnl_stream_destroy(stream);
  if (engine)
    dnnl.dnnl_engine_destroy(engine);
}

Status MatmulLibrary::start() {
  if (engine)
    return Status();
  HONERT_TRY(dnnl.open());
  HONERT_TRY(check(dnnl.dnnl_engine_create(&engine, dnnl_cpu, 0),
                   "start its engine", ""));
  for (int i = 0; i < pool.size(); ++i) {
    dnnl_stream_t stream;
    HONERT_TRY(check(
        dnnl.dnnl_stream_create(&stream, engine, dnnl_stream_default_flags),
        "start a stream", ""));
    streams.push_back(stream);
  }
  return Status();
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
  std::optional<ThreadPool::Alone> alone;
  if (problem.oneThread)
    alone.emplace(pool);
  dnnl_primitive_attr_t attributes;
  HONERT_TRY(check(dnnl.dnnl_primitive_attr_create(&attributes),
                   "make attributes", name));
  dnnl.dnnl_primitive_attr_set_scratchpad_mode(attributes,
                                               dnnl_scratchpad_mode_user);
  if (problem.accumulate) {
    dnnl_post_ops_t postOps;
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
  return check(status, "make a primitive", name);
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

dnnl_status_t MatmulLibrary::execute(const Call &call, dnnl_stream_t stream,
                                     char *scratch) const {
  const Primitive &primitive = *call.primitive;
  const std::tuple<int, const dnnl_memory_desc_t *, const void *> operands[] = {
      {DNNL_ARG_SRC, &primitive.lhs, call.lhs},
      {DNNL_ARG_WEIGHTS, &primitive.rhs, call.rhs},
      {DNNL_ARG_DST, &primitive.out, call.out},
      {DNNL_ARG_SCRATCHPAD, &primitive.scratch, scratch},
      {DNNL_ARG_BIAS, &primitive.bias, call.bias}};
  dnnl_exec_arg_t arguments[5];
  int count = 0;
  dnnl_status_t status = dnnl_success;
  for (auto [index, desc, data] : operands) {
    if (!data || status != dnnl_success)
      continue;
    status = dnnl.dnnl_memory_create(&arguments[count].memory, desc, engine,
                                     const_cast<void *>(data));
    arguments[count].arg = index;
    count += status == dnnl_success;
  }
  if (status == dnnl_success)
    status = dnnl.dnnl_primitive_execute(primitive.primitive, stream, count,
                                         arguments);
  if (status == dnnl_success)
    status = dnnl.dnnl_stream_wait(stream);
  for (int i = 0; i < count; ++i)
    dnnl.dnnl_memory_destroy(arguments[i].memory);
  return status;
}

Status MatmulLibrary::prepare(const std::string &name,
                              const MatmulLaunch &launch, char *arena,
                              std::unique_ptr<Matmul> &matmul) {
  matmul.reset(new Matmul(*this, name));
  auto at = [&](int64_t offset) {
    return offset == -1 ? nullptr : reinterpret_cast<float *>(arena + offset);
  };
  matmul->launch = launch;
  matmul->plan = planMatmul(launch);
  bool isEmpty =
      launch.batch == 0 || launch.m == 0 || launch.n == 0 || launch.k == 0;
  if (!isEmpty) {
    HONERT_TRY(start());
    HONERT_TRY(matmul->choosePlan());
    workspace = std::max(workspace, matmul->neededBytes());
  }
  bool swapped = matmul->plan.swapped;
  matmul->lhs = at(swapped ? launch.b : launch.a);
  matmul->rhs = at(swapped ? launch.a : launch.b);
  matmul->out = at(launch.c);
  matmul->bias = at(launch.bias);
  matmul->addend = at(launch.addend);
  return Status();
}

//===----------------------------------------------------------------------===//
// One product: the choice
//===----------------------------------------------------------------------===//

Matmul::Problem Matmul::wholeProblem() const {
  return {plan.batch,
          plan.m,
          plan.n,
          plan.k,
          plan.libraryLhs(),
          plan.libraryRhs(),
          plan.libraryOut(),
          plan.biasInLibrary,
          plan.accumulate,
          /*oneThread=*/false};
}

/// Layouts the fast kernels decline are copied into ones they take. Kernels
/// whose sums depend on the thread count run on one thread each.
Status Matmul::choosePlan() {
  const MatmulLibrary::Primitive *whole, *packed;
  HONERT_TRY(library.lookUp(name, wholeProblem(), whole));
  if (whole->isReference()) {
    MatmulPlan inPlace = std::exchange(plan, planMatmul(launch, true));
    HONERT_TRY(library.lookUp(name, wholeProblem(), packed));
    if (packed->isReference())
      plan = inPlace;
    else
      whole = packed;
  }
  if (plan.isSmall()) {
    mode = Mode::alone;
    Problem problem = wholeProblem();
    problem.oneThread = true;
    return addPart(problem, {});
  }
  mode = whole->isThreadInvariant() ? Mode::together : Mode::sideBySide;
  return mode == Mode::sideBySide ? cutOutput() : cutSum();
}

Status Matmul::addPart(const Problem &problem, const Part &place) {
  parts.push_back(place);
  HONERT_TRY(library.lookUp(name, problem, parts.back().primitive));
  scratchBytes = std::max(scratchBytes, parts.back().primitive->scratchBytes);
  return Status();
}

/// Calls that follow each other, each adding some terms of the sum.
Status Matmul::cutSum() {
  Problem problem = wholeProblem();
  int64_t length = plan.sumLength(), from = 0;
  for (; from < plan.k; from += length) {
    problem.k = std::min(length, plan.k - from);
    HONERT_TRY(addPart(problem, {nullptr, from * problem.lhs.col,
                                 from * problem.rhs.row, 0, 0}));
    problem.bias = false; // the first call adds it
    problem.accumulate = true;
  }
  return Status();
}

/// Calls for tiles of the output. The tiles depend on the shape only.
Status Matmul::cutOutput() {
  Problem problem = wholeProblem();
  problem.oneThread = true;
  problem.batch = 1;
  MatrixStrides lhs = problem.lhs, rhs = problem.rhs, out = problem.out;
  problem.lhs.batch = problem.rhs.batch = problem.out.batch = 0;
  int64_t tile = plan.tileSize();
  for (int64_t b = 0; b < plan.batch; ++b)
    for (int64_t row = 0; row < plan.m; row += tile)
      for (int64_t col = 0; col < plan.n; col += tile) {
        problem.m = std::min(tile, plan.m - row);
        problem.n = std::min(tile, plan.n - col);
        HONERT_TRY(
            addPart(problem, {nullptr, b * lhs.batch + row * lhs.row,
                              b * rhs.batch + col * rhs.col, col,
                              b * out.batch + row * out.row + col * out.col}));
      }
  return Status();
}

int64_t Matmul::neededBytes() const {
  int64_t slots = mode == Mode::sideBySide ? library.pool.size() : 1;
  return plan.packedElements() * 4 + slots * scratchBytes + 64;
}

void Matmul::bind(char *workspace) {
  auto take = [&](bool needed, int64_t elements) -> float * {
    if (!needed)
      return nullptr;
    auto *taken = reinterpret_cast<float *>(workspace);
    workspace += (elements + 15) / 16 * 16 * 4;
    return taken;
  };
  if (parts.empty())
    return;
  packedLhs = take(plan.packLhs, plan.batch * plan.m * plan.k);
  packedRhs = take(plan.packRhs, plan.batch * plan.k * plan.n);
  packedOut = take(plan.packOut, plan.batch * plan.m * plan.n);
  scratch = workspace;
}

//===----------------------------------------------------------------------===//
// One product: the work
//===----------------------------------------------------------------------===//

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
  const float *from = packedLhs ? packedLhs : lhs;
  const float *with = packedRhs ? packedRhs : rhs;
  float *to = packedOut ? packedOut : out;
  if (plan.prefill)
    prefill(to, packedOut ? plan.libraryOut() : plan.out);

  auto call = [&](const Part &part, int thread) {
    return library.execute({part.primitive, from + part.lhs, with + part.rhs,
                            plan.biasInLibrary ? bias + part.bias : nullptr,
                            to + part.out},
                           library.streams[static_cast<size_t>(thread)],
                           scratch + thread * scratchBytes);
  };
  dnnl_status_t status = dnnl_success;
  if (mode == Mode::sideBySide) {
    std::atomic<dnnl_status_t> worst{dnnl_success};
    library.pool.runInside(
        static_cast<int64_t>(parts.size()), [&](int64_t lo, int64_t hi) {
          for (int64_t i = lo; i < hi; ++i)
            if (dnnl_status_t result =
                    call(parts[static_cast<size_t>(i)], ThreadPool::self());
                result != dnnl_success)
              worst = result;
        });
    status = worst;
  } else {
    std::optional<ThreadPool::Alone> alone;
    if (mode == Mode::alone)
      alone.emplace(library.pool);
    for (const Part &part : parts)
      if (status == dnnl_success)
        status = call(part, 0);
  }
  HONERT_TRY(check(status, "run", name));

  if (packedOut)
    copyMatrices(library.pool, plan.batch, plan.m, plan.n, packedOut,
                 plan.libraryOut(), out, plan.out);
  return Status();
}
