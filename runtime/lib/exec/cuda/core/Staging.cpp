//===- Staging.cpp - What goes up and comes down with every run -----------===//

#include "exec/cuda/core/Staging.h"

#include <algorithm>
#include <cstring>

using namespace honert;

static int64_t aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

/// What micro-batches add to is the program's, the host only reads it.
static bool isInput(const Program &program, const Argument &argument) {
  return argument.kind == Kind::input || argument.kind == Kind::rng ||
         (argument.kind == Kind::scalar && !program.isRunning(argument));
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
    outputsOf[&function].push_back(index);
  };
  for (const Argument &argument : program.arguments)
    if (isInput(program, argument) && argument.bytes > 0)
      inputs.push_back({argument.offset, argument.bytes, 0});
  placeInputs();
  for (const Function &function : program.functions) {
    auto addResult = [&](const std::string &name) {
      if (const Result *result = function.result(name))
        addOutput(function, result->offset, byteWidth(result->dtype));
    };
    addResult("loss");
    addResult("grad_norm");
    for (const IdCheck &check : program.idChecks)
      addResult(check.name);
    for (const DroppedCount &count : program.droppedCounts)
      addResult(count.name);
    for (const Argument &argument : program.arguments)
      if (program.isRunning(argument) ||
          (argument.kind == Kind::opt && argument.fqn == "loss_scale"))
        addOutput(function, argument.offset, argument.bytes);
  }
}

/// In a slot inputs lie as in the arena, so that those side by side there move
/// together; what is between them, up to a multiple of 64 bytes, is nobody's.
void Staging::placeInputs() {
  std::sort(inputs.begin(), inputs.end(),
            [](const Piece &a, const Piece &b) { return a.offset < b.offset; });
  for (Piece &piece : inputs) {
    piece.place = inputBytes;
    inputBytes += aligned(piece.bytes);
    bool follows =
        !moves.empty() &&
        moves.back().offset + aligned(moves.back().bytes) == piece.offset;
    if (follows)
      moves.back().bytes = piece.offset + piece.bytes - moves.back().offset;
    else
      moves.push_back(piece);
  }
}

Status Staging::start() {
  HONERT_TRY(pinned.allocate(device, 2 * (inputBytes + outputBytes)));
  HONERT_TRY(
      onDevice.allocate(device, 2 * inputBytes, "the copy of the inputs"));
  for (InputSlot &slot : inputSlots)
    for (DeviceEvent *event : {&slot.uploaded, &slot.consumed})
      HONERT_TRY(event->create(device, /*timed=*/false));
  for (OutputSlot &slot : outputSlots)
    HONERT_TRY(slot.downloaded.create(device, /*timed=*/false));
  return Status();
}

/// Element `i` of the `round`-th inputs.
static char pattern(int64_t round, int64_t i) {
  return static_cast<char>(round * 37 + i % 251 + 1);
}

Status Staging::check(Arena &view, const DeviceMemory &arena) {
  const char *what = "inputs on their way to the GPU";
  const DriverFunctions &driver = device.functions();
  constexpr int64_t rounds = 6; // more than slots, of either parity
  DeviceMemory seen;
  HONERT_TRY(seen.allocate(device, rounds * inputBytes, what));
  for (int64_t round = 0; round != rounds; ++round) {
    for (const Piece &piece : inputs)
      for (int64_t i = 0; i != piece.bytes; ++i)
        view.at(piece.offset)[i] = pattern(round, i);
    HONERT_TRY(upload(view, arena));
    for (const Piece &piece : inputs)
      HONERT_TRY(device.check(
          driver.cuMemcpyDtoDAsync_v2(
              seen.at(round * inputBytes + piece.place), arena.at(piece.offset),
              static_cast<size_t>(piece.bytes), device.stream()),
          what));
  }
  std::vector<char> down(static_cast<size_t>(rounds * inputBytes));
  HONERT_TRY(
      device.download(down.data(), seen.at(0), rounds * inputBytes, what));
  for (int64_t round = 0; round != rounds; ++round)
    for (const Piece &piece : inputs)
      for (int64_t i = 0; i != piece.bytes; ++i)
        if (down[round * inputBytes + piece.place + i] != pattern(round, i))
          return Status::error(format(
              "inputs at byte %lld of the arena: those of run %lld of %lld are "
              "not what the host wrote (slots between host and GPU)",
              static_cast<long long>(piece.offset),
              static_cast<long long>(round + 1),
              static_cast<long long>(rounds)));
  return Status();
}

Status Staging::upload(const Arena &view, const DeviceMemory &arena) {
  if (inputBytes == 0)
    return Status();
  const char *what = "the inputs cannot be copied to the GPU";
  const DriverFunctions &driver = device.functions();
  inputSlot = 1 - inputSlot;
  InputSlot &slot = inputSlots[inputSlot];
  if (slot.wasUsed) {
    HONERT_TRY(slot.uploaded.wait(what));
    HONERT_TRY(slot.consumed.holdBack(device.copyStream()));
  }
  char *host = pinnedInputs(inputSlot);
  CUdeviceptr copy = onDevice.at(inputSlot * inputBytes);
  for (const Piece &piece : inputs)
    std::memcpy(host + piece.place, view.at(piece.offset),
                static_cast<size_t>(piece.bytes));
  HONERT_TRY(device.check(
      driver.cuMemcpyHtoDAsync_v2(copy, host, static_cast<size_t>(inputBytes),
                                  device.copyStream()),
      what));
  HONERT_TRY(slot.uploaded.record(device.copyStream()));
  slot.wasUsed = true;
  HONERT_TRY(slot.uploaded.holdBack(device.stream()));
  for (const Piece &piece : moves)
    HONERT_TRY(
        device.check(driver.cuMemcpyDtoDAsync_v2(
                         arena.at(piece.offset),
                         copy + static_cast<CUdeviceptr>(piece.place),
                         static_cast<size_t>(piece.bytes), device.stream()),
                     what));
  return slot.consumed.record();
}

Status Staging::download(const Function &function, const DeviceMemory &arena) {
  OutputSlot &slot = outputSlots[outputSlot];
  for (size_t index : outputsOf[&function]) {
    const Piece &piece = outputs[index];
    HONERT_TRY(device.check(
        device.functions().cuMemcpyDtoHAsync_v2(
            pinnedOutputs(outputSlot) + piece.place, arena.at(piece.offset),
            static_cast<size_t>(piece.bytes), device.stream()),
        "the results cannot be copied from the GPU"));
    if (std::find(slot.pieces.begin(), slot.pieces.end(), index) ==
        slot.pieces.end())
      slot.pieces.push_back(index);
  }
  return Status();
}

Status Staging::endStep() {
  HONERT_TRY(outputSlots[outputSlot].downloaded.record());
  ended.push_back(outputSlot);
  outputSlot = 1 - outputSlot;
  return Status();
}

Status Staging::collect(Arena &view, const std::string &what) {
  int index = ended.front();
  OutputSlot &slot = outputSlots[index];
  HONERT_TRY(slot.downloaded.wait(what));
  ended.pop_front();
  for (size_t output : slot.pieces) {
    const Piece &piece = outputs[output];
    std::memcpy(view.at(piece.offset), pinnedOutputs(index) + piece.place,
                static_cast<size_t>(piece.bytes));
  }
  slot.pieces.clear();
  return Status();
}
