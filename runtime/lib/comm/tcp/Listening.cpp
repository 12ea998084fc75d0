//===- Listening.cpp - Where rank 0 listens -------------------------------===//

#include "comm/tcp/Listening.h"

#include <algorithm>

using namespace honert;

Status Listening::add(SocketAddress address) {
  Socket socket;
  HONERT_TRY(listenAt(address, socket));
  sockets.push_back(std::move(socket));
  port = address.port();
  text += (text.empty() ? "" : ", ") + address.text();
  return Status();
}

/// Whether `host` means the same to every machine.
static bool isFixed(const std::string &host) {
  return host == "localhost" ||
         host.find_first_not_of("0123456789.") == std::string::npos ||
         host.find(':') != std::string::npos;
}

Status Listening::atMaster(const LauncherEnvironment &place,
                           int64_t masterPort) {
  std::vector<SocketAddress> all, own;
  HONERT_TRY(SocketAddress::find(place.masterAddress, masterPort, all));
  for (const SocketAddress &address : all) {
    bool isKnown = std::any_of(own.begin(), own.end(), [&](const auto &each) {
      return each.text() == address.text();
    });
    if (!isKnown && address.isOfThisMachine())
      own.push_back(address);
  }
  bool leadsToItself =
      std::all_of(own.begin(), own.end(),
                  [](const auto &each) { return each.isLoopback(); });
  if (own.empty())
    reason = "is no address of this machine";
  else if (leadsToItself && place.localSize < place.size &&
           !isFixed(place.masterAddress))
    reason = "is " +
             own.front().text().substr(0, own.front().text().rfind(':')) +
             " here, which other machines do not reach";
  bool isEverywhere = !reason.empty();
  isLoopback = leadsToItself && !isEverywhere;
  if (isEverywhere)
    own = {SocketAddress::everywhere(masterPort)};
  for (const SocketAddress &address : own)
    HONERT_TRY(add(address));
  return Status();
}

Status Listening::atFreePort(const LauncherEnvironment &place) {
  isLoopback = place.localSize == place.size;
  SocketAddress address = SocketAddress::everywhere(0);
  if (isLoopback) {
    std::vector<SocketAddress> own;
    HONERT_TRY(SocketAddress::find("127.0.0.1", 0, own));
    address = own.front();
  }
  return add(address);
}
