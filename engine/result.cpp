#include "engine/result.h"

namespace trainmem {

const char* name(Component component) {
  switch (component) {
    case Component::weights: return "weights";
    case Component::master_weights: return "master_weights";
    case Component::gradients: return "gradients";
    case Component::optimizer_states: return "optimizer_states";
    case Component::activations: return "activations";
    case Component::logits_and_loss: return "logits_and_loss";
    case Component::optimizer_temporaries: return "optimizer_temporaries";
    case Component::gathered_parameters: return "gathered_parameters";
    case Component::communication: return "communication";
    case Component::workspace: return "workspace";
  }
  return "";
}

const char* name(Phase phase) {
  switch (phase) {
    case Phase::initialise: return "initialise";
    case Phase::forward: return "forward";
    case Phase::reference: return "reference";
    case Phase::loss: return "loss";
    case Phase::backward: return "backward";
    case Phase::optimizer_step: return "optimizer_step";
  }
  return "";
}

const char* name(Bound bound) {
  switch (bound) {
    case Bound::memory: return "memory";
    case Bound::arithmetic: return "arithmetic";
    case Bound::unknown: return "unknown";
  }
  return "unknown";
}

const char* name(RowKind kind) {
  switch (kind) {
    case RowKind::exact: return "exact";
    case RowKind::estimate: return "estimate";
    case RowKind::measured: return "measured";
  }
  return "exact";
}

const char* name(Fit fit) {
  switch (fit) {
    case Fit::fits: return "fits";
    case Fit::tight: return "tight";
    case Fit::does_not_fit: return "does_not_fit";
    case Fit::unknown: return "unknown";
  }
  return "unknown";
}

}  // namespace trainmem
