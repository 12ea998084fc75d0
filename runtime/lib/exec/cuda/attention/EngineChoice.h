//===- EngineChoice.h - Which kernels of cuDNN compute a graph ------------===//

#ifndef HONERT_EXEC_CUDA_ATTENTION_ENGINECHOICE_H
#define HONERT_EXEC_CUDA_ATTENTION_ENGINECHOICE_H

#include "exec/cuda/attention/Descriptors.h"

#include <optional>
#include <utility>
#include <vector>

namespace honert {

/// An engine of the library by its number, and values of its knobs by type.
struct NamedEngine {
  int64_t index = 0;
  std::vector<std::pair<int, int64_t>> knobs;
};

/// The engine that computes a backward pass with equal bits from run to run,
/// where NVIDIA's front end 1.23 names one for this version and architecture.
/// Elsewhere the form of the graph decides (buildAttentionGraph).
std::optional<NamedEngine> deterministicEngine(size_t version, int arch);

/// The ways to compute one operation graph, as configurations of engines.
class EngineChoice {
public:
  using Handle = Descriptors::Handle;

  /// `properties` describes the GPU, or is null: that of the graph's handle.
  EngineChoice(const CudnnFunctions &cudnn, Descriptors &descriptors,
               Handle graph, Handle properties)
      : cudnn(cudnn), descriptors(descriptors), graph(graph),
        properties(properties) {}

  /// What the library's heuristics propose, the best first.
  Status list(std::vector<Handle> &configurations);
  /// One engine. Errors: the library lacks it, or a value of a knob.
  Status configure(const NamedEngine &engine, Handle &configuration);
  /// Leaves configurations that the library does not call nondeterministic, and
  /// none of the engine of `named`: with other knobs that adds in any order.
  /// Errors: none is left.
  Status keepDeterministic(const std::optional<NamedEngine> &named,
                           std::vector<Handle> &configurations);

private:
  Status isDeterministic(const std::optional<NamedEngine> &named,
                         Handle configuration, bool &answer);

  const CudnnFunctions &cudnn;
  Descriptors &descriptors;
  const Handle graph, properties;
};

} // namespace honert

#endif // HONERT_EXEC_CUDA_ATTENTION_ENGINECHOICE_H
