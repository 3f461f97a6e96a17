#include "engine/tensor/split_backward.h"

#include <algorithm>

#include "engine/tensor/backward_engine.h"
#include "engine/tensor/run.h"

namespace trainmem {

namespace {

/// The nodes below `root`, each after those that its edges lead to.
std::vector<Ref<Node>> nodes_from_below(const Ref<Node>& root) {
  struct Open {
    Ref<Node> node;
    std::size_t next = 0;
  };
  std::vector<Ref<Node>> order;
  std::vector<Open> stack{{root, 0}};
  root->waiting = -1;  // seen
  while (!stack.empty()) {
    Open& top = stack.back();
    if (top.next == top.node->next.size()) {
      order.push_back(top.node);
      stack.pop_back();
      continue;
    }
    const Ref<Node> below = top.node->next[top.next++].node;
    if (!below || below->waiting == -1) continue;
    below->waiting = -1;
    stack.push_back({below, 0});
  }
  for (const Ref<Node>& node : order) node->waiting = 0;
  return order;
}

}  // namespace

void SplitBackward::run_input(const Tensor& root, Tensor gradient, const Tensor& input) {
  const Node* goal = input->grad_fn.get();
  nodes_ = nodes_from_below(root->grad_fn);
  for (const Ref<Node>& node : nodes_) {
    node->reaches_input = node.get() == goal;
    Left left;
    Few<Edge, 3> to_input;
    bool cut = false;
    for (std::size_t i = 0; i < node->next.size(); ++i) {
      const Edge& edge = node->next[i];
      const bool reaches = edge.node && edge.node->reaches_input;
      node->reaches_input = node->reaches_input || reaches;
      cut = cut || (edge.node && !reaches);
      to_input.push_back(reaches ? edge : Edge{});
      left.weights.push_back(reaches ? Edge{} : edge);
      left.whole.push_back(edge);
    }
    if (!cut || !node->reaches_input) continue;
    left.node = node;
    node->next = std::move(to_input);
    left_.push_back(std::move(left));
  }
  for (Left& left : left_) left.node->caught = &left.gradients;
  const Set<bool> no_grad(active_run().grad_enabled, false);
  BackwardEngine engine(RetainGraph::yes);
  engine.run(root->grad_fn, root->output_number, std::move(gradient));
  for (Left& left : left_) {
    left.node->caught = nullptr;
    left.node->next = left.whole;
  }
  std::sort(left_.begin(), left_.end(),
            [](const Left& a, const Left& b) { return a.node->sequence < b.node->sequence; });
  // What comes after the last of them in the forward is needed no more (the outputs are detached).
  nodes_.erase(std::remove_if(nodes_.begin(), nodes_.end(), [](const Ref<Node>& node) { return node->leaf.defined(); }),
               nodes_.end());
  std::sort(nodes_.begin(), nodes_.end(),
            [](const Ref<Node>& a, const Ref<Node>& b) { return a->sequence > b->sequence; });
  std::size_t later = 0;
  while (later < nodes_.size() && (left_.empty() || nodes_[later]->sequence > left_.back().node->sequence)) ++later;
  release(later);
}

/// Lets go of what the first `end` nodes keep: as often as the layers stand for.
void SplitBackward::release(std::size_t end) {
  const Run& run = active_run();
  for (std::size_t i = 0; i < end;) {
    const std::int32_t layer = nodes_[i]->layer;
    const Repeat repeat(run.times_of(layer));
    for (; i < end && nodes_[i]->layer == layer; ++i) {
      nodes_[i]->kept.clear();
      for (Left& left : left_)
        if (left.node.get() == nodes_[i].get()) left.gradients.clear();
    }
  }
  nodes_.erase(nodes_.begin(), nodes_.begin() + static_cast<std::ptrdiff_t>(end));
}

void SplitBackward::run_weights() {
  const Set<bool> no_grad(active_run().grad_enabled, false);
  for (Left& left : left_) {
    left.node->next = left.weights;
    BackwardEngine engine;
    engine.run(left.node, left.gradients);
    left.node->next = left.whole;
  }
  release(nodes_.size());
  left_.clear();
}

}  // namespace trainmem
