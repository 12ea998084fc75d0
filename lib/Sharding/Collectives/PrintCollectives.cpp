//===- PrintCollectives.cpp - What the ranks of a program send, in words --===//

#include "hone/Sharding/Model/Traffic.h"
#include "hone/Sharding/Passes.h"

#include "llvm/Support/FormatVariadic.h"

#include <map>

namespace hone {
#define GEN_PASS_DEF_DISTPRINTCOLLECTIVES
#include "hone/Sharding/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;
using namespace hone::dist;

/// `dp,tp`
static std::string textOf(ArrayRef<unsigned> axes, const Mesh &mesh) {
  std::string text;
  for (unsigned axis : axes)
    text += (text.empty() ? "" : ",") + mesh[axis].name;
  return text;
}

static void print(func::FuncOp func, const Mesh &mesh, raw_ostream &os) {
  struct Total {
    int64_t count = 0, bytes = 0;
  };
  std::map<std::vector<unsigned>, Total> totals;
  os << "@" << func.getName() << "\n";
  for (const TransferGroup &group : groupTransfers(transfersIn(func, mesh))) {
    const Transfer &one = group.first;
    os << llvm::formatv("  {0} over {1} {2}: {3} x {4} = {5}\n", one.kind,
                        textOf(one.axes, mesh), one.element, group.count,
                        one.bytes, group.bytes());
    Total &total = totals[{one.axes.begin(), one.axes.end()}];
    total.count += group.count;
    total.bytes += group.bytes();
  }
  for (const auto &[axes, total] : totals)
    os << llvm::formatv("  over {0}: {1} collectives, {2} bytes\n",
                        textOf(axes, mesh), total.count, total.bytes);
}

namespace {
struct DistPrintCollectives
    : hone::impl::DistPrintCollectivesBase<DistPrintCollectives> {
  void runOnOperation() override {
    FailureOr<Mesh> mesh = Mesh::of(getOperation());
    if (failed(mesh))
      return signalPassFailure();
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isExternal())
        print(func, *mesh, llvm::outs());
    markAllAnalysesPreserved();
  }
};
} // namespace
