//===- RendezvousFile.h - A file that says where rank 0 listens -----------===//
//
// The file of --dist-bootstrap=file:PATH. Rank 0 writes it for the others, with
// a secret of this run alone, so that only processes of its owner can join, and
// removes it when all are connected. Only a regular file of this user that no
// other user may write is read or replaced. No link is followed. A file server
// may give all files one owner ("root squash"): then the ranks need a secret
// of their own besides.
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
  /// The ranks have HONE_SECRET besides, which a forged file does not hold.
  bool hasOtherSecret = false;

  /// Writes the file atomically. Errors: `path` is neither an earlier
  /// rendezvous file nor an empty one.
  Status write(const std::string &path);
  /// `isThere`: the file exists and is not empty. Errors as of write().
  Status read(const std::string &path, bool &isThere);
  /// Removes this file, but not one that replaced it.
  void remove(const std::string &path) const;

  std::string text() const;
  /// False if `text` is no rendezvous file.
  bool parse(const std::string &text);

private:
  Status checkKind(const std::string &path, int descriptor);
  Status writeAll(const std::string &path, int descriptor);

  /// The owner that the server gives files of this user, once known.
  std::optional<unsigned> squashedUser;
};

} // namespace honert

#endif // HONERT_COMM_TCP_RENDEZVOUSFILE_H
