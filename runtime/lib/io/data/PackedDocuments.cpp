//===- PackedDocuments.cpp - How many documents files hold ----------------===//

#include "io/data/PackedDocuments.h"
#include "base/Files.h"
#include "base/Json.h"

using namespace honert;

/// Far more than hone tokens writes.
static constexpr int64_t mostBytes = 1 << 24;

PackedDocuments honert::findPackedDocuments(const std::string &file) {
  ReadFile facts;
  if (!facts.open(folderOf(file) + "/tokens.json").ok() ||
      facts.size() > mostBytes)
    return {};
  std::string text(static_cast<size_t>(facts.size()), '\0');
  if (!facts.readAt(0, text.data(), facts.size()).ok())
    return {};
  PackedDocuments found;
  JsonReader reader(text);
  bool isRead = reader.readObject([&](const std::string &key) {
    bool isCount = key == "documents", isEnd = key == "end_id";
    if ((!isCount && !isEnd) || reader.isNext('n'))
      return reader.skipValue();
    uint64_t number = 0;
    if (!reader.readUnsigned(number))
      return false;
    if (isCount)
      found.count = number;
    else
      found.end = number;
    return true;
  });
  return isRead ? found : PackedDocuments();
}
