//===- Secret.cpp - What only the processes of a run know -----------------===//

#include "comm/tcp/Secret.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace honert;

static constexpr size_t shortest = 16, longest = 4096;

Status honert::fillRandom(void *data, size_t bytes) {
  auto *at = static_cast<char *>(data);
  while (bytes > 0) {
    ssize_t drawn = getrandom(at, bytes, 0);
    if (drawn < 0 && errno != EINTR)
      return Status::error(std::string("random numbers of the kernel: ") +
                           std::strerror(errno));
    if (drawn > 0)
      at += drawn, bytes -= static_cast<size_t>(drawn);
  }
  return Status();
}

std::string honert::toHex(const Digest &digest) {
  std::string text;
  for (uint8_t byte : digest)
    text += format("%02x", byte);
  return text;
}

bool honert::fromHex(const std::string &text, Digest &digest) {
  const std::string digits = "0123456789abcdef";
  if (text.size() != 2 * digest.size() ||
      text.find_first_not_of(digits) != std::string::npos)
    return false;
  for (size_t i = 0; i != digest.size(); ++i)
    digest[i] = static_cast<uint8_t>(digits.find(text[2 * i]) << 4 |
                                     digits.find(text[2 * i + 1]));
  return true;
}

/// A link is followed: clusters mount secrets as links. A pipe is not waited
/// for.
static Status readSecretFile(const std::string &path, std::string &text) {
  auto error = [&](const std::string &what) {
    return Status::error("HONE_SECRET_FILE: " + path + ": " + what);
  };
  int file = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0)
    return error(std::strerror(errno));
  struct stat found = {};
  text.resize(longest + 1);
  bool isFile = fstat(file, &found) == 0 && S_ISREG(found.st_mode);
  ssize_t bytes = isFile ? read(file, text.data(), text.size()) : 0;
  int failure = errno;
  close(file);
  if (!isFile)
    return error("expected a regular file");
  if (found.st_mode & (S_IWGRP | S_IWOTH))
    return error("other users may write it, expected chmod 600");
  if (bytes < 0)
    return error(std::strerror(failure));
  text.resize(static_cast<size_t>(bytes));
  return Status();
}

Status honert::readRunKey(const LauncherEnvironment &place, RunKey &key) {
  key = RunKey();
  if (place.secret && place.secretFile)
    return Status::error(
        "HONE_SECRET and HONE_SECRET_FILE are both set, expected one of them");
  key.isSecret = place.secret || place.secretFile;
  std::string text = place.secret.value_or("");
  if (place.secretFile)
    HONERT_TRY(readSecretFile(*place.secretFile, text));
  // An editor ends a file by a line feed.
  while (!text.empty() && std::strchr(" \t\r\n", text.back()))
    text.pop_back();
  if (key.isSecret && (text.size() < shortest || text.size() > longest))
    return Status::error(format(
        "%s: expected %zu to %zu bytes that nobody guesses, got %s%zu",
        place.secret ? "HONE_SECRET" : place.secretFile->c_str(), shortest,
        longest, text.size() > longest ? "at least " : "", text.size()));
  key.key = sha256("hone secret\n" + text);
  Digest run = sha256(place.run);
  std::memcpy(&key.run, run.data(), sizeof key.run);
  return Status();
}

void honert::addSecret(const Digest &secret, RunKey &key) {
  key.key = hmacSha256(key.key, secret.data(), secret.size());
  key.isSecret = true;
}
