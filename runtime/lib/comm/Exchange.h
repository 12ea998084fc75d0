//===- Exchange.h - Messages that are waited for together -----------------===//

#ifndef HONERT_COMM_EXCHANGE_H
#define HONERT_COMM_EXCHANGE_H

#include "comm/CollectiveLog.h"
#include "comm/Messenger.h"

#include <vector>

namespace honert {

/// Some messages to and from other ranks, of any size, with one tag.
class Exchange {
public:
  Exchange(Messenger &messenger, CollectiveLog &log)
      : messenger(messenger), log(log) {}

  Status send(int64_t to, int64_t tag, const char *data, int64_t bytes);
  Status receive(int64_t from, int64_t tag, char *data, int64_t bytes);
  /// Waits until all messages are done, in the log's entry `number`.
  Status finish(int64_t number);

private:
  Messenger &messenger;
  CollectiveLog &log;
  std::vector<Message> messages;
};

} // namespace honert

#endif // HONERT_COMM_EXCHANGE_H
