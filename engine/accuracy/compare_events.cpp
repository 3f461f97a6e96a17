// A shortest edit script (Myers 1986) over the events of each phase: an event is its size with the sign of
// allocation or free. Storages of no bytes are left out on both sides.
#include "engine/accuracy/compare_events.h"

#include <algorithm>
#include <vector>

#include "engine/accuracy/storage_text.h"

namespace trainmem {
namespace {

struct Step {
  Bytes bytes = 0;        // negative: a free
  std::size_t event = 0;  // index into the recording
};

// The order of frees with no allocation between them makes no difference to any allocator.
void sort_runs_of_frees(std::vector<Step>& steps) {
  for (auto begin = steps.begin(); begin != steps.end();) {
    const bool frees = begin->bytes < 0;
    const auto end = std::find_if(begin, steps.end(), [&](const Step& step) { return (step.bytes < 0) != frees; });
    if (frees) std::sort(begin, end, [](const Step& a, const Step& b) { return a.bytes < b.bytes; });
    begin = end;
  }
}

// Events of a phase and of those that follow under the same name.
std::vector<Step> steps(const Recording& recording, std::size_t phase, Bytes at_least) {
  const std::size_t begin = recording.phases[phase].first_event;
  std::size_t next = phase + 1;
  while (next < recording.phases.size() && recording.phases[next].name == recording.phases[phase].name) ++next;
  const std::size_t end = next < recording.phases.size() ? recording.phases[next].first_event : recording.events.size();
  std::vector<Step> result;
  for (std::size_t index = begin; index < end; ++index) {
    const Event event = recording.events[index];
    if (recording.storage_of(event).bytes >= at_least) result.push_back({recording.change_by(event), index});
  }
  sort_runs_of_frees(result);
  return result;
}

struct Edit {
  char kind;  // '-' recorded alone, '+' ours alone, ' ' both
  std::size_t recorded;
  std::size_t ours;
};

// Myers' greedy algorithm; gives up (empty) beyond `max_edits`.
std::vector<Edit> shortest_edits(const std::vector<Step>& a, const std::vector<Step>& b, int max_edits) {
  const int n = static_cast<int>(a.size());
  const int m = static_cast<int>(b.size());
  const auto at = [](const std::vector<Step>& list, int index) { return list[static_cast<std::size_t>(index)].bytes; };
  std::vector<std::vector<int>> history;
  std::vector<int> furthest(2 * static_cast<std::size_t>(max_edits) + 3, 0);
  const auto slot = [&](int diagonal) {
    const int index = diagonal + max_edits + 1;
    return static_cast<std::size_t>(index);
  };
  const auto from_above = [&](const std::vector<int>& f, int d, int diagonal) {
    return diagonal == -d || (diagonal != d && f[slot(diagonal - 1)] < f[slot(diagonal + 1)]);
  };
  int reached = -1;
  for (int d = 0; d <= max_edits && reached < 0; ++d) {
    history.push_back(furthest);
    for (int diagonal = -d; diagonal <= d; diagonal += 2) {
      int x = from_above(furthest, d, diagonal) ? furthest[slot(diagonal + 1)] : furthest[slot(diagonal - 1)] + 1;
      while (x < n && x - diagonal < m && at(a, x) == at(b, x - diagonal)) ++x;
      furthest[slot(diagonal)] = x;
      if (x >= n && x - diagonal >= m) {
        reached = d;
        break;
      }
    }
  }
  std::vector<Edit> edits;
  if (reached < 0) return edits;
  int x = n;
  int y = m;
  for (int d = reached; d > 0; --d) {
    const auto& before = history[static_cast<std::size_t>(d)];
    const int diagonal = x - y;
    const bool insertion = from_above(before, d, diagonal);
    const int previous = insertion ? diagonal + 1 : diagonal - 1;
    const int start = before[slot(previous)];
    const int after = insertion ? start : start + 1;
    for (; x > after; --x, --y)
      edits.push_back({' ', static_cast<std::size_t>(x - 1), static_cast<std::size_t>(y - 1)});
    x = start;
    y = start - previous;
    edits.push_back({insertion ? '+' : '-', static_cast<std::size_t>(x), static_cast<std::size_t>(y)});
  }
  for (; x > 0; --x, --y) edits.push_back({' ', static_cast<std::size_t>(x - 1), static_cast<std::size_t>(y - 1)});
  std::reverse(edits.begin(), edits.end());
  return edits;
}

std::string number(Bytes bytes) { return std::to_string(bytes); }

std::string recorded_text(const Step& step) {
  return (step.bytes > 0 ? "allocates " : "frees ") + number(step.bytes > 0 ? step.bytes : -step.bytes);
}

/// "allocates 25165824  attention: query 2x1024x768 bf16 (layer 3)".
std::string event_text(const Recording& recording, std::size_t index) {
  const Event event = recording.events[index];
  const StorageRecord& storage = recording.storage_of(event);
  std::string text = (allocates(event) ? "allocates " : "frees ") + number(storage.bytes) + "  ";
  text += storage_text(recording, storage) + " " + name(storage.dtype);
  if (storage.layer >= 0) text += " (layer " + std::to_string(storage.layer) + ")";
  return text;
}

/// The edits with the events around them, as lines; `shown` counts edits up to `limit`.
std::string edit_lines(const std::vector<Edit>& edits, const std::vector<Step>& theirs, const std::vector<Step>& mine,
                       const Recording& ours, int limit, int& shown) {
  std::string text;
  std::size_t shown_until = 0;
  for (std::size_t index = 0; index < edits.size() && shown < limit; ++index) {
    if (edits[index].kind == ' ') continue;
    const std::size_t begin = std::max(shown_until, index < 3 ? 0 : index - 3);
    if (begin > shown_until) text += "    ...\n";
    for (std::size_t line = begin; line < std::min(edits.size(), index + 3); ++line) {
      const Edit& edit = edits[line];
      if (line > index && edit.kind != ' ') break;
      text += std::string("  ") + edit.kind + " " +
              (edit.kind == '-' ? recorded_text(theirs[edit.recorded]) : event_text(ours, mine[edit.ours].event)) +
              "\n";
      shown_until = line + 1;
    }
    ++shown;
  }
  return text;
}

}  // namespace

EventComparison compare_events(const Recording& recorded, const Recording& ours, int limit, Bytes at_least) {
  constexpr int max_edits = 3000;
  EventComparison result;
  std::string& report = result.report;
  int shown = 0;
  for (std::size_t phase = 0; phase < recorded.phases.size(); ++phase) {
    const std::string& name = recorded.phases[phase].name;
    if (name == "end") break;
    const auto other =
        std::find_if(ours.phases.begin(), ours.phases.end(), [&](const PhaseMark& mark) { return mark.name == name; });
    const std::vector<Step> theirs = steps(recorded, phase, at_least);
    if (other == ours.phases.end()) {
      report += name + ": not among our phases\n";
      result.differences += static_cast<int>(theirs.size());
      continue;
    }
    const std::vector<Step> mine = steps(ours, static_cast<std::size_t>(other - ours.phases.begin()), at_least);
    const std::vector<Edit> edits = shortest_edits(theirs, mine, max_edits);
    report += name + ": " + number(static_cast<Bytes>(theirs.size())) + " events recorded, " +
              number(static_cast<Bytes>(mine.size())) + " ours, ";
    if (edits.empty() && !theirs.empty()) {
      report += "too different to align\n";
      result.differences += max_edits;
      continue;
    }
    const auto changes = std::count_if(edits.begin(), edits.end(), [](const Edit& edit) { return edit.kind != ' '; });
    result.differences += static_cast<int>(changes);
    report += number(changes) + " differ\n";
    report += edit_lines(edits, theirs, mine, ours, limit, shown);
  }
  return result;
}

}  // namespace trainmem
