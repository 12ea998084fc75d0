//===- MessageChannels.cpp - Channels between stages by messages ----------===//

#include "comm/host/MessageChannels.h"

using namespace honert;

Status MessageChannels::begin(const End &end, int64_t offset, int64_t bytes,
                              const std::string &what) {
  int64_t tag = PointToPoint::firstChannelTag + end.channel;
  if (tag >= PointToPoint::largestTag)
    return Status::error(
        format("%s: is channel %lld, expected less than %lld", what.c_str(),
               static_cast<long long>(end.channel),
               static_cast<long long>(PointToPoint::largestTag -
                                      PointToPoint::firstChannelTag)));
  char *data = arena + offset;
  std::deque<Transfer> &transfers = underWay[end];
  transfers.push_back({log.begin(what), PendingMessages(peers, log)});
  PendingMessages &pending = transfers.back().pending;
  return end.sends ? pending.send(end.peer, tag, data, bytes)
                   : pending.receive(end.peer, tag, data, bytes);
}

Status MessageChannels::await(const End &end) {
  std::deque<Transfer> &transfers = underWay[end];
  if (transfers.empty())
    return Status::error(format("channel %lld has nothing under way",
                                static_cast<long long>(end.channel)));
  Transfer &oldest = transfers.front();
  HONERT_TRY(oldest.pending.finish(oldest.number));
  log.end(oldest.number);
  transfers.pop_front();
  return Status();
}

Status MessageChannels::progress() {
  for (auto &[end, transfers] : underWay)
    for (Transfer &transfer : transfers)
      HONERT_TRY(transfer.pending.progress());
  return Status();
}
