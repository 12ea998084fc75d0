//===- RowsMatmul.cpp - Products by groups of their rows ------------------===//

#include "exec/cpu/RowsMatmul.h"

#include <algorithm>

using namespace honert;

/// The product of one matrix of the batch from `row` on.
MatmulLaunch RowsMatmul::launchOf(int64_t batch, int64_t row) const {
  const auto &s = launch.strides;
  int64_t in = byteWidth(launch.operand), out = byteWidth(launch.result);
  MatmulLaunch part = launch;
  part.batch = 1;
  part.m = std::min(rows, launch.m - row);
  part.a += (batch * s[0] + row * s[1]) * in;
  part.b += batch * s[3] * in;
  part.c += (batch * s[6] + row * s[7]) * out;
  if (launch.addend != -1)
    part.addend += (batch * s[9] + row * s[10]) * out;
  return part;
}

Status RowsMatmul::prepare() {
  for (int64_t batch = 0; batch < launch.batch; ++batch)
    for (int64_t row = 0; row < launch.m; row += rows) {
      products.push_back(
          std::make_unique<DirectMatmul>(library, name, launchOf(batch, row)));
      HONERT_TRY(products.back()->prepare());
    }
  return Status();
}

int64_t RowsMatmul::neededBytes() const {
  int64_t bytes = 0;
  for (const auto &product : products)
    bytes = std::max(bytes, product->neededBytes());
  return bytes;
}

void RowsMatmul::bind(char *arena, char *workspace) {
  for (auto &product : products)
    product->bind(arena, workspace);
}

Status RowsMatmul::run() const {
  for (const auto &product : products)
    HONERT_TRY(product->run());
  return Status();
}
