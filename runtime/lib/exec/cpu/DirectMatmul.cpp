//===- DirectMatmul.cpp - Products the library computes in their type -----===//

#include "exec/cpu/DirectMatmul.h"

#include <algorithm>
#include <atomic>
#include <optional>

using namespace honert;

//===----------------------------------------------------------------------===//
// The choice
//===----------------------------------------------------------------------===//

DirectMatmul::Problem DirectMatmul::wholeProblem() const {
  return {plan.batch,
          plan.m,
          plan.n,
          plan.k,
          plan.libraryLhs(),
          plan.libraryRhs(),
          plan.libraryOut(),
          plan.operand,
          plan.libraryResult(),
          plan.biasInLibrary,
          plan.result,
          plan.accumulate,
          /*oneThread=*/false};
}

/// Copies operands where the library has a better kernel for the copies.
Status DirectMatmul::tryPacking(Packing packing,
                                const MatmulLibrary::Primitive *&whole) {
  const MatmulLibrary::Primitive *packed;
  MatmulPlan inPlace = std::exchange(plan, planIt(packing));
  HONERT_TRY(library.lookUp(name, wholeProblem(), packed));
  if ((packed->isThreadInvariant() && !whole->isThreadInvariant()) ||
      (whole->isReference() && !packed->isReference()))
    whole = packed;
  else
    plan = inPlace;
  return Status();
}

/// Layouts the fast kernels decline are copied into ones they take: also so
/// that sums do not depend on how a value happens to lie. Kernels whose sums
/// depend on the thread count run on one thread each.
Status DirectMatmul::prepare() {
  const MatmulLibrary::Primitive *whole;
  HONERT_TRY(library.lookUp(name, wholeProblem(), whole));
  if (!whole->isThreadInvariant())
    HONERT_TRY(tryPacking(Packing::gaps, whole));
  if (whole->isReference())
    HONERT_TRY(tryPacking(Packing::all, whole));
  if (plan.isSmall()) {
    mode = Mode::alone;
    Problem problem = wholeProblem();
    problem.oneThread = true;
    return addPart(problem, {});
  }
  mode = whole->isThreadInvariant() ? Mode::together : Mode::sideBySide;
  return mode == Mode::sideBySide ? cutOutput() : cutSum();
}

Status DirectMatmul::addPart(const Problem &problem, const Part &place) {
  parts.push_back(place);
  HONERT_TRY(library.lookUp(name, problem, parts.back().primitive));
  scratchBytes = std::max(scratchBytes, parts.back().primitive->scratchBytes);
  return Status();
}

/// Calls that follow each other, each adding some terms of the sum.
Status DirectMatmul::cutSum() {
  Problem problem = wholeProblem();
  int64_t length = plan.sumLength(), from = 0;
  for (; from < plan.k; from += length) {
    problem.k = std::min(length, plan.k - from);
    HONERT_TRY(
        addPart(problem, {nullptr, from * problem.lhs.col,
                          from * problem.rhs.row, problem.bias ? 0 : -1, 0}));
    problem.bias = false; // the first call adds it
    problem.accumulate = true;
  }
  return Status();
}

