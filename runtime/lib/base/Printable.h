//===- Printable.h - Text that may go to a terminal -------------*- C++ -*-===//

#ifndef HONERT_BASE_PRINTABLE_H
#define HONERT_BASE_PRINTABLE_H

#include <string>
#include <string_view>

namespace honert {

/// `text` on one line, for messages, which hold names from files: control
/// characters and bytes that are no UTF-8 become \xNN; of more than 2,000 bytes
/// the middle is left out. Applied twice it changes nothing more.
std::string printable(std::string_view text);

} // namespace honert

#endif // HONERT_BASE_PRINTABLE_H
