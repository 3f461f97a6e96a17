// A configuration as people hand it over: JSON, or a link.
#pragma once

#include <string_view>

#include "engine/codec/json_config.h"

namespace trainmem {

/// The first character decides: JSON begins with a bracket or a quote.
bool is_json(std::string_view text);

/// JSON or a link; of a link of two configurations the second counts.
ReadConfig read_request_text(std::string_view text);

}  // namespace trainmem
