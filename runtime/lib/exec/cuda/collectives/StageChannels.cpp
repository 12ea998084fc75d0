//===- StageChannels.cpp - What the GPUs of stages send each other --------===//

#include "exec/cuda/collectives/StageChannels.h"

using namespace honert;

/// A message that waits for the other end occupies multiprocessors meanwhile.
/// With so many blocks at most, those of a rank's few lines leave most of a GPU
/// to the kernels that the other end may wait for.
static constexpr int channelCtas = 8;

StageChannels::StageChannels(const Device &device, const Program &program,
                             int64_t rank, Communicators &communicators,
                             CollectiveProgress &progress)
    : device(device), program(program), rank(rank),
      communicators(communicators), marks(progress) {
  if (!program.isStage())
    return;
  plan = planLines(program.whole());
  int64_t own = program.mesh.numberInGroup(rank, program.mesh.stageAxes());
  for (size_t i = 0; i != plan.size(); ++i) {
    for (int64_t channel : plan[i].channels)
      lineOf[channel] = i;
    if (plan[i].source == own || plan[i].destination == own)
      lines[i];
  }
}

StageChannels::~StageChannels() {
  for (auto &[number, line] : lines)
    if (line.stream)
      (void)device.functions().cuStreamDestroy_v2(line.stream);
}

//===----------------------------------------------------------------------===//
// Start
//===----------------------------------------------------------------------===//

Status StageChannels::start(int priority) {
  for (auto &[number, line] : lines) {
    HONERT_TRY(device.check(device.functions().cuStreamCreateWithPriority(
                                &line.stream, CU_STREAM_NON_BLOCKING, priority),
                            "a stream cannot be made"));
    HONERT_TRY(line.ready.create(device, /*timed=*/false));
  }
  return Status();
}

/// The lines of a round, each between all pairs of ranks that differ only in
/// their stage.
Status StageChannels::joinRound(const std::vector<size_t> &round) {
  Axes stages = program.mesh.stageAxes();
  std::vector<int64_t> group = program.mesh.groupOf(rank, stages);
  int64_t color = ncclSplitNoColor, key = 0;
  std::string name = "pp";
  Line *own = nullptr;
  for (size_t i = 0; i != round.size(); ++i) {
    auto found = lines.find(round[i]);
    if (found == lines.end())
      continue;
    const ChannelLine &line = plan[found->first];
    own = &found->second;
    color = static_cast<int64_t>(i) * program.mesh.ranks() + group.front();
    key = group[static_cast<size_t>(line.destination)] == rank;
    name = format("pp from %lld to %lld", static_cast<long long>(line.source),
                  static_cast<long long>(line.destination));
  }
  Communicator *part = nullptr;
  int blocks =
      communicators.mostCtas() ? communicators.mostCtas() : channelCtas;
  HONERT_TRY(communicators.addPart(color, key, name, blocks, part));
  if (own)
    own->communicator = part;
  return Status();
}

Status StageChannels::join(const DeviceMemory &arena) {
  memory = &arena;
  for (const std::vector<size_t> &round : planRounds(plan))
    HONERT_TRY(joinRound(round));
  return Status();
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

Status StageChannels::issue(const Line &line, bool sends, void *data,
                            int64_t bytes, const std::string &what) {
  if (bytes == 0)
    return Status();
  const NcclFunctions &nccl = communicators.functions();
  ncclComm_t comm = line.communicator->get();
  auto count = static_cast<size_t>(bytes);
  ncclResult_t result = nccl.ncclGroupStart();
  if (result == ncclSuccess || result == ncclInProgress)
    result = sends ? nccl.ncclSend(data, count, ncclInt8, 1, comm, line.stream)
                   : nccl.ncclRecv(data, count, ncclInt8, 0, comm, line.stream);
  ncclResult_t ended = nccl.ncclGroupEnd(); // also after an error
  if (result == ncclSuccess || result == ncclInProgress)
    result = ended;
  return line.communicator->finish(result, what);
}

DeviceEvent StageChannels::takeSpare() {
  DeviceEvent event = std::move(spare.back());
  spare.pop_back();
  return event;
}

Status StageChannels::put(Line &line, const End &end, int64_t offset,
                          int64_t bytes, const std::string &what) {
  bool hasSpare = !spare.empty();
  Message message = {what, hasSpare ? takeSpare() : DeviceEvent()};
  if (!hasSpare)
    HONERT_TRY(message.done.create(device, /*timed=*/false));
  HONERT_TRY(line.ready.record());
  HONERT_TRY(line.ready.holdBack(line.stream));
  HONERT_TRY(issue(line, end.sends,
                   reinterpret_cast<void *>(memory->at(offset)), bytes, what));
  HONERT_TRY(message.done.record(line.stream));
  underWay[end].push_back(std::move(message));
  return Status();
}

Status StageChannels::begin(const End &end, int64_t offset, int64_t bytes,
                            const std::string &what) {
  auto line = lineOf.find(end.channel);
  if (line == lineOf.end())
    return Status::error(format("%s: is on channel %lld, which no list has",
                                what.c_str(),
                                static_cast<long long>(end.channel)));
  Status status = put(lines.at(line->second), end, offset, bytes, what);
  if (!status.ok())
    communicators.abort(); // or what waits for others would never end
  return status;
}

Status StageChannels::await(const End &end) {
  std::deque<Message> &messages = underWay[end];
  if (messages.empty())
    return Status::error(format("channel %lld has nothing under way",
                                static_cast<long long>(end.channel)));
  Message &oldest = messages.front();
  Status status = marks.await(oldest.what, oldest.done);
  if (status.ok())
    status = oldest.done.holdBack(device.stream());
  if (!status.ok()) {
    communicators.abort();
    return status;
  }
  spare.push_back(std::move(oldest.done));
  messages.pop_front();
  return Status();
}
