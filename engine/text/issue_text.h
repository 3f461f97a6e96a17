// Wording shared by all messages: how a user's text is quoted, how a JSON pointer is built.
#pragma once

#include <string>
#include <string_view>

namespace trainmem {

/// The text in quotes, cut to 40 bytes, with everything but printable ASCII replaced by '?'.
std::string in_quotes(std::string_view text);

/// Adds "/key" to a JSON pointer, with ~ and / escaped as RFC 6901 has it; long or unprintable keys are cut as in
/// in_quotes.
void append_pointer(std::string& pointer, std::string_view key);

}  // namespace trainmem
