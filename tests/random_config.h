// Random configurations for property tests. The same seed gives the same configurations on every machine.
#pragma once

#include <cstdint>
#include <string>

#include "engine/config.h"
#include "engine/config/fields.h"

namespace trainmem {

/// A small generator of its own: the library's distributions differ from machine to machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next();
  std::int64_t below(std::int64_t count);  ///< 0 <= result < count
  bool chance(int percent) { return below(100) < percent; }

  template <class Value, int count>
  const Value& pick(const Value (&values)[count]) {
    return values[below(count)];
  }

 private:
  std::uint64_t state_;
};

/// Puts a random allowed value into one field.
void randomise(const Field& field, Config& config, Random& random);

/// Presets or none, and allowed values in some fields. The fields need not fit together.
Config random_fields(Random& random);

/// A configuration that passes validation: small or middling models, every modelled kind of recipe.
Config random_valid_config(Random& random);

/// Any bytes, with a taste for brackets, digits, separators and keys of configurations.
std::string random_text(Random& random, std::int64_t longest);

}  // namespace trainmem
