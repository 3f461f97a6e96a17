// The ten components and six phases in the page's words. Colours stand in styles/tokens.ts under the same names.

import type { ComponentBytes, ComponentName, PhaseName, Summary } from './border.js';

/** In the order in which bars stack them: states first, then what a step adds. */
export const componentNames: readonly ComponentName[] = [
  'weights',
  'master_weights',
  'gradients',
  'optimizer_states',
  'activations',
  'logits_and_loss',
  'optimizer_temporaries',
  'gathered_parameters',
  'communication',
  'workspace',
];

export const componentLabels: Record<ComponentName, string> = {
  weights: 'Weights',
  master_weights: 'Master weights',
  gradients: 'Gradients',
  optimizer_states: 'Optimizer states',
  activations: 'Activations',
  logits_and_loss: 'Logits and loss',
  optimizer_temporaries: 'Optimizer temporaries',
  gathered_parameters: 'Gathered parameters',
  communication: 'Communication',
  workspace: 'Workspaces',
};

export const componentMeanings: Record<ComponentName, string> = {
  weights: 'The parameters that forward and backward compute with, as this GPU holds them.',
  master_weights: 'A second, more precise copy of the parameters that the optimizer updates.',
  gradients: 'One value for each trainable parameter, written by backward and read by the optimizer.',
  optimizer_states: 'What the optimizer remembers between steps: for Adam, two moments for each parameter.',
  activations: 'Results of the forward pass that backward will need, and gradients of activations on their way.',
  logits_and_loss: 'Scores over the vocabulary for every token, their softmax and its gradient.',
  optimizer_temporaries: 'Scratch tensors that live only while the optimizer steps or gradients are clipped.',
  gathered_parameters: 'Full parameters collected from other GPUs for the layers that compute at this moment.',
  communication: 'Buckets and staging buffers of collectives.',
  workspace: 'Scratch memory that libraries such as cuBLAS take from the allocator.',
};

export const phaseLabels: Record<PhaseName, string> = {
  initialise: 'Initialise',
  forward: 'Forward',
  reference: 'Scoring without gradients',
  loss: 'Loss',
  backward: 'Backward',
  optimizer_step: 'Optimizer step',
};

/** Within a sentence. */
export const phaseWords: Record<PhaseName, string> = {
  initialise: 'the start',
  forward: 'the forward pass',
  reference: 'the scoring pass',
  loss: 'the loss',
  backward: 'the backward pass',
  optimizer_step: 'the optimizer step',
};

/** For narrow places. */
export const phaseShort: Record<PhaseName, string> = {
  initialise: 'Init',
  forward: 'Forward',
  reference: 'Scoring',
  loss: 'Loss',
  backward: 'Backward',
  optimizer_step: 'Step',
};

/** One piece of the bar from nothing to what the device holds. */
export interface Segment {
  name: ComponentName | 'cached' | 'outside';
  label: string;
  bytes: number;
  meaning: string;
}

export function componentSegments(components: ComponentBytes): Segment[] {
  return componentNames
    .filter(name => components[name] > 0)
    .map(name => ({ name, label: componentLabels[name], bytes: components[name], meaning: componentMeanings[name] }));
}

/** Nothing but cached blocks lies beyond the capacity. */
export function fitsWithoutCache({ verdict }: Summary): boolean {
  return verdict.fit === 'tight' && verdict.margin < 0;
}

/** Components, then what lives outside the allocator, then what it caches. Sums to the device's total. */
export function deviceSegments(result: Summary): Segment[] {
  const segments = componentSegments(result.components);
  const cached = result.reserved.expected - result.allocated;
  const outside = result.device.expected - result.reserved.expected;
  if (outside > 0) {
    segments.push({
      name: 'outside',
      label: result.runtime.some(({ name }) => name === 'vLLM') ? 'vLLM and CUDA' : 'Outside PyTorch',
      bytes: outside,
      meaning: 'CUDA context, communication library and library workspaces: estimates, see the three counters.',
    });
  }
  if (cached > 0) {
    segments.push({
      name: 'cached',
      label: 'Cached by PyTorch',
      bytes: cached,
      meaning:
        'Blocks that PyTorch’s caching allocator has reserved and that no tensor uses at the peak. It gives them back before it runs out.',
    });
  }
  return segments;
}
