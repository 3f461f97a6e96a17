// The areas of the timeline: where each event stands, and what is filled below the line, by phase or by component.

import { svg } from 'lit';
import type { PhaseName, Result, TimelinePoint } from '../border.js';
import { componentNames } from '../components.js';

/** Any two keep apart in simulated colour blindness; what goes before the step is grey, its phases have colours. */
export const phaseFills: Record<PhaseName, [light: string, dark: string]> = {
  initialise: ['#706d67', '#9a988c'],
  forward: ['#2087e5', '#84c2fd'],
  reference: ['#10284a', '#e6f2ff'],
  loss: ['#b57823', '#f9b154'],
  backward: ['#782190', '#975ab6'],
  optimizer_step: ['#095e1d', '#28873f'],
};
export const phaseRules = Object.entries(phaseFills)
  .map(([name, [light, dark]]) => `[data-phase='${name}'] { --fill: light-dark(${light}, ${dark}); }`)
  .join('\n');

interface Band {
  phase: PhaseName;
  from: number;
  to: number;
}

export interface Drawing {
  points: TimelinePoint[];
  bands: Band[];
  /** Horizontal position of each point, 0 to 1000. */
  x: number[];
  /** Where each phase begins, and the end. */
  edges: number[];
  peak: number;
}

/** The most of the width that initialisation takes: it has an event for every weight, and little to see. */
const mostOfInitialise = 0.2;

/** Lays the phases side by side; a phase of few events still gets room for its name. */
function layOut(result: Result): Drawing {
  const points = result.timeline;
  const bands: Band[] = [];
  points.forEach((point, index) => {
    const last = bands.at(-1);
    if (last && last.phase === point.phase) last.to = index + 1;
    else bands.push({ phase: point.phase, from: index, to: index + 1 });
  });
  const least = 0.16 * Math.min(1, 5 / bands.length);
  const shares = bands.map(({ phase, from, to }) => {
    const share = Math.max(least, (to - from) / points.length);
    return phase === 'initialise' ? Math.min(share, mostOfInitialise) : share;
  });
  const sum = shares.reduce((total, share) => total + share, 0);
  const x: number[] = [];
  const edges = [0];
  let left = 0;
  bands.forEach((band, index) => {
    const width = (1000 * shares[index]!) / sum;
    for (let at = band.from; at < band.to; at++)
      x.push(left + (width * (at - band.from + 0.5)) / (band.to - band.from));
    left += width;
    edges.push(left);
  });
  let peak = 0;
  points.forEach((point, index) => {
    if (point.allocated > points[peak]!.allocated) peak = index;
  });
  return { points, bands, x, edges, peak };
}

let drawn: { result: Result; drawing: Drawing } | undefined;
export function drawingOf(result: Result): Drawing {
  if (drawn?.result !== result) drawn = { result, drawing: layOut(result) };
  return drawn.drawing;
}

/** Height in the drawing, from the top. */
const level = (value: number, top: number) => (100 - (100 * value) / top).toFixed(2);

/** The first and the last point hold to the edges of the drawing. */
const spread = ({ points, x }: Drawing) =>
  x.map((place, index) => (index === 0 ? 0 : index === points.length - 1 ? 1000 : place));

/** One area for each phase; where two meet, both go on the line between the last event of one and the first of the other. */
export function phaseAreas(drawing: Drawing, top: number) {
  const { points, bands, edges } = drawing;
  const x = spread(drawing);
  const between = (index: number, place: number) => {
    const [one, other] = [points[index - 1]!.allocated, points[index]!.allocated];
    const [from, to] = [x[index - 1]!, x[index]!];
    return one + ((other - one) * (place - from)) / (to - from);
  };
  return bands.map(({ phase, from, to }, index) => {
    const [left, right] = [edges[index]!, edges[index + 1]!];
    const line = points
      .slice(from, to)
      .map((point, at) => `${x[from + at]!.toFixed(1)},${level(point.allocated, top)}`);
    if (from > 0) line.unshift(`${left.toFixed(1)},${level(between(from, left), top)}`);
    if (to < points.length) line.push(`${right.toFixed(1)},${level(between(to, right), top)}`);
    const ground = `${right.toFixed(1)},100 ${left.toFixed(1)},100`;
    return svg`<polygon data-phase=${phase} points=${`${line.join(' ')} ${ground}`} />`;
  });
}

export function componentAreas(drawing: Drawing, top: number) {
  const { points } = drawing;
  const x = spread(drawing);
  const floor = points.map(() => 0);
  const y = (value: number) => level(value, top);
  const edge = (index: number) => x[index]!.toFixed(1);
  return componentNames
    .filter(name => points.some(point => point.components[name] > 0))
    .map(name => {
      const lower = points.map((_, index) => `${edge(index)},${y(floor[index]!)}`);
      points.forEach((point, index) => {
        floor[index]! += point.components[name];
      });
      const upper = points.map((_, index) => `${edge(index)},${y(floor[index]!)}`);
      return svg`<polygon data-part=${name} points=${`${upper.join(' ')} ${lower.reverse().join(' ')}`} />`;
    });
}
