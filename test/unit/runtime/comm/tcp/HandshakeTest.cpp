//===- HandshakeTest.cpp - Secrets, proofs and files that carry them ------===//

#include "comm/tcp/Admission.h"
#include "comm/tcp/Listening.h"
#include "comm/tcp/RendezvousFile.h"
#include "comm/tcp/SocketProcessGroup.h"
#include "support/Run.h"

#include <gtest/gtest.h>

#include <cstring>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace honert;

namespace {

//===----------------------------------------------------------------------===//
// SHA-256
//===----------------------------------------------------------------------===//

/// Of FIPS 180-4's examples, and RFC 4231's cases 1 to 3 (whose keys are
/// shorter than a digest: zeros after them change nothing).
TEST(Sha256, examples_of_the_standards) {
  EXPECT_EQ(toHex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb924"
                               "27ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(toHex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223"
                                  "b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(
      toHex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(toHex(sha256(std::string(1000000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67"
            "f1809a48a497200e046d39ccc7112cd0");
  auto hmac = [](const std::string &key, const std::string &text) {
    Digest padded = {};
    std::copy(key.begin(), key.end(), padded.begin());
    return toHex(hmacSha256(padded, text.data(), text.size()));
  };
  EXPECT_EQ(hmac(std::string(20, '\x0b'), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b"
            "881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hmac("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c7"
            "5a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hmac(std::string(20, '\xaa'), std::string(50, '\xdd')),
            "773ea91e36800e46854db8ebd09181a7"
            "2959098b3ef8c122d9635514ced565fe");
}

TEST(Sha256, pieces_do_not_matter) {
  std::string text(300, 'x');
  for (size_t first = 0; first <= text.size(); first += 7) {
    Sha256 sum;
    sum.add(text.data(), first);
    sum.add(text.data() + first, text.size() - first);
    EXPECT_EQ(sum.finish(), sha256(text));
  }
}

TEST(Sha256, every_bit_is_compared) {
  Digest one = sha256("one"), other = one;
  EXPECT_TRUE(isEqualInConstantTime(one, other));
  for (size_t bit = 0; bit != 256; ++bit) {
    other = one;
    other[bit / 8] ^= uint8_t(1 << bit % 8);
    EXPECT_FALSE(isEqualInConstantTime(one, other)) << bit;
  }
}

//===----------------------------------------------------------------------===//
// Secrets
//===----------------------------------------------------------------------===//

std::string errorOf(const LauncherEnvironment &place) {
  RunKey key;
  return readRunKey(place, key).message();
}

Digest keyOf(const LauncherEnvironment &place) {
  RunKey key;
  EXPECT_EQ(readRunKey(place, key).message(), "");
  EXPECT_EQ(key.isSecret, place.secret || place.secretFile);
  return key.key;
}

TEST(CommSecret, comes_from_a_variable_or_a_file) {
  test::Folder folder;
  LauncherEnvironment none, variable, file, other;
  variable.secret = "0123456789abcdef";
  file.secretFile = folder / "secret";
  other.secret = "0123456789abcdeg";
  test::writeFile(folder / "secret", "0123456789abcdef\n");
  EXPECT_EQ(keyOf(variable), keyOf(file));
  EXPECT_NE(keyOf(variable), keyOf(other));
  EXPECT_NE(keyOf(variable), keyOf(none));
  // A cluster mounts a secret as a link.
  ASSERT_EQ(symlink("secret", (folder / "link").c_str()), 0);
  file.secretFile = folder / "link";
  EXPECT_EQ(keyOf(variable), keyOf(file));
}

TEST(CommSecret, what_is_none_is_refused) {
  test::Folder folder;
  LauncherEnvironment place;
  place.secret = "";
  EXPECT_EQ(errorOf(place), "HONE_SECRET: expected 16 to 4096 bytes that "
                            "nobody guesses, got 0");
  place.secret = "short";
  EXPECT_EQ(errorOf(place), "HONE_SECRET: expected 16 to 4096 bytes that "
                            "nobody guesses, got 5");
  place.secretFile = folder / "none";
  EXPECT_EQ(errorOf(place), "HONE_SECRET and HONE_SECRET_FILE are both set, "
                            "expected one of them");
  place.secret.reset();
  std::string name = "HONE_SECRET_FILE: " + *place.secretFile + ": ";
  EXPECT_EQ(errorOf(place), name + "No such file or directory");
  ASSERT_EQ(mkfifo(place.secretFile->c_str(), 0600), 0);
  EXPECT_EQ(errorOf(place), name + "expected a regular file");
  unlink(place.secretFile->c_str());
  test::writeFile(*place.secretFile, std::string(5000, 'x'));
  EXPECT_EQ(errorOf(place), *place.secretFile +
                                ": expected 16 to 4096 bytes that nobody "
                                "guesses, got at least 4097");
  ASSERT_EQ(chmod(place.secretFile->c_str(), 0622), 0);
  EXPECT_EQ(errorOf(place),
            name + "other users may write it, expected chmod 600");
}

//===----------------------------------------------------------------------===//
// The file of --dist-bootstrap
//===----------------------------------------------------------------------===//

struct RendezvousFileTest : testing::Test {
  RendezvousFileTest() { file.host = "node0", file.port = 5, file.run = 6; }
  std::string readError() {
    bool isThere;
    return RendezvousFile().read(path, isThere).message();
  }
  /// Nobody reads it, or replaces it.
  void expectRefused(const std::string &what) {
    EXPECT_EQ(readError(), path + ": " + what);
    EXPECT_EQ(file.write(path).message(), path + ": " + what);
  }

  test::Folder folder;
  const std::string path = folder / "place";
  RendezvousFile file;
};

TEST_F(RendezvousFileTest, only_its_owner_reads_it) {
  file.secret = sha256("some");
  ASSERT_EQ(file.write(path).message(), "");
  struct stat found;
  ASSERT_EQ(stat(path.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600u);
  RendezvousFile read;
  bool isThere = false;
  ASSERT_EQ(read.read(path, isThere).message(), "");
  EXPECT_TRUE(isThere);
  EXPECT_EQ(read.text(), file.text());
  RendezvousFile another = file;
  another.secret = sha256("another");
  another.remove(path); // not that one's
  EXPECT_TRUE(test::exists(path));
  file.remove(path);
  EXPECT_FALSE(test::exists(path));
}

TEST_F(RendezvousFileTest, none_and_an_empty_one_are_no_place) {
  bool isThere = true;
  EXPECT_EQ(RendezvousFile().read(path, isThere).message(), "");
  EXPECT_FALSE(isThere);
  test::writeFile(path, "");
  EXPECT_EQ(RendezvousFile().read(path, isThere).message(), "");
  EXPECT_FALSE(isThere);
  EXPECT_EQ(file.write(path).message(), "");
}

TEST_F(RendezvousFileTest, a_link_is_not_followed) {
  ASSERT_EQ(file.write(folder / "target").message(), "");
  ASSERT_EQ(symlink("target", path.c_str()), 0);
  expectRefused("is a link, expected a regular file, or none");
  EXPECT_EQ(test::readFile(folder / "target"), file.text());
}

TEST_F(RendezvousFileTest, a_pipe_is_not_waited_for) {
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  expectRefused("expected a regular file, or none");
}

TEST_F(RendezvousFileTest, a_folder) {
  ASSERT_EQ(mkdir(path.c_str(), 0700), 0);
  expectRefused("expected a regular file, or none");
}

TEST_F(RendezvousFileTest, files_of_something_else_stay) {
  for (const std::string &text :
       {std::string("my notes\n"), std::string(100000, 'x'), std::string(1, 0),
        file.text() + "more", file.text().substr(0, 40)}) {
    test::writeFile(path, text);
    expectRefused("expected no file, or one that an earlier run left, got a "
                  "file of something else");
    EXPECT_EQ(test::readFile(path), text);
  }
}

TEST_F(RendezvousFileTest, others_must_not_write_it) {
  ASSERT_EQ(file.write(path).message(), "");
  ASSERT_EQ(chmod(path.c_str(), 0666), 0);
  expectRefused("other users may write it, expected chmod 600");
}

/// Files that this thread makes belong to `user`, as on a file server that
/// takes root for nobody. Only root can do that.
struct Squashed {
  explicit Squashed(uid_t user) { setfsuid(user); }
  ~Squashed() { setfsuid(geteuid()); }
  static constexpr uid_t nobody = 65534;
};

struct SquashedRendezvousFileTest : RendezvousFileTest {
  void SetUp() override {
    if (geteuid() != 0)
      GTEST_SKIP() << "only root can make files of another user";
    ASSERT_EQ(chown(folder.path.c_str(), Squashed::nobody, -1), 0);
  }
  static std::string belongs(unsigned user) {
    return format("belongs to user %u, expected user 0 or no file", user);
  }
};

TEST_F(SquashedRendezvousFileTest, its_owner_is_whom_the_server_takes_for_us) {
  Squashed squashed(Squashed::nobody);
  file.hasOtherSecret = true;
  ASSERT_EQ(file.write(path).message(), "");
  RendezvousFile read;
  read.hasOtherSecret = true;
  bool isThere = false;
  ASSERT_EQ(read.read(path, isThere).message(), "");
  EXPECT_TRUE(isThere);
  EXPECT_EQ(read.text(), file.text());
  ASSERT_EQ(file.write(path).message(), ""); // over that of an earlier run
  EXPECT_EQ(test::namesIn(folder.path), std::vector<std::string>{"place"});
  file.remove(path);
  EXPECT_FALSE(test::exists(path));
}

TEST_F(SquashedRendezvousFileTest, files_of_others_are_refused) {
  ASSERT_EQ(file.write(path).message(), "");
  ASSERT_EQ(chown(path.c_str(), 1234, -1), 0);
  expectRefused(belongs(1234));
  Squashed squashed(Squashed::nobody);
  EXPECT_EQ(readError(), path + ": Permission denied");
  ASSERT_EQ(chmod(folder.path.c_str(), 0755), 0);
  {
    Squashed no(0);
    ASSERT_EQ(chmod(path.c_str(), 0644), 0);
  }
  expectRefused(belongs(1234));
}

TEST_F(SquashedRendezvousFileTest, without_a_server_nobody_is_another_user) {
  ASSERT_EQ(file.write(path).message(), "");
  ASSERT_EQ(chown(path.c_str(), Squashed::nobody, -1), 0);
  expectRefused(belongs(Squashed::nobody));
}

/// The server may take others for the same user.
TEST_F(SquashedRendezvousFileTest, without_another_secret_is_refused) {
  file.hasOtherSecret = true;
  ASSERT_EQ(file.write(folder / "other").message(), "");
  file.hasOtherSecret = false;
  ASSERT_EQ(chown((folder / "other").c_str(), Squashed::nobody, -1), 0);
  Squashed squashed(Squashed::nobody);
  EXPECT_NE(file.write(path).message(), "");
  EXPECT_FALSE(test::exists(path)); // the others would refuse it
  test::writeFile(path, test::readFile(folder / "other"));
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  expectRefused("belongs to user 65534, as do all files that user 0 makes "
                "there and perhaps those of other users; expected HONE_SECRET "
                "or HONE_SECRET_FILE as well, or MASTER_ADDR and MASTER_PORT "
                "instead of a file");
}

//===----------------------------------------------------------------------===//
// Where rank 0 listens
//===----------------------------------------------------------------------===//

LauncherEnvironment placeAt(const std::string &address, int64_t here) {
  LauncherEnvironment place;
  place.size = 4, place.localSize = here, place.masterAddress = address;
  return place;
}

TEST(CommListening, at_the_address_of_the_master_alone) {
  Listening listening;
  ASSERT_EQ(listening.atMaster(placeAt("127.0.0.1", 1), 0).message(), "");
  EXPECT_EQ(listening.text, format("127.0.0.1:%d", int(listening.port)));
  EXPECT_TRUE(listening.isLoopback);
  // Every other address of this machine, of which it has millions.
  std::vector<SocketAddress> others;
  ASSERT_TRUE(SocketAddress::find("127.0.0.2", listening.port, others).ok());
  Socket socket;
  ASSERT_TRUE(connectTo(others[0], Deadline(5), socket).ok());
  EXPECT_FALSE(socket.isOpen());
}

TEST(CommListening, everywhere_behind_a_nat) {
  Listening listening; // of a range that nobody has
  ASSERT_EQ(listening.atMaster(placeAt("240.0.0.1", 1), 0).message(), "");
  EXPECT_EQ(listening.reason, "is no address of this machine");
  EXPECT_FALSE(listening.isLoopback);
}

TEST(CommListening, a_file_leads_as_far_as_ranks_are) {
  Listening here, everywhere;
  ASSERT_EQ(here.atFreePort(placeAt("", 4)).message(), "");
  EXPECT_TRUE(here.isLoopback);
  ASSERT_EQ(everywhere.atFreePort(placeAt("", 1)).message(), "");
  EXPECT_FALSE(everywhere.isLoopback);
}

//===----------------------------------------------------------------------===//
// Proofs
//===----------------------------------------------------------------------===//

RunKey keyOf(const std::string &secret) {
  LauncherEnvironment place;
  place.secret = secret + " of at least sixteen bytes";
  RunKey key;
  EXPECT_TRUE(readRunKey(place, key).ok());
  return key;
}

TEST(CommHandshake, a_proof_holds_for_one_connection) {
  RunKey key = keyOf("a secret"), other = keyOf("another");
  Challenge challenge, second;
  ASSERT_TRUE(makeChallenge(challenge).ok());
  ASSERT_TRUE(makeChallenge(second).ok());
  // Reads what a caller says, as one that listens does.
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
  Socket here(ends[0]);
  ASSERT_TRUE(sendAll(here, &challenge, sizeof challenge, Deadline(5)).ok());
  Call call(key, 1, 4);
  Deadline soon(0.2); // nobody answers
  ASSERT_EQ(call.open(Socket(ends[1]), soon), Reply::welcome);
  EXPECT_EQ(call.introduce(soon), Reply::busy);
  Hello hello;
  ASSERT_TRUE(receiveAll(here, &hello, sizeof hello, Deadline(5)).ok());
  EXPECT_EQ(hello.rank, 1);
  EXPECT_TRUE(knowsSecret(key, challenge, hello));
  EXPECT_FALSE(knowsSecret(other, challenge, hello));
  EXPECT_FALSE(knowsSecret(key, second, hello)); // later
  for (size_t byte = 0; byte != sizeof hello; ++byte) {
    Hello changed = hello;
    reinterpret_cast<char *>(&changed)[byte] ^= 1;
    EXPECT_FALSE(knowsSecret(key, challenge, changed)) << byte;
  }
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

/// What a rank says of a frame of the other one: rank 0, or rank 1 of it.
std::string saysOf(int64_t rank, Frame frame) {
  int ends[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
  std::vector<Socket> peers;
  if (rank == 0)
    peers.emplace_back();
  peers.emplace_back(ends[0]);
  Socket there(ends[1]);
  EXPECT_TRUE(sendAll(there, &frame, sizeof frame, Deadline(5)).ok());
  SocketProcessGroup world(rank, 2, std::move(peers), 20);
  char byte;
  return world.broadcast(&byte, 1, 1 - rank).message();
}

TEST(CommMessages, frames_are_checked_before_bytes_are_read) {
  for (int64_t rank : {0, 1}) {
    auto other = static_cast<long long>(1 - rank);
    for (int64_t bytes :
         {int64_t(40000000000), INT64_MAX, int64_t(-1), int64_t(0), int64_t(2)})
      EXPECT_EQ(saysOf(rank, {Frame::data, bytes}),
                format("rank %lld sent %lld bytes, expected 1", other,
                       static_cast<long long>(bytes)));
    for (Frame frame : {Frame{0, 1}, Frame{4, 1}, Frame{Frame::left, 2},
                        Frame{Frame::awaits, -1}})
      EXPECT_EQ(saysOf(rank, frame),
                format("rank %lld sent what is no message", other));
  }
  // Only rank 0 speaks of others.
  EXPECT_EQ(saysOf(0, {Frame::left, 0}), "rank 1 sent what is no message");
  EXPECT_EQ(saysOf(1, {Frame::left, 1}), "rank 1 has left the run");
}

} // namespace
