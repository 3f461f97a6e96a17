// Values of fields as plain text: what links and the settings files of frameworks have in common.
#pragma once

#include <string>
#include <string_view>

#include "engine/config/values.h"

namespace trainmem {

/// "-12", "0.5", "1e20": digits, at most one point, at most one exponent; `whole`: an integer of at most 18 characters.
bool is_number_text(std::string_view text, bool whole);

/// Stores what the text says, checked as a field of JSON is; booleans are 0, 1, false or true.
void store_text(const Field& field, const std::string& value, const Store& to);

/// The text that store_text reads back.
std::string value_text(const Field& field, const Config& config);

/// The same for people, as JSON and presets have it: booleans are words.
std::string value_words(const Field& field, const Config& config);

}  // namespace trainmem
