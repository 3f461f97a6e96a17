// UTF-8, checked character by character.
#pragma once

#include <string_view>

namespace trainmem {

/// Length in bytes of the UTF-8 character at the start of the text; 0: it is not valid UTF-8.
int utf8_length(std::string_view text);

}  // namespace trainmem
