//===- Summary.h - What a planned program costs -----------------*- C++ -*-===//

#ifndef HONE_REPORT_SUMMARY_H
#define HONE_REPORT_SUMMARY_H

#include "hone/Analysis/Cost/CopyTimeline.h"
#include "hone/Analysis/Cost/KernelCost.h"
#include "hone/Analysis/Cost/LibraryRoofline.h"
#include "hone/Analysis/Memory/Timeline.h"
#include "hone/Plan/Plan.h"
#include "hone/Sharding/IR/Sharding.h"

#include <map>

namespace hone::report {

/// What a launch sends to other ranks.
struct LaunchTransfer {
  std::string kind; ///< "all_gather", "all_reduce sum"
  hone::dist::CollectiveKind collective;
  hone::dist::Axes axes;
  size_t channel = 0;      ///< of Summary::channels
  int64_t bytes = 0;       ///< sent by a rank
  double seconds = 0;      ///< alone on its links
  bool isWaitedFor = true; ///< at once; else by a later launch
};

/// Messages of one value that a stage of a pipeline sends to another.
struct StageMessages {
  std::string value; ///< "boundary stage1": kind and name of the argument
  int64_t stage;     ///< the other
  int64_t bytes;     ///< of one
  double seconds;    ///< of one, alone on its link
  int64_t count = 0; ///< in a step
};

/// What of a step a launch belongs to.
enum class Pass { forward, backward, update };

/// "forward", ...
llvm::StringRef passName(Pass pass);

/// One launch of the plan.
struct Launch {
  std::string name;   ///< as in profiles: "dot_general blocks.0.attn.qkv"
  std::string module; ///< of the user's model: "blocks.0.attn.qkv", or ""
  Pass pass = Pass::forward;
  std::string reason;        ///< why its ops share a kernel; "": nobody asked
  bool isRecomputed = false; ///< it makes a value again that was not kept
  int64_t saved = 0;         ///< bytes of activations that it makes
  std::string function;
  size_t number = 1; ///< in its function, from 1
  std::string family;
  std::string ops;      ///< "add, layer_norm"
  std::string location; ///< FILE:LINE:COL of the user, or ""
  int64_t flops = 0;
  int64_t bytes = 0;        ///< each input read once, each output written once
  hone::KernelTime time;    ///< on the machine of TargetDescription
  bool endsForward = false; ///< later ones make no activation
  hone::MemoryBytes live;   ///< during it
  std::optional<LaunchTransfer> transfer;
  std::optional<size_t> waitsFor; ///< a launch that sends
};

/// What the arena holds, and what other sizes of it would have cost.
struct MemorySummary {
  int64_t arena = 0;                      ///< bytes of the peak
  int64_t secondArena = 0;                ///< bytes beyond it
  hone::MemoryBytes peak;                 ///< at the fullest point
  int64_t gaps = 0;                       ///< of the arena, there
  std::optional<size_t> at;               ///< launch of the fullest point
  std::vector<hone::LiveTensors> tensors; ///< alive there, most bytes first
  /// What the arena always holds, by the kind of argument.
  std::map<std::string, int64_t> state;
  /// Whether the largest state of the optimizer, in either arena, is f32.
  bool hasWideMoments = false;
  /// What checkpoints allow: bytes of the arena and estimated seconds per step.
  std::vector<std::pair<double, double>> curve;
  std::optional<int64_t> budget;

  /// The categories in use with their bytes at the fullest point, most first;
  /// gaps last. They add up to the arena.
  std::vector<std::pair<std::string, int64_t>> categories() const;
};

/// The same program planned with other options, because this one does not fit.
struct TriedPlan {
  std::string flags;        ///< as they are typed
  std::string replaced;     ///< those of the given ones that they replace
  bool fits = false;        ///< the arena is within the room
  int64_t bytes = 0;        ///< of the arena, or the least that one could have
  int64_t secondArena = 0;  ///< bytes, where it fits
  double seconds = 0;       ///< of a step, where it fits
  bool isBare = false;      ///< only a budget, of what was given
  bool needsBudget = false; ///< it recomputes
  std::string note;         ///< what its flags change besides, or ""
};

struct Summary {
  std::string model;
  std::string precision; ///< "bf16"; "": as the model is
  int64_t microBatches = 1;
  MemorySummary memory;
  std::vector<Launch> launches;
  std::optional<hone::LibraryRoofline> limit; ///< of a step on a GPU
  std::optional<hone::dist::Mesh> mesh;       ///< of more than one rank
  std::vector<std::string> channels; ///< axes that transfers share: "fs"
  std::string experts; ///< how rows get to experts along ep; "": without it
  std::optional<int64_t> stage; ///< of a pipeline
  std::vector<StageMessages> messages;
  std::vector<TriedPlan> tried; ///< where it does not fit, and others were
  hone::CopyCost copies;        ///< of a step, between the two arenas
  /// What one run of each function that has copies waits for them, in seconds.
  std::vector<std::pair<std::string, double>> waits;
  int64_t tokens = 0;    ///< of all ranks in a step; 0: the model reads none
  double modelFlops = 0; ///< of all ranks in a step, nothing counted twice

  /// How often one optimizer step runs `function`.
  int64_t timesPerStep(llvm::StringRef function) const;
  int64_t launchesPerStep() const;
  int64_t flopsPerStep() const;
  int64_t bytesPerStep() const;
};

/// Reads the plan in `program`. `microBatches` as it was compiled with.
Summary summarize(hone::plan::ProgramOp program, int64_t microBatches,
                  const hone::TargetDescription &target);

} // namespace hone::report

#endif // HONE_REPORT_SUMMARY_H