/// Calls for tiles of the output. The tiles depend on the shape only.
Status DirectMatmul::cutOutput() {
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

int64_t DirectMatmul::rowsWithin(int64_t bytes) const {
  constexpr int64_t fewest = 64;
  if (plan.swapped)
    return 0; // its rows are columns
  int64_t perRow = 0;
  // Some columns of a matrix are a matrix with gaps, which is copied.
  if (plan.packLhs || (plan.packOut && plan.lhs.col != 1))
    perRow += plan.k * byteWidth(plan.operand);
  if (plan.packOut)
    perRow += plan.n * byteWidth(plan.libraryResult());
  if (perRow == 0)
    return 0;
  int64_t left = bytes - plan.packedRhsBytes() / plan.batch - 3 * 64;
  int64_t rows = std::max<int64_t>(0, left) / perRow / fewest * fewest;
  return std::min(rows, launch.m);
}

int64_t DirectMatmul::neededBytes() const {
  int64_t slots = mode == Mode::sideBySide ? library.pool.size() : 1;
  return plan.packedBytes() + slots * scratchBytes + 64;
}

void DirectMatmul::bind(char *arena, char *workspace) {
  scales = scalesOf(launch, arena);
  auto operand = [&](bool isB, const MatrixStrides &strides, bool isRhs) {
    Matrices matrices = {arena + (isB ? launch.b : launch.a),
                         isB ? launch.operandB() : launch.operand, strides};
    matrices.scales = launch.scales ? &scales[isB] : nullptr;
    matrices.hasTermsInRows = isRhs;
    return matrices;
  };
  lhs = operand(plan.swapped, plan.lhs, false);
  rhs = operand(!plan.swapped, plan.rhs, true);
  out = {arena + launch.c, plan.result, plan.out};
  // (In a collapsed batch the rows continue, so the row stride serves them.)
  const auto &s = launch.strides;
  MatrixStrides steps = {s[9], s[10], s[11]};
  addend = {launch.addend == -1 ? nullptr : arena + launch.addend, plan.result,
            plan.swapped ? steps.transposed() : steps};
  bias = launch.bias == -1 ? nullptr : arena + launch.bias;
  libraryLhs = lhs, libraryRhs = rhs, libraryOut = out;
  if (parts.empty())
    return;
  auto pack = [&](Matrices &copy, DType dtype, MatrixStrides strides,
                  int64_t bytes) {
    if (bytes == 0)
      return;
    copy = {workspace, dtype, strides};
    workspace += bytes;
  };
  pack(libraryLhs, plan.operand, plan.libraryLhs(), plan.packedLhsBytes());
  pack(libraryRhs, plan.operand, plan.libraryRhs(), plan.packedRhsBytes());
  pack(libraryOut, plan.libraryResult(), plan.libraryOut(),
       plan.packedOutBytes());
  scratch = workspace;
}

//===----------------------------------------------------------------------===//
// The work
//===----------------------------------------------------------------------===//

/// What the library adds to: the addend, plus the bias where it is not the
/// library's. The bias of a swapped product belongs to rows.
void DirectMatmul::prefill() const {
  const char *rowBias = plan.biasInLibrary ? nullptr : bias;
  if (addend.data == libraryOut.data && !rowBias)
    return;
  startMatrices(library.pool, plan.batch, plan.m, plan.n,
                {addend.data ? &addend : nullptr, rowBias, plan.result,
                 /*biasAlongRows=*/plan.swapped},
                libraryOut);
}

dnnl_status_t DirectMatmul::runPart(const Part &part, int thread) const {
  int64_t width = byteWidth(plan.operand);
  bool addsBias = plan.biasInLibrary && part.bias != -1;
  return library.execute(
      {part.primitive, libraryLhs.data + part.lhs * width,
       libraryRhs.data + part.rhs * width,
       addsBias ? bias + part.bias * byteWidth(plan.result) : nullptr,
       libraryOut.data + part.out * byteWidth(plan.libraryResult())},
      thread, scratch + thread * scratchBytes);
}

dnnl_status_t DirectMatmul::runParts() const {
  if (mode == Mode::sideBySide) {
    std::atomic<dnnl_status_t> worst{dnnl_success};
    library.pool.runInside(
        static_cast<int64_t>(parts.size()), [&](int64_t lo, int64_t hi) {
          for (int64_t i = lo; i < hi; ++i)
            if (dnnl_status_t result =
                    runPart(parts[static_cast<size_t>(i)], ThreadPool::self());
                result != dnnl_success)
              worst = result;
        });
    return worst;
  }
  std::optional<ThreadPool::Alone> alone;
  if (mode == Mode::alone)
    alone.emplace(library.pool);
  for (const Part &part : parts)
    if (dnnl_status_t status = runPart(part, 0); status != dnnl_success)
      return status;
  return dnnl_success;
}

Status DirectMatmul::run() const {
  const ThreadPool &pool = library.pool;
  if (libraryLhs.data != lhs.data)
    copyMatrices(pool, plan.batch, plan.m, plan.k, lhs, libraryLhs);
  if (libraryRhs.data != rhs.data)
    copyMatrices(pool, plan.batch, plan.k, plan.n, rhs, libraryRhs);
  if (plan.prefill)
    prefill();
  HONERT_TRY(checkDnnl(runParts(), "run", "matmul " + name));
  if (libraryOut.data != out.data)
    copyMatrices(pool, plan.batch, plan.m, plan.n, libraryOut, out);
  return Status();
}
