//===- Secret.h - What only the processes of a run know -------------------===//

#ifndef HONERT_COMM_TCP_SECRET_H
#define HONERT_COMM_TCP_SECRET_H

#include "base/Sha256.h"
#include "comm/group/LauncherEnvironment.h"

namespace honert {

/// The key with which a process proves that it belongs to a run.
struct RunKey {
  Digest key = {};       ///< of the secret; of the empty text without one
  bool isSecret = false; ///< some secret was given
  uint64_t run = 0;      ///< of what the launcher calls this run
};

/// From HONE_SECRET or the file HONE_SECRET_FILE names, as `place` tells them,
/// and the launcher's variables. Errors: both, one that is empty, shorter than
/// 16 bytes or longer than 4096; a file that is none, or that others may write.
Status readRunKey(const LauncherEnvironment &place, RunKey &key);

/// Mixes in a secret of this run alone: 32 random bytes.
void addSecret(const Digest &secret, RunKey &key);

/// Random bytes of the kernel.
Status fillRandom(void *data, size_t bytes);

/// Two digits per byte.
std::string toHex(const Digest &digest);
/// False if `text` is not 64 digits.
bool fromHex(const std::string &text, Digest &digest);

} // namespace honert

#endif // HONERT_COMM_TCP_SECRET_H
