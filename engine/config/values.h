// Storing one value in one field, with its check: what the JSON reader and the link codec have in common.
//
// A value that the field cannot hold is not stored; the field keeps what it had and an issue says so.
#pragma once

#include "engine/config/fields.h"
#include "engine/issue.h"

namespace trainmem {

/// Where a value came from: the configuration it goes to, the issues it may cause.
struct Store {
  Config& config;
  Issues& issues;

  void integer(const Field& field, std::int64_t value) const;
  void number(const Field& field, double value) const;
  void word(const Field& field, std::string_view value) const;  ///< texts and enumerations
  void wrong_type(const Field& field, const std::string& found) const;
  void out_of_range(const Field& field, const std::string& found) const;
};

/// Texts may hold letters, digits and common signs of ASCII, and UTF-8; no control characters.
bool acceptable_text(std::string_view text);

/// The recipe that a framework starts from when no recipe preset is named; torchtitan's releases start from their own.
Recipe default_recipe(Framework framework, TorchtitanRelease release = Recipe{}.torchtitan_release);

/// The same for the configuration's model: its sequences are no longer than the model can take.
void start_recipe(Config& config, Framework framework, TorchtitanRelease release = Recipe{}.torchtitan_release);

/// Starts a recipe as a text says by these words of `framework` and `torchtitan_release`; of no or unknown words
/// nothing follows. `unsaid`: the release of a text that names torchtitan alone.
void start_recipe_of(Config& config, std::string_view framework, std::string_view release, TorchtitanRelease unsaid);

/// Shortens a sequence_length that nobody gave, a default or a recipe preset's, to what the model can take.
void fit_sequence(Config& config);

/// Tokens that a table of learned positions has room for; 0: there is no table, so no limit.
std::int64_t longest_sequence(const Model& model);

/// Fills sizes that follow from others where they are 0: head_dim, key/value heads, position rows.
void complete(Config& config);

bool operator==(const Config& a, const Config& b);

}  // namespace trainmem
