#include "engine/tensor/run.h"

#include <cassert>
#include <cstring>

#include "engine/tensor/autograd.h"

namespace trainmem {

namespace {
Run*& active() {
  static thread_local Run* run = nullptr;
  return run;
}
}  // namespace

Run& active_run() {
  assert(active() != nullptr);
  return *active();
}

Run::~Run() {
  autocast_copies.copies.clear();
  for (RegisteredParameter& parameter : parameters) {
    parameter.tensor->grad.reset();
    parameter.tensor->grad_fn = Ref<Node>();  // the accumulation node holds the parameter in turn
  }
}

Size Run::times_of(std::int32_t layer_index) const {
  const auto found = folding.times.find(layer_index);
  return found == folding.times.end() ? Size(1) : found->second;
}

std::int32_t Run::group_of(std::int32_t layer_index) const {
  const auto found = folding.groups.find(layer_index);
  return found == folding.groups.end() ? layer_index : found->second;
}

std::uint32_t Run::place_named(const char* name) {
  for (const auto& [known, index] : place_names_)
    if (known == name || std::strcmp(known, name) == 0) return index;
  const auto index = static_cast<std::uint32_t>(tape.places.size());
  tape.places.emplace_back(name);
  place_names_.emplace_back(name, index);
  return index;
}

void Run::mark_place() {
  const auto now = static_cast<std::uint32_t>(tape.events.size());
  if (!tape.place_marks.empty()) {
    PlaceMark& last = tape.place_marks.back();
    if (last.place == place && last.layer == layer) return;
    if (last.first_event == now) {
      last.place = place;
      last.layer = layer;
      return;
    }
  }
  tape.place_marks.push_back({now, place, layer});
}

void Run::begin_phase(std::int32_t step, Phase phase, std::string name) {
  tape.phases.push_back({static_cast<std::uint32_t>(tape.events.size()), step, phase, std::move(name)});
}

ActivateRun::ActivateRun(Run& run) : previous_(active()) { active() = &run; }
ActivateRun::~ActivateRun() { active() = previous_; }

Place::Place(const char* name) : Place(name, active_run().component) {}

Place::Place(const char* name, Component component)
    : previous_place_(active_run().place), previous_component_(active_run().component) {
  Run& run = active_run();
  run.place = run.place_named(name);
  run.component = component;
  run.mark_place();
}

Place::~Place() {
  Run& run = active_run();
  run.place = previous_place_;
  run.component = previous_component_;
  run.mark_place();
}

Layer::Layer(std::int32_t index) : previous_(active_run().layer) { active_run().layer = index; }
Layer::~Layer() { active_run().layer = previous_; }

Repeat::Repeat(Size times, std::int32_t layer, LayerOrder order) {
  const Run& run = active_run();
  const bool once = times.line() == 0 && times.recorded() == 1;
  if (once && (layer < 0 || !run.folding.marks_layers)) return;
  mark_ = static_cast<std::int64_t>(run.tape.repeats.size());
  run.tape.repeats.push_back({static_cast<std::uint32_t>(run.tape.events.size()), 0, times, layer, order});
}

Repeat::~Repeat() {
  if (mark_ < 0) return;
  Recording& tape = active_run().tape;
  tape.repeats[static_cast<std::size_t>(mark_)].end_event = static_cast<std::uint32_t>(tape.events.size());
}

void LayerStretches::enter(std::int32_t layer) {
  const Run& run = active_run();
  const std::int32_t group = layer < 0 ? -1 : run.group_of(layer);
  if (group == group_) return;
  repeat_.reset();
  group_ = group;
  if (group >= 0) repeat_.emplace(run.times_of(layer), group, order_);
}

AutocastScope::AutocastScope(Autocast autocast) : previous_(active_run().autocast) { active_run().autocast = autocast; }

AutocastScope::~AutocastScope() {
  Run& run = active_run();
  run.autocast = previous_;
  if (run.autocast.enabled) return;
  // The copies of a layer that stands for several go as often, unless this scope is part of its stretch.
  LayerStretches stretches;
  for (const auto& [weight, layer] : run.autocast_copies.order) {
    if (run.layer == -1) stretches.enter(layer);
    run.autocast_copies.copies.erase(weight.get());
  }
  run.autocast_copies.order.clear();
}

}  // namespace trainmem
