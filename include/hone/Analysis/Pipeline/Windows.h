//===- Windows.h - Buffers that live from action to action ------*- C++ -*-===//
//
// What one action makes and a later one reads lies in a *window*: `count`
// buffers of one size, of which micro-batch i uses number i mod count. How many
// a class needs follows from the list, so that a rank's memory is known at
// compile time: the sum of count * bytes, and the most that one action needs
// besides.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_ANALYSIS_PIPELINE_WINDOWS_H
#define HONE_ANALYSIS_PIPELINE_WINDOWS_H

#include "hone/Analysis/Pipeline/Schedule.h"

#include <array>

namespace hone::pipeline {

/// What is kept, and from when to when. What a backward action reads of the
/// chunk's input is among `Saved`, what BackwardWeight reads of the gradients
/// among `Grads`: the boundary itself is free after one action.
enum class WindowClass : uint8_t {
  Saved,         ///< Forward to Backward or BackwardWeight
  Grads,         ///< BackwardInput to BackwardWeight
  ActivationIn,  ///< receive to Forward
  ActivationOut, ///< Forward until it is sent; or, where the next chunk is on
                 ///< this rank, to that chunk's Forward, which reads it here
  GradientIn,    ///< receive to Backward or BackwardInput
  GradientOut    ///< Backward or BackwardInput until it is sent, or read as
                 ///< ActivationOut is
};
constexpr int windowClasses = 6;

/// "saved", "activation in", ...
llvm::StringRef windowName(WindowClass window);

/// Counts of one chunk by class; 0: the chunk has no such buffer.
struct ChunkWindows {
  std::array<int, windowClasses> counts = {};

  int &operator[](WindowClass window) { return counts[size_t(window)]; }
  int operator[](WindowClass window) const { return counts[size_t(window)]; }
};

/// Whether the action that writes a window of `chunk` waits until the buffer's
/// last message is sent. How many buffers such a window has is a choice between
/// memory and time; too few may deadlock, which checkSchedule finds. In all
/// other windows the list proves that a buffer is free.
bool waitsForSend(const Shape &shape, int chunk, WindowClass window);

/// Counts by chunk, which pass checkSchedule if `schedule` does without them.
/// Of windows that wait for sends: so many that no rank waits where F, I and W
/// of all chunks take one unit each and messages no time; a buffer whose
/// message has just ended is not reused at once.
std::vector<ChunkWindows> countWindows(const Schedule &schedule);

/// Counts of windows of one chunk that hold most bytes.
struct KeptWindows {
  int saved = 0, grads = 0;
};
/// By chunk, as countWindows has them, at a fraction of its cost.
std::vector<KeptWindows> countKept(const Schedule &schedule);

/// The most activations that `rank` has saved at a time: 1 is one micro-batch
/// of all its chunks, the M_B of the literature.
double peakActivations(const Schedule &schedule, int rank);

} // namespace hone::pipeline

#endif // HONE_ANALYSIS_PIPELINE_WINDOWS_H
