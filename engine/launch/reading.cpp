#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "engine/config/text.h"
#include "engine/launch/format.h"

namespace trainmem {
namespace {

constexpr const char* filled_in = "It is filled in when the run starts.";
constexpr const char* computed = "The program computes it: put its value in.";

bool is_yes(const std::string& value) {
  const std::string word = lower_case(value);
  return word == "true" || word == "yes" || word == "on" || word == "1";
}

bool is_no(const std::string& value) {
  const std::string word = lower_case(value);
  return word == "false" || word == "no" || word == "off" || word == "0";
}

bool same_value(const char* theirs, const std::string& value) {
  return *theirs == 0 || lower_case(value) == lower_case(theirs) ||
         (std::strcmp(theirs, "true") == 0 && is_yes(value)) || (std::strcmp(theirs, "false") == 0 && is_no(value));
}

}  // namespace

const std::string* SettingsReading::find(const char* key) const {
  for (auto at = settings_.rbegin(); at != settings_.rend(); ++at) {
    if (at->key == key) return at->unread ? nullptr : &at->value;
  }
  return nullptr;
}

bool SettingsReading::is_unread(const char* key) const {
  return find(key) == nullptr &&
         std::any_of(settings_.begin(), settings_.end(), [&](const Setting& one) { return one.key == key; });
}

std::int64_t SettingsReading::integer(const char* key, std::int64_t otherwise) const {
  constexpr std::int64_t most = 1000000000;  // so that products of two stay whole
  const std::string* value = find(key);
  if (value == nullptr || !is_number_text(*value, true)) return otherwise;
  const std::int64_t number = std::strtoll(value->c_str(), nullptr, 10);
  return number > most || number < -most ? otherwise : number;
}

bool SettingsReading::is_on(const char* key) const {
  const std::string* value = find(key);
  return value != nullptr && (value->empty() || is_yes(*value));
}

void SettingsReading::mark(const char* key) {
  for (std::size_t i = 0; i < settings_.size(); ++i) {
    if (settings_[i].key == key) used_[i] = true;
  }
}

void SettingsReading::apply(const char* key, const char* path, const std::string& value) {
  const Field* field = find_field_by_path(path);
  Issues problems;
  store_text(*field, value, {out_.config, problems});
  mark(key);
  const std::string* theirs = find(key);
  if (!problems.empty()) {
    out_.unused.push_back({key, theirs == nullptr ? "" : *theirs, problems[0].message + " " + problems[0].hint});
    return;
  }
  out_.applied.push_back({key, theirs == nullptr ? "" : *theirs, path, value_text(*field, out_.config)});
}

void SettingsReading::leave(const char* key, const std::string& why) {
  const std::string* value = find(key);
  if (value == nullptr) return;
  mark(key);
  out_.unused.push_back({key, *value, why});
}

void SettingsReading::note(const char* key, const char* path, const std::string& set) {
  const std::string* value = find(key);
  mark(key);
  out_.applied.push_back({key, value == nullptr ? "" : *value, path, set});
}

void SettingsReading::apply_row(const KeyRule& row, const std::string& value) {
  if (row.path == nullptr) return leave(row.key, row.ours);
  if (row.ours != nullptr) return apply(row.key, row.path, row.ours);
  if (value == "auto") return leave(row.key, filled_in);
  if (!value.empty() && value[0] == '$') return leave(row.key, "Put the variable's value in.");
  apply(row.key, row.path, is_yes(value) ? "1" : is_no(value) ? "0" : value);
}

void SettingsReading::apply_rules(const KeyRule* rules, int count) {
  const KeyRule* end = rules + count;
  for (const KeyRule* rows = rules; rows != end;) {  // all rows of a key stand together
    const KeyRule* next =
        std::find_if(rows, end, [&](const KeyRule& row) { return std::strcmp(row.key, rows->key) != 0; });
    const std::string* value = find(rows->key);
    bool matched = value == nullptr;
    for (const KeyRule* row = rows; value != nullptr && row != next; ++row) {
      const bool any = row->theirs == nullptr || (!matched && std::strcmp(row->theirs, "*") == 0);
      if (!any && !same_value(row->theirs, *value)) continue;
      matched = true;
      apply_row(*row, *value);
    }
    if (!matched) leave(rows->key, *value == "auto" ? filled_in : "This value is not known here.");
    rows = next;
  }
}

void SettingsReading::list_unread(const KeyRule* rules, int count, std::initializer_list<const char*> keys) {
  for (std::size_t i = 0; i < settings_.size(); ++i) {
    const Setting& one = settings_[i];
    if (!one.unread || used_[i]) continue;
    const bool matters = one.key.substr(0, 2) == "**" ||
                         std::any_of(rules, rules + count, [&](const KeyRule& rule) { return one.key == rule.key; }) ||
                         std::any_of(keys.begin(), keys.end(), [&](const char* key) { return one.key == key; });
    if (!matters) continue;
    used_[i] = true;
    out_.unused.push_back({one.key, one.value, computed});
  }
}

void SettingsReading::list_the_rest() {
  for (std::size_t i = 0; i < settings_.size(); ++i) {
    if (!used_[i]) out_.unused.push_back({settings_[i].key, settings_[i].value, ""});
  }
}

void take_allocator(SettingsReading& reading) {
  for (const char* key : {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"}) {
    const std::string* words = reading.find(key);
    if (words == nullptr) continue;
    const bool expands = lower_case(*words).find("expandable_segments:true") != std::string::npos;
    if (expands) reading.apply(key, "/recipe/expandable_segments", "1");
    if (!expands || words->find(',') != std::string::npos)
      reading.leave(key, "Of the allocator's settings expandable_segments is counted.");
  }
}

}  // namespace trainmem
