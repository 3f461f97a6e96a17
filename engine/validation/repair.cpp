#include "engine/validation/repair.h"

#include <utility>

#include "engine/config/text.h"
#include "engine/validation/validate.h"

namespace trainmem {
namespace {

void make(const Fix& fix, Config& config) {
  const Field* field = find_field_by_path(fix.path);
  Issues refused;  // a value out of range changes nothing
  if (field != nullptr) store_text(*field, fix.value, {config, refused});
}

}  // namespace

bool repair(Config& config) {
  constexpr int most_changes = 24;
  Issues issues = validate(config);
  for (int i = 0; i < most_changes && !issues.empty(); ++i) {
    Config best = config;
    Issues left;
    for (const Issue& issue : issues) {
      Config fixed = config;
      make(issue.fix, fixed);
      if (fixed == config) continue;
      Issues after = validate(fixed);
      // Of equal ones the later: what is not modelled stands behind sizes that do not divide.
      if (!(best == config) && after.size() > left.size()) continue;
      best = fixed;
      left = std::move(after);
    }
    if (best == config) return false;
    config = best;
    issues = std::move(left);
  }
  return issues.empty();
}

}  // namespace trainmem
