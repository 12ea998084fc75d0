//===- Sha256.h - SHA-256 and HMAC ----------------------------------------===//

#ifndef HONERT_BASE_SHA256_H
#define HONERT_BASE_SHA256_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace honert {

using Digest = std::array<uint8_t, 32>;

/// SHA-256 (FIPS 180-4) of bytes that come in pieces.
class Sha256 {
public:
  Sha256();
  void add(const void *data, size_t bytes);
  /// Of all that was added; called once.
  Digest finish();

private:
  void addBlock(const uint8_t *block);

  std::array<uint32_t, 8> state;
  std::array<uint8_t, 64> block;
  uint64_t length = 0; ///< bytes so far
};

Digest sha256(const std::string &text);
/// HMAC-SHA-256 (RFC 2104).
Digest hmacSha256(const Digest &key, const void *data, size_t bytes);
/// The time it takes does not depend on where they differ.
bool isEqualInConstantTime(const Digest &left, const Digest &right);

} // namespace honert

#endif // HONERT_BASE_SHA256_H
