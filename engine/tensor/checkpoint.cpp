#include "engine/tensor/checkpoint.h"

#include <memory>

#include "engine/tensor/run.h"
#include "engine/tensor/selective.h"

namespace trainmem {

namespace {

constexpr Rule checkpoint_rule{"checkpoint", "input of a recomputed block: its forward runs again in backward",
                               "pytorch torch/utils/checkpoint.py"};

constexpr Rule offload_rule{
    "checkpoint from host memory", "",
    "pytorch torch/autograd/graph.py: save_on_cpu; torchtune training/_activation_offloading.py"};

constexpr Rule root_rule{"graph root", "", "pytorch torch/csrc/autograd/functions/basic_ops.h: GraphRoot"};
constexpr Rule zeros_rule{"gradient of zeros", "",
                          "pytorch torch/csrc/autograd/python_function.cpp: materialize_grads"};

/// One recomputed block: its input, its forward, and the tensors of the second forward until they are asked for.
struct Frame {
  std::int32_t references = 0;
  Tensor input;
  Kept kept_input;  ///< within another recomputed block: its hooks keep it
  bool nested = false;
  bool offloaded = false;  ///< the input is in host memory
  bool early_stop = true;
  Forward forward;
  Autocast autocast;
  int holders = 0;
  std::vector<bool> wanted;  ///< of each place: whether the node that it was made for is still there
  bool recomputed = false;
  std::vector<Tensor> tensors;
  std::unique_ptr<SelectiveResults> selective;
  void release() { delete this; }
  void recompute();
};

struct FrameHolder : Kept::Holder {
  Ref<Frame> frame;
  int index = 0;
  explicit FrameHolder(Ref<Frame> f) : frame(std::move(f)), index(frame->holders++) { frame->wanted.push_back(true); }
  FrameHolder(const FrameHolder&) = delete;
  FrameHolder& operator=(const FrameHolder&) = delete;
  ~FrameHolder() override { frame->wanted[static_cast<std::size_t>(index)] = false; }
  Tensor unpack() override {
    if (!frame->recomputed) frame->recompute();
    return std::move(frame->tensors[static_cast<std::size_t>(index)]);
  }
};

/// First forward: nothing is kept but a place for it.
struct DropHooks : SavedTensorHooks {
  Ref<Frame> frame;
  explicit DropHooks(Ref<Frame> f) : frame(std::move(f)) {}
  Kept pack(const Tensor&) override {
    if (frame->selective) frame->selective->note_need();
    return Kept(Ref<Kept::Holder>(new FrameHolder(frame)));
  }
};

/// Second forward: fills the places, but those of nodes that went, as of a choice whose values nobody used, and stops
/// at the last one. torch/utils/checkpoint.py: _recomputation_hook.
struct FillHooks : SavedTensorHooks {
  Frame& frame;
  explicit FillHooks(Frame& f) : frame(f) {}
  Kept pack(const Tensor& tensor) override {
    Tensor kept = detach(tensor);
    const std::size_t place = frame.tensors.size();
    frame.tensors.push_back(place < frame.wanted.size() && !frame.wanted[place] ? Tensor() : kept);
    if (frame.early_stop && static_cast<int>(frame.tensors.size()) == frame.holders)
      active_run().recomputing.complete = true;
    return Kept(std::move(kept));
  }
};

/// A kept tensor as the argument of a forward that wants its gradient.
Tensor leaf_of(const Tensor& kept) {
  Tensor leaf = detach(kept);
  leaf->requires_grad = true;
  return leaf;
}

void Frame::recompute() {
  const Tensor leaf = nested ? leaf_of(kept_input.unpack()) : Tensor();  // runs the forward around it again
  Run& run = active_run();
  recomputed = true;
  tensors.reserve(static_cast<std::size_t>(holders));
  FillHooks fill(*this);
  const Set<bool> grad(run.grad_enabled, true);
  const Set<SavedTensorHooks*> hooks(run.saved_tensor_hooks, &fill);
  const Set<bool> stopped(run.recomputing.complete, false);
  const Set<bool> again(run.recomputing.second_forward, true);
  const AutocastScope scope(autocast);
  const Set<SelectiveResults*> results(run.recomputing.selective, selective.get());
  if (selective) {
    selective->second_forward = true;
    selective->products = 0;
  }
  if (nested) {
    forward(leaf);
    leaf->grad_fn = Ref<Node>();  // the accumulation node of a leaf holds the leaf
    return;
  }
  if (!offloaded) {
    forward(input);
    return;
  }
  const Tensor copy = allocate(input.shape(), input.dtype(), {&offload_rule});
  copy->requires_grad = input.requires_grad();
  forward(copy);
  copy->grad_fn = Ref<Node>();
}

}  // namespace

Tensor checkpoint(Forward forward, Tensor argument, const CheckpointOptions& options) {
  const Tensor x = std::move(argument);
  Run& run = active_run();
  if (!run.grad_enabled) return forward(x);
  const Ref<Frame> frame(new Frame);
  frame->offloaded = run.settings.offload_checkpoints;
  if (frame->offloaded) {
    frame->input = allocate_nothing(x.shape(), x.dtype());
    frame->input->requires_grad = x.requires_grad();
  } else if (run.saved_tensor_hooks != nullptr) {
    frame->nested = true;
    frame->kept_input = run.saved_tensor_hooks->pack(x);
  } else {
    note_kept(x, checkpoint_rule);
    frame->input = x;
  }
  frame->forward = std::move(forward);
  frame->autocast = run.autocast;
  frame->early_stop = options.early_stop;
  if (options.selective) frame->selective = std::make_unique<SelectiveResults>();
  const Set<SelectiveResults*> results(run.recomputing.selective, frame->selective.get());
  DropHooks drop(frame);
  const Set<SavedTensorHooks*> hooks(run.saved_tensor_hooks, &drop);
  Tensor result = frame->forward(x);
  if (frame->selective && run.settings.compiles_blocks) frame->selective->drop_unneeded();
  return result;
}

namespace {

/// Backward from two tensors at once: the engine starts at a node above both.
void run_from_both(const Tensor& first, const Tensor& first_gradient, const Tensor& second,
                   const Tensor& second_gradient) {
  const Tensor root = allocate_nothing({}, DType::float32);
  {
    const Set<bool> grad(active_run().grad_enabled, true);
    const Ref<Node> node = begin_node(root_rule, {&first, &second});
    node->backward = [&](Backward& b) {
      b.give(0, first_gradient);
      b.give(1, second_gradient);
    };
    finish_node(node, root);
  }
  run_backward(root, allocate_nothing({}, DType::float32));
}

}  // namespace

Tensor checkpoint_reentrant(Forward forward, Tensor argument, const ReentrantOptions& options) {
  const Tensor x = std::move(argument);
  Tensor** const beside = options.beside;
  Tensor** const in_place = options.second.defined() ? options.in_place : nullptr;
  Run& run = active_run();
  const Ref<Node> node = begin_node(checkpoint_rule, {&x, &options.second});
  keep(node, x);
  if (in_place != nullptr) keep(node, options.second);
  Tensor result;
  {
    const Set<bool> no_grad(run.grad_enabled, false);
    result = forward(x);
  }
  result = alias(result, result.shape(), result->strides);
  Node::Result second;  // of no elements: there is none
  if (beside != nullptr && *beside != nullptr && (*beside)->defined())
    second = {(*beside)->shape(), (*beside)->dtype()};
  if (node)
    node->backward = [forward = std::move(forward), autocast = run.autocast, beside, in_place, second](Backward& b) {
      Run& active = active_run();
      // Nobody gave the second result a gradient: the engine makes one of zeros.
      Tensor zeros;
      if (second.shape.rank() > 0) zeros = allocate(second.shape, second.dtype, {&zeros_rule});
      const auto leaf = [&b](int n) {
        Tensor input = detach(b.kept(n));
        input->is_view = false;  // a leaf like a weight: autocast caches its copy, too
        input->requires_grad = b.wants(n);
        return input;
      };
      Tensor input = leaf(0);
      Tensor second_input = in_place != nullptr ? leaf(1) : Tensor();
      input->requires_grad = true;
      Tensor output;
      Tensor output_beside;
      {
        const Set<bool> grad(active.grad_enabled, true);
        const AutocastScope scope(autocast);
        const Set<bool> again(active.recomputing.second_forward, true);
        Tensor* unused = nullptr;
        const Set<Tensor*> given(in_place != nullptr ? *in_place : unused, &second_input);
        if (zeros.defined()) {
          const Set<Tensor*> returned(*beside, &output_beside);
          output = forward(input);
        } else {
          output = forward(input);
        }
      }
      if (zeros.defined())
        run_from_both(output, b.gradient(), output_beside, zeros);
      else
        run_backward(output, b.gradient());
      output.reset();
      output_beside.reset();
      b.give(0, input->grad);  // it stays with the input, which goes now unless something else holds the graph
      input->grad_fn = Ref<Node>();
      if (in_place == nullptr) return;
      b.give(1, second_input->grad);
      second_input->grad_fn = Ref<Node>();
    };
  finish_node(node, result);
  return result;
}

}  // namespace trainmem
