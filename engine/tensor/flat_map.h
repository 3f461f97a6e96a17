// A map in a list, in no order: for few keys.
#pragma once

#include <utility>
#include <vector>

namespace trainmem {

template <class Key, class Value>
class FlatMap {
 public:
  using Entries = std::vector<std::pair<Key, Value>>;

  typename Entries::const_iterator end() const { return entries_.end(); }
  typename Entries::const_iterator find(Key key) const {
    for (auto entry = entries_.end(); entry != entries_.begin();)
      if ((--entry)->first == key) return entry;
    return entries_.end();
  }
  Value& operator[](Key key) {
    for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry)
      if (entry->first == key) return entry->second;
    entries_.emplace_back(key, Value());
    return entries_.back().second;
  }
  void erase(Key key) {
    const auto entry = entries_.begin() + (find(key) - entries_.cbegin());
    if (entry == entries_.end()) return;
    std::swap(*entry, entries_.back());
    entries_.pop_back();
  }
  void clear() { entries_.clear(); }

 private:
  Entries entries_;
};

}  // namespace trainmem
