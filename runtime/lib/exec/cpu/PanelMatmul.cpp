//===- PanelMatmul.cpp - Products by panels of their operands -------------===//

#include "exec/cpu/PanelMatmul.h"

#include <algorithm>

using namespace honert;

/// Rows, columns and terms of a panel. Copying an element once for so many uses
/// costs some percent of the product; three panels fit the outer cache.
constexpr int64_t panelSize = 1024;

static int64_t panelBytes(int64_t elements, DType dtype) {
  return (elements * byteWidth(dtype) + 63) / 64 * 64;
}

PanelMatmul::PanelMatmul(MatmulLibrary &library, std::string name,
                         const MatmulLaunch &launch, DType multiplied)
    : library(library), name(std::move(name)), launch(launch),
      multiplied(multiplied),
      whole{launch.batch, launch.m, launch.n, launch.k} {
  auto cut = [](int64_t size) { return std::min(size, panelSize); };
  int64_t m = cut(launch.m), n = cut(launch.n), k = cut(launch.k);
  // Small matrices of a batch share a panel.
  int64_t most = std::max({m * n, m * k, k * n});
  int64_t batch = std::clamp<int64_t>(panelSize * panelSize / most, 1,
                                      std::max<int64_t>(1, launch.batch));
  largest = {batch, m, n, k};
  lhsBytes = panelBytes(batch * m * k, multiplied);
  rhsBytes = panelBytes(batch * k * n, multiplied);
  outBytes = panelBytes(batch * m * n, DType::f32);
}

/// A panel keeps the order of the operand it is cut from: elements are copied
/// along the dimension that is dense.
static MatrixStrides panelStrides(const MatrixStrides &strides, int64_t rows,
                                  int64_t cols) {
  if (strides.col != 1 && strides.row == 1)
    return {rows * cols, 1, rows};
  return denseStrides(rows, cols);
}

static MatrixStrides stridesAt(const MatmulLaunch &launch, size_t first) {
  const auto &s = launch.strides;
  return {s[first], s[first + 1], s[first + 2]};
}

/// The product of panels in the workspace, added to the panel of the result.
MatmulLaunch PanelMatmul::launchOf(const Box &panel) const {
  auto [batch, m, n, k] = panel;
  MatmulLaunch inner{batch, m, n, k, {}, 0, 0, 0, -1, 0};
  const MatrixStrides strides[] = {panelStrides(stridesAt(launch, 0), m, k),
                                   panelStrides(stridesAt(launch, 3), k, n),
                                   panelStrides(stridesAt(launch, 6), m, n),
                                   panelStrides(stridesAt(launch, 6), m, n)};
  for (size_t i = 0; i < 4; ++i) {
    inner.strides[3 * i] = strides[i].batch;
    inner.strides[3 * i + 1] = strides[i].row;
    inner.strides[3 * i + 2] = strides[i].col;
  }
  inner.a = 0;
  inner.b = lhsBytes;
  inner.c = inner.addend = lhsBytes + rhsBytes;
  inner.operand = multiplied;
  return inner;
}

/// Calls `body(at, panel)` for the panels along the dimensions from `first` to
/// `last` of `whole`, beginning from the place and sizes given.
template <typename Body>
static Status forPanels(const std::array<int64_t, 4> &whole,
                        const std::array<int64_t, 4> &largest, size_t first,
                        size_t last, std::array<int64_t, 4> at,
                        std::array<int64_t, 4> panel, const Body &body) {
  if (first > last)
    return body(at, panel);
  for (at[first] = 0; at[first] < whole[first]; at[first] += largest[first]) {
    panel[first] = std::min(largest[first], whole[first] - at[first]);
    HONERT_TRY(forPanels(whole, largest, first + 1, last, at, panel, body));
  }
  return Status();
}

Status PanelMatmul::prepare() {
  return forPanels(
      whole, largest, 0, 3, {}, {}, [&](const Box &, const Box &panel) {
        auto &product = products[panel];
        if (product)
          return Status();
        product =
            std::make_unique<DirectMatmul>(library, name, launchOf(panel));
        return product->prepare();
      });
}

int64_t PanelMatmul::neededBytes() const {
  int64_t inner = 0;
  for (const auto &[panel, product] : products)
    inner = std::max(inner, product->neededBytes());
  return lhsBytes + rhsBytes + outBytes + inner;
}

void PanelMatmul::bind(char *arena, char *workspace) {
  lhs = {arena + launch.a, launch.operand, stridesAt(launch, 0)};
  rhs = {arena + launch.b, launch.operandB(), stridesAt(launch, 3)};
  if (launch.scales) {
    scales = scalesOf(launch, arena);
    lhs.scales = &scales[0], rhs.scales = &scales[1];
    rhs.hasTermsInRows = true;
  }
  out = {arena + launch.c, launch.result, stridesAt(launch, 6)};
  addend = {launch.addend == -1 ? nullptr : arena + launch.addend,
            launch.result, stridesAt(launch, 9)};
  bias = launch.bias == -1 ? nullptr : arena + launch.bias;
  panels = workspace;
  for (auto &[panel, product] : products)
    product->bind(workspace, workspace + lhsBytes + rhsBytes + outBytes);
}

/// The panel of the result in f32.
static Matrices sumsOf(char *data, const Matrices &out, int64_t m, int64_t n) {
  return {data, DType::f32, panelStrides(out.strides, m, n)};
}

void PanelMatmul::start(const Box &at, const Box &panel) const {
  auto [batch, m, n, k] = panel;
  Matrices from = addend.data ? addend.from(at[0], at[1], at[2]) : addend;
  const char *firstBias =
      bias ? bias + at[2] * byteWidth(launch.result) : nullptr;
  startMatrices(library.pool, batch, m, n,
                {addend.data ? &from : nullptr, firstBias, launch.result,
                 /*biasAlongRows=*/false},
                sumsOf(panels + lhsBytes + rhsBytes, out, m, n));
}

Status PanelMatmul::addTerms(const Box &at, const Box &panel) const {
  auto [batch, m, n, k] = panel;
  auto copy = [&](const Matrices &from, int64_t rows, int64_t cols, char *to) {
    copyMatrices(library.pool, panel[0], rows, cols, from,
                 {to, multiplied, panelStrides(from.strides, rows, cols)});
  };
  copy(lhs.from(at[0], at[1], at[3]), m, k, panels);
  copy(rhs.from(at[0], at[3], at[2]), k, n, panels + lhsBytes);
  return products.at(panel)->run();
}

Status PanelMatmul::run() const {
  return forPanels(whole, largest, 0, 2, {}, {},
                   [&](const Box &at, const Box &panel) {
                     start(at, panel);
                     HONERT_TRY(forPanels(whole, largest, 3, 3, at, panel,
                                          [&](const Box &at, const Box &panel) {
                                            return addTerms(at, panel);
                                          }));
                     copyMatrices(library.pool, panel[0], panel[1], panel[2],
                                  sumsOf(panels + lhsBytes + rhsBytes, out,
                                         panel[1], panel[2]),
                                  out.from(at[0], at[1], at[2]));
                     return Status();
                   });
}
