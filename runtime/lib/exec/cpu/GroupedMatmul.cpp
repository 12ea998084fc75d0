//===- GroupedMatmul.cpp - Products of groups of rows ---------------------===//

#include "exec/cpu/GroupedMatmul.h"
#include "exec/cpu/ExactMatmul.h"

#include <algorithm>
#include <atomic>
#include <optional>

using namespace honert;

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

std::vector<RowRange> honert::readGroups(const GroupedMatmulLaunch &launch,
                                         const char *arena) {
  std::vector<RowRange> groups;
  int64_t begin = 0;
  for (int64_t group = 0; group < launch.groups; ++group) {
    const char *place = arena + launch.ends + group * byteWidth(launch.index);
    int64_t end = launch.index == DType::i32
                      ? *reinterpret_cast<const int32_t *>(place)
                      : *reinterpret_cast<const int64_t *>(place);
    end = std::clamp(end, begin, launch.rows);
    groups.push_back({begin, end});
    begin = end;
  }
  return groups;
}

/// Zeros where no group has a product: rows behind the last end, or matrices of
/// groups without rows.
static void clearUncovered(const ThreadPool &pool,
                           const GroupedMatmulLaunch &launch, char *arena,
                           const std::vector<RowRange> &groups) {
  int64_t width = byteWidth(launch.result), row = launch.n * width;
  char *out = arena + launch.c;
  if (!launch.sumsRows()) {
    int64_t end = groups.empty() || launch.k == 0 ? 0 : groups.back().end;
    return pool.zero(out + end * row, (launch.rows - end) * row);
  }
  for (size_t group = 0; group < groups.size(); ++group)
    if (groups[group].begin == groups[group].end)
      pool.zero(out + static_cast<int64_t>(group) * launch.k * row,
                launch.k * row);
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// Rows of a tile. The library copies the other operand into its own layout in
/// each call; for so many rows that costs a few percent.
constexpr int64_t mostRows = 256;
/// Columns of a tile: wide ones copy the rows less often, narrow ones occupy
/// more threads.
constexpr int64_t wide = 512, narrow = 256;
/// Terms of a panel that is widened.
constexpr int64_t panelTerms = 1024;

static int64_t countTiles(int64_t size, int64_t tile) {
  return (size + tile - 1) / tile;
}

/// Tiles of at most `most`, as even as multiples of 64 can be.
static int64_t evenTile(int64_t size, int64_t most) {
  int64_t tiles = std::max<int64_t>(1, countTiles(size, most));
  return std::max<int64_t>(64, countTiles(countTiles(size, tiles), 64) * 64);
}

static int64_t panelBytes(int64_t elements, DType dtype) {
  return (elements * byteWidth(dtype) + 63) / 64 * 64;
}

GroupedMatmul::GroupedMatmul(MatmulLibrary &library, std::string name,
                             const GroupedMatmulLaunch &launch,
                             DType multiplied)
    : library(library), name(std::move(name)), launch(launch),
      multiplied(multiplied) {
  constexpr int64_t enough = 32;
  int64_t height = launch.sumsRows() ? launch.k : launch.rows;
  int64_t matrices = launch.sumsRows() ? launch.groups : 1;
  int64_t tiles =
      matrices * countTiles(height, mostRows) * countTiles(launch.n, wide);
  tileRows = mostRows;
  tileCols = evenTile(launch.n, tiles >= enough ? wide : narrow);
}

/// Both sizes of a row's group, rows and terms, are known at run time.
Status GroupedMatmul::addPrimitive(int64_t width, bool accumulates) {
  bool widens = multiplied != launch.operand;
  MatrixStrides lhs, rhs, out = {0, launch.n, 1};
  lhs = launch.sumsRows() ? MatrixStrides{0, 1, launch.k}
                          : MatrixStrides{0, launch.k, 1};
  rhs = launch.product == GroupedProduct::transposed
            ? MatrixStrides{0, 1, launch.k}
            : MatrixStrides{0, launch.n, 1};
  if (widens) {
    // Panels keep the order of what they are copied from.
    lhs = launch.sumsRows() ? MatrixStrides{0, 1, tileRows}
                            : MatrixStrides{0, panelTerms, 1};
    rhs = launch.product == GroupedProduct::transposed
              ? MatrixStrides{0, 1, panelTerms}
              : MatrixStrides{0, tileCols, 1};
    out = {0, tileCols, 1};
  }
  MatmulLibrary::Problem problem{1,
                                 MatmulLibrary::anySize,
                                 width,
                                 MatmulLibrary::anySize,
                                 lhs,
                                 rhs,
                                 out,
                                 multiplied,
                                 widens ? DType::f32 : launch.result,
                                 /*bias=*/false,
                                 DType::f32,
                                 accumulates,
                                 /*oneThread=*/true};
  const Primitive *primitive;
  HONERT_TRY(library.lookUp(name, problem, primitive));
  primitives[{width, accumulates}] = primitive;
  scratchBytes = std::max(scratchBytes, primitive->scratchBytes);
  return Status();
}

Status GroupedMatmul::prepare() {
  if (launch.n == 0 || launch.k == 0 || launch.rows == 0)
    return Status();
  bool widens = multiplied != launch.operand;
  for (int64_t width :
       {std::min(tileCols, launch.n), (launch.n - 1) % tileCols + 1})
    for (bool accumulates : {false, true})
      if (widens || !accumulates)
        HONERT_TRY(addPrimitive(width, accumulates));
  if (widens) {
    lhsBytes = panelBytes(tileRows * panelTerms, multiplied);
    rhsBytes = panelBytes(panelTerms * tileCols, multiplied);
    outBytes = panelBytes(tileRows * tileCols, DType::f32);
  }
  return Status();
}

int64_t GroupedMatmul::neededBytes() const {
  return library.pool.size() * (scratchBytes + lhsBytes + rhsBytes + outBytes);
}

void GroupedMatmul::bind(char *memory, char *space) {
  arena = memory;
  workspace = space;
}

void GroupedMatmul::addTiles(std::vector<Tile> &tiles, int64_t group,
                             RowRange rows) const {
  // Of the output: rows of a matrix of the group, or the group's own rows.
  bool sums = launch.sumsRows();
  int64_t first = sums ? 0 : rows.begin, end = sums ? launch.k : rows.end;
  int64_t count = countTiles(end - first, tileRows);
  int64_t height = countTiles(countTiles(end - first, count), 16) * 16;
  for (int64_t col = 0; col < launch.n; col += tileCols)
    for (int64_t row = first; row < end; row += height)
      tiles.push_back({group, rows, row, col, std::min(height, end - row),
                       std::min(tileCols, launch.n - col)});
}

std::vector<GroupedMatmul::Tile>
GroupedMatmul::cut(const std::vector<RowRange> &groups) const {
  std::vector<Tile> tiles;
  for (size_t group = 0; group < groups.size(); ++group)
    if (groups[group].begin < groups[group].end)
      addTiles(tiles, static_cast<int64_t>(group), groups[group]);
  return tiles;
}

//===----------------------------------------------------------------------===//
// The work
//===----------------------------------------------------------------------===//

int64_t GroupedMatmul::termsOf(const Tile &tile) const {
  return launch.sumsRows() ? tile.rows.end - tile.rows.begin : launch.k;
}

Matrices GroupedMatmul::lhsOf(const Tile &tile) const {
  Matrices a{arena + launch.a, launch.operand, denseStrides(0, launch.k)};
  if (!launch.sumsRows())
    return a.from(0, tile.row, 0);
  Matrices columns = a.from(0, tile.rows.begin, tile.row);
  columns.strides = columns.strides.transposed();
  return columns;
}

Matrices GroupedMatmul::rhsOf(const Tile &tile) const {
  Matrices b{arena + launch.b, launch.operand,
             denseStrides(launch.k, launch.n)};
  if (launch.sumsRows())
    return b.from(0, tile.rows.begin, tile.col);
  if (launch.product == GroupedProduct::transposed)
    b.strides = {launch.k * launch.n, 1, launch.k};
  return b.from(tile.group, 0, tile.col);
}

Matrices GroupedMatmul::outOf(const Tile &tile) const {
  Matrices c{arena + launch.c, launch.result, denseStrides(launch.k, launch.n)};
  return c.from(launch.sumsRows() ? tile.group : 0, tile.row, tile.col);
}

const MatmulLibrary::Primitive &
GroupedMatmul::primitiveFor(int64_t width, bool accumulates) const {
  return *primitives.at({width, accumulates});
}

dnnl_status_t GroupedMatmul::runTile(const Tile &tile, int thread) const {
  if (multiplied != launch.operand)
    return runWidened(tile, thread);
  return library.execute({&primitiveFor(tile.width, false), lhsOf(tile).data,
                          rhsOf(tile).data, nullptr, outOf(tile).data,
                          tile.height, termsOf(tile)},
                         thread, workspace + thread * scratchBytes);
}

/// Panels of the operands are widened and multiplied one after the other; the
/// sums are rounded once.
dnnl_status_t GroupedMatmul::runWidened(const Tile &tile, int thread) const {
  char *space =
      workspace + thread * (scratchBytes + lhsBytes + rhsBytes + outBytes);
  const Primitive &first = primitiveFor(tile.width, false);
  auto panel = [&](int64_t at, DType dtype, const dnnl_memory_desc_t &desc) {
    const auto &strides = desc.format_desc.blocking.strides;
    return Matrices{space + at, dtype, {0, strides[0], strides[1]}};
  };
  Matrices lhs = panel(0, multiplied, first.lhs);
  Matrices rhs = panel(lhsBytes, multiplied, first.rhs);
  Matrices out = panel(lhsBytes + rhsBytes, DType::f32, first.out);
  Matrices a = lhsOf(tile), b = rhsOf(tile);
  for (int64_t at = 0, all = termsOf(tile); at < all; at += panelTerms) {
    int64_t terms = std::min(panelTerms, all - at);
    copyMatrix(tile.height, terms, a.from(0, 0, at), lhs);
    copyMatrix(terms, tile.width, b.from(0, at, 0), rhs);
    dnnl_status_t status =
        library.execute({&primitiveFor(tile.width, at != 0), lhs.data, rhs.data,
                         nullptr, out.data, tile.height, terms},
                        thread, space + lhsBytes + rhsBytes + outBytes);
    if (status != dnnl_success)
      return status;
  }
  copyMatrix(tile.height, tile.width, out, outOf(tile));
  return dnnl_success;
}

dnnl_status_t GroupedMatmul::runTiles(const std::vector<Tile> &tiles) const {
  std::atomic<dnnl_status_t> worst{dnnl_success};
  std::atomic<size_t> next{0};
  library.pool.runInside(library.pool.size(), [&](int64_t, int64_t) {
    for (size_t i = next++; i < tiles.size(); i = next++)
      if (dnnl_status_t status = runTile(tiles[i], ThreadPool::self());
          status != dnnl_success)
        worst = status;
  });
  return worst;
}

/// Starting the threads would take about as long as the products.
static bool isSmall(const GroupedMatmulLaunch &launch) {
  return 2.0 * static_cast<double>(launch.rows) *
             static_cast<double>(launch.n) * static_cast<double>(launch.k) <=
         0x1p20;
}

Status GroupedMatmul::run() const {
  std::vector<RowRange> groups = readGroups(launch, arena);
  clearUncovered(library.pool, launch, arena, groups);
  if (primitives.empty())
    return Status();
  std::vector<Tile> tiles = cut(groups);
  dnnl_status_t status = dnnl_success;
  if (isSmall(launch)) {
    ThreadPool::Alone alone(library.pool);
    for (const Tile &tile : tiles)
      if (status == dnnl_success)
        status = runTile(tile, 0);
  } else {
    status = runTiles(tiles);
  }
  return checkDnnl(status, "run", name);
}

//===----------------------------------------------------------------------===//
// In a fixed order
//===----------------------------------------------------------------------===//

/// The product of one group.
static MatmulLaunch launchOf(const GroupedMatmulLaunch &launch, int64_t group,
                             RowRange rows) {
  int64_t n = launch.n, k = launch.k, count = rows.end - rows.begin;
  int64_t in = byteWidth(launch.operand), out = byteWidth(launch.result);
  MatmulLaunch part{1, count, n,  k, {}, launch.a + rows.begin * k * in,
                    0, 0,     -1, -1};
  part.operand = launch.operand;
  part.result = launch.result;
  part.strides = {0, k, 1, 0, n, 1, 0, n, 1};
  if (launch.sumsRows()) {
    part.m = k, part.k = count;
    part.strides = {0, 1, k, 0, n, 1, 0, n, 1};
    part.b = launch.b + rows.begin * n * in;
    part.c = launch.c + group * k * n * out;
    return part;
  }
  if (launch.product == GroupedProduct::transposed)
    part.strides = {0, k, 1, 0, 1, k, 0, n, 1};
  part.b = launch.b + group * k * n * in;
  part.c = launch.c + rows.begin * n * out;
  return part;
}

Status ExactGroupedMatmul::run() const {
  std::vector<RowRange> groups = readGroups(launch, arena);
  clearUncovered(pool, launch, arena, groups);
  for (size_t group = 0; group < groups.size(); ++group) {
    ExactMatmul product(
        pool, launchOf(launch, static_cast<int64_t>(group), groups[group]));
    product.bind(arena, nullptr);
    HONERT_TRY(product.run());
  }
  return Status();
}
