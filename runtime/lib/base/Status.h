//===- Status.h - Success, or the one line a user reads -------------------===//

#ifndef HONERT_BASE_STATUS_H
#define HONERT_BASE_STATUS_H

#include <string>
#include <utility>

namespace honert {

/// Success, or an error with the line that explains it ("FILE: what was seen,
/// what was expected") and the exit code it leads to. Never ignored.
class [[nodiscard]] Status {
public:
  Status() = default;

  /// An error of the input or the machine: exit code 1.
  static Status error(std::string message) {
    return Status(std::move(message), 1);
  }
  /// A wrong command line: exit code 2.
  static Status usage(std::string message) {
    return Status(std::move(message), 2);
  }
  /// An error whose line is already on stderr.
  static Status reported() { return Status("", 1); }
  /// A run that ended well, but early, because of `signal`: exit code 128 +
  /// signal, as shells and schedulers know it. Nothing is left to say.
  static Status stopped(int signal) { return Status("", 128 + signal); }

  bool ok() const { return code == 0; }
  bool isStop() const { return code > 128; }
  int exitCode() const { return code; }
  const std::string &message() const { return text; }

private:
  Status(std::string message, int code)
      : text(std::move(message)), code(code) {}

  std::string text;
  int code = 0;
};

/// printf into a string.
std::string format(const char *pattern, ...)
    __attribute__((format(printf, 1, 2)));

} // namespace honert

/// Returns from the enclosing function if `expression` is an error.
#define HONERT_TRY(expression)                                                 \
  do {                                                                         \
    if (::honert::Status tried = (expression); !tried.ok())                    \
      return tried;                                                            \
  } while (false)

#endif // HONERT_BASE_STATUS_H
