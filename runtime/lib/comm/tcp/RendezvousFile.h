//===- RendezvousFile.h - A file that says where rank 0 listens -----------===//
//
// What --dist-bootstrap=file:PATH names. Rank 0 makes it for the others, with a
// secret of this run alone, so that only its owner can join; it is removed when
// all have met. Nothing but a regular file of this user that nobody else may
// write is believed, or replaced. No link is followed. A file server may take
// users for one ("root squash"): its files are believed if the ranks have a
// secret besides.
//
//===----------------------------------------------------------------------===//

#ifndef HONERT_COMM_TCP_RENDEZVOUSFILE_H
#define HONERT_COMM_TCP_RENDEZVOUSFILE_H

#include "comm/tcp/Secret.h"

#include <optional>

namespace honert {

struct RendezvousFile {
  std::string host;
  int64_t port = 0;
  uint64_t run = 0;
  Digest secret = {};
  /// The ranks have HONE_SECRET, too: without it a forged file leads nowhere.
  bool hasOtherSecret = false;

  /// Whole or not at all. Errors: `path` is something else than an earlier such
  /// file or an empty one.
  Status write(const std::string &path);
  /// `isThere`: it is; an empty file is none. Errors as of write().
  Status read(const std::string &path, bool &isThere);
  /// Removes this file, but not one that replaced it.
  void remove(const std::string &path) const;

  std::string text() const;
  /// False if `text` is no such file.
  bool parse(const std::string &text);

private:
  Status checkKind(const std::string &path, int descriptor);
  Status writeAll(const std::string &path, int descriptor);

  /// Whom the server takes this user for, once known.
  std::optional<unsigned> squashedUser;
};

} // namespace honert

#endif // HONERT_COMM_TCP_RENDEZVOUSFILE_H
