// Values of fields as JSON: stored from a parsed text, each checked by the table, and written.
#pragma once

#include <string>
#include <string_view>

#include "engine/config/values.h"
#include "engine/text/json_tree.h"
#include "engine/text/json_writer.h"

namespace trainmem {

/// What an object's keys that are no fields are: mistakes, or in a preset's text its description.
enum class OtherKeys : std::uint8_t { are_issues, are_ignored };

/// Stores the fields of one object and of those inside it. `path` is the object's: "/model".
void store_fields(const JsonTree& object, const std::string& path, OtherKeys others, const Store& to);

/// Says that the object at `group` has no such key, and which one may be meant.
void report_unknown_key(const std::string& group, std::string_view key, Issues& issues);

/// What a JSON value is, for messages: "the text \"7\"", "a list".
std::string describe(const JsonTree& tree);

void write_value(const Field& field, const Config& config, JsonWriter& out);

}  // namespace trainmem
