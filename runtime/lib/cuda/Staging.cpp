//===- Staging.cpp - What goes up and comes down with every run -----------===//

#include "cuda/Staging.h"

#include <algorithm>
#include <cstring>

using namespace honert;

static int64_t aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

/// The loss that micro-batches add to is the program's, the host only reads it.
static bool isRunningLoss(const Argument &argument) {
  return argument.kind == Kind::scalar && argument.fqn == "loss";
}

static bool isInput(const Argument &argument) {
  return argument.kind == Kind::input || argument.kind == Kind::rng ||
         (argument.kind == Kind::scalar && !isRunningLoss(argument));
}

Staging::Staging(const Device &device, const Program &program)
    : device(device) {
  auto addOutput = [&](const Function &function, int64_t offset,
                       int64_t bytes) {
    size_t index = 0;
    while (index != outputs.size() && outputs[index].offset != offset)
      ++index;
    if (index == outputs.size()) {
      outputs.push_back({offset, bytes, outputBytes});
      outputBytes += aligned(bytes);
    }
    outputsOf[function.name].push_back(index);
  };
  for (const Argument &argument : program.arguments)
    if (isInput(argument) && argument.bytes > 0) {
      inputs.push_back({argument.offset, argument.bytes, inputBytes});
      inputBytes += aligned(argument.bytes);
    }
  for (const Function &function : program.functions) {
    for (const char *name : {"loss", "grad_norm"})
      if (const Result *result = function.result(name))
        addOutput(function, result->offset, byteWidth(result->dtype));
    for (const Argument &argument : program.arguments)
      if (isRunningLoss(argument) ||
          (argument.kind == Kind::opt && argument.fqn == "loss_scale"))
        addOutput(function, argument.offset, argument.bytes);
  }
}

Status Staging::start() {
  HONERT_TRY(pinned.allocate(device, 2 * inputBytes + outputBytes));
  for (DeviceEvent &event : uploaded)
    HONERT_TRY(event.create(device, /*timed=*/false));
  return Status();
}

Status Staging::upload(const Arena &view, const DeviceMemory &arena) {
  slot = 1 - slot;
  if (isInFlight[slot])
    HONERT_TRY(uploaded[slot].wait());
  char *base = pinned.at(slot * inputBytes);
  for (const Piece &piece : inputs) {
    std::memcpy(base + piece.place, view.at(piece.offset),
                static_cast<size_t>(piece.bytes));
    HONERT_TRY(
        device.check(device.functions().cuMemcpyHtoDAsync_v2(
                         arena.at(piece.offset), base + piece.place,
                         static_cast<size_t>(piece.bytes), device.stream()),
                     "the inputs cannot be copied to the GPU"));
  }
  isInFlight[slot] = true;
  return uploaded[slot].record();
}

Status Staging::download(const Function &function, const DeviceMemory &arena) {
  for (size_t index : outputsOf[function.name]) {
    const Piece &piece = outputs[index];
    HONERT_TRY(device.check(
        device.functions().cuMemcpyDtoHAsync_v2(
            pinned.at(2 * inputBytes + piece.place), arena.at(piece.offset),
            static_cast<size_t>(piece.bytes), device.stream()),
        "the results cannot be copied from the GPU"));
    pending.push_back(index);
  }
  return Status();
}

void Staging::deliver(Arena &view) {
  for (size_t index : pending) {
    const Piece &piece = outputs[index];
    std::memcpy(view.at(piece.offset), pinned.at(2 * inputBytes + piece.place),
                static_cast<size_t>(piece.bytes));
  }
  pending.clear();
}
