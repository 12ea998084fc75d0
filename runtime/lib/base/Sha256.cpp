//===- Sha256.cpp - SHA-256 and HMAC --------------------------------------===//

#include "base/Sha256.h"

#include <algorithm>
#include <cstring>

using namespace honert;

/// The first 32 bits of the fractional parts of the cube roots of the first 64
/// primes.
static constexpr uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t value, int bits) {
  return (value >> bits) | (value << (32 - bits));
}

/// The square roots of the first eight primes, likewise.
Sha256::Sha256()
    : state{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
            0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19} {}

void Sha256::addBlock(const uint8_t *bytes) {
  uint32_t w[64];
  for (int i = 0; i != 16; ++i)
    w[i] = uint32_t(bytes[4 * i]) << 24 | uint32_t(bytes[4 * i + 1]) << 16 |
           uint32_t(bytes[4 * i + 2]) << 8 | uint32_t(bytes[4 * i + 3]);
  for (int i = 16; i != 64; ++i)
    w[i] = w[i - 16] + w[i - 7] +
           (rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ (w[i - 15] >> 3)) +
           (rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ (w[i - 2] >> 10));
  auto [a, b, c, d, e, f, g, h] = state;
  for (int i = 0; i != 64; ++i) {
    uint32_t first = h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
                     ((e & f) ^ (~e & g)) + constants[i] + w[i];
    uint32_t second = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) +
                      ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + first;
    d = c, c = b, b = a, a = first + second;
  }
  const uint32_t added[] = {a, b, c, d, e, f, g, h};
  for (int i = 0; i != 8; ++i)
    state[i] += added[i];
}

void Sha256::add(const void *data, size_t bytes) {
  auto *at = static_cast<const uint8_t *>(data);
  while (bytes > 0) {
    size_t filled = length % block.size();
    size_t taken = std::min(bytes, block.size() - filled);
    std::memcpy(block.data() + filled, at, taken);
    length += taken, at += taken, bytes -= taken;
    if (length % block.size() == 0)
      addBlock(block.data());
  }
}

Digest Sha256::finish() {
  uint64_t bits = length * 8;
  const uint8_t one = 0x80, zero = 0;
  add(&one, 1);
  while (length % block.size() != 56)
    add(&zero, 1);
  uint8_t end[8];
  for (int i = 0; i != 8; ++i)
    end[i] = static_cast<uint8_t>(bits >> (56 - 8 * i));
  add(end, sizeof end);
  Digest digest;
  for (size_t i = 0; i != digest.size(); ++i)
    digest[i] = static_cast<uint8_t>(state[i / 4] >> (24 - 8 * (i % 4)));
  return digest;
}

Digest honert::sha256(const std::string &text) {
  Sha256 sum;
  sum.add(text.data(), text.size());
  return sum.finish();
}

Digest honert::hmacSha256(const Digest &key, const void *data, size_t bytes) {
  std::array<uint8_t, 64> inner = {}, outer = {};
  std::copy(key.begin(), key.end(), inner.begin());
  outer = inner;
  for (uint8_t &byte : inner)
    byte ^= 0x36;
  for (uint8_t &byte : outer)
    byte ^= 0x5c;
  Sha256 first, second;
  first.add(inner.data(), inner.size());
  first.add(data, bytes);
  Digest digest = first.finish();
  second.add(outer.data(), outer.size());
  second.add(digest.data(), digest.size());
  return second.finish();
}

bool honert::isEqualInConstantTime(const Digest &left, const Digest &right) {
  volatile uint8_t difference = 0; // not for the compiler to leave early
  for (size_t i = 0; i != left.size(); ++i)
    difference = difference | (left[i] ^ right[i]);
  return difference == 0;
}
