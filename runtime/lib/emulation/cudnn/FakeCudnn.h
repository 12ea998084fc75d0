//===- FakeCudnn.h - cuDNN without a GPU ----------------------------------===//
//
// Keeps what descriptors are given, and evaluates the operation graph that it
// was given node by node, in double, each tensor at its own strides and rounded
// to its own type: so what is tested is the graph itself. Random numbers are
// not cuDNN's, but depend on seed, offset and element only.
//
//===----------------------------------------------------------------------===//

#ifndef HONERT_EMULATION_CUDNN_FAKECUDNN_H
#define HONERT_EMULATION_CUDNN_FAKECUDNN_H

#include "base/Types.h"
#include "exec/cuda/attention/Cudnn.h"
#include "exec/cuda/attention/OperationGraph.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace honert::fake {

/// An engine that the heuristics list, with its CUDNN_NUMERICAL_NOTE_...
struct ListedEngine {
  int64_t index;
  std::vector<int> notes;
};

/// What the fake shows, for tests to change.
struct CudnnSettings {
  size_t version = 91900;
  /// The library's own part of a workspace; it is written over in every call.
  int64_t workspaceBytes = 512;
  std::vector<ListedEngine> listed = {{7, {}}};
  /// Engines that may be named, with the knobs that they need, by type.
  std::map<int64_t, std::map<int, int64_t>> named = {
      {5, {{CUDNN_KNOB_TYPE_KERNEL_CFG, 31}, {CUDNN_KNOB_TYPE_STAGES, 2}}}};
};
CudnnSettings &cudnnSettings();
/// Those of the plans that were made, not read, so far.
std::vector<int64_t> &plannedEngines();

/// The function of that name, or null.
void *findCudnn(const char *symbol);

// The rest is for the fake itself.

/// What descriptors of a type hold: attributes, each of one type.
struct CudnnDescriptor {
  int type;
  bool isFinal = false;
  std::map<int, std::vector<char>> attributes = {};

  template <typename T> std::vector<T> all(int name) const;
  template <typename T> std::optional<T> one(int name) const;
};

/// A graph that runs, and what a plan says of it.
struct CudnnPlan {
  OperationGraph graph;
  int64_t workspaceBytes = 0;

  std::string text() const;
  /// Nothing if the text is no plan of this version.
  static std::optional<CudnnPlan> parse(const std::string &text);
};

/// The plain graph that an operation graph's descriptor holds; without value
/// and with `mistake` set if it is not well formed.
std::optional<OperationGraph> readGraph(const CudnnDescriptor &described,
                                        std::string &mistake);

/// The runtime's element type of CUDNN_DATA_...
DType dtypeOf(int cudnnType);
/// Elements from a tensor's first to the end of its last.
int64_t extentOf(const GraphTensor &tensor);

/// Evaluates the graph of `plan` and writes over `workspace` after each node;
/// `memory` has the address of every tensor that is not virtual, by id. Returns
/// what is wrong with the graph, or "".
std::string evaluate(const CudnnPlan &plan,
                     const std::map<int64_t, void *> &memory, void *workspace);

#define CUDNN_FUNCTION(result, name, parameters) result name parameters;
#include "exec/cuda/attention/Cudnn.def"
#undef CUDNN_FUNCTION

template <typename T> std::vector<T> CudnnDescriptor::all(int name) const {
  auto found = attributes.find(name);
  if (found == attributes.end())
    return {};
  auto *begin = reinterpret_cast<const T *>(found->second.data());
  // T may be a pointer. NOLINTNEXTLINE(bugprone-sizeof-expression)
  return std::vector<T>(begin, begin + found->second.size() / sizeof(T));
}

template <typename T> std::optional<T> CudnnDescriptor::one(int name) const {
  std::vector<T> values = all<T>(name);
  return values.size() == 1 ? std::optional<T>(values[0]) : std::nullopt;
}

} // namespace honert::fake

#endif // HONERT_EMULATION_CUDNN_FAKECUDNN_H
