//===- Offsets.cpp - Where a launch finds its memory ----------------------===//

#include "program/Offsets.h"

using namespace honert;

namespace {
/// One overload per kind of launch: a new kind does not compile without its
/// own.
struct Visitor {
  const std::function<void(int64_t &)> &body;

  void all(std::vector<int64_t> &offsets) const {
    for (int64_t &offset : offsets)
      body(offset);
  }
  template <typename... Offset> void each(Offset &...offset) const {
    (body(offset), ...);
  }

  void operator()(KernelLaunch &launch) const { all(launch.offsets); }
  void operator()(DeviceLaunch &launch) const {
    all(launch.offsets);
    for (ArenaTensor &written : launch.writes)
      body(written.offset);
    if (launch.reads)
      for (ArenaTensor &read : *launch.reads)
        body(read.offset);
  }
  void operator()(MatmulLaunch &launch) const {
    each(launch.a, launch.b, launch.c, launch.bias, launch.addend, launch.aux,
         launch.sums);
    if (launch.scales)
      each(launch.scales->a.offset, launch.scales->b.offset);
    if (launch.activationKernel)
      (*this)(*launch.activationKernel);
  }
  void operator()(GroupedMatmulLaunch &launch) const {
    each(launch.a, launch.b, launch.ends, launch.c);
  }
  void operator()(ConvolutionLaunch &launch) const {
    each(launch.image, launch.kernel, launch.output);
  }
  void operator()(AttentionLaunch &launch) const {
    all(launch.offsets);
    body(launch.workspace);
  }
  void operator()(ZeroLaunch &launch) const { body(launch.offset); }
  void operator()(CollectiveLaunch &launch) const {
    each(launch.in, launch.out);
  }
  void operator()(WaitLaunch &) const {}
  void operator()(ShardLaunch &launch) const { each(launch.in, launch.out); }
  void operator()(CoordinateLaunch &launch) const { body(launch.out); }
  void operator()(CopyLaunch &launch) const { body(launch.offset); }
  void operator()(CopyWaitLaunch &) const {}
  /// Finds its memory by itself; no stage has one (CheckStages.cpp).
  void operator()(CallbackLaunch &) const {}
};
} // namespace

void honert::forEachOffset(Launch &launch,
                           const std::function<void(int64_t &)> &body) {
  std::visit(Visitor{body}, launch.action);
}
