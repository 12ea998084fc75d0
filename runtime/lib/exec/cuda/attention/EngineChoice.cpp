//===- EngineChoice.cpp - Which kernels of cuDNN compute a graph ----------===//

#include "exec/cuda/attention/EngineChoice.h"

#include <algorithm>

using namespace honert;

using Handle = Descriptors::Handle;

std::optional<NamedEngine> honert::deterministicEngine(size_t version,
                                                       int arch) {
  if (arch / 10 != 10)
    return std::nullopt;
  NamedEngine engine;
  engine.index = arch > 103 ? 17 : 5;
  if (version >= 92300)
    engine.knobs = {
        {CUDNN_KNOB_TYPE_TILE_M, 3},     {CUDNN_KNOB_TYPE_TILE_N, 2},
        {CUDNN_KNOB_TYPE_KERNEL_CFG, 2}, {CUDNN_KNOB_TYPE_STREAM_K, 0},
        {CUDNN_KNOB_TYPE_TILE_CGA_M, 0}, {CUDNN_KNOB_TYPE_STAGES, 2}};
  else
    engine.knobs = {{CUDNN_KNOB_TYPE_KERNEL_CFG, 31},
                    {CUDNN_KNOB_TYPE_STAGES, 2}};
  return engine;
}

Status EngineChoice::list(std::vector<Handle> &configurations) {
  constexpr const char *what = "list ways to compute it";
  Handle heuristic = nullptr;
  HONERT_TRY(
      descriptors.create(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, what, heuristic));
  int mode = CUDNN_HEUR_MODE_A;
  HONERT_TRY(descriptors.set(heuristic, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH,
                             CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &graph, what));
  HONERT_TRY(descriptors.set(heuristic, CUDNN_ATTR_ENGINEHEUR_MODE,
                             CUDNN_TYPE_HEUR_MODE, 1, &mode, what));
  if (properties)
    HONERT_TRY(descriptors.set(heuristic, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP,
                               CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &properties,
                               what));
  HONERT_TRY(descriptors.finalize(heuristic, what));
  int64_t count = 0;
  auto read = [&](int64_t expected, void *elements) {
    return cudnn.check(
        cudnn.cudnnBackendGetAttribute(heuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                       CUDNN_TYPE_BACKEND_DESCRIPTOR, expected,
                                       &count, elements),
        what);
  };
  HONERT_TRY(read(0, nullptr));
  configurations.resize(static_cast<size_t>(count));
  for (Handle &each : configurations)
    HONERT_TRY(
        descriptors.create(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, what, each));
  if (count > 0)
    HONERT_TRY(read(count, configurations.data()));
  configurations.resize(static_cast<size_t>(count));
  return Status();
}

Status EngineChoice::configure(const NamedEngine &named,
                               Handle &configuration) {
  constexpr const char *what = "choose a deterministic way to compute it";
  Handle engine = nullptr;
  HONERT_TRY(descriptors.create(CUDNN_BACKEND_ENGINE_DESCRIPTOR, what, engine));
  HONERT_TRY(descriptors.set(engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH,
                             CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &graph, what));
  HONERT_TRY(descriptors.set(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX,
                             CUDNN_TYPE_INT64, 1, &named.index, what));
  if (properties)
    HONERT_TRY(descriptors.set(engine, CUDNN_ATTR_ENGINE_DEVICEPROP,
                               CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &properties,
                               what));
  HONERT_TRY(descriptors.finalize(engine, what));
  std::vector<Handle> choices;
  for (auto [type, value] : named.knobs) {
    Handle choice = nullptr;
    HONERT_TRY(
        descriptors.create(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, what, choice));
    HONERT_TRY(descriptors.set(choice, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE,
                               CUDNN_TYPE_KNOB_TYPE, 1, &type, what));
    HONERT_TRY(descriptors.set(choice, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE,
                               CUDNN_TYPE_INT64, 1, &value, what));
    HONERT_TRY(descriptors.finalize(choice, what));
    choices.push_back(choice);
  }
  HONERT_TRY(descriptors.create(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, what,
                                configuration));
  HONERT_TRY(descriptors.set(configuration, CUDNN_ATTR_ENGINECFG_ENGINE,
                             CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &engine, what));
  HONERT_TRY(descriptors.set(configuration, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                             CUDNN_TYPE_BACKEND_DESCRIPTOR,
                             static_cast<int64_t>(choices.size()),
                             choices.data(), what));
  return descriptors.finalize(configuration, what);
}

Status EngineChoice::isDeterministic(const std::optional<NamedEngine> &named,
                                     Handle configuration, bool &answer) {
  constexpr const char *what = "tell whether a way to compute it gives equal "
                               "bits";
  auto read = [&](Handle descriptor, int name, int type, int64_t most,
                  int64_t &count, void *elements) {
    return cudnn.check(cudnn.cudnnBackendGetAttribute(descriptor, name, type,
                                                      most, &count, elements),
                       what);
  };
  Handle engine = nullptr;
  HONERT_TRY(descriptors.create(CUDNN_BACKEND_ENGINE_DESCRIPTOR, what, engine));
  int64_t count = 0, index = 0;
  HONERT_TRY(read(configuration, CUDNN_ATTR_ENGINECFG_ENGINE,
                  CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, count, &engine));
  HONERT_TRY(read(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1,
                  count, &index));
  HONERT_TRY(read(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                  CUDNN_TYPE_NUMERICAL_NOTE, 0, count, nullptr));
  std::vector<int> notes(static_cast<size_t>(count));
  if (count > 0)
    HONERT_TRY(read(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                    CUDNN_TYPE_NUMERICAL_NOTE, count, count, notes.data()));
  answer = !(named && named->index == index) &&
           std::find(notes.begin(), notes.end(),
                     CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC) == notes.end();
  return Status();
}

Status EngineChoice::keepDeterministic(const std::optional<NamedEngine> &named,
                                       std::vector<Handle> &configurations) {
  std::vector<Handle> kept;
  for (Handle each : configurations) {
    bool isKept = false;
    HONERT_TRY(isDeterministic(named, each, isKept));
    if (isKept)
      kept.push_back(each);
  }
  if (kept.empty())
    return Status::error(
        format("lists %zu engines that do not give equal bits, expected one "
               "that does (compile without --deterministic-attention)",
               configurations.size()));
  configurations = std::move(kept);
  return Status();
}
